"""The eight situations in which people read the pages: six runs of the reference service, a comparison, a history."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.commands import REFERENCE, Desk, run_json

REPORTS = "reports"
ONE_FAULT = "F065"
TEN_FAULTS = ("F006", "F022", "F030", "F037", "F041", "F051", "F055", "F056", "F059", "F079")
MISSING = ("credentials.revoked", "effects.checkoutPublicCart", "effects.revokePublicCart")
"""Tables that the incomplete run's profile does not have."""
DEADLINE_S = 2


def make_situations(desk: Desk) -> dict[str, Path]:
    """Runs what each situation needs, in the desk's folder; the page of each, in the order of the table."""
    return {name: make(desk) for name, make in SITUATIONS.items()}


def make_run(desk: Desk, name: str, *given: str, prefix: str = "", profile: Path = REFERENCE) -> Path:
    folder = desk.place / REPORTS / name
    target = [str(profile) if word == str(REFERENCE) else word for word in desk.target(prefix)]
    done = desk.conformance("run", "-q", *target, "--report-dir", folder, *given)
    assert (folder / "report.html").is_file(), done.text
    return folder / "report.html"


def _profile(desk: Desk, name: str, text: str) -> Path:
    folder = desk.place / name
    folder.mkdir()
    shutil.copy(REFERENCE.with_name("reference.schemas.yaml"), folder)
    (folder / "reference.toml").write_text(text, encoding="utf-8")
    return folder / "reference.toml"


def _conformant(desk: Desk) -> Path:
    return make_run(desk, "conformant")


def _incomplete(desk: Desk) -> Path:
    text = REFERENCE.read_text(encoding="utf-8")
    for table in MISSING:
        text, count = re.subn(rf"^\[{re.escape(table)}\]\n.*?(?=^\[)", "", text, flags=re.MULTILINE | re.DOTALL)
        assert count == 1, table
    return make_run(desk, "incomplete", profile=_profile(desk, "thin", text))


def _one_fault(desk: Desk) -> Path:
    return make_run(desk, "one-fault", prefix=ONE_FAULT)


def _ten_faults(desk: Desk) -> Path:
    return make_run(desk, "ten-faults", prefix="+".join(TEN_FAULTS))


def _waived(desk: Desk) -> Path:
    """The same fault again, with the waivers that its page proposes."""
    causes = run_json(desk.place / REPORTS / "one-fault")["causes"]
    blanks = {"reason": "the shop moves to a new store", "owner": "team-shop", "issue": "SHOP-7", "until": "2099-12-31"}
    waivers = "\n\n".join(cause["waiver"] for cause in causes if cause["waiver"])
    for name, value in blanks.items():
        waivers = waivers.replace(f'{name} = ""', f'{name} = "{value}"')
    text = REFERENCE.read_text(encoding="utf-8")
    return make_run(desk, "waived", prefix=ONE_FAULT, profile=_profile(desk, "waiving", f"{text}\n{waivers}\n"))


def _interrupted(desk: Desk) -> Path:
    return make_run(desk, "interrupted", "--deadline", str(DEADLINE_S))


def _compare(desk: Desk) -> Path:
    reports, page = desk.place / REPORTS, desk.place / REPORTS / "compare.html"
    runs = [str(reports / name) for name in ("conformant", "one-fault", "ten-faults")]
    done = desk.conformance("compare", *runs, "--html", page)
    assert page.is_file(), done.text
    return page


def _history(desk: Desk) -> Path:
    """Of all runs above, and of one whose file is torn."""
    reports, page = desk.place / REPORTS, desk.place / REPORTS / "history.html"
    (reports / "torn").mkdir()
    (reports / "torn" / "run.json").write_text("{", encoding="utf-8")
    done = desk.conformance("history", reports, "--html", page)
    assert page.is_file(), done.text
    return page


SITUATIONS: Mapping[str, Callable[[Desk], Path]] = {
    "conformant": _conformant,
    "incomplete": _incomplete,
    "one-fault": _one_fault,
    "ten-faults": _ten_faults,
    "waived": _waived,
    "interrupted": _interrupted,
    "compare": _compare,
    "history": _history,
}
