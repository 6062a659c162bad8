"""Each way to get a profile wrong gives one clear line: file, line, key, what, and what to do."""

from __future__ import annotations

import copy
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.errors import ProfileError
from conformance.profile import load_profile, profile_from_document
from conformance.profile.source import key_lines
from tests.support.paths import PROFILES

HEAD = 'name = "x"\nbase_url = "http://127.0.0.1:8080"\n\n[authorization]\nformat = "Bearer {key}"\n'
TEMPLATE = tomllib.loads((PROFILES / "template.toml").read_text(encoding="utf-8"))
FILES = {
    "good.yaml": "components:\n  schemas:\n    ErrorBody: {type: object}\n",
    "broken.yaml": "a: [1,\nb: {\n",
    "broken.json": '{"a": 1,\n "b" 2}',
    "invalid.yaml": "PublicErrorResponse: {$ref: '#/Code'}\nCode: {type: object, properties: {code: {type: strin}}}\n",
    "dangling.yaml": "components:\n  schemas:\n    PublicErrorResponse: {$ref: '#/components/schemas/Nope'}\n",
    "outside.yaml": "PublicErrorResponse: {$ref: 'other.yaml#/X'}\n",
    "list.yaml": "- 1\n",
}


def _cases() -> list[tuple[str, str]]:
    blocks = (Path(__file__).parent / "bad_profiles.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
    return [(message, toml) for message, _, toml in (block.partition("\n") for block in blocks)]


def _complaint(directory: Path, text: str, base_url: str | None = None) -> str:
    path = directory / "p.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError) as raised:
        load_profile(path, base_url=base_url)
    return str(raised.value).replace(f"{directory}/", "")


@pytest.mark.parametrize(("message", "toml"), _cases(), ids=[message for message, _ in _cases()])
def test_a_wrong_profile_gives_this_line(message: str, toml: str, tmp_path: Path) -> None:
    """The message is exactly the one kept beside the wrong profile, and it is one line."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert _complaint(tmp_path, HEAD + toml) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.toml: lacks the key name (in reports and folder names)"),
        ('name = "x"\nbase_url = "http://h"\n', "p.toml: lacks the key authorization"),
        ('naem = "x"\n' + HEAD.partition("\n")[2], "p.toml:1: naem: unknown key (did you mean name?)"),
        (HEAD.replace('"x"', '"a b"'), "p.toml:1: name: must be letters, digits and - _ . only, not 'a b'"),
        (HEAD.replace('"x"', "1"), "p.toml:1: name: must be a string, not an integer"),
        (HEAD.replace("{key}", "key"), "p.toml:5: authorization.format: must hold {key} once, and no other brace"),
        (HEAD.replace("{key}", "{key} {key}"), "p.toml:5: authorization.format: must hold {key} once"),
        (HEAD.replace("Bearer ", "") + 'scheme = "required"', "p.toml:6: authorization.scheme: '{key}' has no scheme"),
        (HEAD.replace("Bearer ", "k:") + 'scheme_case = "any"', "authorization.scheme_case: 'k:{key}' has no scheme"),
        (HEAD.replace("format =", "fromat ="), "p.toml:5: authorization.fromat: unknown key (did you mean format?)"),
        (HEAD + "x = {\n a = 1\n}", "p.toml:6: is not valid TOML"),
    ],
)
def test_what_every_profile_needs_is_missed(text: str, message: str, tmp_path: Path) -> None:
    """Name, base URL and the form of Authorization are needed, and their absence or misspelling is said."""
    assert message in _complaint(tmp_path, text)


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "localhost", "shop.example/eu", "[::1]:80", "host:8080"])
def test_a_base_url_without_its_scheme_is_shown_with_it(url: str, tmp_path: Path) -> None:
    assert f"write http://{url}, or https://{url}" in _complaint(tmp_path, HEAD, base_url=url)


@pytest.mark.parametrize(
    "url",
    [
        "", "example.com", "//example.com", "ftp://example.com", "http://", "http://h:port", "http://h:99999",
        "http://h/a b", "http://h/?q=1", "http://h/#f", "http://user:password@h", "http://h/api/v1", "http://h/{unique}",
        "http://..", "http://a..b", f"http://{'a' * 64}.example", f"http://{'ä' * 64}.example",
        "http://h/a/../b", "http://h/./b", "http://h/%2e%2E/b", "http://h/%zz", "http://h/a%",
    ],
)  # fmt: skip
def test_what_is_no_base_url_is_refused(url: str, tmp_path: Path) -> None:
    """A base URL is http or https, has a host, and has neither query, fragment nor credentials."""
    assert "base_url: " in _complaint(tmp_path, HEAD.replace("http://127.0.0.1:8080", url))


@pytest.mark.parametrize(
    "url", ["http://h?token=hunter2", "http://h/#hunter2", "http://u:hunter2@h/?a", "nowhere?hunter2"]
)
def test_what_may_be_a_secret_in_a_url_is_not_repeated(url: str, tmp_path: Path) -> None:
    message = _complaint(tmp_path, HEAD.replace("http://127.0.0.1:8080", url))
    assert "base_url: " in message and "hunter2" not in message


def test_a_very_long_value_is_shown_in_part(tmp_path: Path) -> None:
    message = _complaint(tmp_path, HEAD.replace("http://127.0.0.1:8080", "http://h" + "x" * 100_000))
    assert "base_url: " in message and len(message) < 2_000 and "more characters" in message


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ('"verifier"', "must be true or false or an array, not a string"),
        ("[]", "needs true, false, or a list of verifier, redirect_uri, client, proof"),
        ('["verifer"]', "'verifer' is not allowed (did you mean verifier?)"),
    ],
)
def test_what_uses_a_code_up_is_a_truth_value_or_a_list(stated: str, message: str, tmp_path: Path) -> None:
    text = _complaint(tmp_path, f"{HEAD}[oauth]\nfailure_burns_code = {stated}\n")
    assert "oauth.failure_burns_code" in text
    assert message in text


def test_a_bad_override_is_blamed_on_the_command_line(tmp_path: Path) -> None:
    """A URL that was not read from the file is not blamed on the file, and no password is repeated."""
    message = _complaint(tmp_path, HEAD, base_url="nowhere")
    assert message == "--base-url: 'nowhere' is not an http or https URL"
    assert "hunter2" not in _complaint(tmp_path, HEAD, base_url="http://u:hunter2@h")


def test_the_first_mistake_of_the_file_is_told(tmp_path: Path) -> None:
    """Of several mistakes of one sort the one that stands first in the file is reported."""
    tail = "[hosted]\nx = 1\n[limits]\nrat = 1\n"
    assert _complaint(tmp_path, HEAD + tail).startswith("p.toml:7: hosted.x")


def test_lines_are_right_behind_multi_line_values(tmp_path: Path) -> None:
    """Multi-line strings and arrays, comments and `=` in strings do not shift the line that is named."""
    strings = '# [limits]\n[variables]\na = """\n[limits]\nrat = 1\n"""\n"b.c" = "x = 1"\n'
    tail = strings + '[webhooks]\nkept = [\n  "/a",\n]\nidd = "/i"\n'
    assert _complaint(tmp_path, HEAD + tail).startswith("p.toml:17: webhooks.idd: unknown key (did you mean id?)")


def test_a_line_is_found_at_once_behind_a_long_list(tmp_path: Path) -> None:
    """In time that grows with the file, not with its square: the list has an item on each line."""
    items = "".join(f'  {{ id = "cart-{number}", tags = ["]"] }}, # [{number}\n' for number in range(4_000))
    began = time.process_time()
    tail = f"[limits]\nrat = 1\n[fixtures.cart.open]\nvalues = [\n{items}]\n"
    assert _complaint(tmp_path, HEAD + tail).startswith("p.toml:7: limits.rat: unknown key")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "value",
    [
        '"""\n[limits]\n\\"\\"" # "\n"""""',
        "'''\n[limits]\n\\'''''",
        '[ # [\n\'[\', "\\"[", # ]\n]',
        '[{ a = "}", "#" = 1 },\n\n]',
        '"\u2028" # \u2028\n\n',
    ],
)
def test_no_value_shifts_the_lines_behind_it(value: str, tmp_path: Path) -> None:
    """Quotes, brackets, comments and separators that are no ends of lines, in values of any form."""
    path = tmp_path / "p.toml"
    path.write_text(f"[variables]\na = {value}\n[limits]\nrate = 1\n", encoding="utf-8")
    assert tomllib.loads(path.read_text(encoding="utf-8"))["limits"] == {"rate": 1}
    count = path.read_text(encoding="utf-8").count("\n")
    assert key_lines(path) == {"variables": 1, "variables.a": 2, "limits": count - 1, "limits.rate": count}


MISTAKES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(), st.dates(), st.text(max_size=6), st.just([]),
    st.text(alphabet='{}.:/"\n', max_size=6), st.just({}), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip


@given(st.data(), MISTAKES)
def test_whatever_is_wrong_is_a_profile_error_of_one_line(data: st.DataObject, mistake: Any) -> None:
    """Any value put anywhere into the template loads, or gives one line; nothing else is ever raised."""
    document = copy.deepcopy(TEMPLATE)
    holder: Any = document
    name = data.draw(st.sampled_from(list(holder)))
    while holder[name] and isinstance(holder[name], dict | list) and data.draw(st.integers(0, 3)):
        holder = holder[name]
        name = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[name] = mistake
    complaint = ""
    try:
        profile_from_document(document, directory=Path())
    except ProfileError as error:
        complaint = str(error)
    assert complaint.isprintable()


def test_a_missing_file_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"nope\.toml: cannot be read: No such file"):
        load_profile(tmp_path / "nope.toml")


def test_a_file_that_is_not_utf8_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b'name = "\xff"\n')
    with pytest.raises(ProfileError, match="is not UTF-8"):
        load_profile(tmp_path / "p.toml")


def test_a_document_without_file_names_the_key(tmp_path: Path) -> None:
    """Without a file there is no line, and the key leads."""
    with pytest.raises(ProfileError) as raised:
        profile_from_document({"name": "x", "base_url": 1, "authorization": {"format": "{key}"}}, directory=tmp_path)
    assert str(raised.value) == "base_url: must be a string, not an integer"


def test_every_key_has_its_line(tmp_path: Path) -> None:
    """Tables and their keys, behind values of several lines too; a file that cannot be read has none."""
    path = tmp_path / "p.toml"
    path.write_text('name = "x"\n\n[search]\nlocales = [\n  "de",\n]\npage_base = 1\n\n[operations.a.body]\nx = 1\n')
    assert key_lines(path) == {
        "name": 1, "search": 3, "search.locales": 4, "search.page_base": 7, "operations": 9, "operations.a": 9,
    }  # fmt: skip
    assert key_lines(tmp_path / "missing.toml") == key_lines(None) == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = " + "9" * 5_000, "has a number that is too long"),
        ("name = " + "[" * 5_000, "is nested too deeply"),
    ],
    ids=["digits", "levels"],
)
def test_a_file_that_no_parser_takes_is_said_plainly(text: str, problem: str, tmp_path: Path) -> None:
    """Python's own limits are not errors of the suite."""
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=problem):
        load_profile(file)
