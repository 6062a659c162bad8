"""The pure parts of the curves: what a picture and a table say must be what was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from conformance.core.model import Exchange, Message
from tests.benchmarks.curve_points import (
    Curve,
    Panel,
    Sighting,
    fault_table,
    in_requests,
    in_seconds,
    panel_table,
    panels,
)
from tests.benchmarks.curve_runs import Observed, schemathesis_complaints, specmatic_complaints, suite_complaints
from tests.benchmarks.curve_svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, bounds, place_x, place_y, svg, ticks

SEEN = Sighting("F001", 2.0, 100, 8.0, 4000)
UNSEEN = Sighting("F002", None, None, 10.0, 5000)


def exchange(name: str, at: float, duration_ms: float = 1.0) -> Exchange:
    return Exchange(name, "op", "GET", "/", Message(), 200, Message(), at, duration_ms)


def failed(check: str, *exchanges: str) -> dict[str, Any]:
    row = {"check": check, "requirement": "STA-1", "operation": "op", "outcome": "failed"}
    return {**row, "exchanges": list(exchanges)}


def test_a_curve_counts_what_is_found_and_keeps_what_is_not_in_its_total() -> None:
    """A fault that is never seen makes no step, and the share stays below one."""
    curve = in_seconds("tool", [SEEN, UNSEEN])
    assert (curve.count(1.9), curve.count(2.0), curve.total) == (0, 1, 2)
    assert curve.steps == [(2.0, 0.0), (2.0, 0.5), (9.0, 0.5)]
    assert in_requests("tool", [SEEN, UNSEEN]).found == (100.0,)


def test_at_ten_requests_a_second_nothing_is_sooner_than_its_place_allows() -> None:
    """Nor sooner than it was without the limit."""
    assert SEEN.paced.found_s == 10.0
    assert SEEN.paced.run_s == 400.0
    assert Sighting("F003", 6.0, 6, 9.0, 79).paced == Sighting("F003", 6.0, 6, 9.0, 79)
    assert UNSEEN.paced.found_s is None


def test_what_is_usual_on_the_fault_free_reference_is_no_find() -> None:
    """The first complaint that is new counts, at the time of its answer."""
    observed = Observed(9.0, 1, (0.5, 0.6, 0.7), {"usual": 1, "late": 3, "new": 2})
    assert observed.sighting("F001", {"usual"}) == Sighting("F001", 0.6, 2, 9.0, 3)
    assert observed.sighting("F001", observed.complaints).found_s is None


def test_the_suite_s_evidence_is_the_last_exchange_that_a_failed_check_cites() -> None:
    """Counted in the order of the answers, not of the requests."""
    exchanges = [exchange("x1", 0.0, 5000), exchange("x2", 0.1), exchange("x3", 0.2)]
    assert suite_complaints([failed("check_a::b", "x2", "x3")], exchanges) == {"STA-1": 2}
    assert suite_complaints([failed("check_a::b", "x2", "x1"), failed("check_a::c", "x2")], exchanges) == {"STA-1": 1}
    assert suite_complaints([{**failed("check_a::b", "x1"), "outcome": "passed"}], exchanges) == {}


def test_schemathesis_failure_counts_at_its_first_case() -> None:
    """By operation and type, of all scenarios; checks that passed are none."""

    def finished(case: str, at: float, status: str) -> dict[str, Any]:
        check = {"status": status, "failure_info": {"failure": {"operation": "GET /x", "type": "ServerError"}}}
        recorder = {"checks": {case: [check]}, "interactions": {case: {"timestamp": at}}}
        return {"ScenarioFinished": {"timestamp": 99.0, "recorder": recorder}}

    events = [{"EngineStarted": {}}, finished("a", 5.0, "success"), finished("b", 8.0, "failure")]
    assert schemathesis_complaints([*events, finished("c", 7.0, "failure")], 4.0) == {"GET /x: ServerError": 3.0}


def test_specmatic_s_tests_are_numbered_as_it_ran_them() -> None:
    """Skipped ones are not among them: they send nothing."""
    lines = ["Scenario: GET /a -> 200 has SUCCEEDED", "  Skipping Scenario: GET /a -> 400"]
    printed = "\n".join([*lines, "Scenario: GET /b -> 200 has FAILED", ""])
    assert specmatic_complaints(printed) == {"GET /b -> 200": 2}


def test_the_table_has_the_numbers_of_the_curves() -> None:
    panel = Panel("near", "seconds", (1, 5), (in_seconds("tool", [SEEN, UNSEEN]),))
    assert panel_table(panel).splitlines()[2] == "| tool | 0 | 1 | 1 of 2 | 9.0 s |"
    rows = fault_table({"F001": "STA-1", "F002": "STA-2"}, {"tool": [SEEN, UNSEEN]}).splitlines()[2:]
    assert rows == ["| F001 | STA-1 | 2.0 s, 100 |", "| F002 | STA-2 | — |"]


@pytest.mark.parametrize(("low", "high"), [(0.5, 50.0), (1.0, 5000.0), (0.2, 0.5)])
def test_the_axis_reaches_from_edge_to_edge_and_its_ticks_lie_on_it(low: float, high: float) -> None:
    """Equal factors are equal distances; ticks are neither missing nor crowded."""
    assert (place_x(low, low, high), place_x(high, low, high)) == (LEFT, WIDTH - RIGHT)
    assert place_x((low * high) ** 0.5, low, high) == pytest.approx((LEFT + WIDTH - RIGHT) / 2, abs=0.1)
    assert 2 <= len(ticks(low, high)) <= 9
    assert all(low <= mark <= high for mark in ticks(low, high))
    assert (place_y(0), place_y(1)) == (HEIGHT - BOTTOM, TOP)


def test_the_bounds_enclose_every_corner() -> None:
    """Also where nothing was found, and where nothing ran."""
    assert bounds([Curve("a", (0.7, 12.0), 3, 9.0), Curve("b", (), 3, 21.0)]) == (0.5, 50.0)
    assert bounds([]) == (1.0, 10.0)


def test_the_picture_is_xml_with_a_stair_for_each_tool_in_each_panel() -> None:
    """Names are escaped; the legend has each tool once; colours follow the reader's scheme."""
    tools = {"ours": [SEEN, UNSEEN], "<peer>": [UNSEEN]}
    text = svg("Faults & finds", panels(tools, tools, 50))
    root = ElementTree.fromstring(text)
    names = [title.text for title in root.iterfind(".//{*}polyline/{*}title")]
    assert names == ["ours", "<peer>"] * 4
    assert "prefers-color-scheme: dark" in text
    legend = [one.text for one in root.iterfind("{*}text")]
    assert legend == ["Faults & finds", "ours", "<peer>"]
