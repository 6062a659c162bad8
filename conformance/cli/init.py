"""Prompts of `conformance init`: each answer is stored at once, so that the command can be stopped and continued."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.setup.probe.options import key_source, read_fragment, read_secret, relocate_source
from conformance.setup.questionnaire.answer_file import answer_file, read_answers, remove_answers, write_answers
from conformance.setup.questionnaire.questions import QUESTIONS, Question, describe_enabled, open_questions


def accept_any_bytes() -> None:
    """Bytes that are not text, such as half of a character that was deleted, become an answer that is not accepted.

    In most locales Python raises an error instead.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")


def prompt_output(default: Path, *, force: bool) -> tuple[Path, bool]:
    """The path of the profile, and whether an existing file may be overwritten."""
    while True:
        output = Path(click.prompt("The profile", default=str(default)))
        if output.suffix != ".toml" or output.is_dir():
            click.echo("  not accepted: the file name of a profile ends in .toml", err=True)
        elif output != default and not output.parent.is_dir():
            click.echo(f"  not accepted: the folder {output.parent} does not exist", err=True)
        elif force or not output.exists():
            return output, force
        elif click.confirm(f"  {output} exists already. Overwrite it?", default=False):
            return output, True


def answers_of_options(
    base_url: str, keys: Sequence[str], openapi: str, fixtures: Path | None
) -> tuple[dict[str, str], list[str]]:
    """The answers that options of the command line give, and the keys that no question is about."""
    names = {question.name for question in QUESTIONS}
    sources = {f"key.{name}": text.removeprefix(f"{name}=") for text in keys for name in [key_source(text).name]}
    texts = {"base_url": base_url, "openapi": openapi, "fixtures": str(fixtures or ""), **sources}
    answers = {name: text for name, text in texts.items() if text and name in names}
    return answers, [text for text in keys if f"key.{key_source(text).name}" not in names]


def ask_questions(output: Path, options: Mapping[str, str], *, restart: bool) -> dict[str, str]:
    """All answers, by name of the question: options, answers of an earlier `init`, and those given at the prompts.

    An empty text is an answer too: nothing is known. Raises click.Abort on Ctrl-C or at the end of the input.
    """
    if restart:
        remove_answers(output)
    answers = {**read_answers(output), **options}
    _print_start(output, answers, options)
    if options:
        write_answers(output, answers)
    contract = load_contract()
    while True:
        path = Path(answers["fixtures"]) if answers.get("fixtures") else None
        question = next(iter(open_questions(answers, read_fragment(path))), None)
        if question is None:
            return answers
        if enabled := describe_enabled(question, contract):
            click.echo(f"\n  {enabled}:")
        answers[question.name] = _prompt(question, output)
        write_answers(output, answers)


def _print_start(output: Path, answers: Mapping[str, str], options: Mapping[str, str]) -> None:
    stored = {name: text for name, text in answers.items() if name not in options}
    if stored:
        click.echo(f"continuing from {answer_file(output)} (--restart begins anew), with these answers:")
        for name, text in stored.items():
            click.echo(f"  {name}: {text or '(open)'}")
    click.echo(f"Every answer is stored: Ctrl-C stops, and `{continue_command(output)}` continues.")


def _prompt(question: Question, output: Path) -> str:
    """A valid answer. What is not accepted is not repeated, since it may be a secret."""
    while True:
        default, prompt = question.default, f"{question.text}{_hint(question)}"
        text = str(click.prompt(prompt, default=default, show_default=bool(default))).strip()
        try:
            if text:
                question.value(text)
                _require_secret(question, text, output)
        except ConformanceError as error:
            click.echo(f"  not accepted: {error}", err=True)
        else:
            return text


def _hint(question: Question) -> str:
    """What an empty answer means, and whether the subject can be excluded."""
    if question.default:
        return ""
    return " (Enter: not known; or none: REASON)" if question.excludes else " (Enter: not known)"


def _require_secret(question: Question, text: str, output: Path) -> None:
    """Raises ConformanceError if the source of a key has none, so that it can be mended before the probe starts."""
    if question.credential and not text.startswith("none:"):
        folder = output.parent
        read_secret(relocate_source(key_source(f"{question.credential}={text}"), folder), folder)


def continue_command(output: Path) -> str:
    return f"conformance init -o {shlex.quote(str(output))}"


def print_stop(output: Path) -> None:
    """Says where the answers are."""
    if answer_file(output).exists():
        click.echo(f"\nthe answers are in {answer_file(output)}; `{continue_command(output)}` continues", err=True)
