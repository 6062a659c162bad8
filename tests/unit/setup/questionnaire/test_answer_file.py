"""The file of answers: what was answered, without secrets; what is not valid any more is asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import UsageError
from conformance.setup.questionnaire.answer_file import answer_file, read_answers, remove_answers, write_answers


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Beside the profile; those left open too."""
    profile = tmp_path / "mine.toml"
    answers = {"base_url": "http://127.0.0.1:9", "key.full": "env:API_KEY", "key.revoked": "none: none", "carts": ""}
    assert read_answers(profile) == {}
    write_answers(profile, answers)
    assert answer_file(profile) == tmp_path / "mine.init.json"
    assert read_answers(profile) == answers
    assert [path.name for path in tmp_path.iterdir()] == ["mine.init.json"]
    remove_answers(profile)
    remove_answers(profile)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["https://shop.example/openapi.json?token=s3cret", "https://ada:s3cret@shop.example/a"])
def test_a_url_that_may_hold_a_secret_is_not_written(url: str, tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    write_answers(profile, {"openapi": url, "carts": "c1"})
    assert "s3cret" not in answer_file(profile).read_text()
    assert read_answers(profile) == {"carts": "c1"}


def test_what_is_not_valid_any_more_is_left_out(tmp_path: Path) -> None:
    """A file that is gone, a question that is no more, a value of another type."""
    profile = tmp_path / "mine.toml"
    text = '{"version": 1, "answers": {"fixtures": "gone.toml", "colour": "red", "carts": 1, "provoke": "yes"}}'
    answer_file(profile).write_text(text)
    assert read_answers(profile) == {"provoke": "yes"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 2, "answers": {}}', '{"version": 1, "answers": []}', "\x80"]
)
def test_a_file_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    """It is not overwritten without a word."""
    profile = tmp_path / "mine.toml"
    answer_file(profile).write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match="--restart"):
        read_answers(profile)
