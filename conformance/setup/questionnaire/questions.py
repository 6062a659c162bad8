"""The questions, what each answer states in the profile, and which requirements it enables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from conformance.contract import Contract
from conformance.core.errors import UsageError
from conformance.profile.rules import base_url_trouble
from conformance.setup.probe.documents import is_readable_location
from conformance.setup.probe.options import key_source, read_fragment

Parse = Callable[[str], Any]
"""The text of an answer -> its value. Raises ConformanceError, whose message never holds a secret."""
Key = tuple[str, ...]

BASE_URL: Final = "base_url"
OPENAPI: Final = "openapi"
FIXTURES: Final = "fixtures"
MAIN_KEY: Final = "full"
_EXCLUSION: Final = re.compile(r"none:\s*(\S.*)")
_LISTED: Final = 6
_MAX_LENGTH: Final = 2000


@dataclass(frozen=True)
class Question:
    """One question. Without a default it may be left open by an empty answer."""

    name: str
    """In the file of answers."""
    text: str
    parse: Parse
    key: Key = ()
    """The fact of the profile that the answer states; empty: an option of the probe."""
    default: str = ""
    requirements: tuple[str, ...] = ()
    """Those that it enables, unless `facts` selects them."""
    facts: tuple[str, ...] = ()
    """The facts, or tables of facts, whose requirements it enables."""
    excludes: Key = ()
    """What `none: REASON` excludes; empty: it cannot be excluded."""
    credential: str = ""
    """The name of the key whose source is asked for."""

    def value(self, text: str) -> Any:
        """The value of an answer, or an exclusion. Raises ConformanceError."""
        text = text.strip()
        if len(text) > _MAX_LENGTH or not text.isprintable():
            raise UsageError("not a line of printable text")
        if exclusion := _EXCLUSION.fullmatch(text):
            if not self.excludes:
                raise UsageError("this cannot be excluded", hint="leave it empty if you do not know")
            return {"none": exclusion[1]}
        return self.parse(text)

    def stated_facts(self, text: str) -> dict[str, Any]:
        """The tables of the profile that an answer states."""
        value = self.value(text)
        is_exclusion = isinstance(value, Mapping) and set(value) == {"none"}
        place = self.excludes if is_exclusion else self.key
        if self.credential and is_exclusion:
            value = {"status": self.credential, **value}
        for name in reversed(place):
            value = {name: value}
        return dict(value) if place else {}

    def requirement_ids(self, contract: Contract) -> list[str]:
        """The ids of the requirements that the answer enables, with other facts perhaps."""
        selected = [
            requirement.id
            for requirement in contract.requirements.values()
            if any(fact == name or fact.startswith(f"{name}.") for fact in requirement.facts for name in self.facts)
        ]
        return [*self.requirements, *(name for name in selected if name not in self.requirements)]


def describe_enabled(question: Question, contract: Contract) -> str:
    """`enables 33 requirements: STA-2, ERR-3 and more`; empty if it enables none by itself."""
    ids = question.requirement_ids(contract)
    if not ids:
        return ""
    more = " and more" if len(ids) > _LISTED else ""
    count = "1 requirement" if len(ids) == 1 else f"{len(ids)} requirements"
    return f"enables {count}: {', '.join(ids[:_LISTED])}{more}"


def _parse_base_url(text: str) -> str:
    if problem := base_url_trouble(text):
        raise UsageError(problem)
    return text.rstrip("/")


def _parse_key(text: str) -> str:
    key_source(text)
    return text


def _parse_document(text: str) -> str:
    if not is_readable_location(text):
        raise UsageError("neither a file nor an http or https URL", where=text)
    return text


def _parse_fragment(text: str) -> Path:
    read_fragment(Path(text))
    return Path(text)


def _parse_yes(text: str) -> bool:
    answers = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
    if text.lower() not in answers:
        raise UsageError("answer yes or no")
    return answers[text.lower()]


def _parse_no(text: str) -> bool:
    return not _parse_yes(text)


def _parse_seconds(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise UsageError("a whole number of seconds, as 0 or 86400")
    return int(text)


def _parse_text(text: str) -> str:
    if re.search(r"[{}\s]", text):
        raise UsageError("one word without braces")
    return text


def _parse_key_place(text: str) -> dict[str, str]:
    carrier, _, name = text.partition(":")
    if carrier not in ("header", "query", "body") or not name or (carrier == "body" and not name.startswith("/")):
        raise UsageError("header:NAME, query:NAME or body:/POINTER")
    return {"carrier": carrier, "pointer" if carrier == "body" else "name": _parse_text(name)}


def _parse_query(text: str) -> dict[str, Any]:
    try:
        parameters = parse_qsl(text.removeprefix("?"), keep_blank_values=True, strict_parsing=True)
    except ValueError:
        raise UsageError("a query string, as q=shoes&locale=en-US&market=US&sort=name&page=1&pageSize=10") from None
    return {name: int(value) if re.fullmatch(r"0|[1-9]\d{0,8}", value) else value for name, value in parameters}


def _parse_fixture(member: str, *, is_reusable: bool = False) -> Parse:
    """A list of values for one member of a fixture."""

    def parse(text: str) -> dict[str, Any]:
        values = [{member: _parse_text(word)} for word in re.split(r"[,\s]+", text) if word]
        return {"values": values, **({"reusable": True} if is_reusable else {})}

    return parse


def _key_question(name: str, text: str, *requirements: str, excludes: Key = ()) -> Question:
    return Question(
        f"key.{name}", f"{text} (its source)", _parse_key, requirements=requirements, excludes=excludes, credential=name
    )


QUESTIONS: Final = (
    Question(
        BASE_URL, "The target's base URL (what comes before /api/v1)", _parse_base_url, default="http://127.0.0.1:8080"
    ),
    Question(
        f"key.{MAIN_KEY}",
        "The source of a key with every scope (env:VARIABLE, file:PATH, command:...)",
        _parse_key,
        default="env:API_KEY",
        facts=("credentials",),
        credential=MAIN_KEY,
    ),
    Question(OPENAPI, "Its OpenAPI document, file or URL", _parse_document, facts=("schemas",)),
    Question(
        FIXTURES,
        "A file with fixtures (TOML): sources of carts, orders, sessions, codes; effects",
        _parse_fragment,
        facts=("fixtures", "effects", "transitions"),
    ),
    Question("read_only", "May requests be sent that change state?", _parse_no, ("limits", "read_only"), default="yes"),
    _key_question("webhooks-write", "A key with the scope webhooks:write alone", "SCO-1", "SCO-2"),
    _key_question("webhooks-read", "A key with the scope webhooks:read alone", "SCO-1", "SCO-2"),
    _key_question("catalog-read", "A key with the scope catalog:read alone", "SCO-1", "SCO-2"),
    _key_question("checkout-quote", "A key with the scope checkout:quote alone", "SCO-1", "SCO-2"),
    _key_question("none", "A key without any scope", "SCO-1", "SCO-3"),
    _key_question("other-installation", "A key of another installation", "TEN-1"),
    _key_question("revoked", "A revoked key", "AUTH-4", excludes=("credentials", "revoked")),
    Question(
        "revocation",
        "How many seconds may a key work after it was revoked?",
        _parse_seconds,
        ("revocation", "propagation_s"),
        facts=("revocation",),
        excludes=("revocation",),
    ),
    Question(
        "idempotency",
        "The place of the idempotency key, header:NAME, query:NAME or body:/POINTER (empty: the probe looks for it)",
        _parse_key_place,
        ("idempotency",),
        facts=("idempotency",),
        excludes=("idempotency",),
    ),
    Question(
        "search",
        "A query that finds several pages of products (q=shoes&locale=en-US&market=US&sort=...&page=1&pageSize=10)",
        _parse_query,
        ("search", "query"),
        facts=("search",),
    ),
    Question(
        "merchants",
        "Slugs of stores that have products, separated by commas",
        _parse_fixture("slug", is_reusable=True),
        ("fixtures", "merchant", "stocked"),
        requirements=("PUB-1", "PUB-3"),
    ),
    Question(
        "carts",
        "Ids of open carts for the suite to use up, separated by commas",
        _parse_fixture("id"),
        ("fixtures", "cart", "open"),
        facts=("fixtures",),
    ),
    Question(
        "orders",
        "Ids of orders for the suite to use up, separated by commas",
        _parse_fixture("id"),
        ("fixtures", "order", "open"),
        facts=("fixtures",),
    ),
    Question(
        "tickets_single_use",
        "Is a second consume of a hosted checkout ticket refused?",
        _parse_yes,
        ("hosted", "tickets_single_use"),
        facts=("hosted.tickets_single_use",),
        excludes=("hosted",),
    ),
    Question(
        "client_id",
        "The OAuth client that codes are issued for",
        _parse_text,
        ("oauth", "client_id"),
        facts=("oauth",),
        excludes=("oauth",),
    ),
    Question("redirect_uri", "Its redirect URI", _parse_text, ("oauth", "redirect_uri"), facts=("oauth",)),
    Question(
        "provoke",
        "May a burst of requests be sent to see a 429?",
        _parse_yes,
        ("rate_limit", "provoke"),
        facts=("rate_limit.provoke",),
        excludes=("rate_limit",),
    ),
)


def open_questions(answers: Mapping[str, str], fragment: Mapping[str, Any]) -> Iterable[Question]:
    """The questions that are neither answered nor settled by a fragment or by an earlier answer."""
    for question in QUESTIONS:
        if question.name in answers or _is_stated(question, fragment):
            continue
        if question.name == "redirect_uri" and not _names_client(answers, fragment):
            continue
        yield question


def _names_client(answers: Mapping[str, str], fragment: Mapping[str, Any]) -> bool:
    answer = answers.get("client_id", "")
    return (bool(answer) and not _EXCLUSION.fullmatch(answer)) or "client_id" in fragment.get("oauth", {})


def _is_stated(question: Question, fragment: Mapping[str, Any]) -> bool:
    """Whether a fragment states the fact, or excludes the table or kind that it is in."""
    value: Any = fragment
    for depth, name in enumerate(question.key):
        if not isinstance(value, Mapping) or "none" in value:
            return True
        if name not in value:
            return question.key[0] == "fixtures" and depth > 1  # the kind has other states
        value = value[name]
    return bool(question.key)


def stated_facts(answers: Mapping[str, str]) -> dict[str, Any]:
    """The tables of the profile that the answers state."""
    facts: dict[str, Any] = {}
    for question in QUESTIONS:
        text = answers.get(question.name, "")
        is_source = question.credential and not _EXCLUSION.fullmatch(text)
        if text and not is_source:
            _merge(facts, question.stated_facts(text))
    if facts.get("limits") == {"read_only": False}:
        del facts["limits"]
    return facts


def _merge(facts: dict[str, Any], added: Mapping[str, Any]) -> None:
    for name, value in added.items():
        if isinstance(value, Mapping) and isinstance(facts.get(name), dict):
            _merge(facts[name], value)
        else:
            facts[name] = dict(value) if isinstance(value, Mapping) else value


def key_options(answers: Mapping[str, str]) -> tuple[str, ...]:
    """The answers about keys as `NAME=SOURCE`."""
    return tuple(
        f"{question.credential}={text}"
        for question in QUESTIONS
        if question.credential and (text := answers.get(question.name, "")) and not _EXCLUSION.fullmatch(text)
    )
