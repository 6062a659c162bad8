"""A changed key is sent, described and computed by a shell alike."""

from __future__ import annotations

import subprocess

import pytest

from conformance.core.key_change import PLACEHOLDER, KeyChange, change_in

KEY = "cs_live_0123456789abcdefXYZ"
CHANGES = [
    KeyChange("drop", 1),
    KeyChange("drop", 25),
    KeyChange("keep", 5),
    KeyChange("append", text="x1"),
    KeyChange("repeat", 3),
    KeyChange("replace", 4, "7"),
    KeyChange("insert", 0, "A"),
    KeyChange("delete", 26),
    KeyChange("swap", 8),
    KeyChange("swapcase"),
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_shell_computes_the_key_that_was_sent(change: KeyChange) -> None:
    """The expression of a change yields, from the variable with the key, the key that the check sent."""
    script = f'printf %s "{change.shell("K")}"'
    done = subprocess.run(["sh", "-c", script], env={"K": KEY}, capture_output=True, check=True, timeout=20)
    assert done.stdout.decode() == change.apply(KEY) != KEY


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_placeholder_states_its_change_and_no_key(change: KeyChange) -> None:
    """It is read back as the same change of the same credential; words and placeholder show nothing of the key."""
    text = change.placeholder("read only")
    found = PLACEHOLDER.fullmatch(text)
    assert found is not None
    assert (found["name"], change_in(found)) == ("read only", change)
    assert change.words
    assert KEY[:6] not in text + change.words


@pytest.mark.parametrize(
    "text", ["«credential:a»", "«credential:a|b»", "«credential»", "«redacted:x»", "«credential:a|rm:1:x»"]
)
def test_another_placeholder_states_no_change(text: str) -> None:
    """A name with a bar, or an action that is not known, is not a change."""
    found = PLACEHOLDER.fullmatch(text)
    assert found is not None
    assert change_in(found) is None


@pytest.mark.parametrize("text", ["«credential:a|append:$(id)»", "«credential:a|append:';id'»"])
def test_no_text_of_a_change_is_obeyed(text: str) -> None:
    """A change takes letters and digits: other text belongs to the name, which a variable's name cannot hold."""
    found = PLACEHOLDER.fullmatch(text)
    assert found is not None
    assert change_in(found) is None
