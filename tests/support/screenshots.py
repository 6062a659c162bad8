"""Pictures of the pages in the eight situations, so that a person can look at all of them at once.

`python -m tests.support.screenshots FOLDER` writes a picture for each situation, width and colour scheme, three screens
high, and `index.html` with all of them.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from tests.support.browser import DESKTOP, LACKS, PHONE, Browser, opened
from tests.support.commands import Desk, shared_reference
from tests.support.situations import SITUATIONS, make_situations

SCREENS = 3
SIZES = (DESKTOP, PHONE)
SCHEMES = ("light", "dark")


def picture_names() -> list[str]:
    return [f"{name}-{size[0]}-{scheme}.png" for name, size, scheme in product(SITUATIONS, SIZES, SCHEMES)]


def take_pictures(pages: Mapping[str, Path], folder: Path, place: Path) -> Iterator[Path]:
    """`place`: a folder for the files of the browser."""
    folder.mkdir(parents=True, exist_ok=True)
    with opened(dict(pages), place) as browser:
        for name, size, scheme in product(pages, SIZES, SCHEMES):
            path = folder / f"{name}-{size[0]}-{scheme}.png"
            path.write_bytes(_picture(browser.open(name, size=size, scheme=scheme), size))
            yield path
    (folder / "index.html").write_text(_index(), encoding="utf-8")


def _picture(browser: Browser, size: tuple[int, int]) -> bytes:
    height = min(browser.js("document.documentElement.scrollHeight"), SCREENS * size[1])
    clip = {"x": 0, "y": 0, "width": size[0], "height": height, "scale": 1}
    options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def _index() -> str:
    pictures = "\n".join(
        f'<figure><img src="{name}" alt="{name}" height="700"><figcaption>{name}</figcaption></figure>'
        for name in picture_names()
    )
    style = "body{display:flex;flex-wrap:wrap;gap:1rem;font:14px sans-serif}figure{margin:0}img{border:1px solid #999}"
    return f'<!doctype html><html lang="en"><title>Screenshots</title><style>{style}</style>{pictures}\n'


def main(folder: Path) -> None:
    if LACKS:
        sys.exit(f"no pictures without {', '.join(LACKS)}")
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "desk").mkdir()
        pages = make_situations(Desk(Path(place) / "desk", shared_reference()))
        for path in take_pictures(pages, folder, Path(place) / "browser"):
            print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
