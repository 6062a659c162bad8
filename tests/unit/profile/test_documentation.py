"""Each fact is documented from its declaration, and a limit of the command line is held to its bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Annotated

import pytest

from conformance.checks.catalog import explanation
from conformance.contract import load_contract
from conformance.core.errors import UsageError
from conformance.profile.documentation import all_facts, fact_documentation
from conformance.profile.facts import Positive, Text, attributes_of, fact
from conformance.profile.model import Limits
from conformance.profile.overrides import override_limits
from conformance.profile.schema import document_schema
from conformance.profile.structure import structure_problems

FACTS = {one.key: one for one in all_facts()}


def test_one_page_shows_every_fact() -> None:
    """`conformance explain profile` names each fact with its description."""
    page = "\n".join(explanation("profile"))
    assert all(f"{fact.key}  {fact.description}" in page for fact in FACTS.values())


def test_every_fact_says_what_it_is() -> None:
    """A key that stands in a profile by a name of the interface's has a description and a type."""
    assert [key for key, one in FACTS.items() if not one.description and not key.endswith("NAME")] == []
    assert [key for key, one in FACTS.items() if not one.type] == []


def test_every_fact_that_a_requirement_needs_is_documented() -> None:
    """`conformance explain` knows each key that a requirement names."""
    for requirement in load_contract().requirements.values():
        for key in requirement.facts:
            assert fact_documentation(key).key == key


def test_a_fact_is_documented_at_a_key_as_a_profile_has_it() -> None:
    """Names of the owner's own stand for NAME; what may be excluded, overridden or templated is said."""
    url = fact_documentation("fixtures.cart.open.http.url")
    assert (url.required, url.placeholders, url.excludable) == (True, True, False)
    assert (url.description, url.type) == (FACTS["fixtures.NAME.NAME.http.url"].description, "a string, not empty")
    rate = fact_documentation("limits.rate")
    assert (rate.type, rate.limit, rate.excludable) == ("a number, 0.1 or more", "--limit rate=VALUE", False)
    assert fact_documentation("oauth.algorithms").default == ["ES256"]
    assert fact_documentation("search.item_id").excludable
    assert fact_documentation("search.item_id.none") == fact_documentation("search.item_id")


def test_the_default_that_is_documented_is_the_default_of_the_model() -> None:
    """Of [limits], as of every table, the schema and the frozen values come from one declaration."""
    documented = {key.partition(".")[2]: one.default for key, one in FACTS.items() if key.startswith("limits.")}
    assert documented == {name: getattr(Limits(), name) or documented[name] for name in documented}
    published = json.loads((resources.files("conformance.profile") / "profile.schema.json").read_bytes())
    assert published["$defs"]["Limits"]["properties"]["max_requests"]["default"] == Limits().max_requests


@pytest.mark.parametrize("key", ["limits.rat", "limit", "operations.x.boddy", "search.query.q"])
def test_what_is_no_fact_is_refused_with_the_nearest(key: str) -> None:
    with pytest.raises(UsageError, match="there is no fact"):
        fact_documentation(key)


def test_explain_prints_a_fact_and_the_requirements_that_need_it() -> None:
    """`conformance explain profile.KEY`."""
    text = "\n".join(explanation("profile.idempotency.format"))
    assert "The format of a key" in text
    assert '"uuid", "any" or { pattern' in text
    assert "IDEM-10" in text


def test_explain_names_the_requirements_of_a_table_by_its_parts_and_of_a_part_by_its_table() -> None:
    """A requirement may name a fact within, or the table as a whole."""
    assert "CONF-2" in list(explanation("profile.transitions"))[-1]
    within = list(explanation("profile.effects.createInstallationWebhook.within_s"))[-1]
    assert "none needs it by itself; [effects]: " in within and "IDEM-2" in within
    assert list(explanation("profile.limits.rate"))[-1].endswith("none needs it by itself")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rate", "0", "limits.rate: must be a number, not '0' (0.1 or more)"),
        ("rate", "inf", "limits.rate: must be a number, not 'inf' (0.1 or more)"),
        ("rate", "null", "limits.rate: must be a number, not 'null' (0.1 or more)"),
        ("max_requests", "1.5", "limits.max_requests: must be an integer, not '1.5' (1 or more)"),
        ("read_only", "perhaps", "limits.read_only: must be true or false, not 'perhaps'"),
        ("timeout", "3", "limits.timeout: there is no such limit (did you mean timeout_s?)"),
        (
            "proxy",
            "localhost",
            "limits.proxy: 'localhost' is not an http or https URL: write http://localhost, or https://localhost",
        ),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(name: str, text: str, message: str) -> None:
    """By the bounds that its fact declares."""
    with pytest.raises(UsageError) as raised:
        override_limits(Limits(), {name: text})
    assert str(raised.value) == message


def test_a_limit_of_the_command_line_takes_the_place_of_the_profiles() -> None:
    """As the type that its fact declares; the others stay."""
    limits = override_limits(Limits(rate=5.0), {"read_only": "true", "max_requests": "7", "patience_s": "0"})
    assert limits == Limits(rate=5.0, read_only=True, max_requests=7, patience_s=0.0)


@dataclass(frozen=True)
class Shelf:
    width_m: Annotated[Positive, fact("How wide it is.")]
    shop: Annotated[Text, fact("Where it stands.", key="place.shop", table="Where it is.")] = "any"


def test_a_fact_is_one_declaration() -> None:
    """Schema, messages and values follow from a field: its key, its bounds, its default, what it says of itself."""
    schema = document_schema(Shelf)
    assert schema["required"] == ["width_m"]
    assert schema["properties"]["place"]["description"] == "Where it is."
    assert schema["properties"]["place"]["properties"]["shop"]["default"] == "any"
    (lacking,) = structure_problems({}, schema)
    assert (lacking.message, lacking.hint) == ("lacks the key width_m", "how wide it is")
    (bounds,) = structure_problems({"width_m": 0}, schema)
    assert bounds.message == "must be more than 0, not 0"
    (unknown,) = structure_problems({"width_m": 1, "place": {"shpo": "x"}}, schema)
    assert (unknown.key, unknown.hint) == (("place", "shpo"), "did you mean shop?")
    assert attributes_of(Shelf, {"width_m": 1, "place": {"shop": "x"}}) == {"width_m": 1, "shop": "x"}
