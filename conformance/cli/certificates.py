"""Commands on certificates: certify, verify."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from conformance.cli.files import RUN_DIR, echo_lines, file_option, read_bytes, today, write_text
from conformance.core.defaults import CERTIFICATE_DAYS


@click.command()
@RUN_DIR
@file_option("--key", help="Your Ed25519 private key (PEM). A password is read from CONFORMANCE_KEY_PASSWORD.")
@click.option(
    "--tier", type=click.Choice(["stable", "all"]), default="all", show_default=True, help="The operations to certify."
)
@click.option(
    "--valid-days", type=click.IntRange(1, 3660), default=CERTIFICATE_DAYS, show_default=True, help="Days of validity."
)
@file_option("-o", "--output", help="The certificate [RUN_DIR/certificate.json].")
@file_option("--badge", help="Also write an SVG badge to this file.")
def certify(
    run_dir: Path, key: Path | None, tier: str, valid_days: int, output: Path | None, badge: Path | None
) -> None:
    """Sign a conformant run: an in-toto test-result attestation in a DSSE envelope.

    Refuses a run that was filtered, ended early, or is not conformant in that tier.

    Exits 0 if it is signed, 1 if the run is nonconformant, 3 if it is incomplete, 5 if it is broken, 2 on a bad key or
    bad files.

    \b
    Examples:
      openssl genpkey -algorithm ed25519 -out key.pem
      openssl pkey -in key.pem -pubout -out public.pem        # to publish
      conformance certify reports/mine-20260102-030405 --key key.pem --tier stable
    """
    from conformance.core.errors import UsageError
    from conformance.decisions import badge as badges
    from conformance.decisions import certificate
    from conformance.judge.assemble import load

    if key is None:
        raise UsageError("no key was given", where="--key", hint="openssl genpkey -algorithm ed25519 -out key.pem")
    run = load(run_dir)
    password = os.environ.get("CONFORMANCE_KEY_PASSWORD", "")
    envelope = certificate.create_certificate(
        run, run_dir, read_bytes(key), tier=tier, today=today(), days=valid_days, password=password
    )
    path = output or run_dir / certificate.FILE
    write_text(path, envelope.decode("ascii"))
    content = certificate.read_certificate(envelope)
    write_text(badge, badges.badge(content))
    echo_lines(certificate.lines(content))
    click.echo(f"certificate: {path}")


@click.command()
@click.argument("certificate_file", metavar="CERT", type=click.Path(path_type=Path))
@click.argument("run_dir", required=False, type=click.Path(path_type=Path))
@file_option("--key", help="The trusted public key (PEM). Without it, the key in the certificate is used, with a note.")
def verify(certificate_file: Path, run_dir: Path | None, key: Path | None) -> None:
    """Verify a certificate, and that run.json and journal.ndjson of a run are those that it certifies. Sends nothing.

    Exits 0 if the signature and the files match and the certificate has not expired, otherwise 1; 2 if CERT is not a
    certificate, or a file cannot be read and nothing else is wrong.

    \b
    Examples:
      conformance verify certificate.json --key public.pem
      conformance verify certificate.json reports/mine-20260102-030405 --key public.pem
    """
    from conformance.decisions import certificate

    content = certificate.read_certificate(
        read_bytes(certificate_file), read_bytes(key) if key else None, where=str(certificate_file)
    )
    echo_lines(certificate.lines(content))
    problems, unreadable = certificate.compare_files(content, run_dir) if run_dir else ([], [])
    if content.until < today():
        problems.append(f"it expired after {content.until}")
    if key is None:
        click.echo("– signed by the key in the certificate: compare its id, or name the key that you trust (--key)")
    echo_lines(f"✕ {problem}" for problem in [*problems, *unreadable])
    if not problems and not unreadable:
        addition = f", and {' and '.join(certificate.SUBJECTS)} are those that it certifies" if run_dir else ""
        click.echo(f"✓ the certificate is valid{addition}")
        if run_dir:
            click.echo("– the other files of the folder are not compared: `conformance report` makes them of these")
    sys.exit(1 if problems else 2 if unreadable else 0)


COMMANDS = (certify, verify)
