"""Drafting profiles of the reference and its variants, as somebody would who knows fixtures and no more."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import judge, merge_patch
from conformance.profile.loader import load_profile
from conformance.reference.registry import variants
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles
from conformance.setup.probe.draft import format_value
from conformance.setup.probe.options import ProbeOptions, key_source
from conformance.setup.probe.probe import DraftResult, draft_profile

KEYS = (
    "full",
    "webhooks-write",
    "webhooks-read",
    "catalog-read",
    "checkout-quote",
    "none",
    "other-installation",
    "revoked",
    "limited",
)
STATED = ("fixtures", "operations", "transitions", "effects", "rate_limit", "oauth", "revocation")
"""What only a person knows; all other tables are the probe's to find."""
_STATED_IN_OAUTH = (
    "client_id",
    "redirect_uri",
    "other_client_id",
    "other_redirect_uri",
    "other_client_redirect_uri",
    "algorithms",
    "token_url",
    "code_lifetime_s",
)
SECRET = ("V654",)
"""Variants whose calls have a credential that only a profile may hold: a draft masks it."""
DOCUMENTED = ("V544",)
"""Variants whose document refuses what the RFC allows, which no answer shows."""
OPEN = {"V225": "IDN-1", "V549": "OA-8", "V571": "OA-8"}
"""Variants with an exclusion that only a person can state, and the requirement that a draft leaves open."""
KEYLESS = ("V319", "V545", "V578")
"""Variants without idempotency keys, which only a person can exclude."""
CONFORMANT = [name for name in ("", *variants()) if name not in (*OPEN, *KEYLESS, *SECRET, *DOCUMENTED)]
"""The plain reference, and all other variants."""
SCHEMAS = bundled_profiles() / "reference.schemas.yaml"


def fragment(path: Path, target: str = "") -> Path:
    """Writes what a person would state of the reference or a variant of it, cut out of the reference's profile."""
    document = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))
    return written(path, document, variants()[target].profile if target else {})


def written(path: Path, document: Mapping[str, Any], patch: Mapping[str, Any]) -> Path:
    """Writes the tables of a profile that only a person knows, as they are after a patch."""
    patched = merge_patch(document, patch)
    stated = {name: patched[name] for name in STATED if name in patched}
    stated["oauth"] = {name: value for name, value in stated["oauth"].items() if name in _STATED_IN_OAUTH}
    if "retention_s" in (keys := patched.get("idempotency", {})):  # a time that no probe waits for
        stated["idempotency"] = {name: keys[name] for name in ("carrier", "name", "retention_s")}
    path.write_text("".join(f"{name} = {format_value(value)}\n" for name, value in stated.items()), encoding="utf-8")
    return path


def drafted(service: EmbeddedReference, place: Path, target: str = "", *, schemas: bool = True) -> DraftResult:
    """The draft for one target of the reference. Its keys must be in the environment."""
    stated = fragment(place / f"{target or 'plain'}.fixtures.toml", target)
    patch = variants()[target].profile if target else {}
    own = "names" in (patch.get("schemas") or {})  # it has other schemas than the file
    return probed(service, place, target, stated, openapi=str(SCHEMAS) if schemas and not own else "")


def probed(service: EmbeddedReference, place: Path, target: str, stated: Path, openapi: str = "") -> DraftResult:
    prefix = f"/{target}" if target else ""
    asked = ProbeOptions(
        base_url=service.base_url + prefix,
        output=place / f"{target or 'plain'}.toml",
        keys=tuple(key_source(f"{key}=env:{variable(key)}") for key in KEYS),
        openapi=openapi,
        fixtures=stated,
        variables={"control": service.control_url + prefix},
    )
    return draft_profile(asked, lambda _: None)


def variable(key: str) -> str:
    return f"CONFORMANCE_REFERENCE_{key.upper().replace('-', '_')}"


def verdict(draft: DraftResult, place: Path) -> Run:
    """A run with the drafted profile as it stands, nothing added."""
    options = RunOptions(profile=draft.profile, seed=0, report_dir=place / f"{draft.profile.stem}-run", examples=4)
    return judge(options, profile=load_profile(draft.profile), keep_journal=False)


def bad(run: Run) -> list[str]:
    """What keeps a run from being conformant, for the message."""
    kinds = (Outcome.FAILED, Outcome.BROKEN, Outcome.INCONCLUSIVE, Outcome.UNTESTED)
    results = [r for r in run.results if r.outcome in kinds]
    shown = [f"{r.outcome.value} {r.check} {r.operation} {r.case}: {r.message}" for r in results]
    open_ones = [str(gap) for gap in run.scope.open]
    return [*shown[:12], *open_ones[:12], f"complete: {run.complete}, unproven: {run.scope.unproven}"]
