"""A path is shown so that it can be typed where the reader stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.paths import display_command, display_path


def test_a_path_is_relative_below_the_current_folder_and_absolute_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a bare name that means another file."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert display_path(tmp_path / "here" / "p" / "mine.toml") == "p/mine.toml"
    assert display_path(tmp_path / "mine.toml") == str(tmp_path / "mine.toml")


def test_a_command_is_shown_with_the_path_that_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quoted where a shell needs it; all other words stay."""
    monkeypatch.chdir(tmp_path)
    profile = str(tmp_path / "my own.toml")
    command = f"conformance run --profile '{profile}' --seed 1 --only 'a[b]'"
    assert display_command(command, profile) == "conformance run --profile 'my own.toml' --seed 1 --only 'a[b]'"
    assert display_command("conformance demo --seed 1", profile) == "conformance demo --seed 1"
