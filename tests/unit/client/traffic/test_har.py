"""HAR -> observations: what recorders write, and what is not HAR at all."""

from __future__ import annotations

import base64
import gzip
import io
from typing import Any

import pytest

from conformance.client.traffic.har import read_har
from conformance.client.traffic.observation import Observation
from conformance.core.errors import UsageError
from tests.support.recordings import entry, har


def read(raw: bytes) -> list[Observation | str]:
    return list(read_har(io.BufferedReader(io.BytesIO(raw)), "a.har"))  # type: ignore[arg-type]


def only(**changes: Any) -> Observation:
    (found,) = read(har([entry(**changes)]))
    assert isinstance(found, Observation)
    return found


def test_an_entry_is_read_whole() -> None:
    """Method, URL, headers, bodies, status, time and duration."""
    found = only(method="POST", body='{"a":1}', sent={"Authorization": "Bearer k"}, status=409, at=3)
    assert (found.method, found.status, found.request_body) == ("POST", 409, b'{"a":1}')
    assert found.request_headers == (("Authorization", "Bearer k"),)
    assert found.body == b'{"data":{"id":"cfg_1"}}'
    assert found.started == 1894665603.0
    assert found.duration_s == 0.0125


def test_pseudo_headers_of_http_2_are_no_headers() -> None:
    """Browsers list `:authority` and its like."""
    assert only(sent={":authority": "shop.example", "Accept": "*/*"}).request_headers == (("Accept", "*/*"),)


def test_a_base64_body_is_decoded() -> None:
    """Recorders write bodies that they take for binary so."""
    text = base64.b64encode(b'{"data":{}}').decode()
    assert only(text=text, content={"encoding": "base64", "size": 11}).body == b'{"data":{}}'


@pytest.mark.parametrize(
    ("changes", "body", "is_cut"),
    [
        ({"text": None}, None, False),
        ({"text": '{"data":', "content": {"size": 900}}, b'{"data":', True),
        (
            {"text": '{"data":"«a long mark»', "content": {"size": 9, "comment": "truncated"}},
            '{"data":"«a long mark»'.encode(),
            True,
        ),
        ({"text": '{"data":"«redacted»"}', "content": {"size": 900}}, '{"data":"«redacted»"}'.encode(), False),
        ({"text": ""}, b"", False),
    ],
)
def test_what_is_missing_of_a_body_is_known(changes: dict[str, Any], body: bytes | None, is_cut: bool) -> None:
    """No text is an unknown body; a shorter one is cut, unless redaction made it shorter."""
    found = only(**changes)
    assert (found.body, found.cut) == (body, is_cut)


def test_times_may_be_missing() -> None:
    """Nothing depends on them but the order."""
    found = only(startedDateTime=None, time=-1)
    assert (found.started, found.duration_s) == (None, 0.0)


def test_an_absent_authorization_is_certain_only_once_one_was_seen() -> None:
    """Browsers remove it from everything that they export."""
    entries = [entry(), entry(sent={"authorization": "Bearer k"}), entry()]
    assert [o.has_credentials for o in read(har(entries)) if isinstance(o, Observation)] == [False, True, True]


def test_status_0_is_no_answer() -> None:
    """Its trouble says why."""
    found = only(status=0, text="", response={"status": 0, "headers": [], "_error": "net::ERR_FAILED"})
    assert (found.status, found.trouble) == (None, "net::ERR_FAILED")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (7, "an entry without request"),
        (entry(request=None), "an entry without request"),
        (entry(request={"url": 3}), "an entry without method or URL"),
        (entry(_fromCache="disk"), "answered by the recorder's cache"),
        (entry(text="=%", content={"encoding": "base64"}), ""),
    ],
)
def test_an_entry_that_is_no_exchange_says_why(value: Any, reason: str) -> None:
    """It is counted under that reason, and the next one is read."""
    first, second = read(har([value, entry()]))
    assert isinstance(second, Observation)
    assert first == reason or not reason


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "is not JSON|ends early|not HAR"),
        (b"no har", "is not JSON"),
        (b'{"log":{"entries":[]}}', "no log.entries"),
        (b'{"openapi":"3.1.0"}', "no log.entries"),
        (b"[1,2]", "no log.entries"),
        (har([entry(), entry()])[:-300], r"after entry 1 \(1 entry before that place was read"),
        (b"PK\x03\x04zip", "ZIP"),
        ('{"log":1}'.encode("utf-16"), "UTF-16"),
        (b"\x1f\x8bno gzip", "is not JSON"),
        (har([entry(), {"bodySize": 10**30}]), "has a number that is too large after entry 1"),
        (har([{"time": 0}]).replace(b"0}", b"1e999}"), r"has a number that is too large \("),
        (b'{"log":{"entries":["overflow" no]}}', "is not JSON"),
        (b'{"log":{"entries":["\xff\xfe"]}}', "is not JSON"),
        (b'{"log":{"entries":[{"request":' + b"[" * 100_000, "is nested deeper than 512 levels"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested deeper than 512 levels"),
        (
            har([entry()] * 500)[:-2] + b"," + b"[" * 100_000,
            "is nested deeper than 512 levels after entry .*before that place",
        ),
    ],
)
def test_what_is_no_har_is_one_clear_error(raw: bytes, problem: str) -> None:
    """It names the file, and how much was read."""
    with pytest.raises(UsageError, match=problem) as raised:
        read(raw)
    assert raised.value.where == "a.har"


def test_a_byte_order_mark_and_gzip_are_accepted() -> None:
    """Both are common, and neither leaves a doubt about the content."""
    plain = har([entry()])
    assert read(b"\xef\xbb\xbf" + plain) == read(plain) == read(gzip.compress(plain))
