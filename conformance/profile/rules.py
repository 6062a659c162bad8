"""Rules beyond keys and types: names that must exist, exactly one of several facts, dates, URLs, regular expressions.

Every function takes the whole document, which must be valid by `structure`, and yields its problems.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from conformance.contract import Contract
from conformance.core.messages import shorten
from conformance.profile.behavior import scheme_of
from conformance.profile.names import fixture_problems, placeholder_problems
from conformance.profile.patterns import pattern_trouble
from conformance.profile.render import ANSWER, MalformedPlaceholder, placeholders
from conformance.profile.schema import facts_schema, walk
from conformance.profile.source import Key, Problem, nearest
from conformance.profile.structure import as_list
from conformance.profile.transitions import transition_problems
from conformance.profile.waivers import waiver_problems

_LISTS: Final = (("answers", "fresh_headers"), ("bodies", "media_types"), ("search", "locales"), ("search", "markets"))

Document = Mapping[str, Any]
_URL_START = re.compile(r"https?://[^/\s]|\{[^{}.]+\.[^{}]+\}")
"""A fixture's member may be a whole URL, which is validated when it is called."""
_MOST_REQUESTS = 2**32
_INTEGER_OR_TEMPLATE = re.compile(r"[+-]?[0-9]+|.*\{.*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MANAGED_HEADERS = frozenset(
    {"authorization", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""Headers that every request or its framing needs: as the header of idempotency keys they would be sent twice."""


def rule_problems(document: Document, *, directory: Path, contract: Contract) -> Iterator[Problem]:
    yield from _base_url(document)
    yield from _urls(document)
    if trouble := proxy_trouble(document.get("limits", {}).get("proxy", "")):
        yield Problem(("limits", "proxy"), trouble)
    yield from reference_problems(document, contract, directory=directory)
    yield from _certificates(document, directory)
    yield from _authorization(document)
    yield from _idempotency(document)
    yield from _operations(document, contract)
    yield from _schema_names(document, contract)
    yield from _empty_lists(document)
    yield from _search(document, contract)
    yield from _rate_limit(document)
    yield from _oauth(document)
    yield from transition_problems(document)
    yield from _effects(document, contract)
    yield from _cleanup(document)
    yield from waiver_problems(document)
    yield from fixture_problems(document)
    yield from placeholder_problems(document)


def base_url_trouble(url: str) -> str:
    """Why `url` is not a valid base URL; empty where it is."""
    if trouble := url_trouble(url):
        return trouble
    parts = urlsplit(url)
    if parts.username is not None:
        return "the URL must hold no user name or password"
    if parts.query or parts.fragment or url.endswith(("?", "#")):  # which may be a secret
        return f"{re.split('[?#]', url)[0]!r} must stand alone: the URL has a query or a fragment"
    if re.search(r"%(?![0-9A-Fa-f]{2})", parts.path):
        return f"{url!r} must have no percent sign that escapes nothing: write %25 for one"
    if any(segment in (".", "..") for segment in unquote(parts.path).split("/")):
        return f"{url!r} must have no segment . or .., which a client takes away"
    if re.search(r"/api/v1/?$", parts.path):
        return f"{url!r} must end before /api/v1"
    return ""


def url_trouble(url: str) -> str:
    """Why `url` is not an absolute http or https URL; empty where it is."""
    shown_url = repr(shorten(_mask_credentials(url), 600))
    if url != url.strip():
        return f"{shown_url} begins or ends with white space"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        return f"{shown_url} is not an http or https URL{_scheme_hint(url)}"
    if character := re.search(r"[\s\x00-\x1f\\\ud800-\udfff]", url):
        remedy = ": write %20 for a space" if character[0] == " " else ""
        return f"{shown_url} has the character U+{ord(character[0]):04X}, which no URL may have{remedy}"
    try:
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        is_port = False
    if not is_port:
        return f"{shown_url} has a port that is not a number from 1 to 65535"
    try:
        str(parts.hostname).encode("idna")
    except UnicodeError:
        return f"{_mask_credentials(url)!r} has a host that is not a valid name: each label has 1 to 63 characters"
    return ""


def _scheme_hint(url: str) -> str:
    """The URL with its scheme, where that is all that lacks."""
    if not re.fullmatch(
        r"(localhost|[\w-]+(\.[\w-]+)+|\[[0-9A-Fa-f:]+\]|[\w.-]+(?=:\d))(:\d{1,5})?(/[^@]*)?", url, re.ASCII
    ):
        return ""
    return f": write http://{url}, or https://{url}"


def proxy_trouble(url: str) -> str:
    """Why `url` is not a valid URL of a proxy; empty where it is, or is empty."""
    if not url:
        return ""
    if trouble := url_trouble(url):
        return trouble
    return "the proxy's URL must hold no user name or password" if urlsplit(url).username is not None else ""


def _mask_credentials(url: str) -> str:
    """Without its user name and password, and without its query or fragment."""
    return re.sub(r"([?#]).+", r"\1…", re.sub(r"^([^/]*//|).*@", r"\1…@", url), flags=re.DOTALL)


def _base_url(document: Document) -> Iterator[Problem]:
    if trouble := base_url_trouble(document["base_url"]):
        yield Problem(("base_url",), trouble)


def _urls(document: Document) -> Iterator[Problem]:
    for key, call in _http_calls(document):
        url = call["url"].replace("{{", "").replace("}}", "")
        if not _URL_START.match(url):
            yield Problem((*key, "url"), f"{_mask_credentials(call['url'])!r} is not an http or https URL")
    token_url = document.get("oauth", {}).get("token_url", "")
    if token_url and (trouble := url_trouble(token_url)):
        yield Problem(("oauth", "token_url"), trouble)


def _certificates(document: Document, directory: Path) -> Iterator[Problem]:
    """A file that holds no certificate would be found out at the first connection, and not by its place here."""
    name = document.get("tls", {}).get("ca_file", "")
    if not name or not os.path.isfile(directory / name):  # noqa: PTH113 - Path.is_file raises on a long name
        return
    import ssl  # imported late: most profiles state no file

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(directory / name)
    except ssl.SSLError:
        yield Problem(("tls", "ca_file"), f"{directory / name} holds no certificate (PEM)")
    except OSError as error:
        yield Problem(("tls", "ca_file"), f"{directory / name} cannot be read: {error.strerror}")


def _rate_limit(document: Document) -> Iterator[Problem]:
    """The limit of the run is another one than `limit` only where a call sets that."""
    table = document.get("rate_limit", {})
    for name in ("limit", "run_limit", "max_requests"):
        if isinstance(number := table.get(name), int) and number > _MOST_REQUESTS:
            hint = 'a target without a limit states none = "..." in its place'
            yield Problem(("rate_limit", name), f"must be at most {_MOST_REQUESTS}, not {number}", hint)
    for name in ("run_limit", "run_window_s"):
        if name in table and "prepare" not in table:
            hint = f"state {name.removeprefix('run_')}: without prepare, it is that of the run"
            yield Problem(("rate_limit", name), "is stated without prepare", hint)


def _http_calls(document: Document) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    for kind, states in document.get("fixtures", {}).items():
        yield from ((("fixtures", kind, s, "http"), t["http"]) for s, t in states.items() if "http" in t)
    yield from (((*key, "http"), t["http"]) for _, key, t in _signs(document) if "http" in t)
    yield from ((("cleanup", k, "http"), t["http"]) for k, t in document.get("cleanup", {}).items() if "http" in t)
    rate_limit = document.get("rate_limit", {})
    yield from ((("rate_limit", name), rate_limit[name]) for name in ("prepare", "restore") if name in rate_limit)


def reference_problems(
    document: Document, contract: Contract, *, directory: Path = Path(), schema: dict[str, Any] | None = None
) -> Iterator[Problem]:
    """Names of things that do not exist, by `x-refers-to` of the schema; by default of the profile's."""
    known: dict[str, Iterable[str]] = {
        "operation": contract.operations,
        "requirement": contract.requirements,
        "credential": document.get("credentials", {}),
    }
    for key, name, declared in walk(document, schema or facts_schema(), schema):
        kind = declared.get("x-refers-to", "")
        if kind == "file" and not os.path.isfile(directory / name):  # noqa: PTH113 - Path.is_file raises on a long name
            exists = os.path.exists(directory / name)  # noqa: PTH110 - as above
            path = shorten(str(directory / name), 600)
            yield Problem(key, f"{path} is not a regular file" if exists else f"there is no file {path}")
        elif name and kind in known and name not in known[kind]:
            hint = nearest(name, known[kind]) or ("add it to [credentials]" if kind == "credential" else "")
            yield Problem(key, f"unknown {kind} {name}", hint)


def _authorization(document: Document) -> Iterator[Problem]:
    form = document["authorization"]["format"]
    rest = form.replace("{key}", "", 1)
    if form.count("{key}") != 1 or "{" in rest or "}" in rest:
        yield Problem(("authorization", "format"), "must hold {key} once, and no other brace")
    elif not rest.isascii() or not rest.isprintable():
        yield Problem(("authorization", "format"), "is not valid in a header")
    for name in ("scheme", "scheme_case"):
        if name in document["authorization"] and not scheme_of(form):
            hint = "leave it out: nothing can be asked about it"
            yield Problem(("authorization", name), f"{form!r} has no scheme before the key", hint)


def _idempotency(document: Document) -> Iterator[Problem]:
    table = document.get("idempotency")
    if table is None:
        return
    needed = "pointer" if table["carrier"] == "body" else "name"
    if not table.get(needed):
        yield Problem(("idempotency",), f"lacks the key {needed}", f'carrier = "{table["carrier"]}" needs it')
    elif table["carrier"] == "header" and not _HEADER_NAME.fullmatch(table["name"]):
        yield Problem(("idempotency", "name"), f"{table['name']!r} is not a header name")
    elif table["carrier"] == "header" and table["name"].lower() in _MANAGED_HEADERS:
        yield Problem(("idempotency", "name"), f"{table['name']} cannot carry keys: the suite sends it itself")
    form = table.get("format", "any")
    if not isinstance(form, str) and (trouble := pattern_trouble(form["pattern"])):
        yield Problem(("idempotency", "format", "pattern"), trouble)
    if form == "any" and "format" in table and "other_format" in table:
        yield Problem(("idempotency", "other_format"), 'with format = "any" there is no key of another format')
    if 200 not in table.get("kept", [200]):
        yield Problem(("idempotency", "kept"), "lacks 200", "a call that was answered 200 is replayed (IDEM-1)")
    written = table.get("written", "{key}")
    rest = written.replace("{key}", "", 1)
    if written.count("{key}") != 1 or "{" in rest or "}" in rest:
        yield Problem(("idempotency", "written"), "must hold {key} once, and no other brace")
    elif table["carrier"] == "header" and not (rest.isascii() and (rest.isprintable() or not rest)):
        yield Problem(("idempotency", "written"), "is not valid in a header")


def _operations(document: Document, contract: Contract) -> Iterator[Problem]:
    for name, table in document.get("operations", {}).items():
        key: Key = ("operations", name)
        if name not in contract.operations:
            yield Problem(key, "unknown operation", nearest(name, contract.operations))
            continue
        operation = contract.operations[name]
        for facts in ("path", "unknown"):
            for parameter in table.get(facts, {}):
                if parameter not in operation.path_parameters:
                    hint = nearest(parameter, operation.path_parameters)
                    yield Problem((*key, facts, parameter), f"no path parameter of {name}", hint)
        for facts in ("body", "bodies"):
            if facts in table and not operation.has_body:
                yield Problem((*key, facts), f"{name} takes no body")


def _schema_names(document: Document, contract: Contract) -> Iterator[Problem]:
    table = document.get("schemas", {})
    if table.get("names") and "file" not in table:
        yield Problem(("schemas",), "lacks the key file", "names maps to the schemas of the file")
    for name in table.get("names", {}):
        if name not in contract.schema_names:
            hint = nearest(name, contract.schema_names)
            yield Problem(("schemas", "names", name), "the interface names no such schema", hint)


def _empty_lists(document: Document) -> Iterator[Problem]:
    """An empty list says neither that there is no value nor why none is known."""
    for key in _LISTS:
        if document.get(key[0], {}).get(key[1]) == []:
            yield Problem(key, "must not be empty", 'list every value, or state none = "..." in its place')


def _search(document: Document, contract: Contract) -> Iterator[Problem]:
    table = document.get("search", {})
    operation = contract.operations["searchPublicProducts"]
    for parameter in operation.required_query:
        if "query" in table and parameter not in table["query"]:
            yield Problem(("search", "query"), f"lacks the parameter {parameter}", "the interface requires it")
    types = {parameter.name: parameter.type for parameter in operation.query_parameters}
    for name, value in table.get("query", {}).items():
        if trouble := _query_trouble(value, types.get(name, "")):
            yield Problem(("search", "query", name), trouble)
    if table.get("page_size_min", 1) > table.get("page_size_max", math.inf):
        yield Problem(("search", "page_size_max"), "is less than page_size_min")
    if table.get("page_base", 0) > table.get("page_max", math.inf):
        yield Problem(("search", "page_max"), "is less than page_base")
    for name, other in (("cursor", "cursor_parameter"), ("cursor_parameter", "cursor")):
        if table.get(name) and not table.get(other):
            yield Problem(("search", name), f"is stated without {other}", "state both, or neither")
    if table.get("cursor_parameter") in [parameter.name for parameter in operation.query_parameters]:
        hint = "page stays the number of a page: state the parameter that takes a cursor"
        yield Problem(("search", "cursor_parameter"), "is a parameter of the interface", hint)


def _query_trouble(value: Any, declared_type: str) -> str:
    """Why a parameter of the query cannot have this value; empty where it can, or where it is a placeholder's."""
    if isinstance(value, (list, dict)):
        return "must be text or a number, the value of one parameter"
    if declared_type and isinstance(value, bool):
        return f"must be {'an integer' if declared_type == 'integer' else 'text or a number'}, not a boolean"
    if declared_type == "integer" and not _INTEGER_OR_TEMPLATE.fullmatch(str(value)):
        return f"must be an integer, not {str(value)[:40]!r}"
    return ""


def _oauth(document: Document) -> Iterator[Problem]:
    table = document.get("oauth", {})
    allowance = table.get("clock_allowance_s")
    for name in ("clock_behind_s", "clock_ahead_s"):
        if allowance is not None and table.get(name, allowance) != allowance:
            hint = "clock_allowance_s is the short form of clock_behind_s and clock_ahead_s: leave it out"
            yield Problem(("oauth", name), f"differs from clock_allowance_s = {allowance:g}", hint)
    for name in ("client_id", "redirect_uri"):
        if table.get(name) and table.get(f"other_{name}") == table[name]:
            yield Problem(("oauth", f"other_{name}"), f"is the same as {name}", "state another one, or leave it out")


def _signs(document: Document) -> Iterator[tuple[str, Key, Mapping[str, Any]]]:
    """The operation, key and table of each sign."""
    for name, stated in document.get("effects", {}).items():
        key: Key = ("effects", name)
        for index, table in enumerate(as_list(stated)):
            yield name, key if isinstance(stated, Mapping) else (*key, index), table


def _effects(document: Document, contract: Contract) -> Iterator[Problem]:
    for name, key, table in _signs(document):
        if name not in contract.operations:
            yield Problem(key, "unknown operation", nearest(name, contract.operations))
        if ("operation" in table) == ("http" in table):
            yield Problem(key, "needs exactly one of operation and http")
        yield from _sign_values(key, table)
        yield from _sign_path(key, table, contract)


def _sign_values(key: Key, table: Mapping[str, Any]) -> Iterator[Problem]:
    absent = table.get("absent")
    if table.get("step") == 0:
        yield Problem((*key, "step"), "must not be 0", "leave it out where the value only changes")
    if "step" in table and absent is not None and (isinstance(absent, bool) or not isinstance(absent, int | float)):
        yield Problem((*key, "absent"), f"{absent!r} is not a number that grows by step", "state the number before it")
    if any(name.startswith(ANSWER) for name in _names_in(table)) and absent is None:
        message = "before the call there is no answer to read the sign by"
        yield Problem(key, "lacks the key absent", message)


def _sign_path(key: Key, table: Mapping[str, Any], contract: Contract) -> Iterator[Problem]:
    read = contract.operations.get(table.get("operation", ""))
    known = read.path_parameters if read else ()
    for parameter in table.get("path", {}):
        if parameter not in known:
            of = read.id if read else "no operation: the URL of http holds its own"
            yield Problem((*key, "path", parameter), f"no path parameter of {of}", nearest(parameter, known))


def _names_in(table: Mapping[str, Any]) -> frozenset[str]:
    """The placeholders of a sign. Malformed ones are reported by `Substitution`."""
    with suppress(MalformedPlaceholder):
        return placeholders([table.get("path", {}), table.get("http", {})])
    return frozenset()


def _cleanup(document: Document) -> Iterator[Problem]:
    kinds = document.get("fixtures", {})
    for kind in document.get("cleanup", {}):
        if kind not in kinds:
            yield Problem(("cleanup", kind), "no kind of [fixtures]", nearest(kind, kinds))
