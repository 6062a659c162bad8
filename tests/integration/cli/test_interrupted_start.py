"""The program before its commands are imported."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from conformance.__main__ import main


class _Interrupted(ModuleType):
    def __getattr__(self, name: str) -> object:
        raise KeyboardInterrupt


def test_ctrl_c_while_the_commands_are_imported_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 130 as at any later time: 1 would look like a verdict."""
    monkeypatch.setitem(sys.modules, "conformance.cli", _Interrupted("conformance.cli"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "error: interrupted\n"
