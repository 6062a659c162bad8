"""The command that writes the contract for other tools: openapi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.files import file_option, write_text
from conformance.cli.options import options_from, target_options

_YAML = (".yaml", ".yml")


@click.command()
@target_options(required=True)
@file_option("-o", "--output", help="Write it there: YAML where the name ends in .yaml or .yml, else JSON.")
def openapi(output: Path | None, **parameters: Any) -> None:
    """Write the interface as one OpenAPI 3.1 document, with all that a profile states filled in.

    The server, the schemas, the carrier of the idempotency key, how the API key is written, the bounds of the search,
    and the profile's bodies as examples, unless a fixture would have to be arranged for them. Nothing is sent, and no
    secret is read.

    \b
    Examples:
      conformance openapi --profile profiles/mine.toml
      conformance openapi --profile profiles/mine.toml -o openapi.yaml
      conformance openapi --profile profiles/mine.toml --base-url http://127.0.0.1:8080 -o openapi.json
    """
    from conformance.profile.filled_contract import filled_contract
    from conformance.profile.loader import load_profile

    options = options_from(parameters)
    assert options.profile is not None, "click requires it"
    profile = load_profile(options.profile, base_url=options.base_url or None, variables=options.variables)
    text = _as_text(filled_contract(profile), as_yaml=output is not None and output.suffix in _YAML)
    if output is None:
        click.echo(text, nl=False)
    write_text(output, text)


def _as_text(document: dict[str, Any], *, as_yaml: bool) -> str:
    import json

    import yaml

    if as_yaml:
        return yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, allow_unicode=True, width=120)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
