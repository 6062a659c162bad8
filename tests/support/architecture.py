"""A command: writes the picture of the rooms in `.github/ARCHITECTURE.md` from the package and import-linter's floors.

python -m tests.support.architecture
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / ".github" / "ARCHITECTURE.md"
_BEGIN: Final = "<!-- picture: `python -m tests.support.architecture` writes it -->\n"
_END: Final = "<!-- end of the picture -->\n"
_WIDTH: Final = 100


def floors() -> list[list[str]]:
    """The rooms, the highest floor first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def rooms() -> list[str]:
    """The packages that lie directly in the package."""
    return sorted(path.parent.name for path in (ROOT / "conformance").glob("*/__init__.py"))


def _subject(room: str) -> str:
    source = (ROOT / "conformance" / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def _modules(room: str) -> int:
    return sum(path.name != "__init__.py" for path in (ROOT / "conformance" / room).rglob("*.py"))


def _box(floor: int | str, room: str) -> list[str]:
    head = f"{floor!s:>5}  {room} ({_modules(room)} modules)"
    text, lines = _subject(room).split(), [""]
    for word in text:
        if len(lines[-1]) + len(word) > _WIDTH - 12:
            lines.append("")
        lines[-1] += f" {word}"
    return [head, *(f"        {line}" for line in lines)]


def picture() -> str:
    """The rooms floor by floor, with what each is about, as a block of text."""
    lines = []
    stories = floors()
    for number, story in enumerate(stories):
        lines += [line for room in story for line in _box(len(stories) - number, room)]
        lines.append("      " + "-" * (_WIDTH - 6))
    lines += _box("beside", "reference")
    return "```text\n" + "\n".join(lines) + "\n```\n"


def drawn_page(page: str) -> str:
    """The page with the picture of today."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{picture()}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
