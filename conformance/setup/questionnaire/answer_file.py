"""The file of answers of an interrupted `conformance init`, beside the profile that it drafts. It holds no secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from conformance.core.errors import ConformanceError, UsageError
from conformance.setup.questionnaire.questions import QUESTIONS

_VERSION: Final = 1


def answer_file(profile: Path) -> Path:
    """The path of the answers for a profile: `mine.init.json` beside `mine.toml`."""
    return profile.with_name(f"{profile.stem}.init.json")


def read_answers(profile: Path) -> dict[str, str]:
    """The answers of an earlier `init`, by name of the question; those that are not valid any more are left out.

    Raises UsageError if the file is not a file of answers.
    """
    path = answer_file(profile)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise UsageError("is not a file of answers", where=str(path), hint="--restart removes it") from None
    answers = content.get("answers") if isinstance(content, dict) and content.get("version") == _VERSION else None
    if not isinstance(answers, dict):
        raise UsageError("is not a file of answers of this version", where=str(path), hint="--restart removes it")
    return {name: text for name, text in answers.items() if _is_valid(name, text)}


def _is_valid(name: str, text: object) -> bool:
    question = next((question for question in QUESTIONS if question.name == name), None)
    if question is None or not isinstance(text, str):
        return False
    try:
        return not text or question.value(text) is not None
    except ConformanceError:
        return False


def write_answers(profile: Path, answers: dict[str, str]) -> None:
    """Replaces the file. A URL with a query or a password, which may be secret, is left out. Raises UsageError."""
    path = answer_file(profile)
    storable = {name: text for name, text in answers.items() if not _may_be_secret(text)}
    try:
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(json.dumps({"version": _VERSION, "answers": storable}, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from None


def remove_answers(profile: Path) -> None:
    answer_file(profile).unlink(missing_ok=True)


def _may_be_secret(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return True
    return bool(parts.scheme in ("http", "https") and (parts.query or parts.username or parts.password))
