"""Evidence is redacted, bounded and whole; the journal keeps every line that it was given, or says that it cannot."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.client.recorder import (
    BODY_LIMIT,
    HEADER_COUNT,
    HEADER_LIMIT,
    HEADERS_LIMIT,
    Recorder,
    current_check,
    redact_exchange,
)
from conformance.client.redaction.secrets import WHOLE_HEADERS, Secrets
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.errors import JournalError
from conformance.core.model import Exchange, Finding
from conformance.journal.journal import Journal
from conformance.journal.lines import ExchangeRecorded, FixtureSpent, SegmentEnded, encode
from conformance.journal.reader import read
from tests.support.values import replace

KEY = "sk_live_0123456789abcdef"
REQUEST = Request(load_contract().operations["getApiKeyIdentity"], credential="full")


def answer(**changes: Any) -> Answer:
    plain = {"id": "x1", "request": REQUEST, "url": "http://t/a", "sent_headers": (), "sent_body": b"", "status": 200}
    return Answer(**{**plain, **changes})


def written(
    tmp_path: Path, one: Answer, secrets: Secrets | None = None, findings: tuple[Finding, ...] = ()
) -> Exchange:
    """The exchange as it stands in the file, and nothing of it was changed on the way."""
    if secrets is None:
        secrets = Secrets()
        secrets.add_credential("full", KEY)
    path = tmp_path / "journal.ndjson"
    journal = Journal(path)
    exchange = Recorder(journal, secrets, lambda _: (("STA-1",), findings)).record(one)
    journal.close()
    (line,) = read(path)
    assert KEY not in path.read_text()
    assert line == ExchangeRecorded(exchange)
    return exchange


@pytest.mark.parametrize("name", sorted(WHOLE_HEADERS | {"Authorization", "DPoP", "Set-Cookie"}))
def test_some_headers_are_never_written(tmp_path: Path, name: str) -> None:
    """Whatever an Authorization, DPoP or Cookie header holds, in either direction, is not written."""
    value = "nobody knows this value 4711"
    exchange = written(tmp_path, answer(sent_headers=((name, value),), headers=((name, value),)))
    assert value not in str(exchange)
    assert exchange.response.headers == ((name, "«redacted»"),)
    expected = "«credential:full»" if name.lower() == "authorization" else f"«redacted:{name.lower()}»"
    assert exchange.request.headers == ((name, expected),)


def test_what_a_request_shows_of_a_header_is_written_redacted(tmp_path: Path) -> None:
    """A check may state what evidence shows of a header; a key in that text is redacted like any other."""
    good = answer()
    evidence = {("authorization", "Bearer x"): "Bearer «credential:full|drop:1»", ("cookie", "a"): f"a={KEY}"}
    headers = (("Authorization", "Bearer x"), ("Cookie", "a"), ("Authorization", "Bearer y"))
    exchange = written(
        tmp_path, replace(good, request=replace(good.request, evidence_texts=evidence), sent_headers=headers)
    )
    values = [value for _, value in exchange.request.headers]
    assert values == ["Bearer «credential:full|drop:1»", "a=«credential:full»", "«credential:full»"]


def test_no_field_keeps_a_secret(tmp_path: Path) -> None:
    """URL, headers and their names, bodies, trouble and findings: all are cleaned."""
    exchange = written(
        tmp_path,
        answer(
            url=f"http://t/a?key={KEY}",
            sent_headers=(("X-Api-Key", KEY), (f"X-{KEY}", "a")),
            sent_body=f'{{"k": "{KEY}"}}'.encode(),
            headers=((f"X-{KEY}", "a"), ("Location", f"/{KEY}")),
            body=f"<p>{KEY}</p>".encode(),
            trouble=f"cannot {KEY}",
        ),
        findings=(Finding("ERR-2", "credential", f"repeats {KEY}"), Finding("ANS-2", f"member:/{KEY}", "a member")),
    )
    assert str(exchange).count("«credential:full»") == 10


def test_sizes_are_bounded(tmp_path: Path) -> None:
    """However much came, an exchange is small, says what was cut, and how much there was."""
    body = b"x" * 3_000_000
    headers = tuple((f"X-{number}" + "n" * 9000, "v" * 9000) for number in range(200))
    exchange = written(tmp_path, answer(body=body, headers=headers, url="http://t/" + "u" * 90_000, trouble="t" * 9000))
    assert (len(exchange.response.body), exchange.response.body_bytes) == (BODY_LIMIT, len(body))
    assert exchange.response.truncated
    assert len(exchange.response.headers) == HEADER_COUNT
    assert exchange.response.headers[0] == ("«cut»", f"{200 - HEADER_COUNT + 1} more headers")
    assert all(len(name) <= HEADER_LIMIT and len(value) <= HEADER_LIMIT for name, value in exchange.response.headers)
    assert max(len(exchange.url), len(exchange.trouble)) <= HEADER_LIMIT


def test_the_headers_of_a_message_are_bounded_together(tmp_path: Path) -> None:
    """The longest are cut and say so; the others are whole, and no invariant sees less of them."""
    long = tuple((f"X-{number}", "v" * 2_000) for number in range(60))
    short = (("Cache-Control", "no-store"), ("Retry-After", "7"), ("X-Y", "w" * 100))
    judged: list[Answer] = []

    def judge(one: Answer) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        judged.append(one)
        return (), ()

    one = answer(headers=(*long, *short), sent_headers=(*short, *long))
    exchange = Recorder(Journal(tmp_path / "journal.ndjson"), Secrets(), judge).record(one)
    for message in (exchange.request, exchange.response):
        assert sum(len(name) + len(value) for name, value in message.headers) <= HEADERS_LIMIT
        assert set(short) <= set(message.headers)
        values = [value for name, value in message.headers if (name, value) not in short]
        assert len(values) == len(long)
        assert all(value.endswith("v…«cut: 2,000 characters in all»") for value in values)
    assert judged == [one]
    assert (tmp_path / "journal.ndjson").stat().st_size < 3 * HEADERS_LIMIT


def test_headers_that_fit_are_whole(tmp_path: Path) -> None:
    """Up to the last character; one more and the longest is cut."""
    headers = (*((f"X-{number}", "v" * 2_000) for number in range(4)), ("X", "w" * (HEADERS_LIMIT - 4 * 2_003 - 1)))
    assert written(tmp_path, answer(headers=headers)).response.headers == headers
    (tmp_path / "more").mkdir()
    (tmp_path / "many").mkdir()
    many = (("A", "b"),) * HEADER_COUNT
    assert written(tmp_path / "many", answer(headers=many)).response.headers == many
    cut = written(tmp_path / "more", answer(headers=(*headers, ("Y", "")))).response.headers
    assert [value.count("«cut") for _, value in cut] == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("at", range(1_900, HEADER_LIMIT + 20, 7))
def test_no_part_of_a_secret_is_left_where_a_header_is_cut(tmp_path: Path, at: int) -> None:
    """It is redacted first, and shortened afterwards."""
    text = "x" * (at % 140) + KEY + "x" * 2_000
    headers = (("X-A", "x" * at + KEY + "x" * 900), *((f"X-{number}", text) for number in range(60)))
    assert "sk_l" not in str(written(tmp_path, answer(headers=headers, sent_headers=headers)))


def test_what_fits_is_whole(tmp_path: Path) -> None:
    """A body of just the limit is not called truncated; one byte more is."""
    assert not written(tmp_path, answer(body=b"y" * BODY_LIMIT)).response.truncated
    (tmp_path / "more").mkdir()
    assert written(tmp_path / "more", answer(body=b"y" * (BODY_LIMIT + 1))).response.truncated


def test_the_tail_of_a_body_that_was_read_in_part_is_dropped(tmp_path: Path) -> None:
    """What comes before shrinks as secrets are taken out of it: the torn end must not move to where it is shown."""
    ticket = "tk_93ba77d1c05e4f2288aa10ff"
    secrets = Secrets()
    secrets.add_ephemeral_secrets("ticket", [ticket])
    body = (ticket * 40 + ticket[:20]).encode()
    exchange = written(tmp_path, answer(body=body, truncated=True), secrets)
    assert "tk_93ba" not in exchange.response.body
    assert exchange.response.truncated


@pytest.mark.parametrize("at", range(HEADER_LIMIT - 22, HEADER_LIMIT + 1, 3))
def test_no_part_of_a_secret_is_left_where_a_finding_is_cut(tmp_path: Path, at: int) -> None:
    """Its message is cleaned first, as are the URL and the trouble."""
    ticket = "tk_93ba77d1c05e4f2288aa10ff"
    secrets = Secrets()
    secrets.add_ephemeral_secrets("ticket", [ticket])
    text = "x" * at + ticket + "x" * 9000
    one = answer(url=f"http://{text}", trouble=text)
    exchange = written(tmp_path, one, secrets, (Finding("ERR-2", "credential", text),))
    assert "tk_9" not in str(exchange)


@pytest.mark.parametrize("length", [40, 700, 3000])
@pytest.mark.parametrize("lasting", [True, False])
def test_a_secret_across_the_cut_is_not_written_in_part(tmp_path: Path, length: int, lasting: bool) -> None:
    """Where the body is cut, and wherever a secret stands there, no piece of it is left over."""
    secret = ("Zq7-" * length)[:length]
    secrets = Secrets()
    if lasting:
        secrets.add_credential("full", secret)
    else:
        secrets.add_ephemeral_secrets("code", [secret])
    for start in range(BODY_LIMIT - length - 40, BODY_LIMIT + 40, length // 3 + 7):
        for filler in ("." * start, (secret + ".") * (start // (length + 1)) + "." * (start % (length + 1))):
            folder = tmp_path / f"{start}-{filler[0] == '.'}"
            folder.mkdir()
            body = f"{filler}{secret}{'.' * 99}{secret * 5}{'.' * 30_000}".encode()
            exchange = written(folder, answer(body=body), secrets)
            assert "Zq7" not in exchange.response.body


def test_the_member_across_the_cut_is_not_written_in_part(tmp_path: Path) -> None:
    """A long token that nobody knew, cut off by the limit, is emptied all the same."""
    body = b'{"pad": "' + b"." * (BODY_LIMIT - 100) + b'", "access_token": "' + b"Zq7-" * 9000 + b'"}'
    assert "Zq7" not in written(tmp_path, answer(body=body)).response.body


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b"\xed\xa0\x80", "\u2028 \x1b[31m".encode(), b"\r\n\n"])
def test_bytes_of_any_kind_are_written_as_text(tmp_path: Path, body: bytes) -> None:
    """What is not UTF-8 is escaped; the line stays one line."""
    assert written(tmp_path, answer(body=body)).response.body == body.decode("utf-8", "backslashreplace")


def test_an_exchange_names_the_check_it_was_sent_for(tmp_path: Path) -> None:
    """Which check, why, after what, and what the invariants saw."""
    token = current_check.set("check_a::b[c]")
    try:
        exchange = written(tmp_path, answer(purpose="control", status=None, trouble="reset"))
    finally:
        current_check.reset(token)
    assert (exchange.check, exchange.purpose, exchange.judged) == ("check_a::b[c]", "control", ("STA-1",))
    assert (exchange.status, exchange.trouble) == (None, "reset")


def test_what_only_another_worker_knew_is_taken_out_of_an_exchange(tmp_path: Path) -> None:
    """Wherever a target's words stand, or words to it; its names are our own, and stay."""
    one = answer(
        url="http://t/later",
        sent_headers=(("later", "later"),),
        sent_body=b"later",
        headers=(("later", "later"),),
        body=b"later",
        trouble="later",
        purpose="later",
    )
    exchange = redact_exchange(written(tmp_path, one), lambda text: text.replace("later", "«ticket»"))
    assert str(exchange).count("later") == 1
    assert exchange.purpose == "later"
    assert str(exchange).count("«ticket»") == 8
    found = replace(exchange, findings=(Finding("ENV-4", "later", "shows later"),))
    assert "later" not in str(redact_exchange(found, lambda text: text.replace("later", "«ticket»")).findings)


# The journal


def _file(tmp_path: Path, raw: bytes) -> Path:
    path = tmp_path / "journal.ndjson"
    path.write_bytes(raw)
    return path


def test_lines_are_whole_under_many_writers(tmp_path: Path) -> None:
    """Threads that write at once do not mix their lines, however long these are."""
    path = tmp_path / "journal.ndjson"
    journal = Journal(path)

    def write(number: int) -> None:
        for line in range(50):
            journal.append(FixtureSpent(f"{number} " + "é\u2028\n" * 2000, line))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    lines = [line for line in read(path) if isinstance(line, FixtureSpent)]
    assert len(lines) == 200
    assert all(line.name[2:] == "é\u2028\n" * 2000 for line in lines)
    assert [line.place for line in lines if line.name.startswith("2 ")] == list(range(50))


def test_a_line_is_in_the_file_as_soon_as_it_was_given(tmp_path: Path) -> None:
    """A run that is killed keeps all that it had written: nothing waits in a buffer."""
    journal = Journal(tmp_path / "journal.ndjson")
    journal.append(FixtureSpent("cart.open", 1))
    assert list(read(journal.path)) == [FixtureSpent("cart.open", 1)]
    journal.close()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """At whatever byte the last line was torn, the lines before it are read."""
    whole, torn = encode(FixtureSpent("a", 1)), encode(FixtureSpent("é\U0001f600", 2)).rstrip()
    for length in range(len(torn)):
        assert list(read(_file(tmp_path, whole + torn[:length]))) == [FixtureSpent("a", 1)]
    assert len(list(read(_file(tmp_path, whole + torn)))) == 2


@pytest.mark.parametrize(
    "bad", [b'{"kind":"resu', b"not json", b"[1]", b"null", b'{"no": "kind"}', b"\xff\xfe", b'"text"']
)
def test_a_damaged_middle_line_is_an_error(tmp_path: Path, bad: bytes) -> None:
    """What is damaged in the middle was not torn by a kill: the file cannot be believed, and the line is named."""
    path = _file(tmp_path, encode(FixtureSpent("a", 1)) + bad + b"\n" + encode(SegmentEnded("")))
    with pytest.raises(JournalError, match="line 2") as raised:
        list(read(path))
    assert raised.value.where == str(path)


def test_a_journal_that_is_not_there(tmp_path: Path) -> None:
    """No file, a folder, no permission to create: JournalError, with the place."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(JournalError) as raised:
            list(read(path))
        assert str(path) in str(raised.value)
    with pytest.raises(JournalError):
        Journal(tmp_path / "no folder" / "journal.ndjson")


def test_a_full_disk_is_told() -> None:
    """Where the line cannot be written, JournalError says why, and the journal remembers."""
    journal = Journal(Path("/dev/full"))
    with pytest.raises(JournalError, match="No space left") as raised:
        journal.append(FixtureSpent("a", 1))
    assert "space" in raised.value.hint
    assert journal.write_error == "No space left on device"
    journal.close()


def test_a_disk_that_fills_up_keeps_the_lines_before(tmp_path: Path) -> None:
    """A line that did not fit leaves nothing behind: all before it are read, and those that come when there is room."""
    program = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from conformance.journal.journal import Journal
        from conformance.journal.lines import FixtureSpent
        from conformance.core.errors import JournalError
        journal = Journal(Path(sys.argv[1]))
        try:
            for number in range(1000):
                journal.append(FixtureSpent("a", number))
        except JournalError as error:
            print(number, error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        journal.append(FixtureSpent("a", number))
        """
    )
    path = tmp_path / "journal.ndjson"

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))

    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], preexec_fn=small_files, capture_output=True, text=True, timeout=30
    )
    reached, _, message = done.stdout.strip().partition(" ")
    assert re.search(r"File too large \(raise the limit .*ulimit -f.*\)$", message), done.stderr
    assert [line.place for line in read(path) if isinstance(line, FixtureSpent)] == list(range(int(reached) + 1))
    assert json.loads(path.read_bytes().splitlines()[0])["place"] == 0
