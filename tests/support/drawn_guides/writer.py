"""Writes the guide of a random target: from its choices and its policy, never from its profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reference import oauth
from conformance.reference.catalogue import LOCALES, MARKETS
from conformance.reference.policy import Policy
from conformance.reference.random_targets.boundary import Boundary, names_of, translate_pointer
from conformance.reference.random_targets.choices import NAMESPACES, RandomTarget
from conformance.reference.random_targets.policy_builder import RUN_LIMITS, STEADY, policy_of
from tests.support.drawn_guides.effects import effects
from tests.support.drawn_guides.sentences import Facts, Sentence, listed, say
from tests.support.drawn_guides.states import states

Names = Mapping[str, str]


def guide_of(target: RandomTarget) -> dict[str, list[Sentence]]:
    """All that the operator of a target can say, by chapter."""
    names, policy = names_of(target), policy_of(target, Boundary(target))
    return {
        "Authorization": [*_authorization(target), *_named_installations(names)],
        "Answers": list(_answers(target)),
        "Idempotency": list(_idempotency(target, names)),
        "Bodies": list(_bodies(policy, target)),
        "States": [*states(policy), *_hosted(policy)],
        "Effects": list(effects(target, policy, names)),
        "Search": [*_search(policy, target, names), *_unusual_searches(policy, names)],
        "Rate limits": list(_rate_limits(target)),
        "OAuth token exchange": [*_clients(names), *_proofs(policy, target), *_tokens(policy, target, names)],
    }


def said(target: RandomTarget) -> dict[str, Any]:
    """Every fact of the guide."""
    facts: dict[str, Any] = {}
    for sentences in guide_of(target).values():
        for sentence in sentences:
            facts |= sentence.facts
    return facts


def text_of(chapters: Mapping[str, list[Sentence]], stated: Facts) -> str:
    """The guide in Markdown, without what its operator does not say in the profile either."""
    lines = []
    for title, sentences in chapters.items():
        told = [f"- {sentence.text}" for sentence in sentences if {*sentence.facts} & {*stated}]
        lines += [f"## {title}", "", *told, ""] if told else []
    return "\n".join(lines)


def _authorization(target: RandomTarget) -> Iterator[Sentence]:
    written = target.authorization.replace("{key}", "<API_KEY>")
    yield say(f"`Authorization: {written}`.", "authorization", format=target.authorization)
    scheme = target.authorization.partition("{key}")[0]
    if " " in scheme:
        word = "needs its scheme" if target.scheme == "required" else "may be sent without its scheme"
        yield say(f"A key {word}.", "authorization", scheme=target.scheme)
        case = "any" if target.any_case_scheme else "exact"
        word = "does not matter" if target.any_case_scheme else "matters"
        yield say(f"The case of the scheme {word}.", "authorization", scheme_case=case)
    case = "any" if target.any_case_keys else "sensitive"
    word = "does not matter" if target.any_case_keys else "matters"
    yield say(f"The case of the letters of a key {word}.", "authorization", key_case=case)
    public = "checked" if target.public_strict else "ignored"
    word = "refuse an `Authorization` header that is not valid" if target.public_strict else "ignore the header"
    yield say(f"Public operations need no key, and {word}.", "authorization", public=public)
    status = {"not_found": 404, "foreign": 403}[target.unseen]
    yield say(f"A key of another installation is answered {status}.", "tenancy", status=status)


def _named_installations(names: Names) -> Iterator[Sentence]:
    place = translate_pointer(names, "/data/installationId")
    for operation, fact in (("identity", "installation_in_identity"), ("readiness", "installation_in_readiness")):
        yield say(f"The {operation} of a key names its installation at `{place}`.", "tenancy", **{fact: place})


def _answers(target: RandomTarget) -> Iterator[Sentence]:
    if target.fresh_header:
        text = f"Every answer has a header `{target.fresh_header}`, new each time."
        yield say(text, "answers", fresh_headers=[target.fresh_header])
    else:
        reason = "no header is always new"
        yield say("No header is new in each answer.", "answers", fresh_headers={"none": reason})
    has_further = target.extra_members or target.replay == "rewritten"
    may, word = ("may", "allowed") if has_further else ("never", "never")
    yield say(f"Answers {may} have members beside their schemas.", "answers", further_members=word)


def _idempotency(target: RandomTarget, names: Names) -> Iterator[Sentence]:
    carrier = target.carrier
    if carrier == "body":
        text, place = f"the member `{target.key_pointer}` of the body", {"pointer": target.key_pointer}
    else:
        word = "request header" if carrier == "header" else "query parameter"
        text, place = f"the {word} `{target.key_name}`", {"name": target.key_name}
    yield say(f"Carrier: {text}.", "idempotency", carrier=carrier, **place)
    known = {"uuid": "a UUID", "any": "any text"}
    form: Any = target.key_format if target.key_format in known else {"pattern": target.key_format}
    yield say(f"Format: {known.get(target.key_format, target.key_format)}.", "idempotency", format=form)
    if target.key_format != "any":
        yield say("A key of another format is refused.", "idempotency", other_format="refused")
    yield say(f"It is written `{target.key_written}`.", "idempotency", written=target.key_written)
    word = "does not tell" if target.key_case == "insensitive" else "tells"
    yield say(f"Case {word} keys apart.", "idempotency", case=target.key_case)
    yield say(f"A request without a key is {target.missing_key}.", "idempotency", missing_key=target.missing_key)
    parts = list(NAMESPACES[target.namespace])
    word = f"belongs to the {', the '.join(parts)}" if parts else "belongs to nobody: there is one of each"
    yield say(f"A key {word}.", "idempotency", namespace=parts)
    yield from _answers_under_a_key(target, names)


def _answers_under_a_key(target: RandomTarget, names: Names) -> Iterator[Sentence]:
    kept = {"successes": [200], "refusals": [200, 400, 404, 409]}[target.remembers]
    numbers = ", ".join(map(str, kept))
    yield say(f"Answers kept: {numbers}; after any other the key is free.", "idempotency", kept=kept)
    is_refused = target.on_flight == "conflict" and target.work_ms > 0
    word = "is answered 409" if is_refused else "waits for the first answer"
    in_flight = "conflict" if is_refused else "waits"
    yield say(f"A duplicate of a request that is still running {word}.", "idempotency", in_flight=in_flight)
    changed = {"stored": [], "rewritten": ["/requestId", "/servedAt"], "latest": ["/data/state", "/data/version"]}
    members = [translate_pointer(names, pointer) for pointer in changed[target.replay]]
    word = f"differs in {listed(members)} only" if members else "has the same body"
    yield say(f"A replay {word}.", "idempotency", volatile=members)


def _bodies(policy: Policy, target: RandomTarget) -> Iterator[Sentence]:
    accepts = policy.reading.accepts
    types = [media for media in ("application/json", "application/*+json") if accepts(media.replace("*", "vnd.x"))]
    yield say(f"Content-Type: {listed(types)}.", "bodies", media_types=types)
    absent = "accepted" if accepts(None) else "refused"
    yield say(f"A body without a Content-Type is {absent}.", "bodies", absent_media_type=absent)
    size, depth = policy.reading.max_bytes, policy.reading.max_depth
    text = f"A body has at most {size} bytes, and at most {depth} levels."
    yield say(text, "bodies", max_bytes=size, max_depth=depth)
    unknown = target.unknown_members
    yield say(f"Unknown members are {unknown}.", "bodies", unknown_members=unknown)


def _hosted(policy: Policy) -> Iterator[Sentence]:
    is_single = "consumed" not in policy.states["consumeHostedCheckoutBrowserTicket"]
    word = "once" if is_single else "as often as you like"
    yield say(f"A ticket can be used {word}.", "hosted", tickets_single_use=is_single)
    yield say("Consuming and cancelling answer the same projection.", "hosted", projection_shared=True)
    status = policy.statuses["bad_ticket"]
    text = f"An unknown ticket, or that of another session: {status}."
    yield say(text, "hosted", unknown_ticket_status=status)
    none = {"none": "a ticket has no end of its own"}
    yield say("A ticket has no end of its own.", "hosted", ticket_lifetime_s=none)


def _search(policy: Policy, target: RandomTarget, names: Names) -> Iterator[Sentence]:
    rules = policy.search
    example = {"q": "gift", "locale": "en-US", "market": "US", "sort": "name"}
    query = {**example, "page": rules.page_base, "pageSize": max(2, rules.page_size_min)}
    text = "&".join(f"{name}={value}" for name, value in query.items())
    yield say(f"Example: `{text}`; the order of the items is stable.", "search", query=query, stable_sort=True)
    places = {name: translate_pointer(names, f"/{name}") for name in ("id", "category", "merchant")}
    text = f"An item has its id at `{places['id']}`."
    yield say(text, "search", item_id=places["id"])
    for name, value in (("category", "shoes"), ("merchant", "northwind")):
        text = f"Filter by {name}: `{value}`; an item has it at `{places[name]}`."
        yield say(text, "search", **{name: value, f"item_{name}": places[name]})
    yield say(f"The first page is {rules.page_base}.", "search", page_base=rules.page_base)
    smallest, largest = rules.page_size_min, rules.page_size_max
    out = "clamped" if rules.clamp else "refused"
    bounds = {"page_size_min": smallest, "page_size_max": largest}
    word = "the nearest of them is used" if rules.clamp else "it is refused"
    text = f"`pageSize` from {smallest} to {largest}; outside {word}."
    yield say(text, "search", **bounds, page_size_above=out, page_size_below=out)
    price = translate_pointer(names, "/price/amount")
    orders = {"name": {"by": translate_pointer(names, "/title")}, "price_asc": {"by": price}}
    text = "`sort`: `relevance`, `name` (by title), `price_asc`, `price_desc` (descending)."
    descending = {"by": price, "order": "descending"}
    yield say(text, "search", sorts={"relevance": {}, **orders, "price_desc": descending})
    lists = {"locales": list(LOCALES), "markets": list(MARKETS)}
    yield say(f"`locale`: {listed(LOCALES)}; `market`: {listed(MARKETS)}.", "search", **lists)
    yield say(f"Another sort, locale or market is {target.unlisted}.", "search", unlisted=target.unlisted)


def _unusual_searches(policy: Policy, names: Names) -> Iterator[Sentence]:
    rules = policy.search
    yield say(f"A page past the end: {rules.past_the_end}.", "search", past_the_end=rules.past_the_end)
    yield say("Up to page 1,000,000 no page is too far away.", "search", page_max=1_000_000)
    yield say(f"An empty `q`: {rules.empty_q}.", "search", empty_q=rules.empty_q)
    yield say(f"`q` has at most {rules.q_max} characters.", "search", q_max=rules.q_max)
    for name, treatment in rules.unknown_filter.items():
        yield say(f"An unknown {name}: {treatment}.", "search", **{f"unknown_{name}": treatment})
    unknown = "refused" if rules.known_only else "ignored"
    yield say(f"Unknown query parameters are {unknown}.", "search", unknown_parameter=unknown)
    yield _cursors(policy, names)


def _cursors(policy: Policy, names: Names) -> Sentence:
    cursors = policy.search.cursors
    if cursors is None:
        none = {"none": "a page is asked for by its number alone"}
        return say("A page is asked for by its number alone.", "search", cursor=none, cursor_parameter=none)
    place = translate_pointer(names, cursors.place)
    text = f"`{place}` is the cursor of the next page, for `{cursors.parameter}` in place of `page`; the last has none."
    return say(text, "search", cursor=place, cursor_parameter=cursors.parameter)


def _rate_limits(target: RandomTarget) -> Iterator[Sentence]:
    if target.limiter == "never":
        yield say("There is no limit.", "rate_limit", none="the target never limits")
        return
    numbers = {"limit": 5, "window_s": 0.5, "recovery_s": 2, "max_requests": 40}
    if target.run_limit:
        numbers["max_requests"] = 2 * RUN_LIMITS[target.limit_per][0] + 40
    if target.limiter == "steady":
        numbers |= {"limit": STEADY[0], "window_s": STEADY[1], "max_requests": 4 * STEADY[0]}
    else:
        url = "{var.control}/rate-limit"
        switch = {"limit": 5, "window_s": 0.5}
        calls = {
            "prepare": {"method": "POST", "url": url, "json": switch},
            "restore": {"method": "DELETE", "url": url},
        }
        yield say("`POST /rate-limit` switches the limit on, `DELETE` off.", "rate_limit", **calls)
        yield _limit_of_the_run(target)
    text = "{limit} requests in {window_s} s; {recovery_s} s later all is well again.".format(**numbers)
    yield say(text, "rate_limit", **numbers)
    yield say("Bursts are allowed, with the key `limited`.", "rate_limit", provoke=True, credential="limited")
    yield say(f"The limit counts per {target.limit_per}.", "rate_limit", per=target.limit_per)
    has_header = target.retry_after in ("seconds", "date")
    word = "has a" if has_header else "has no"
    yield say(f"A 429 {word} Retry-After header.", "rate_limit", retry_after=has_header)


def _limit_of_the_run(target: RandomTarget) -> Sentence:
    if not target.run_limit:
        reason = "far above what a run can send"
        return say(f"While it is off, the limit is {reason}.", "rate_limit", run_limit={"none": reason})
    limit, window_s = RUN_LIMITS[target.limit_per]
    text = f"While it is off, {limit} requests in {window_s} s hold."
    return say(text, "rate_limit", run_limit=limit, run_window_s=window_s)


def _clients(names: Names) -> Iterator[Sentence]:
    (client, uris), (other, other_uris) = oauth.CLIENTS.items()
    text = f"Clients: `{client}` with {listed(uris)}; `{other}` with {listed(other_uris)}."
    own = {"client_id": client, "redirect_uri": uris[0], "other_redirect_uri": uris[1]}
    others = {"other_client_id": other, "other_client_redirect_uri": other_uris[0]}
    yield say(text, "oauth", **own, **others)
    yield say("`htu` is `{base_url}/api/v1/oauth/token`.", "oauth", token_url="")
    members = {
        "code": "code",
        "code_verifier": "codeVerifier",
        "client_id_member": "clientId",
        "redirect_uri_member": "redirectUri",
    }
    places = {fact: translate_pointer(names, f"/{member}") for fact, member in members.items()}
    yield say(f"The body has {listed(list(places.values()))}.", "oauth", **places)


def _proofs(policy: Policy, target: RandomTarget) -> Iterator[Sentence]:
    rules = policy.oauth
    algorithms = list(rules.algorithms)
    yield say(f"DPoP algorithms: {listed(algorithms)}.", "oauth", algorithms=algorithms)
    behind, ahead = int(rules.clock_behind_s), int(rules.clock_ahead_s)
    if behind == ahead:
        yield say(f"`iat` is at most {behind} s off.", "oauth", clock_allowance_s=behind)
    else:
        text = f"`iat` at most {behind} s old and {ahead} s ahead."
        yield say(text, "oauth", clock_behind_s=behind, clock_ahead_s=ahead)
    words = {"refused": "is accepted once", "accepted": "may be used again", "retry": "is good for retries alone"}
    yield say(f"A `jti` {words[rules.proof_reuse]}.", "oauth", proof_reuse=rules.proof_reuse)
    word = "Every proof needs a nonce" if rules.nonce else "There are no nonces"
    yield say(f"{word}.", "oauth", nonce="required" if rules.nonce else "never")
    kinds = ("missing_proof", "bad_proof", "unknown_client", "bad_grant")
    status = {kind: policy.statuses[kind] for kind in kinds} | {"bad_body": policy.statuses["invalid"]}
    text = ", ".join(f"{kind.replace('_', ' ')} {number}" for kind, number in status.items())
    yield say(f"Failures: {text}.", "oauth", status=status)
    if target.failure_burns:
        text = "A wrong verifier, redirect URI or client spends the code."
        yield say(text, "oauth", failure_burns_code=["verifier", "redirect_uri", "client"])
    else:
        yield say("A failed exchange does not spend the code.", "oauth", failure_burns_code=False)


def _tokens(policy: Policy, target: RandomTarget, names: Names) -> Iterator[Sentence]:
    rules = policy.oauth
    lifetime = int(rules.code_lifetime_s)
    text = f"A code is good for {lifetime} s and one exchange."
    yield say(text, "oauth", code_lifetime_s=lifetime, codes_single_use=True)
    members = {"access_token": "accessToken", "token_type": "tokenType", "expires_in": "expiresIn"}
    places = {fact: translate_pointer(names, f"/data/{member}") for fact, member in members.items()}
    yield say(f"The answer has {listed(list(places.values()))}.", "oauth", **places)
    seconds = rules.token_lifetime_s
    text = f"Its token type is `{target.token_type}`; it lives {seconds} s."
    yield say(text, "oauth", token_type_value=target.token_type, token_lifetime_s=seconds)
