"""Other forms of an Authorization header with a good key: other schemes, and other spellings of the stated one.

`{key}` stands for the key, `{other_case}` for the key with its letters in the other case, `{user}` and `{password}` for
Basic credentials with the key in that place.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import islice, product
from typing import Final

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.core.key_change import KeyChange
from conformance.profile.behavior import Authorization

_COMMON_SCHEMES: Final = ("Bearer", "ApiKey", "Token")


def other_schemes(stated: Authorization) -> Mapping[str, str]:
    """By name, formats with another scheme than the stated one, or with none. `{key}` stands for the key."""
    scheme, form = stated.scheme_name, stated.format.lstrip()
    common = next(name for name in _COMMON_SCHEMES if name.casefold() != scheme.casefold())
    return {"no scheme": "{key}", "another scheme": common + form[len(scheme) :]}


def rare_schemes(stated: Authorization) -> Mapping[str, str]:
    """A format whose scheme begins with the stated one, and Basic credentials with the key as user or password.

    `{user}` and `{password}` stand for them.
    """
    scheme, form = stated.scheme_name, stated.format.lstrip()
    other = next(name for name in ("Basic", "Digest") if name.casefold() != scheme.casefold())
    longer = {
        "a longer scheme": f"{scheme}s{form[len(scheme) :]}",
        "another scheme before it": f"{other} {form}",
    }
    basic = {f"the key as the {part} of Basic": f"Basic {{{part}}}" for part in ("user", "password")}
    return longer if scheme.casefold() == "basic" else {**longer, **basic}


def other_cases(stated: Authorization) -> Mapping[str, str]:
    """Formats with the stated scheme in capitals and in lower case."""
    scheme, form = stated.scheme_name, stated.format.lstrip()
    spellings = [spelling for spelling in (scheme.upper(), scheme.lower()) if spelling != scheme]
    return {f"the scheme {spelling}": spelling + form[len(scheme) :] for spelling in spellings}


def key_in_other_case(stated: Authorization) -> Mapping[str, str]:
    """The stated format with the key's letters in the other case."""
    return {"its letters in the other case": stated.format.lstrip().replace("{key}", "{other_case}")}


def equal_forms(stated: Authorization) -> Mapping[str, str]:
    """Formats that name the same key as the stated one does, where the case of the scheme or of the key counts not."""
    schemes = other_cases(stated) if stated.scheme_case == "any" else {}
    return {**schemes, **(key_in_other_case(stated) if stated.key_case == "any" else {})}


def other_spellings(stated: Authorization, most: int) -> tuple[str, ...]:
    """Formats with the stated scheme in other mixtures of capitals, each once; none where the case of it matters."""
    if stated.scheme_case != "any":
        return ()
    scheme, form = stated.scheme_name, stated.format.lstrip()
    mixtures = map("".join, product(*(dict.fromkeys((c.lower(), c.upper())) for c in scheme)))
    spellings = islice((spelling for spelling in mixtures if spelling != scheme), most)
    return tuple(spelling + form[len(scheme) :] for spelling in spellings)


def with_form(case: Case, request: Request, form: str) -> Request:
    key, name = case.runtime.arranger.key_of(request.credential), request.credential
    encoded = {part: base64.b64encode(text.encode()).decode() for part, text in _basic(key).items()}
    value, evidence = form.replace("{key}", key), form.replace("{key}", f"«credential:{name}»")
    change = KeyChange("swapcase")
    value = value.replace("{other_case}", change.apply(key))
    evidence = evidence.replace("{other_case}", change.placeholder(name))
    for part, text in encoded.items():
        value, evidence = value.replace(f"{{{part}}}", text), evidence.replace(f"{{{part}}}", f"«credential:{name}»")
    return request.with_authorization(value, credential=name, evidence=(evidence,))


def _basic(key: str) -> Mapping[str, str]:
    """Basic credentials (RFC 7617, section 2) with a key in either place."""
    return {"user": f"{key}:", "password": f"api:{key}"}
