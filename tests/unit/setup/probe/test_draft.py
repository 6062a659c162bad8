"""The text of a draft: it reads back as what was stated, and nothing in it acts."""

from __future__ import annotations

import string
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.client.redaction.secrets import Secrets
from conformance.setup.probe.draft import Draft, format_comment, format_key, format_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_reads_back_as_itself(value: Any) -> None:
    """Whatever a profile may hold: quotes, controls, half the planes of Unicode, empty keys, negative zero."""
    assert tomllib.loads(f"x = {format_value(value)}")["x"] == value


@given(TEXTS)
def test_a_key_reads_back_as_itself(name: str) -> None:
    assert tomllib.loads(f"{format_key(name)} = 1") == {name: 1}


@given(st.text())
def test_a_text_is_one_line_without_anything_that_acts(text: str) -> None:
    """Half a surrogate pair, which TOML cannot hold, does not break the file; nothing invisible stands in it."""
    written = format_value(text)
    assert written.isprintable() or all(c.isprintable() or c.isspace() or ord(c) > 0x2FF for c in written)
    assert len(written.splitlines()) == 1
    tomllib.loads(f"x = {written}")


@given(st.text())
def test_a_comment_ends_no_line_and_begins_none(text: str) -> None:
    """What a target said cannot become a statement of the profile."""
    assert tomllib.loads(f"{format_comment(text)}\nx = 1") == {"x": 1}


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), object()])
def test_what_toml_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"no |TOML item"):
        format_value(value)


def _draft() -> Draft:
    given = {"search": {"query": {"q": "hat"}}, "fixtures": {"cart": {"open": {"values": [{"id": "c1"}]}}}}
    return Draft(user_facts=given, source="known.toml")


def test_a_draft_reads_back_as_its_facts() -> None:
    """Tables, tables of tables, arrays of tables; notes and TODOs state nothing."""
    draft = _draft()
    draft.state(("name",), "mine", "as given")
    draft.state(("credentials", "full", "scopes"), ["catalog:read"], "seen")
    draft.state(("operations", "quotePublicCart", "path"), {"cartId": "{cart.id}"}, "answered 200")
    draft.state(("transitions",), [{"operation": "a", "fixture": "cart.open"}], "409")
    draft.note("oauth", "the clock\nname = 'evil'")
    draft.todo("effects", "[effects.OPERATION]", "how to see it")
    text = draft.to_toml(["a head", ""])
    assert tomllib.loads(text) == draft.facts
    assert "# [effects.OPERATION] # TODO how to see it" in text
    assert draft.todo_count == 1


def test_what_a_person_stated_stays() -> None:
    """What was seen otherwise is told as a note."""
    draft = _draft()
    draft.state(("search", "query", "q"), "shoe", "answered 200")
    draft.retract(("search", "query", "q"))
    assert draft.get("search", "query", "q") == "hat"
    assert "shoe" in draft.to_toml([])
    assert tomllib.loads(draft.to_toml([]))["search"]["query"] == {"q": "hat"}


def test_every_line_says_what_it_rests_on() -> None:
    """A statement has its evidence behind it or above it; a table that a person stated says so once."""
    draft = _draft()
    draft.state(("idempotency", "carrier"), "header", "the same twice")
    draft.state(("idempotency", "name"), "Idempotency-Key", "w" * 200)
    lines = draft.to_toml([]).splitlines()
    assert 'carrier = "header"  # the same twice' in lines
    assert lines[lines.index('name = "Idempotency-Key"') - 1] == "# " + "w" * 200
    assert lines[lines.index("[fixtures.cart.open]") - 1] == "# stated in known.toml"


@pytest.mark.parametrize("value", ["{env.HOME}", ["/{var.control}"], {"a": "x{env.PATH}"}])
def test_what_a_target_said_is_never_filled_in(value: Any) -> None:
    """Or a target could learn the environment of whoever runs the draft."""
    draft = Draft()
    draft.state(("errors", "volatile"), value, "seen")
    assert not draft.has("errors", "volatile")


@pytest.mark.parametrize("name", [string.ascii_letters, "with space", "", "ü", "a.b"])
def test_a_name_of_a_table_reads_back(name: str) -> None:
    draft = Draft()
    draft.state(("credentials", name, "scopes"), [], "seen")
    assert tomllib.loads(draft.to_toml([]))["credentials"] == {name: {"scopes": []}}


def test_a_secret_is_in_no_part_of_a_draft() -> None:
    """Wherever a target put it; and the text is TOML all the same."""
    secrets = Secrets()
    secrets.add_credential("full", "sk_live_51Habc")
    draft = _draft()
    draft.state(("credentials", "full", "installation"), "of sk_live_51Habc", "says sk_live_51Habc")
    draft.state(("search", "category"), "sk_live_51Habc", "seen")
    draft.state(("effects", "sk_live_51Habc", "pointer"), "/sk_live_51Habc", "seen")
    draft.note("oauth", "sk_live_51Habc")
    draft.todo("effects", "x = sk_live_51Habc", "sk_live_51Habc")
    draft.redact(secrets, secrets)
    text = draft.to_toml([])
    assert "51Habc" not in text
    assert text.count("«credential:full»") == 8
    tomllib.loads(text)


def test_only_what_was_stated_is_called_so() -> None:
    """Not what the probe found beside it, and not what another option stated; the rest has its own evidence."""
    stated = {"search": {"query": {"q": "hat"}}, "variables": {"a": "1", "b": "2"}, "oauth": {"client_id": "c"}}
    draft = Draft(user_facts=stated, source="known.toml", other_sources={("variables", "b"): "from --var"})
    draft.state(("search", "query", "market"), "NL", "answered 200")
    draft.state(("search", "page_base"), 1, "page 0 gets 400")
    draft.facts["search"]["item_id"] = "/id"
    lines = draft.to_toml([]).splitlines()
    query = 'query = {q = "hat", market = "NL"}'
    assert f"{query}  # q stated in known.toml; answered 200" in lines
    assert 'item_id = "/id"' in lines
    assert 'a = "1"  # stated in known.toml' in lines
    assert 'b = "2"  # from --var' in lines
    assert lines[lines.index("[oauth]") - 1] == "# stated in known.toml"


def test_a_todo_stands_under_its_operation_once() -> None:
    """Where the operation has no facts, under a comment with its name; the same line has all that need it."""
    draft = Draft()
    draft.state(("operations", "quotePublicCart", "path"), {"cartId": "{cart.id}"}, "answered 200")
    draft.state(("operations", "checkoutPublicCart", "path"), {"cartId": "{cart.id}"}, "answered 200")
    for name in ("quotePublicCart", "revokePublicCart"):
        draft.todo(f"operations.{name}", "body = { ... }", "a valid body")
        draft.todo("fixtures", "[fixtures.cart.STATE]", "the source of each cart", name)
    draft.todo("operations.quotePublicCart", "body = { ... }", "a valid body")
    lines = draft.to_toml([]).splitlines()
    todo = "# body = { ... } # TODO a valid body"
    assert lines[lines.index("[operations.quotePublicCart]") + 2] == todo
    assert lines[lines.index("# [operations.revokePublicCart]") + 1] == todo
    assert lines.count(todo) == 2
    assert (
        lines.count("# [fixtures.cart.STATE] # TODO the source of each cart, for quotePublicCart, revokePublicCart")
        == 1
    )
    assert draft.todo_count == 3


def test_a_todo_in_the_evidence_counts_as_one() -> None:
    draft = Draft()
    draft.state(("credentials", "full", "scopes"), [], "TODO not probed")
    draft.todo("credentials", "", "another key")
    draft.drop_todo("credentials", "no such line")
    assert draft.todo_count == 2
    assert draft.to_toml([]).count("TODO") == 2


def test_a_whole_table_may_be_excluded() -> None:
    """Among tables of operations too."""
    draft = Draft(
        user_facts={"effects": {"none": "nothing can be seen"}, "oauth": {"none": "no client"}}, source="k.toml"
    )
    text = draft.to_toml([])
    assert tomllib.loads(text) == draft.facts


@pytest.mark.parametrize("excluded", [{"none": "no catalogue"}, {"q_max": {"none": "any length"}}])
def test_what_the_user_excluded_stays_excluded(excluded: dict[str, Any]) -> None:
    """What was observed of it is a note; nobody reads the exclusion as a value."""
    draft = Draft(user_facts={"search": excluded})
    draft.state(("search", "q_max"), 200, "201 is refused")
    assert draft.facts == {"search": excluded}
    assert draft.get("search", "q_max") is None
    assert draft.notes == {"search": ["search.q_max stays excluded; observed: 200 (201 is refused)"]}
    tomllib.loads(draft.to_toml([]))
