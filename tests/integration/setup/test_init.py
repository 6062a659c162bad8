"""`conformance init` in a terminal: it asks, accepts no wrong answer, and can be stopped and continued."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from conformance.setup.questionnaire.questions import QUESTIONS
from tests.support.commands import Desk
from tests.support.drafts import variable
from tests.support.terminal import CTRL_C, CTRL_D, Terminal, terminal

pytestmark = pytest.mark.e2e

FULL = f"env:{variable('full')}"
OPEN_QUESTIONS = "(Enter: not known"


def _kept(desk: Desk) -> dict[str, str]:
    content = json.loads((desk.place / "mine.init.json").read_text())
    answers: dict[str, str] = content["answers"]
    return answers


def _leave_open(screen: Terminal, number: int) -> None:
    """Answers the next questions with Enter alone."""
    for _ in range(number):
        screen.answer("): ", "")


def _facts(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text())


def test_it_asks_what_only_a_person_knows(desk: Desk) -> None:
    """Each question with what its answer enables; the answers stand in the draft, and the file of answers is gone."""
    with terminal(desk, "init") as screen:
        screen.answer("The profile [profiles/mine.toml]: ", "mine.toml")
        screen.answer("base URL", desk.service.base_url)
        screen.wait_for("enables 15 requirements: AUTH-1")
        screen.answer("with every scope", FULL)
        screen.answer("OpenAPI document", "")
        screen.answer("A file with fixtures", "")
        screen.answer("change state? [yes]", "")
        for scope in ("webhooks:write", "webhooks:read", "catalog:read"):
            screen.answer(scope, "")
        screen.answer("checkout:quote", f"env:{variable('checkout-quote')}")
        screen.answer("without any scope", "")
        screen.wait_for("enables 1 requirement: TEN-1")
        screen.answer("another installation", "")
        screen.answer("A revoked key", "none: keys are never revoked")
        screen.answer("after it was revoked", "none: keys are never revoked")
        screen.answer("The place of the idempotency key", "")
        screen.answer("A query that finds", "")
        screen.answer("Slugs of stores", "acme, northwind")
        screen.answer("Ids of open carts", "c1")
        screen.answer("Ids of orders", "")
        screen.answer("second consume", "yes")
        screen.answer("The OAuth client", "conformance")
        screen.answer("redirect URI", "https://client.example/callback")
        screen.answer("burst", "no")
        assert screen.finish() == 0, screen.screen
    assert "conformance run --profile mine.toml" in screen.screen
    assert desk.left_behind() == ["mine.schemas.json", "mine.toml"]
    text = (desk.place / "mine.toml").read_text()
    facts = tomllib.loads(text)
    assert facts["credentials"]["revoked"] == {"status": "revoked", "none": "keys are never revoked"}
    assert facts["credentials"]["checkout-quote"]["scopes"] == ["checkout:quote"]
    assert facts["hosted"] == {"tickets_single_use": True}
    assert facts["oauth"]["client_id"] == "conformance"
    assert facts["fixtures"]["cart"]["open"]["values"] == [{"id": "c1"}]
    assert "# answered in init\n[hosted]" in text
    assert "propagation_s" not in text


@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D], ids=["Ctrl-C", "Ctrl-D"])
def test_it_can_be_stopped_and_continued(keys: str, desk: Desk) -> None:
    """With the answers given before, none of which is a secret; it says so, and how to continue."""
    with terminal(desk, "init", "-o", "mine.toml") as screen:
        screen.answer("base URL", desk.service.base_url)
        screen.answer("with every scope", FULL)
        screen.answer("OpenAPI document", "")
        screen.wait_for("A file with fixtures")
        assert screen.stop(keys) == 130
    assert "the answers are in mine.init.json; `conformance init -o mine.toml` continues" in screen.screen
    assert desk.left_behind() == ["mine.init.json"]
    assert _kept(desk) == {"base_url": desk.service.base_url, "key.full": FULL, "openapi": ""}
    assert desk.service.environment[variable("full")] not in (desk.place / "mine.init.json").read_text()
    with terminal(desk, "init", "-o", "mine.toml") as screen:
        screen.wait_for("continuing from mine.init.json")
        screen.answer("A file with fixtures", "")
        screen.answer("change state?", "no")
        _leave_open(screen, len(QUESTIONS) - 6)  # those answered, and the redirect URI of no client
        assert screen.finish() == 0, screen.screen
    assert "base URL" not in screen.screen
    assert desk.left_behind() == ["mine.schemas.json", "mine.toml"]
    assert tomllib.loads((desk.place / "mine.toml").read_text())["limits"] == {"read_only": True}


def test_it_can_begin_anew(desk: Desk) -> None:
    """Stopped at once, the answers of before are there no more."""
    (desk.place / "mine.init.json").write_text(
        json.dumps({"version": 1, "answers": {"base_url": "http://old.example"}})
    )
    with terminal(desk, "init", "-o", "mine.toml", "--restart") as screen:
        screen.wait_for("base URL")
        assert screen.stop() == 130
    assert desk.left_behind() == []


def test_a_wrong_answer_is_asked_again(desk: Desk) -> None:
    """With its reason, and without repeating what may be a secret. What is wrong is not kept."""
    with terminal(desk, "init", "-o", "mine.toml") as screen:
        screen.answer("base URL", "shop.example", "http://shop.example/api/v1", desk.service.base_url)
        screen.answer("with every scope", "sk_live_51Habc", "env:NOT_SET_ANYWHERE", FULL)
        screen.answer("OpenAPI document", "no/such.yaml", "")
        screen.answer("A file with fixtures", "no/such.toml", "")
        screen.answer("change state?", "perhaps", "yes")
        screen.wait_for("webhooks:write")
        assert screen.stop() == 130
    assert screen.screen.count("not accepted: ") == 7
    assert screen.screen.count("51Habc") == 1  # as it was typed
    assert set(_kept(desk)) == {"base_url", "key.full", "openapi", "fixtures", "read_only"}


def test_an_answer_that_is_not_text_is_asked_again(desk: Desk) -> None:
    """A byte that is not UTF-8, in a locale whose input is: as if half of a character had been deleted."""
    with terminal(desk, "init", "-o", "mine.toml", env={"PYTHONIOENCODING": "utf-8:strict"}) as screen:
        screen.answer("base URL", "http://shop\udcc3", desk.service.base_url)
        screen.wait_for("with every scope")
        assert screen.stop() == 130
    assert screen.screen.count("not accepted: not a line of printable text") == 1


def test_an_existing_file_is_overwritten_with_consent_only(desk: Desk) -> None:
    """Otherwise another name is asked for."""
    (desk.place / "mine.toml").write_text("mine")
    with terminal(desk, "init", "-o", "mine.toml") as screen:
        screen.answer("The profile [mine.toml]", "")
        screen.answer("Overwrite it? [y/N]", "n")
        screen.answer("The profile [mine.toml]", "no/folder/other.toml", "other.json", "other.toml")
        screen.answer("base URL", desk.service.base_url)
        screen.wait_for("with every scope")
        assert screen.stop() == 130
    assert (desk.place / "mine.toml").read_text() == "mine"
    assert desk.left_behind() == ["mine.toml", "other.init.json"]


def test_the_answers_survive_a_probe_that_fails(desk: Desk) -> None:
    """A target that is not there, for example: exit 4, and the same command continues."""
    answers = {question.name: "" for question in QUESTIONS}
    answers |= {"base_url": "http://127.0.0.1:9", "key.full": FULL, "read_only": "yes"}
    (desk.place / "mine.init.json").write_text(json.dumps({"version": 1, "answers": answers}))
    with terminal(desk, "init", "-o", "mine.toml") as screen:
        assert screen.finish() == 4, screen.screen
    assert "continues" in screen.screen
    with terminal(desk, "init", "-o", "mine.toml", "--base-url", desk.service.base_url) as screen:
        assert screen.finish() == 0, screen.screen
    assert desk.left_behind() == ["mine.schemas.json", "mine.toml"]


def test_options_are_answers(desk: Desk) -> None:
    """They are not asked, and are kept with the others."""
    known = desk.place / "known.toml"
    known.write_text('[hosted]\nnone = "not here"\n')
    more = ["--base-url", desk.service.base_url, "--key", FULL, "--key", f"revoked=env:{variable('revoked')}"]
    with terminal(desk, "init", "-o", "mine.toml", *more, "--fixtures", "known.toml") as screen:
        screen.answer("OpenAPI document", "")
        screen.answer("change state?", "")
        screen.wait_for("webhooks:write")
        assert screen.stop() == 130
    assert "A revoked key" not in screen.screen
    assert _kept(desk)["key.revoked"] == f"env:{variable('revoked')}"
    assert _kept(desk)["fixtures"] == "known.toml"


def test_help_has_examples_of_stopping_and_continuing(desk: Desk) -> None:
    text = desk.conformance("init", "--help").out
    assert text.count("conformance init") >= 5
    assert "--restart" in text
