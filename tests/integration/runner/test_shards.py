"""`--shard K/N` and `merge`: parts of a run that know nothing of each other, and together are the run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.commands import Desk, journal_lines, results, run_json

pytestmark = pytest.mark.e2e

SELECTION = "check_rate_limit or check_authentication and getApiKeyIdentity or check_search"


def shard(desk: Desk, which: str, *given: str, prefix: str = "reference~shards", seed: int = 5) -> Any:
    folder = f"s{which.replace('/', 'of')}"
    target = desk.target(prefix)
    return desk.conformance("run", *target, "-q", "--seed", seed, "--shard", which, "--report-dir", folder, *given)


def journal(desk: Desk, folder: str, kind: str) -> list[dict[str, Any]]:
    return journal_lines(desk.place / folder, kind)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A run in one piece, and in three of which one is split over processes and one is resumed; and those merged."""
    from tests.support.commands import shared_reference

    desk = Desk(tmp_path_factory.mktemp("three"), shared_reference())
    target = desk.target("reference~shards")
    done = [
        desk.conformance("run", *target, "-q", "-k", SELECTION, "--seed", 5, "--report-dir", "whole"),
        shard(desk, "1/3", "-k", SELECTION, "-n", "2"),
        shard(desk, "2/3", "-k", SELECTION),
        shard(desk, "3/3", "-k", SELECTION, "--max-requests", "60"),
        desk.conformance("run", "--resume", "s3of3", *target[:2], "--limit", "max_requests=100000", "-q"),
        desk.conformance("merge", "s3of3", "s1of3", "s2of3", "--report-dir", "merged"),
    ]
    assert [one.code for one in done] == [3, 3, 3, 3, 3, 3], "\n".join(one.text for one in done)
    return desk


@pytest.mark.slow
def test_the_shards_of_a_run_are_the_run(three: Desk) -> None:
    """The same checks with the same results; selected by -k, it is still less than a whole run."""
    whole, merged = run_json(three.place / "whole"), run_json(three.place / "merged")
    assert results(whole) == results(merged)
    assert whole["counts"] == merged["counts"]
    assert whole["seed"] == merged["seed"]
    assert (merged["complete"], merged["filtered"]) == (True, True)


@pytest.mark.slow
def test_each_check_ran_in_one_shard_only(three: Desk) -> None:
    """What must run alone ran in the last one; no two exchanges have one name."""
    ran = [{line["check"] for line in journal(three, f"s{n}of3", "result")} for n in (1, 2, 3)]
    assert [any(check.startswith("check_rate_limit") for check in shard) for shard in ran] == [False, False, True]
    names = [line["id"] for line in journal(three, "merged", "exchange")]
    assert len(names) == len(set(names)) == sum(len(journal(three, f"s{n}of3", "exchange")) for n in (1, 2, 3))


@pytest.mark.slow
def test_a_shard_by_itself_is_never_conformant(three: Desk) -> None:
    assert {run_json(three.place / f"s{n}of3")["verdict"] for n in (1, 2, 3)} == {"incomplete"}


@pytest.mark.slow
def test_reports_of_a_merged_run_are_made_from_its_journal(three: Desk) -> None:
    done = three.conformance("report", "merged", "-o", "again", "--format", "runjson")
    assert done.code == 0, done.text
    assert run_json(three.place / "again") == run_json(three.place / "merged")


@pytest.mark.slow
def test_merge_says_what_is_missing_and_leaves_nothing(three: Desk) -> None:
    before = three.left_behind()
    done = three.conformance("merge", "s1of3", "s3of3")
    assert done.code == 2
    assert "shard 2 of 3 is missing" in done.one_line()
    done = three.conformance("merge", "s1of3", "whole", "s2of3", "s3of3")
    assert done.code == 2
    assert "whole: is not a shard" in done.one_line()
    assert three.conformance("merge", "nowhere").code == 2
    assert [name for name in three.left_behind() if name != "reports"] == [name for name in before if name != "reports"]


@pytest.mark.slow
def test_another_seed_is_another_run(three: Desk) -> None:
    shard(three, "2/3", "-k", SELECTION, "--report-dir", "other", seed=6)
    done = three.conformance("merge", "s1of3", "other", "s3of3")
    assert done.code == 2
    assert "the seed differs: 5 in s1of3, 6 in other" in done.one_line()


@pytest.mark.slow
def test_without_a_seed_all_shards_take_the_same_one(desk: Desk) -> None:
    """They cannot ask each other; another profile gives another seed."""
    for which in ("1/2", "2/2"):
        only = ("-k", "getApiKeyIdentity and AUTH-1", "-q", "--report-dir", which[0])
        assert desk.conformance("run", *desk.target(), "--shard", which, *only).code == 3
    assert run_json(desk.place / "1")["seed"] == run_json(desk.place / "2")["seed"]


@pytest.mark.parametrize("which", ["0/2", "3/2", "1/65", "two", "1/", "/", "-1/2", "1/2/3", "١/٢"])
def test_what_is_no_part_is_refused(desk: Desk, which: str) -> None:
    done = desk.conformance("run", *desk.target(), f"--shard={which}")
    assert done.code == 2
    assert "is not a shard" in done.one_line()
    assert desk.left_behind() == []


@pytest.mark.slow
def test_what_failed_here_is_no_shard(desk: Desk) -> None:
    """Another machine does not know it."""
    done = desk.conformance("run", *desk.target(), "--shard", "1/2", "--lf")
    assert done.code == 2, done.text
    assert "--lf" in done.text
