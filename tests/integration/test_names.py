"""Names and prose are plain technical English: a name is a noun or an imperative verb with its object.

The tables below are denylists. A participle, an adverb or a pronoun by itself says nothing about a value ("told",
"aside", "whoever"). An exception stands in `ALLOWED` with its reason.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import conformance

PACKAGE: Final = Path(conformance.__file__).parent


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PARTICIPLES: Final = _words(
    """
    told made given held asked taken drawn borne woven said gone begun meant learnt spelt handed carried wanted
    looked happened tried left kept shown came heard rung hurried wrote saw knew stood grown sworn spoken thought
    sought undone reproven provoked grafted spared eaten hidden torn called named passing lasting telling waiting
    resting standing going coming keeping having done spent lost met
    """
)
"""Participles and past forms that are not names by themselves, wherever they stand."""
ADVERBS: Final = _words(
    """
    aside briefly elsewhere hurriedly soon apart alone again together anew ahead behind beside beforehand
    afterwards never always already still yet once twice away otherwise instead meanwhile hence thereby quietly
    how here there then
    """
)
PRONOUNS: Final = _words(
    """
    some one whoever whatever whichever nobody somebody anybody everybody everyone anyone someone such other ours
    theirs mine yours own these those what who whom whose something anything everything nothing
    """
)
IRREGULAR: Final = _words(
    """
    known found seen read written broken cut hit set sent chosen split shut built
    """
)
"""Participles beside those in -ed that a function or a class may not have as its whole name."""

ALLOWED: Final[Mapping[str, str]] = {
    "read": "an imperative verb",
    "set": "an imperative verb",
    "split": "an imperative verb",
    "cut": "an imperative verb",
    "hit": "a noun of caches and rate limiters",
    "other": "the second of two, as in operator methods",
    "seed": "a noun",
    "embed": "an imperative verb",
    "speed": "a noun",
    "need": "an imperative verb",
    "feed": "an imperative verb",
    "hosted": "hosted checkout, a term of the interface",
    "distributed": "distributed testing, as in the documentation of pytest-xdist",
    "excluded": "an outcome of a cell, as in design.md",
    "judged": "an outcome of a cell, as in design.md",
    "client/request.py:nobody": "no body, not the pronoun",
    "client/send_errors.py:budgetexhausted": "an exception named by its condition",
    "core/model.py:how": "a member of the journal",
    "core/model.py:left": "a member of run.json",
    "core/traffic.py:lost": "a member of run.json",
    "journal/lines.py:runstarted": "a type of the journal's schema",
    "journal/lines.py:exchangerecorded": "a type of the journal's schema",
    "journal/lines.py:checkconcluded": "a type of the journal's schema",
    "journal/lines.py:resourcecreated": "a type of the journal's schema",
    "journal/lines.py:resourceremoved": "a type of the journal's schema",
    "journal/lines.py:segmentresumed": "a type of the journal's schema",
    "journal/lines.py:segmentended": "a type of the journal's schema",
    "journal/lines.py:trafficcounted": "a type of the journal's schema",
    "journal/lines.py:asked": "a member of the journal",
    "journal/lines.py:again": "a member of the journal",
    "journal/lines.py:left": "a member of the journal",
    "journal/lines.py:lost": "a member of the journal",
    "profile/behavior.py:kept": "a key of profiles",
}


class Name(NamedTuple):
    kind: str
    text: str
    place: str

    @property
    def bare(self) -> str:
        return self.text.strip("_").lower()

    @property
    def qualified(self) -> str:
        """The name with its file, as in `core/model.py:how`."""
        return f"{self.place.partition(':')[0]}:{self.bare}"


def checked_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def names_of(path: Path) -> Iterator[Name]:
    """Every name that a module defines: modules, classes, functions, parameters, variables and attributes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = str(path.relative_to(PACKAGE))
    yield Name("module", path.parent.name if path.stem == "__init__" else path.stem, place)
    for node in ast.walk(tree):
        line = f"{place}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Name("function", node.name, line)
        elif isinstance(node, ast.ClassDef):
            yield Name("class", node.name, line)
        elif isinstance(node, ast.arg):
            yield Name("parameter", node.arg, line)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Name("variable", node.id, line)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield Name("attribute", node.attr, line)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
            yield Name("variable", node.name, line)


def is_refused(name: Name) -> bool:
    """Whether a name is a bare participle, adverb or pronoun; functions and classes may not end in -ed either."""
    if name.bare in ALLOWED or name.qualified in ALLOWED:
        return False
    if name.bare in PARTICIPLES | ADVERBS | PRONOUNS:
        return True
    whole = name.kind in ("function", "class", "module") and "_" not in name.bare
    return whole and (name.bare.endswith("ed") or name.bare in IRREGULAR)


@pytest.mark.parametrize("path", checked_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_name_is_a_noun_or_an_imperative_verb(path: Path) -> None:
    """No name is a bare participle, adverb or pronoun."""
    assert [f"{name.place} {name.kind} {name.text}" for name in names_of(path) if is_refused(name)] == []


PHRASES: Final = (
    r"so (many|much|long|often|soon|few)\b(?! (as|that))",
    r"\btold\b",
    r"\bwhat came\b",
    r"\bwhat is left\b",
    r"\bwho(m)?ever\b",
    r"\belsewhere\b",
    r"\bas (it|they) (was|were)\b",
    r"\bnobody('s)?\b",
    r"\b(any|some|every)body\b",
    r"\bno word of\b",
    r"\bin vain\b",
    r"\bmade[- ]up\b(?!\")",
    r"\bbe it\b",
    r"\baside\b",
    r"\bhurried\b",
    r"(?<!--)\bdrawn\b",
    r"\blooked at\b",
    r"\bfor want of\b",
    r"\bstrangers?\b",
)
"""Riddles that no docstring, comment or message may hold."""
_RIDDLE: Final = re.compile("|".join(PHRASES), re.IGNORECASE)


def riddles_of(path: Path) -> Iterator[str]:
    """The lines of strings and comments that hold a phrase of the denylist."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            for number, line in enumerate(token.string.split("\n"), token.start[0]):
                if _RIDDLE.search(line):
                    yield f"{path.relative_to(PACKAGE)}:{number} {line.strip()}"


@pytest.mark.parametrize("path", checked_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_text_is_plain_english(path: Path) -> None:
    """No docstring, comment or message holds a phrase of the denylist."""
    assert list(riddles_of(path)) == []


@pytest.mark.parametrize("phrase", ["So many examples.", "told in full", "whoever asks", "as it was", "of nobody's"])
def test_a_riddle_is_found(phrase: str) -> None:
    """The denylist finds the phrases that it is made for."""
    assert _RIDDLE.search(phrase)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("variable", "told"),
        ("parameter", "_given"),
        ("constant", "TOLD"),
        ("function", "joined"),
        ("class", "Drawn"),
        ("variable", "some"),
    ],
)
def test_a_bare_participle_or_pronoun_is_refused(kind: str, text: str) -> None:
    """The denylist refuses the names that it is made for."""
    assert is_refused(Name(kind, text, ""))


@pytest.mark.parametrize(("kind", "text"), [("variable", "expected"), ("function", "join_spans"), ("class", "Proof")])
def test_an_ordinary_name_is_accepted(kind: str, text: str) -> None:
    """A noun, or a verb with its object, is accepted; so is a participle for a local value of that kind."""
    assert not is_refused(Name(kind, text, ""))
