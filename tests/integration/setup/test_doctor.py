"""doctor proves a set-up: on the reference every fact, and of a profile with one mistake the first line names it."""

from __future__ import annotations

import itertools
import json
import os
import re
import socketserver
import threading
from collections.abc import Callable

import pytest

from tests.support.commands import REFERENCE, Desk, Done
from tests.support.proxy import Forward, Message, Proxy
from tests.support.values import replace

pytestmark = pytest.mark.e2e

SCHEMAS = REFERENCE.with_name("reference.schemas.yaml")
_COUNT = "?count=20"


def examined(
    desk: Desk, change: Callable[[str], str] = str, *given: object, schemas: str = "", target: str = ""
) -> Done:
    """`doctor` on the reference's profile, changed; `target`: the id of another one than the reference."""
    before = REFERENCE.read_text()
    text = change(before)
    assert text != before or change is str or schemas, "nothing was changed"
    (desk.place / "own.toml").write_text(text)
    (desk.place / "reference.schemas.yaml").write_text(schemas or SCHEMAS.read_text())
    return desk.conformance("doctor", "--profile", "own.toml", *desk.target(target)[2:], *given)


def by_name(done: Done) -> dict[str, str]:
    return {line.split()[1]: line for line in done.out.splitlines() if line.startswith(("✓", "✕", "?", "·"))}


def test_on_the_reference_every_fact_is_proven(desk: Desk) -> None:
    """Nothing is wrong, nothing is unsure, each operation and each fixture has its line; and it is quick."""
    before = os.times()
    done = examined(desk)
    after = os.times()
    assert done.code == 0, done.text
    facts = {name: line[0] for name, line in by_name(done).items()}
    assert set(facts.values()) <= {"✓", "·"}, done.out
    for name in ("operations.quotePublicCart", "fixtures.cart.open", "fixtures.webhook.foreign", "credentials.revoked",
                 "idempotency.name", "idempotency.missing_key", "schemas", "clock", "authorization.format", "oauth",
                 "search.query", "search.page_size_max", "effects.quotePublicCart[0]", "errors.volatile",
                 "transitions", "operations.bodies", "search.stable_sort", "rate_limit.restore", "placeholders",
                 "oauth.code_lifetime_s", "oauth.token_lifetime_s"):  # fmt: skip
        assert facts.get(name) == "✓", (name, done.out)
    assert "nothing wrong" in done.out
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 20, "seconds of processor time; the figure is 4"


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


def substituted(pattern: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, count=1, flags=re.DOTALL)


def fixture(name: str, provider: str) -> Callable[[str], str]:
    """That fixture's provider instead of its own."""
    return substituted(rf"(\[fixtures\.{re.escape(name)}\]\n)http = [^\n]*\n(items = [^\n]*\n)?", rf"\1{provider}\n")


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    # what is wrong: the change, and the key that the first line must name
    "authorization format": (replaced('"Bearer {key}"', '"Token {key}"'), "authorization.format"),
    "another key's secret": (
        replaced("CONFORMANCE_REFERENCE_WEBHOOKS_WRITE", "CONFORMANCE_REFERENCE_REVOKED"),
        "credentials.revoked.secret",  # the two have one key, and the later one is named first
    ),
    "no secret": (replaced("CONFORMANCE_REFERENCE_NONE", "NO_SUCH_VARIABLE"), "credentials.none.secret"),
    "too many scopes": (
        replaced('scopes = ["catalog:read"]', 'scopes = ["catalog:read", "webhooks:read"]'),
        "credentials.catalog-read.scopes",
    ),
    "too few scopes": (replaced('scopes = ["checkout:quote"]', "scopes = []"), "credentials.checkout-quote.scopes"),
    "one installation too few": (replaced('installation = "B"', 'installation = "A"'), ".installation"),
    "not revoked": (replaced("CONFORMANCE_REFERENCE_REVOKED", "CONFORMANCE_REFERENCE_FULL"), "credentials.revoked"),
    "idempotency header": (replaced('name = "Idempotency-Key"', 'name = "X-Idem"'), "idempotency.name"),
    "idempotency carrier": (replaced('carrier = "header"', 'carrier = "query"'), "idempotency.name"),
    "missing key": (replaced('missing_key = "refused"', 'missing_key = "accepted"'), "idempotency.missing_key"),
    "volatile error member": (replaced('volatile = ["/requestId"]', 'volatile = ["/code"]'), "errors.volatile"),
    "fixture not there": (replaced("/fixtures/cart/quoted?", "/fixtures/cart/quotid?"), "fixtures.cart.quoted"),
    "fixture pointer": (
        fixture(
            "merchant.stocked",
            'http = { method = "POST", url = "{var.control}/fixtures/merchant/stocked" }\\nmembers = { slug = "/no" }',
        ),
        "fixtures.merchant.stocked",
    ),
    "fixture without the member": (
        fixture("order.eligible", 'values = [{ id = "order_1" }]'),
        "order.lineId",
    ),
    "unknown id": (
        fixture("order.requested", 'values = [{ id = "order_000", lineId = "x" }]'),
        "fixtures.order.requested",
    ),
    "own fixture as foreign": (replaced("/fixtures/cart/foreign?", "/fixtures/cart/open?"), "fixtures.cart.foreign"),
    "body": (
        replaced('before checkout", priority = 2', 'before checkout", priority = "two"'),
        "operations.quotePublicCart",
    ),
    "search": (replaced('sort = "name"', 'sort = "nonsense"'), "search.query"),
    "page size": (replaced("page_size_max = 50", "page_size_max = 5000"), "search.page_size_max"),
    "item id": (replaced('item_id = "/id"', 'item_id = "/identifier"'), "search.item_id"),
    "cursor": (
        substituted(r"cursor = [^\n]*\ncursor_parameter = [^\n]*", 'cursor = "/meta/no"\ncursor_parameter = "cursor"'),
        "search.cursor",
    ),
    "category": (replaced('category = "shoes"', 'category = "no such thing"'), "search.category"),
    "webhook id": (replaced('id = "/data/id"', 'id = "/data/identifier"'), "webhooks.id"),
    "OAuth body": (replaced('codeVerifier = "{pkce.verifier}"', 'codeVerifier = "{pkce.challenge}"'), "oauth"),
    "token": (replaced('access_token = "/data/accessToken"', 'access_token = "/data/token"'), "oauth.access_token"),
    "effect": (
        replaced('pointer = "/data/version"', 'pointer = "/data/no"'),
        "effects.requestStorefrontOrderAfterSales",
    ),
    "step of an effect": (
        substituted(r"(\[effects\.revokePublicCart\][^\[]*)step = 1", r"\1step = 2"),
        "effects.revokePublicCart",
    ),
    "shared effect": (replaced("?marker={unique}", "?all=1"), "effects.createInstallationWebhook[0]"),
    "placeholder of an answer": (
        replaced("answer:/data/id", "answer:/data/no"),
        "effects.createInstallationWebhook[1]",
    ),
    "transition": (
        replaced('fixture = "cart.revoked"\nsingle_winner', 'fixture = "cart.quoted"\nsingle_winner'),
        "transitions.quotePublicCart",
    ),
    "status of a transition": (
        replaced("status = 404\nsingle_winner", "status = 403\nsingle_winner"),
        "transitions.removePublicCartPromotion",
    ),
    "state that a transition leads to": (
        replaced('fixture = "cart.open"\nleads_to = "cart.revoked"', 'fixture = "cart.open"\nleads_to = "cart.quoted"'),
        "transitions.revokePublicCart",
    ),
    "transition that is allowed": (
        replaced(
            'fixture = "cart.quoted"\nafter = ["revokePublicCart"]',
            'fixture = "cart.open"\nafter = ["quotePublicCart"]',
        ),
        "transitions.checkoutPublicCart",
    ),
    "transition that is refused": (
        replaced(
            'fixture = "cart.open"\nleads_to = "cart.quoted"', 'fixture = "cart.revoked"\nleads_to = "cart.quoted"'
        ),
        "transitions.quotePublicCart",
    ),
    "lifetime of codes, too long": (
        replaced("code_lifetime_s = 600", "code_lifetime_s = 6000"),
        "oauth.code_lifetime_s",
    ),
    "lifetime of codes, too short": (
        replaced("code_lifetime_s = 600", "code_lifetime_s = 60"),
        "oauth.code_lifetime_s",
    ),
    "lifetime of tokens": (
        replaced("token_lifetime_s = 3600", "token_lifetime_s = 1800"),
        "oauth.token_lifetime_s",
    ),
    "place of the lifetime": (
        replaced('expires_in = "/data/expiresIn"', 'expires_in = "/data/tokenType"'),
        "oauth.expires_in",
    ),
    "braces written twice": (
        replaced(
            'body = { url = "https://hooks.example/{unique}"', 'body = { url = "https://hooks.example/{{unique}}"'
        ),
        "operations.createInstallationWebhook.body",
    ),
    "placeholder of a sign": (
        replaced("id={cart.quoted.id}", "id={cart.quoted.number}"),
        "effects.checkoutPublicCart",
    ),
    "placeholder that no request has": (
        replaced("effects/revokePublicCart?id={cart.open.id}", "effects/revokePublicCart?marker={unique}"),
        "effects.revokePublicCart",
    ),
    "placeholder of an unknown resource": (
        replaced('unknown = { slug = "no-such-store" }', 'unknown = { slug = "{merchant.stocked.name}" }'),
        "operations.listPublicMerchantCategories.unknown.slug",
    ),
    "placeholder without a value": (
        replaced('client_id = "conformance"', 'client_id = ""'),
        "fixtures.oauth.code",
    ),
    "member without a value": (
        fixture("merchant.stocked", 'values = [{ slug = "" }]\nreusable = true'),
        "fixtures.merchant.stocked",
    ),
    "limit that is not set": (
        replaced("json = { limit = 5, window_s", "json = { limit = 5000, window_s"),
        "rate_limit.prepare",
    ),
    "further body": (
        replaced('bodies = [{ reason = "again" }]', "bodies = [{ reason = 3 }]"),
        "operations.quotePublicCart.bodies",
    ),
    "limit's switch": (
        replaced('url = "{var.control}/rate-limit", json', 'url = "{var.control}/no", json'),
        "rate_limit.prepare",
    ),
    "unknown key": (replaced("[hosted]", "[hostet]"), "hostet"),
}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("name", BROKEN)
def test_the_first_line_names_what_is_wrong(desk: Desk, name: str) -> None:
    """One mistake in a profile that is right otherwise; exit code 2; no traceback, and what to do is said."""
    change, key = BROKEN[name]
    done = examined(desk, change)
    assert done.code == 2, done.text
    first = done.out.splitlines()[0]
    assert first.startswith("✕ "), done.text
    named = first.split()[1]
    assert key in (first if named.startswith("own.toml:") else named), (
        done.out
    )  # a profile that does not load: its line
    assert "Traceback" not in done.text
    assert "sk_" not in done.text


_NO_AGE = replaced(', age_s = "{oauth.code_age_s}"', "")
_LATE = "[effects.checkoutPublicCart]\nwithin_s = 0.02"
ELSEWHERE: dict[str, tuple[str, Callable[[str], str], str]] = {
    # what is wrong of another target: its id, the change, and the key that the first line must name
    "codes that cannot be made older": (
        "V324",
        lambda text: _NO_AGE(text).replace("code_lifetime_s = 600", "code_lifetime_s = 2"),
        "oauth.code_lifetime_s",
    ),
    "time until an effect shows": (
        "V251",
        lambda text: text.replace("[effects.checkoutPublicCart]", _LATE),
        "effects.checkoutPublicCart",
    ),
    "limit that is not reset": (
        "reference~limited",
        replaced('restore = { method = "DELETE", url = "{var.control}/rate-limit" }',
                 'restore = { method = "POST", url = "{var.control}/rate-limit", json = { limit = 0, window_s = 9 } }'),
        "rate_limit.restore",
    ),
    "retention of keys": (
        "V493",
        replaced('written = "{key}"', 'written = "{key}"\nretention_s = 5'),
        "idempotency.retention_s",
    ),
    "limit of the run": (
        "V490",
        replaced('run_limit = { none = "far above what a run can send" }', "run_limit = 1\nrun_window_s = 600"),
        "rate_limit.run_limit",
    ),
}  # fmt: skip


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_wrong_of_another_target_is_named(desk: Desk, name: str) -> None:
    target, change, key = ELSEWHERE[name]
    done = examined(desk, change, target=target)
    assert done.code == 2, done.text
    wrong = [line for line in done.out.splitlines() if line.startswith("✕ ")]
    assert any(key in line.split()[1] for line in wrong), done.text
    assert all("→" in line for line in wrong), done.text


@pytest.mark.slow
def test_an_order_that_changes_is_named(desk: Desk) -> None:
    """Every second search has its items in the reverse order."""
    searches = itertools.count()

    async def reverse(asked: Message, forward: Forward, _: int) -> Message | None:
        answer = await forward(asked)
        if "/search?" not in asked.target or answer.status != 200 or next(searches) % 2:
            return answer
        value = {**answer.json, "data": answer.json["data"][::-1]}
        return replace(answer, body=json.dumps(value).encode())

    with Proxy(desk.service.base_url, reverse) as proxy:
        target = ["--base-url", proxy.url, "--var", f"control={desk.service.control_url}"]
        done = desk.conformance("doctor", "--profile", REFERENCE, *target)
    assert done.code == 2, done.text
    assert re.match(r"✕ search\.stable_sort .*→ ", done.out), done.text


@pytest.mark.slow
def test_a_short_retention_is_waited_for(desk: Desk) -> None:
    done = examined(desk, replaced('written = "{key}"', 'written = "{key}"\nretention_s = 2'))
    assert by_name(done)["idempotency.retention_s"].startswith("✓"), done.text


@pytest.mark.slow
def test_a_wrong_schema_is_named(desk: Desk) -> None:
    """By the interface's name of it, with the answer that does not match."""
    text = SCHEMAS.read_text()
    schema = re.sub(r"(ApiKeyIdentityResponse:.*?type: )object", r"\1array", text, count=1, flags=re.DOTALL)
    assert schema != text
    done = examined(desk, schemas=schema)
    assert done.code == 2, done.text
    assert "schemas.ApiKeyIdentityResponse" in done.out.splitlines()[0]


def test_an_absent_target_is_named(desk: Desk) -> None:
    done = desk.conformance("doctor", "--profile", REFERENCE, "--base-url", "http://127.0.0.1:9")
    assert done.code == 4, done.text
    assert done.out.splitlines()[0].startswith("✕ base_url")


class _Unreadable(socketserver.StreamRequestHandler):
    """Says that its answer comes in chunks, and sends none."""

    def handle(self) -> None:
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"transfer-encoding"):
                return
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n{}\r\n0\r\n\r\n")


@pytest.mark.slow
def test_answers_that_cannot_be_read_are_named(desk: Desk) -> None:
    """Someone is there, and nothing that is sent can be understood: no set-up is proven by that; a run tells it too."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Unreadable) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base_url = f"http://127.0.0.1:{server.server_address[1]}"
        given = ("--profile", REFERENCE, "--base-url", base_url, "--var", f"control={desk.service.control_url}")
        done = desk.conformance("doctor", *given)
        run = desk.conformance("run", *given, "-k", "AUTH-1", "--report-dir", "out")
        server.shutdown()
    assert done.code == 2, done.text
    named = "the target stopped answering: "
    assert re.match(rf"✕ base_url +{named}\S.*chunk", done.out), done.text
    assert "answers validate" not in done.out
    assert run.code == 3, run.text
    assert re.search(rf"Cut short: {named}\S.*chunk", run.out), run.text


@pytest.mark.slow
def test_the_form_that_the_target_accepts_is_told(desk: Desk) -> None:
    done = examined(desk, replaced('"Bearer {key}"', '"Key {key}"'))
    assert 'format = "Bearer {key}"' in done.out.splitlines()[0]


@pytest.mark.slow
def test_listed_fixtures_are_not_used_up(desk: Desk) -> None:
    """A write on a listed fixture is not sent unless asked for; how many of it a run needs is told."""
    change = fixture("session.open", 'values = [{ id = "s1", ticket = "t1" }, { id = "s2", ticket = "t2" }]')
    done = examined(desk, change)
    lines = by_name(done)
    assert lines["operations.cancelHostedCheckoutBrowser"].startswith("?")
    assert "would use up" in lines["operations.cancelHostedCheckoutBrowser"]
    assert re.search(r"2 are listed, a full run uses up to \d{3}", lines["fixtures.session.open.values"])


@pytest.mark.slow
def test_what_would_be_inapplicable_names_its_key(desk: Desk) -> None:
    done = examined(desk, substituted(r"(\[\[effects\.quotePublicCart\]\].*?\n\n)+", ""))
    assert re.search(r"effects\.quotePublicCart +\d+ checks: .*IDEM", done.out), done.out


def test_a_fixture_that_needs_an_unstated_fact_is_no_crash(desk: Desk) -> None:
    """Its line says which fact is missing."""
    without_keys = substituted(r"\n\[idempotency\]\n.*?(?=\n\[)", "\n")
    own = 'call = "createInstallationWebhook"\nmembers = { id = "/data/id" }'
    done = examined(desk, lambda text: fixture("webhook.active", own)(without_keys(text)))
    assert "the suite erred" not in done.text
    line = by_name(done)["fixtures.webhook.active"]
    assert line.startswith("·") and "state idempotency" in line, done.out


@pytest.mark.parametrize(
    ("status", "sign"), [("status = 404\n", "✓"), ("", "✕")], ids=["stated as hidden", "stated as a conflict"]
)
def test_a_state_that_is_refused_with_404_may_be_hidden_from_reads(desk: Desk, status: str, sign: str) -> None:
    """A service may treat what is over as absent; where it is not stated so, the provider is wrong."""
    gone = fixture("cart.checked_out", 'values = [{ id = "cart_00000000000000000000" }]\nreusable = true')
    stated = 'operation = "quotePublicCart"\nfixture = "cart.checked_out"\n'
    done = examined(desk, lambda text: gone(text).replace(stated, stated + status))
    line = by_name(done)["fixtures.cart.checked_out"]
    assert line.startswith(sign) and "404" in line, done.out


def test_scopes_are_read_where_the_profile_places_them(desk: Desk) -> None:
    """A list of all scopes in the same answer is not a list of the key's."""
    done = examined(desk, replaced('[identity]\nscopes = "/data/scopes"', '[identity]\nscopes = "/data/nowhere"'))
    assert by_name(done)["credentials.webhooks-write.scopes"].startswith("?"), done.out
