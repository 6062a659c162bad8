"""A folder, a profile whose every secret is a canary, an echoing target, and an eye on the process list."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from keyrings.alt.file import PlaintextKeyring

from tests.hostile.canary.echoing import ODD, Echo
from tests.hostile.canary.search import Search
from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, shared_reference, wait_until
from tests.support.proxy import Forward, Message, Proxy

SOURCES = ("env", "file", "command", "keyring")
KEY_ENDING = "/+=&\"<%~'" + "q7"


@dataclass
class Watch:
    """What any process shows to everybody, and our children's environments, sampled while something runs."""

    lines: set[bytes] = field(default_factory=set)
    environments: dict[str, bytes] = field(default_factory=dict)
    samples: int = 0

    @contextmanager
    def on(self) -> Iterator[None]:
        ended = threading.Event()
        thread = threading.Thread(target=self._look, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _look(self, ended: threading.Event) -> None:
        while not ended.wait(0.03):
            self.samples += 1
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    line = (process / "cmdline").read_bytes()
                    self.lines.add(line)
                    if b"make-order" in line:
                        self.environments[process.name] = (process / "environ").read_bytes()
                except OSError:
                    continue


@dataclass
class Canaries:
    """The secrets of one profile and where they are kept; `desk` runs commands with them."""

    desk: Desk
    keys: dict[str, str]
    """Name of the credential -> its canary."""
    profile: Path
    watch: Watch = field(default_factory=Watch)
    said: list[bytes] = field(default_factory=list)
    """Everything that a command wrote to its two streams."""
    seen: dict[str, str] = field(default_factory=dict)

    def run(self, *given: object, expect: set[int] | None = None, main: str = "") -> subprocess.CompletedProcess[str]:
        """A command of ours, watched; `main` is a program to run in its place."""
        with self.watch.on():
            process = self.started(*given, main=main)
            out, err = process.communicate(timeout=TIMEOUT_S)
        return self.ended(process, out, err, expect)

    def started(self, *given: object, main: str = "") -> subprocess.Popen[str]:
        command = ["-c", main, *map(str, given)] if main else ["-m", "conformance", *map(str, given)]
        return self.desk.started(command)

    def ended(
        self, process: subprocess.Popen[str], out: str, err: str, expect: set[int] | None = None
    ) -> subprocess.CompletedProcess[str]:
        self.said += [out.encode(), err.encode()]
        assert expect is None or process.returncode in expect, out[-3000:] + err[-3000:]
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def search(self) -> Search:
        own = {key: f"key {name}" for name, key in self.keys.items()}
        return Search({**self.seen, **own}, parts_of=own)

    def leaks(self) -> dict[str, set[str]]:
        """Every place in which a canary was found; empty is what is wanted."""
        search = self.search()
        found = search.found_in_files(self.desk.place)
        places = {"the terminal": b"\n".join(self.said), "the process list": b"\n".join(self.watch.lines)}
        places |= {f"the environment of {pid}": text for pid, text in self.watch.environments.items()}
        return found | {place: hits for place, text in places.items() if (hits := search.found_in(text))}


def canaries(place: Path, kept: Path) -> Canaries:
    """A profile in `place` whose secrets lie in `kept`, the environment and a keyring: every kind of source is used."""
    text = REFERENCE.read_text()
    names = re.findall(r"^\[credentials\.(.+)\]$", text, re.MULTILINE)
    keys = {name: f"cnry-{name[:4]}-{secrets.token_hex(10)}{KEY_ENDING}{number}x" for number, name in enumerate(names)}
    environment = {"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring", "XDG_DATA_HOME": str(kept)}
    for number, (name, key) in enumerate(keys.items()):
        source, held = _kept(SOURCES[number % len(SOURCES)], name, key, kept)
        environment |= held
        before, head, behind = text.partition(f"[credentials.{name}]\nsecret = ")
        text = before + head + source + behind[behind.index("\n") :]
    own = place / "make-order"
    own.write_text(f"#!{sys.executable}\n{_MAKE_ORDER}")
    own.chmod(0o700)
    command = 'command = ["./make-order", "{var.control}"]'
    text = re.sub(r"(\[fixtures\.order\.requested\]\n)http.*\n", rf"\1{command}\n", text)
    text = re.sub(r'file = "reference.schemas.yaml"', f'file = "{REFERENCE.with_name("reference.schemas.yaml")}"', text)
    # the front before the reference exchanges tickets in bodies and adds a token: other sizes, and a further member
    text = text.replace('further_members = "never"', 'further_members = "allowed"')
    text = re.sub(r"^max_bytes = .*$", 'max_bytes = { none = "a front changes bodies" }', text, flags=re.MULTILINE)
    profile = place / "canary.toml"
    profile.write_text(text)
    return Canaries(Desk(place, shared_reference(), environment), keys, profile)


def _kept(source: str, name: str, key: str, folder: Path) -> tuple[str, dict[str, str]]:
    """How the profile says it, and what the environment must hold for it."""
    if source == "env":
        variable = f"CANARY_{name.upper().replace('-', '_')}"
        return f'{{ env = "{variable}" }}', {variable: key}
    file = folder / name
    file.write_text(key + "\n")
    file.chmod(0o600)
    if source == "file":
        return f'{{ file = "{file}" }}', {}
    if source == "command":
        return f'{{ command = ["cat", "{file}"] }}', {}
    ring = PlaintextKeyring()
    ring.file_path = str(folder / "python_keyring" / "keyring_pass.cfg")
    ring.set_password("shop", name, key)
    return f'{{ keyring = {{ service = "shop", username = "{name}" }} }}', {}


_MAKE_ORDER = """
import json, sys, time, urllib.request
time.sleep(0.1)  # long enough to be seen in the process list
request = urllib.request.Request(sys.argv[1] + "/fixtures/order/requested?count=5", method="POST", data=b"")
with urllib.request.urlopen(request, timeout=10) as answer:
    print(json.dumps(json.load(answer)))
"""


@contextmanager
def echoing(own: Canaries, *, manner: str = "gentle", fault: str = "") -> Iterator[list[str]]:
    """The options of `run` that point at an echoing target; what it saw is added to the canaries.

    `manner`: gentle, hostile, or silent, which echoes nothing.
    """
    service = own.desk.service
    references = {name.removeprefix("CONFORMANCE_REFERENCE_"): key for name, key in service.environment.items()}
    keys = {key: references[name.upper().replace("-", "_")] for name, key in own.keys.items()}
    echo = Echo(keys, manner)
    place = f"/{fault}" if fault else ""

    async def control(asked: Message, forward: Forward, number: int) -> Message | None:
        """The owner's test API: tickets get something odd behind them."""
        answer = await forward(asked)
        value = answer.json
        for item in [value, *value.get("items", ())] if isinstance(value, dict) else ():
            for name in ("ticket", "code"):
                if isinstance(item.get(name), str):
                    item[name] += ODD if name == "ticket" else ""
                    echo.note(name, item[name])
        return replace(answer, body=json.dumps(value).encode()) if isinstance(value, dict) else answer

    with Proxy(service.base_url + place, echo) as target, Proxy(service.control_url + place, control) as owner:
        yield ["--profile", str(own.profile), "--base-url", target.url, "--var", f"control={owner.url}"]
    own.seen |= echo.seen


def wait_for(path: Path, text: bytes, count: int, process: subprocess.Popen[str]) -> None:
    """Until a file holds something so often."""
    wait_until(lambda: path.exists() and path.read_bytes().count(text) >= count, process)
