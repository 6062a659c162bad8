"""One failure of a run in full for a terminal: clause, expectation, evidence, and the command to repeat it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.core.errors import UsageError
from conformance.core.model import Exchange, Result, Run
from conformance.core.outcomes import Outcome
from conformance.core.paths import display_command
from conformance.reports.shaping import transcript
from conformance.reports.shaping.bounded_run import identity
from conformance.reports.shaping.grouping import clauses, evidence, waiver_of
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import clean, one_line

_EXPLAINED_OUTCOMES = (Outcome.FAILED, Outcome.BROKEN, Outcome.WARNED, Outcome.INCONCLUSIVE, Outcome.UNTESTED)
_MAX_RESULTS = 5
_BODY = 1_200


def failure_lines(run: Run, name: str) -> Iterator[str]:
    """The results that did not pass with that name, failures first: a requirement, check, item, id or signature.

    Raises UsageError where there is none.
    """
    found = [result for result in run.results if name in _names(result)]
    explained = [result for result in found if result.outcome in _EXPLAINED_OUTCOMES]
    explained.sort(key=lambda result: _EXPLAINED_OUTCOMES.index(result.outcome))
    if not found:
        raise UsageError(f"the run has nothing called {name!r}", hint="name a requirement, a check, or a row's id")
    if not explained:
        yield f"{name}: {len(found)} results in this run, and all of them passed or do not apply"
        return
    for result in explained[:_MAX_RESULTS]:
        yield from _result(run, result)
    if len(explained) > _MAX_RESULTS:
        yield f"… and {len(explained) - _MAX_RESULTS} more: name one of them"
        yield from (f"  {identity(result)}  {_item(result)}" for result in explained[_MAX_RESULTS : 10 * _MAX_RESULTS])


def _names(result: Result) -> tuple[str, ...]:
    short = result.check.partition("::")[2]
    return (
        result.requirement,
        result.check,
        short,
        _item(result),
        identity(result),
        result.signature,
        result.cause_signature,
    )


def _item(result: Result) -> str:
    case = f"-{result.case}" if result.case else ""
    return f"{result.check.partition('::')[2]}[{result.operation}{case}]"


def _result(run: Run, result: Result) -> Iterator[str]:
    row = clauses(run).get(result.requirement)
    place = f"{result.requirement} on {result.operation or 'the service'}"
    yield clean(f"{result.counted_as}: {place} [{identity(result)}]")
    if row:
        yield clean(f"  clause    {row.statement} ({row.level}; section “{row.section}”)")
    for label, text in (("message", result.message), ("expected", result.expected), ("observed", result.observed)):
        if text:
            yield clean(f"  {label:9} {one_line(text, 1000)}")
    yield clean(f"  check     {_item(result)}")
    if result.signature:
        yield clean(f"  signature {result.signature}, of its cause {result.cause_signature}")
    if waiver := waiver_of(run, result):
        yield clean(f"  waived    until {waiver.until} by {waiver.owner}, {waiver.issue}: {waiver.reason}")
    for note in result.notes[:5]:
        yield clean(f"  note      {one_line(note, 300)}")
    exchanges = evidence(run, result)
    for exchange in exchanges[-_MAX_RESULTS:]:
        yield from _exchange(exchange, result, decisive=exchange is exchanges[-1])
    if result.reproduce:
        yield clean(f"  again     {one_line(display_command(result.reproduce, run.profile.path), 2000)}")
    yield ""


def _exchange(exchange: Exchange, result: Result, *, decisive: bool) -> Iterator[str]:
    yield clean(f"  ── {exchange.id} {exchange.purpose}{'  ◀ decisive' if decisive else ''}")
    words = marks(result, exchange) if decisive else None
    yield from (f"  {line}" for line in transcript.whole(exchange, words, _BODY))
    yield f"  $ {transcript.command(exchange)}"
