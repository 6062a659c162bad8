"""Equal secrets have equal marks within a process, and marks reveal nothing."""

from __future__ import annotations

import re

from conformance.client.redaction.marks import Marks
from conformance.client.redaction.secrets import Secrets


def test_equal_secrets_have_equal_marks() -> None:
    """In whatever text they stand; another secret, and another spelling, have another mark."""
    marks = Marks()
    secrets = Secrets(marks=marks)
    secrets.add_ephemeral_secrets("code", ["code-0123456789", "code-9876543210"])
    first, again, other, capitals = (
        re.findall("«redacted:code#[0-9a-f]{16}»", secrets.clean(text, marks))
        for text in ('{"c":"code-0123456789"}', "?c=code-0123456789", "code-9876543210", "CODE-0123456789")
    )
    assert first == again
    assert len({*first, *other, *capitals}) == 3


def test_members_without_a_known_value_have_marks_too() -> None:
    """A value that is secret by its name is compared by its mark; one that was cut has none."""
    marks = Marks()
    pair = [Secrets().clean(f'{{"access_token":"{value}"}}', marks) for value in ("abcdefgh1", "abcdefgh1")]
    assert pair[0] == pair[1]
    assert "#" in pair[0]
    assert Secrets().clean('{"access_token":"abcdefgh1', marks) == '{"access_token":"«redacted»'


def test_marks_of_two_processes_are_never_equal() -> None:
    """The key is random: what one run has written cannot be tested against guesses."""
    assert Marks().label("«redacted»", "secret") != Marks().label("«redacted»", "secret")


def test_messages_have_no_marks() -> None:
    """What is compared from run to run, such as a message, is cleaned without them."""
    secrets = Secrets(marks=Marks())
    secrets.add_ephemeral_secrets("code", ["code-0123456789"])
    assert secrets.clean("code-0123456789") == "«redacted:code»"
