"""What a right profile becomes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conformance.profile import Profile, load_profile, profile_from_document
from conformance.profile.behavior import RateLimit, Search
from conformance.profile.model import Limits, Schemas
from conformance.profile.resources import HttpCall
from tests.support.paths import PROFILES

TEMPLATE = PROFILES / "template.toml"
MINIMAL: dict[str, Any] = {"name": "x", "base_url": "http://h", "authorization": {"format": "{key}"}}


def _profile(directory: Path = Path(), **tables: Any) -> Profile:
    return profile_from_document({**MINIMAL, **tables}, directory=directory)


def test_name_base_url_and_authorization_are_enough() -> None:
    """A profile that states nothing else loads, and every fact is unstated."""
    profile = _profile()
    assert (profile.name, profile.base_url, profile.authorization.format) == ("x", "http://h", "{key}")
    assert (profile.limits, profile.schemas, profile.search) == (Limits(), Schemas(), Search())
    assert (profile.rate_limit, profile.idempotency, profile.oauth) == (RateLimit(), None, None)
    unstated = (profile.credentials, profile.fixtures, profile.operations, profile.transitions, profile.waivers)
    assert not any(unstated)


def test_the_template_loads_whole() -> None:
    """Every table of the template arrives in the profile."""
    profile = load_profile(TEMPLATE)
    assert profile.credentials["revoked"].status == "revoked"
    assert not profile.credentials["revoked"].active
    assert next(iter(profile.fixtures["cart"])) == "open"
    quoted = profile.fixtures["cart"]["quoted"]
    assert (quoted.name, quoted.origin, quoted.via) == ("cart.quoted", "open", ("quotePublicCart",))
    assert profile.fixtures["merchant"]["stocked"].reusable
    assert profile.operations["updateInstallationWebhook"].path == {"id": "{webhook.id}"}
    assert profile.transitions[1].after == ("checkoutPublicCart",)
    assert [sign.step for sign in profile.effects["createInstallationWebhook"]] == [1, 1]
    assert profile.oauth is not None
    assert profile.oauth.algorithms == ("ES256",)
    assert profile.idempotency is not None
    assert profile.idempotency.volatile == ("/requestId", "/meta/servedAt")
    assert (profile.path, profile.directory) == (TEMPLATE, TEMPLATE.parent)


def test_a_profile_named_by_a_relative_path_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs, Python files and certificates beside it are found from any folder: `profiles/mine.toml` is usual."""
    monkeypatch.chdir(PROFILES.parent)
    profile = load_profile(Path("profiles/template.toml"))
    assert (profile.path, profile.directory) == (Path("profiles/template.toml"), PROFILES)


def test_the_folder_of_a_profile_stays_the_same_when_the_current_folder_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fixture's function may change it, and other fixtures name programs and files beside the profile."""
    monkeypatch.chdir(PROFILES.parent)
    profile = load_profile(Path("profiles/template.toml"))
    monkeypatch.chdir("/")
    assert (profile.directory / "template.toml").is_file()


def test_what_the_template_offers_in_comments_loads_too() -> None:
    """A waiver as the template shows it is a valid one."""
    text = TEMPLATE.read_text(encoding="utf-8")
    waiver = re.sub(r"^# ?", "", text[text.index("# [[waivers]]") :], flags=re.MULTILINE)
    document = tomllib.loads(text[: text.index("# [[waivers]]")] + waiver)
    loaded = profile_from_document(document, directory=TEMPLATE.parent).waivers[0]
    assert (loaded.requirement, loaded.until) == ("RATE-3", "2026-12-31")


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.name)
def test_every_profile_of_the_house_loads(path: Path) -> None:
    """No profile in `profiles/` is refused."""
    assert load_profile(path).name


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://h/", "http://h"),
        ("https://h:8443/shop/", "https://h:8443/shop"),
        ("http://[::1]:80/a//", "http://[::1]:80/a"),
        ("http://h:", "http://h"),
        ("https://h:/shop/", "https://h/shop"),
        ("http://[::1]:/", "http://[::1]"),
    ],
)
def test_a_base_url_keeps_its_prefix_and_loses_its_last_slash(url: str, kept: str) -> None:
    """And the colon before an empty port, which is the default port (RFC 3986, section 6.2.3)."""
    assert _profile(base_url=url).base_url == kept
    assert profile_from_document(MINIMAL, directory=Path(), base_url=url).base_url == kept


def test_known_placeholders_are_filled_when_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables and the environment are filled in everywhere; what only a run knows stays a placeholder."""
    monkeypatch.setenv("SUITE_TEST_HOST", "h.example")
    monkeypatch.setenv("SUITE_TEST_ODD", "o{v}r")
    profile = profile_from_document(
        {
            **MINIMAL,
            "base_url": "http://{env.SUITE_TEST_HOST}/{var.a}",
            "variables": {"a": "1", "b": "{var.a}2"},
            "effects": {
                "quotePublicCart": {
                    "pointer": "",
                    "http": {"url": "http://{env.SUITE_TEST_HOST}/{{x}}/{var.b}/{unique}", "json": ["{var.a}"]},
                }
            },
        },
        directory=Path(),
        variables={"a": "{env.SUITE_TEST_ODD}"},
    )
    assert profile.base_url == "http://h.example/o{v}r"
    assert profile.variables == {"a": "o{v}r", "b": "o{v}r2"}
    call = HttpCall("http://h.example/{{x}}/o{{v}}r2/{unique}", json=["o{{v}}r"])
    assert profile.effects["quotePublicCart"][0].http == call


@pytest.mark.parametrize(
    "tables",
    [
        {"fixtures": {"cart": {"none": "there are no carts"}}},
        {"credentials": {"revoked": {"none": "keys end with their installation", "status": "revoked"}}},
    ],
    ids=["a kind of fixtures", "a credential"],
)
def test_an_exclusion_is_no_place_where_a_secret_could_be_seen(tables: dict[str, Any]) -> None:
    """It stands where a table would, and is none."""
    assert not _profile(**tables).credentials


def test_a_pattern_may_hold_braces() -> None:
    """A regular expression, a pointer or free text is not a template."""
    table = {"carrier": "header", "name": "K", "format": {"pattern": "[a-z]{4,8}"}}
    profile = _profile(idempotency=table, description="{not one}", errors={"volatile": ["/{x}"]})
    assert profile.idempotency is not None
    assert (profile.idempotency.format, profile.idempotency.pattern) == ("pattern", "[a-z]{4,8}")
    assert (profile.description, profile.errors_volatile) == ("{not one}", ("/{x}",))


@pytest.mark.parametrize("where", ["", "/id"])
def test_an_item_may_be_its_own_id(where: str) -> None:
    """The empty pointer states so; without a pointer nothing is stated."""
    assert _profile(search={"item_id": where}).search.item_id == where
    assert _profile().search.item_id is None


def test_a_date_may_be_written_as_toml_date() -> None:
    """`until = 2026-12-31` and `until = "2026-12-31"` are the same."""
    text = 'requirement = "RATE-3"\nreason = "r"\nowner = "o"\nissue = "i"\nuntil = 2026-12-31'
    assert _profile(waivers=[tomllib.loads(text)]).waivers[0].until == "2026-12-31"


def test_programs_and_files_are_found_from_the_profiles_directory(tmp_path: Path) -> None:
    """Relative paths start from the profile, wherever the suite was started; bare program names do not."""
    credentials = {
        "a": {"secret": {"file": "keys/a"}, "scopes": []},
        "b": {"secret": {"command": ["./b", "./c"]}, "scopes": []},
        "c": {"secret": {"command": ["pass", "x"]}, "scopes": []},
    }
    sources = {name: c.source for name, c in _profile(tmp_path, credentials=credentials).credentials.items()}
    assert sources["a"].file == tmp_path / "keys/a"
    assert sources["b"].command == (str(tmp_path.resolve() / "b"), "./c")
    assert sources["c"].command == ("pass", "x")


def test_equal_profiles_have_equal_digests() -> None:
    """Comments and order of spelling are nothing to the digest; overrides and facts are."""
    text = TEMPLATE.read_text(encoding="utf-8")
    same = profile_from_document(tomllib.loads(text), directory=TEMPLATE.parent)
    other = profile_from_document(tomllib.loads(text), directory=TEMPLATE.parent, base_url="http://other")
    assert load_profile(TEMPLATE).digest == same.digest != other.digest


def test_loading_leaves_the_document_alone() -> None:
    document = tomllib.loads(TEMPLATE.read_text(encoding="utf-8"))
    before = repr(document)
    profile_from_document(
        document, directory=TEMPLATE.parent, base_url="http://other", variables={"control": "http://c"}
    )
    assert repr(document) == before
