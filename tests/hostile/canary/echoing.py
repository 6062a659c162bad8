"""A target that echoes everything it gets, in every form and into every place, and keeps a list of what was secret.

It is a proxy before the reference service, so that requests succeed; what is secret there is replaced by canaries with
characters that every encoding spells otherwise. Hostile, it answers by itself and says nothing but what it was told.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, quote_plus

from tests.hostile.canary.search import FORMS
from tests.support.proxy import Forward, Message

ODD = "/+=&\"<~'%7A"
"""Behind every ticket and token, so that no two encodings spell it alike."""
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_LONG = 16
_PART = 8
"""A text that has this many characters in a row of a key is derived from it."""
_ARRIVED_S = 1.0


def _have_a_part_in_common(credential: str, key: str) -> bool:
    """Whether a few characters in a row of the key are in the credential, in any case."""
    credential, key = credential.lower(), key.lower()
    return any(key[at : at + _PART] in credential for at in range(len(key) - _PART + 1))


@dataclass
class Echo:
    """`keys`: canary -> the reference's own key."""

    keys: Mapping[str, str]
    manner: str = "gentle"
    """gentle: the reference's answer and the echo; hostile: nothing but the echo; silent: the answer alone."""
    seen: dict[str, str] = field(default_factory=dict)
    """What was secret in requests and answers -> what it was."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    last: list[tuple[float, str]] = field(default_factory=list)
    """The tokens that were given out, and when."""

    def note(self, name: str, value: Any) -> None:
        if isinstance(value, str) and len(value) >= _LONG and value.isascii() and value.isprintable():
            with self.lock:
                self.seen.setdefault(value, name)

    async def __call__(self, asked: Message, forward: Forward, number: int) -> Message | None:
        secrets = [*self._authorization(asked), *self._proofs(asked), *self._members(asked)]
        for name, value in secrets:
            self.note(name, value)
        if self.manner == "hostile":
            return self._nothing_but_echo(asked, secrets)
        answer = await forward(self._translated(asked))
        answer = self._with_odd_tokens(answer)
        return answer if self.manner == "silent" else self._echoing(asked, answer, secrets)

    def _authorization(self, asked: Message) -> Iterator[tuple[str, str]]:
        """The profile's keys, what is derived from one, and tokens: a key that a check makes up is not a secret."""
        for value in asked.all("Authorization"):
            credential = value.removeprefix("Bearer ")
            if credential in self.seen or any(_have_a_part_in_common(credential, key) for key in self.keys):
                yield "authorization", credential

    def _proofs(self, asked: Message) -> Iterator[tuple[str, str]]:
        for value in asked.all("DPoP"):
            if len(value) > 40:
                yield "proof", value
                signature = value.rpartition(".")[2]
                if len({*signature}) > 1:  # a check sends one of zeros, which is not a secret
                    yield "signature of a proof", signature
                yield from (("private key of proofs", number) for number in _private_of(value))

    def _members(self, asked: Message) -> Iterator[tuple[str, str]]:
        """Tickets and codes that were given out, and any verifier: what a check makes up instead is not a secret."""
        value = asked.json
        if not isinstance(value, dict) or not ("/oauth/" in asked.target or "/hosted/" in asked.target):
            return
        for name in ("ticket", "code", "codeVerifier"):
            told = value.get(name)
            if isinstance(told, str) and (told in self.seen or (_VERIFIER.fullmatch(told) and len(set(told)) > 9)):
                yield name, told

    def _translated(self, asked: Message) -> Message:
        """What the reference understands: its own keys, its own tickets."""
        headers = asked.headers
        for canary, key in self.keys.items():
            headers = tuple(
                (name, value.replace(canary.encode(), key.encode()) if name.lower() == b"authorization" else value)
                for name, value in headers
            )
        odd = json.dumps(ODD, ensure_ascii=False)[1:-1].encode()
        return replace(asked, headers=headers, body=asked.body.replace(odd, b""))

    def _with_odd_tokens(self, answer: Message) -> Message:
        value = answer.json
        data = value.get("data") if isinstance(value, dict) else None
        if answer.status != 200 or not isinstance(data, dict) or not isinstance(data.get("accessToken"), str):
            return answer
        data["accessToken"] += "~+/.9" * 2
        drawn = hashlib.sha256(data["accessToken"].encode()).digest()  # a replay has the same one
        value["refresh_token"] = "rt-" + base64.b64encode(drawn).decode()
        self.note("access token", data["accessToken"])
        self.note("refresh token", value["refresh_token"])
        self.last += [(time.monotonic(), token) for token in (data["accessToken"], value["refresh_token"])]
        return replace(answer, body=json.dumps(value).encode())

    def _echoing(self, asked: Message, answer: Message, secrets: list[tuple[str, str]]) -> Message:
        """The answer, with the echo where there is room for it: headers, error messages, beside `data`."""
        # nobody can know a token whose own answer is still on its way, while another one that holds it has arrived
        given = [token for at, token in self.last if time.monotonic() - at > _ARRIVED_S][-2:]
        spelt = list(_all_forms([value for _, value in secrets if isinstance(value, str)] + given, asked))
        value = answer.json
        if isinstance(value, dict) and isinstance(value.get("error"), dict):
            value["error"]["message"] = f"not good: {' '.join(spelt)}"
        elif isinstance(value, dict):
            # a member that no schema names is the subject of a finding
            value = {**dict.fromkeys(spelt[:1], 1), **value, "echo": {"said": spelt, **dict.fromkeys(spelt[:20], 1)}}
        body = json.dumps(value).encode() if isinstance(value, dict) else answer.body
        return replace(answer, body=body).with_headers(*_headers(spelt))

    def _nothing_but_echo(self, asked: Message, secrets: list[tuple[str, str]]) -> Message:
        spelt = list(_all_forms([value for _, value in secrets if isinstance(value, str)], asked))
        text = " ".join(spelt)
        status = random.choice([200, 200, 302, 400, 401, 403, 404, 409, 418, 500])
        reason = quote(spelt[0])[:200] if spelt else "Said"
        value = {"data": {"echo": spelt}, "error": {"message": text}}
        told = Message.of(status, value, *_headers(spelt), reason=reason)
        if random.random() < 0.3:
            page = f"<html><pre>{html.escape(text)}</pre>{text}{'pad ' * random.randrange(2500)}{text}</html>"
            told = replace(told, body=page.encode("utf-8", "replace") + b"\xff\xfe" + text.encode())
        return told


def _private_of(proof: str) -> Iterator[str]:
    """The private numbers of a key that a proof shows, against all rules: one check does that."""
    head = proof.split(".")[0]
    try:
        shown = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))).get("jwk") or {}
    except ValueError:
        return
    yield from (shown[name] for name in ("d", "p", "q", "dp", "dq", "qi") if name in shown)


def _all_forms(values: list[str], asked: Message) -> Iterator[str]:
    """Each value as anybody may spell it, alone and together with others."""
    for value in dict.fromkeys(values):
        yield from (spelt for spell in FORMS.values() for spelt in spell(value))
        yield base64.b64encode(f"user:{value}".encode()).decode()
        yield base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")
        yield quote(quote(value, safe=""), safe="")
        yield html.escape(json.dumps({"next": f"/login?token={quote_plus(value)}"}))
        yield json.dumps(json.dumps({"said": value}))
    yield base64.b64encode(asked.body[:4000]).decode()
    yield base64.b64encode(b"".join(name + b": " + value for name, value in asked.headers)).decode()


def _headers(spelt: list[str]) -> list[tuple[str, str]]:
    """Values, names, cookies and places to go to."""
    fit = [text for text in spelt if text.isascii() and text.isprintable() and len(text) < 1500][:30]
    words = [text for text in fit if text.replace("-", "").replace("_", "").isalnum() and len(text) < 900][:6]
    return [
        *((f"X-Echo-{number}", text.strip()) for number, text in enumerate(fit)),
        *((f"X-{word}", "1") for word in words),
        *(("Set-Cookie", f"seen={quote(text)}; Path=/") for text in fit[:2]),
        *(("Location", f"/again?key={quote(text)}") for text in fit[:1]),
        *(("X-Auth-Token", text.strip()) for text in fit[:1]),
        *(("WWW-Authenticate", f'Bearer error_description="{text.strip()}"') for text in fit[:1]),
    ]
