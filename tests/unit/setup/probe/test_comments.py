"""No comment of a fragment is lost: each stands in the draft, at the key that it was about."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from conformance.runner.embedded_reference import bundled_profiles
from conformance.setup.probe.comments import CommentLine, read_comments
from conformance.setup.probe.draft import Draft

FRAGMENT = """\
# of the shop

# what finds a lot
[search]  # behind the header
# above q
query.q = "a # b"  # behind q
sorts = { x = { by = '#/y' } }

# first
[[transitions]]  # behind first
operation = "a"
# second
[[transitions]]
operation = \"\"\"
# no comment
\"\"\"
# the state
fixture = "cart.open"  # behind fixture

[fixtures.cart.open]
values = [  # two carts
  { id = "c1" },  # of Ada
  { id = "c2" },
]
# at the end
"""


def _draft(text: str) -> Draft:
    return Draft(user_facts=tomllib.loads(text), source="known.toml", comments=read_comments(text))


def test_a_comment_is_about_the_key_that_follows_or_stands_before_it() -> None:
    lines = read_comments(FRAGMENT).lines
    assert lines[0] == CommentLine((), "# of the shop")
    assert CommentLine(("search",), "# what finds a lot") in lines
    assert CommentLine(("search", "query", "q"), "# behind q", is_behind=True) in lines
    assert CommentLine(("transitions", 1, "fixture"), "# the state") in lines
    assert CommentLine(("fixtures", "cart", "open", "values"), "# of Ada") in lines
    assert lines[-1] == CommentLine(("",), "# at the end")
    assert not {"# no comment", '# b"'} & {line.text for line in lines}


def test_a_comment_stands_in_the_draft_where_it_stood() -> None:
    """Above its key or header, or behind it; comments within a value stand above it, since a value has one line."""
    lines = _draft(FRAGMENT).to_toml(["drafted"]).splitlines()
    search = lines.index("[search]  # behind the header")
    assert lines[:3] == ["# drafted", "", "# of the shop"]
    assert lines[search - 2 : search] == ["# what finds a lot", "# stated in known.toml"]
    at = lines.index('query = {q = "a # b"}')
    assert lines[at - 2 : at] == ["# above q", "# behind q"]
    assert lines[lines.index("[[transitions]]  # behind first") - 1] == "# first"
    assert lines[lines.index('fixture = "cart.open"  # behind fixture') - 1] == "# the state"
    assert "# of Ada" in lines[: lines.index('values = [{id = "c1"}, {id = "c2"}]')]
    assert lines[-1] == "# at the end"


TEXTS = st.from_regex(r"#[ -~äß]{0,20}", fullmatch=True)
NAMES = st.sampled_from(["name", "search", "operations", "fixtures", "effects", "transitions", "credentials", "rest"])
KEYS = st.lists(st.sampled_from(["a", "b", "x y", "quotePublicCart", "none"]), min_size=0, max_size=2)


@given(st.lists(st.tuples(NAMES, KEYS, TEXTS, TEXTS, TEXTS, st.booleans()), max_size=6))
def test_no_comment_is_lost(entries: list[tuple[str, list[str], str, str, str, bool]]) -> None:
    """Whatever table it stands in, and the draft reads back as its facts."""
    document: dict[str, str] = {}
    for name, keys, above, behind, within, blank in entries:
        header = ".".join(tomlkit.key(part).as_string() for part in (name, *keys, "t"))
        space = "\n" if blank else ""
        document[header] = f"{above}\n{space}[{header}] {behind}\nv = [ {within}\n1] {behind}\n{within}\n{space}"
    text = "".join(document.values())
    draft = _draft(text)
    written = draft.to_toml([])
    assert tomllib.loads(written) == draft.facts
    assert _comments(written) >= _comments(text)


def _comments(text: str) -> Counter[str]:
    """What stands between two `#`: comments may stand on one line."""
    parts = (part.strip() for line in text.splitlines() for part in line.split("#")[1:])
    return Counter(filter(None, parts))


BUNDLED = sorted([*bundled_profiles().glob("*.toml"), *(bundled_profiles() / "guides").glob("*.toml")])


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_all_comments_of_a_whole_profile_survive(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    draft = _draft(text)
    written = draft.to_toml([])
    assert tomllib.loads(written) == {name: value for name, value in draft.facts.items() if value != {}}
    assert _comments(written) >= _comments(text)


def test_a_secret_in_a_comment_is_redacted() -> None:
    """As in every other part of a draft."""
    from conformance.client.redaction.secrets import Secrets

    secrets = Secrets()
    secrets.add_credential("full", "sk_live_51Habc")
    draft = _draft("# the key is sk_live_51Habc\n\n[search]\npage_base = 1 # or sk_live_51Habc\n")
    draft.redact(secrets, secrets)
    assert "51Habc" not in draft.to_toml([])
