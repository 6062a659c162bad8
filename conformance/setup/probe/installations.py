"""Where the answers to keys of two installations name the installation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.context import Probe

READINESS: Final = "getInstallationCredentialReadiness"
_FACTS: Final = {IDENTITY: "installation_in_identity", READINESS: "installation_in_readiness"}
_NAME: Final = re.compile("installation(id|name|key|ref|slug|uuid|number)?$")
"""The end of the names of a member and of what holds it, without what is between words."""
_ID: Final = re.compile(r"(?=.*\d)[A-Za-z0-9_-]{8,80}")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_KEYS: Final = 4
Homes = Mapping[str, str]
"""Credential -> installation."""


async def probe_installations(probe: Probe) -> None:
    """States the place that names the installation, for both operations; or that readiness has no such place."""
    homes = _known_homes(probe)
    if len(set(homes.values())) < 2:
        return
    answers = {IDENTITY: {name: probe.identities[name] for name in homes if name in probe.identities}}
    answers[READINESS] = {name: answer for name in _few(homes) if (answer := await _readiness(probe, name))}
    names = {leaf for by_key in answers.values() for answer in by_key.values() for leaf in _texts(answer)[1]}
    shared = {name for name in names if all(_holds(by_key, name) for by_key in answers.values())}
    for operation, by_key in answers.items():
        _state_place(probe, operation, by_key, homes, shared)


def _known_homes(probe: Probe) -> Homes:
    """The active keys whose installation was observed."""
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    evidence = probe.draft.evidence
    return {
        name: str(facts["installation"])
        for name, facts in table.items()
        if name in probe.keys
        and facts.get("status") == "active"
        and facts.get("installation")
        and not evidence.get(("credentials", name, "installation"), "").startswith("TODO")
    }


def _few(homes: Homes) -> list[str]:
    """A key of each installation, and further ones up to a limit."""
    firsts = list({home: name for name, home in reversed(list(homes.items()))}.values())
    return list(dict.fromkeys([*firsts, *homes]))[:_MOST_KEYS]


async def _readiness(probe: Probe, credential: str) -> Answer | None:
    if READINESS not in probe.controls:
        return None
    request = probe.arranger.as_credential(await probe.arrange(READINESS), credential)
    answer = await probe.send(request, "readiness")
    return answer if answer.ok else None


def _texts(answer: Answer) -> tuple[list[str], list[str]]:
    """The places in the answer's data that may name an installation, and what they hold."""
    leaves = [(at, str(leaf)) for at, leaf in pointer.leaves(answer.value) if _may_be_name(at, leaf)]
    return [at for at, _ in leaves], [text for _, text in leaves]


def _may_be_name(at: str, leaf: Any) -> bool:
    return at.startswith("/data/") and isinstance(leaf, str | int) and not isinstance(leaf, bool) and leaf != ""


def _holds(by_key: Mapping[str, Answer], text: str) -> bool:
    return any(text in _texts(answer)[1] for answer in by_key.values())


def _state_place(probe: Probe, operation: str, by_key: Mapping[str, Answer], homes: Homes, shared: set[str]) -> None:
    seen = {homes[name] for name in by_key}
    if len(seen) < 2 or len(by_key) < 3:
        return
    fact = _FACTS[operation]
    values = {name: answer.value for name, answer in by_key.items()}
    places = naming_places(values, homes)
    by_name = [at for at in places if names_installation(at)]
    by_value = [at for at in places if _is_id(str(pointer.get(next(iter(values.values())), at)), shared)]
    if by_name or len(by_value) == 1:
        evidence = f"equal for the keys of one installation, and different for those of two: {len(values)} keys"
        probe.draft.state(("tenancy", fact), (by_name or by_value)[0], evidence)
    elif places:
        reason = f"if it names the installation; {len(places)} members differ between installations"
        probe.draft.todo("tenancy", f'{fact} = "{probe.clean(places[0])}"', reason)
    elif operation == READINESS and len({str(value) for value in values.values()}) == 1:
        reason = "the answers to keys of two installations are equal"
        probe.draft.state(("tenancy", fact), {"none": reason}, f"{len(values)} keys of {len(seen)} installations")


def names_installation(at: str) -> bool:
    """Whether the last names of a pointer say that it is an installation's."""
    return _NAME.search(re.sub("[^a-z]", "", "".join(pointer.tokens(at)[-2:]).lower())) is not None


def _is_id(text: str, shared: set[str]) -> bool:
    """Whether a text looks like an id, and both operations show it: a mode or a time is neither."""
    return text in shared and _ID.fullmatch(text) is not None and not _DATE.match(text)


def naming_places(values: Mapping[str, Any], homes: Homes) -> list[str]:
    """The places that have one value for each installation; two installations have two values."""
    first = next(iter(values.values()))
    found = []
    for at, leaf in pointer.leaves(first):
        if not _may_be_name(at, leaf) or not all(pointer.has(value, at) for value in values.values()):
            continue
        pairs = {(homes[name], str(pointer.get(value, at))) for name, value in values.items()}
        installations, texts = {home for home, _ in pairs}, {text for _, text in pairs}
        if len(pairs) == len(installations) == len(texts):
            found.append(at)
    return found
