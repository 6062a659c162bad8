"""A curl line sends what the exchange sent, and shows no secret."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core.model import Exchange, Message
from conformance.reports.shaping.curl import curl, shell, variables
from tests.support.runs import OPERATIONS, PAYLOADS, exchange
from tests.support.values import replace

POST = exchange("x1", OPERATIONS[1])


def words(line: str, **environment: str) -> list[str]:
    """The arguments that bash makes of the line."""
    script = f"printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=environment, timeout=20)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]


def test_the_line_sends_method_headers_body_and_url_with_the_secret_from_the_environment() -> None:
    """What the shell hands to curl is the request, with the credential filled in."""
    found = words(curl(POST), CONFORMANCE_KEY_FULL="s3cret $x `y`")
    assert found[:5] == ["curl", "-sS", "-i", "-X", "POST"]
    assert "authorization: Bearer s3cret $x `y`" in found
    assert found[-3:] == ["--data-binary", '{"revision":3}', POST.url]
    assert variables(POST) == ["CONFORMANCE_KEY_FULL"]


def test_the_credential_reads_as_a_shell_variable() -> None:
    """The line is one that a person would have written."""
    assert '-H "authorization: Bearer $CONFORMANCE_KEY_FULL"' in curl(POST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("«credential:full»", '"$CONFORMANCE_KEY_FULL"'),
        ("Bearer «credential:full|drop:1»", '"Bearer ${CONFORMANCE_KEY_FULL%?}"'),
        ("«credential:read-only»s", '"${CONFORMANCE_KEY_READ_ONLY}s"'),
        ("«redacted:dpop proof»", '"$CONFORMANCE_REDACTED_DPOP_PROOF"'),
        ('{"t":"«redacted»"}', '\'{"t":"\'"$CONFORMANCE_REDACTED"\'"}\''),
    ],
)
def test_placeholders_become_variables(text: str, expected: str) -> None:
    """Quoted so that neither the text around nor the secret within is obeyed."""
    assert shell(text) == expected


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0«»", codec="utf-8")), min_size=1, max_size=12))
def test_any_text_survives_the_shell(texts: list[str]) -> None:
    """Quotes, dollars, newlines, control characters: bash yields exactly the text."""
    assert words(" ".join(shell(text) for text in texts), LC_ALL="C.UTF-8") == texts


@pytest.mark.parametrize("payload", [p for p in PAYLOADS if "\0" not in p and "\ud800" not in p])
def test_no_payload_runs_in_the_shell(payload: str) -> None:
    """A hostile body is data, next to a credential too."""
    assert words(shell(payload), LC_ALL="C.UTF-8") == [payload]
    assert words(shell(payload + "«credential:a»"), LC_ALL="C.UTF-8", CONFORMANCE_KEY_A="$(id)") == [payload + "$(id)"]


def request_of(**changes: object) -> Exchange:
    return replace(POST, request=replace(POST.request, **changes))  # type: ignore[arg-type]


def test_what_curl_would_add_or_drop_is_prevented() -> None:
    """Empty headers are sent, curl's own form type is not, framing is left to curl."""
    headers = (("X-Empty", ""), ("Content-Length", "99"), ("Host", "a"), ("X-Two", "1"), ("X-Two", "2"))
    line = curl(request_of(headers=headers))
    assert "-H 'X-Empty;'" in line
    assert "-H 'Content-Type:'" in line
    assert "-H 'X-Two: 1' -H 'X-Two: 2'" in line
    assert "Length" not in line
    assert "Host" not in line


def test_a_url_is_sent_as_it_is() -> None:
    """curl neither folds dots nor expands brackets."""
    line = curl(replace(POST, url="https://a.test/x/../y?q=[1-9]"))
    assert "--path-as-is" in line
    assert " -g " in line


def test_a_body_cut_in_the_journal_is_said_to_be() -> None:
    """Nobody debugs the wrong request."""
    assert curl(replace(POST, request=Message((), "{", 9_000, truncated=True))).endswith(
        "# the body was cut in the journal"
    )
