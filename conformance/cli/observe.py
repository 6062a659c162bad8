"""The command observe: judges traffic that is there already, from recordings or through a proxy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.options import options_from, target_options, verbosity_options

if TYPE_CHECKING:
    from conformance.runner.observe.traffic_run import TrafficOptions


@click.command()
@target_options(required=True)
@click.option(
    "--har",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="A recording (HAR 1.2); repeatable; - is standard input.",
)
@click.option("--listen", metavar="HOST:PORT", help="Forward requests to the target, and judge what goes through.")
@click.option("--for", "duration", metavar="TIME", help="End after this time, such as 90s, 10m or 2h.")
@click.option("--strict", is_flag=True, help="Answer 502 where the target broke a required requirement; for tests.")
@click.option(
    "--bodies",
    type=click.Choice(["redacted", "shape"]),
    default="redacted",
    show_default=True,
    help="shape: keep only the shapes and types of bodies.",
)
@click.option(
    "--all-traffic",
    is_flag=True,
    help="No client sends other requests with these credentials meanwhile: whether limits end is judged too.",
)
@click.option("--report-dir", type=click.Path(path_type=Path), metavar="DIR", help="An empty folder for the reports.")
@verbosity_options(quiet="Print only the verdict.", verbose="Print the evidence of every cause, and every gap.")
def observe(
    files: tuple[Path, ...],
    listen: str | None,
    duration: str | None,
    strict: bool,
    bodies: str,
    all_traffic: bool,
    report_dir: Path | None,
    quiet: bool,
    verbose: bool,
    **target: Any,
) -> None:
    """Judge traffic that is there already. Nothing is sent but what clients send through the proxy.

    The verdict is nonconformant or incomplete, never conformant: the report says what was not seen, and what to send.
    Secrets and people's data are taken out before anything is written.

    \b
    Examples:
      conformance observe --profile profiles/mine.toml --har checkout.har --har search.har
      mitmdump -nr flows --set hardump=- | conformance observe --profile profiles/mine.toml --har -
      conformance observe --profile profiles/mine.toml --listen 127.0.0.1:8899 --for 10m
      conformance observe --profile profiles/mine.toml --har production.har --bodies shape
    """
    from conformance.core.errors import UsageError
    from conformance.runner.command import print_verdict
    from conformance.runner.observe.har_files import observe_files
    from conformance.runner.observe.live_line import LiveLine
    from conformance.runner.progress import make_console

    if bool(files) == bool(listen):
        raise UsageError("give either --har or --listen", where="conformance observe")
    if (duration or strict) and not listen:
        raise UsageError("needs --listen", where="--for" if duration else "--strict")
    options = _traffic_options(target, files, listen, bodies, all_traffic, report_dir)
    line = LiveLine(make_console(), quiet=quiet)
    if listen:
        from conformance.runner.observe.listening import observe_proxy

        run, directory, code = observe_proxy(listen, options, line, duration=duration, strict=strict)
    else:
        run, directory, code = observe_files(files, options, line)
    output = options_from({"quiet": quiet, "verbose": verbose})
    print_verdict(run, directory, line.console, output)
    if run.interrupted and quiet:
        click.echo(f"cut short: {run.interrupted}", err=True)
    sys.exit(code)


def _traffic_options(
    target: dict[str, Any],
    files: tuple[Path, ...],
    listen: str | None,
    bodies: str,
    all_traffic: bool,
    report_dir: Path | None,
) -> TrafficOptions:
    from conformance.runner.observe.traffic_run import TrafficOptions

    options = options_from(target)
    assert options.profile is not None
    words = ["--base-url", options.base_url] if options.base_url else []
    words += [word for name, value in options.variables.items() for word in ("--var", f"{name}={value}")]
    words += [word for path in files for word in ("--har", str(path) if str(path) == "-" else str(path.absolute()))]
    words += ["--listen", listen] if listen else []
    words += ["--bodies", bodies] if bodies != "redacted" else []
    words += ["--all-traffic"] if all_traffic else []
    return TrafficOptions(
        options.profile, options.base_url, options.variables, report_dir, bodies, all_traffic, tuple(words)
    )
