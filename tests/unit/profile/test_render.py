"""The laws of placeholders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.profile.render import MalformedPlaceholder, UnknownPlaceholder, escape, placeholders, render

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=4), below, max_size=4),
    max_leaves=12,
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,5}(\.[a-z0-9_-]{1,5}){0,2}", fullmatch=True)


@given(VALUES)
def test_what_was_escaped_renders_to_itself(value: Any) -> None:
    """Rendering undoes escaping, at any depth, and an escaped value holds no placeholder."""
    assert render(escape(value), {}) == value
    assert placeholders(escape(value)) == frozenset()


@given(NAMES, VALUES)
def test_a_lone_placeholder_takes_the_value_as_it_is(name: str, value: Any) -> None:
    """`"{x}"` becomes whatever `x` is, type and all; nothing in it is rendered again."""
    rendered = render({"a": [f"{{{name}}}"]}, {name: value})["a"][0]
    assert rendered == value
    assert type(rendered) is type(value)


@given(NAMES, st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_text_around_a_placeholder_stays(name: str, before: str, value: str, after: str) -> None:
    """In a longer string the value stands between what stood around the placeholder."""
    assert render(escape(before) + f"{{{name}}}" + escape(after), {name: value}) == before + value + after


@given(st.dictionaries(NAMES, st.text(max_size=5), min_size=1, max_size=4))
def test_placeholders_are_all_that_rendering_asks_for(scope: dict[str, str]) -> None:
    """Every name that is listed is looked up, and no other."""
    asked: list[str] = []

    def look_up(name: str) -> str:
        asked.append(name)
        return scope[name]

    template = {"x": [f"a {{{name}}} b" for name in scope], "y": {"z": f"{{{next(iter(scope))}}}"}}
    render(template, look_up)
    assert set(asked) == set(scope) == placeholders(template)


@given(st.text(alphabet="{}a.", max_size=12))
def test_a_string_renders_or_is_malformed(text: str) -> None:
    """No string does anything else, and `placeholders` and `render` agree on which is which."""
    try:
        names = placeholders(text)
    except MalformedPlaceholder:
        with pytest.raises(MalformedPlaceholder):
            render(text, lambda name: name)
    else:
        assert isinstance(render(text, dict.fromkeys(names, "v")), str)


@pytest.mark.parametrize(
    "text", ["{", "}", "a{b", "a}b", "{}", "{ a }", "{a.}", "{.a}", "{a b}", "{1}", "{{a}", "{a}}", "{a{b}}"]
)
def test_a_malformed_placeholder_is_refused(text: str) -> None:
    """Lone braces and names that are none raise, and the message shows the string."""
    with pytest.raises(MalformedPlaceholder) as raised:
        render(text, {})
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (1.5, "1.5"), (True, "true"), (None, "null"), (["a"], '["a"]')])
def test_inside_a_string_a_value_is_written_as_json(value: Any, text: str) -> None:
    assert render("<{x}>", {"x": value}) == f"<{text}>"


def test_an_unknown_placeholder_is_named() -> None:
    """The exception is a KeyError that carries the name, from mappings and functions alike."""
    with pytest.raises(UnknownPlaceholder, match=r"unknown placeholder \{cart\.id\}") as raised:
        render(["{cart.id}"], {})
    assert raised.value.name == "cart.id"
    with pytest.raises(UnknownPlaceholder, match=r"\{a\}"):
        render("{a}", lambda name: {"a": 1}[name + "b"])


def test_rendering_makes_a_copy_and_leaves_names_alone() -> None:
    """Member names are not templates, and the template is not changed."""
    template = {"{x}": ["{x}", 1, None]}
    assert render(template, {"x": 2}) == {"{x}": [2, 1, None]}
    assert template == {"{x}": ["{x}", 1, None]}
