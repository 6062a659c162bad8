"""A real Chromium for the tests of pages: Debian's `chromium` and `chromium-driver`, driven by selenium.

Where it is not, those tests are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
LOAD_TIMEOUT_S = 30.0
"""How long a report may take until its script has run to its end, on a machine that does much else."""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
LACKS = [
    name
    for name, found in {
        "chromium": CHROMIUM,
        "chromedriver": DRIVER,
        "the Python package selenium": importlib.util.find_spec("selenium"),
    }.items()
    if not found
]
REQUIRED = os.environ.get("CI") == "true"
NEEDED = pytest.mark.skipif(bool(LACKS) and not REQUIRED, reason=f"no browser tests without {', '.join(LACKS)}")
DESKTOP, PHONE = (1360, 900), (390, 844)


class Browser:
    """A Chromium with one report open."""

    def __init__(self, driver: Any, pages: dict[str, Path]) -> None:
        self.driver = driver
        self.pages = pages

    def open(self, name: str, hash_: str = "", size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Browser:
        """Load the page anew, at this size and in this colour scheme."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        uri = self.pages[name].as_uri()
        self.driver.get(uri + hash_)
        # `get` may return for the blank page where the machine is busy
        self.wait_for("document.readyState === 'complete' && location.href.startsWith(arguments[0])", uri)
        return self

    def wait_for(self, script: str, *arguments: object) -> Any:
        """The first value of the expression that is true; raises TimeoutException after LOAD_TIMEOUT_S."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, LOAD_TIMEOUT_S, 0.02).until(lambda _: self.js(script, *arguments))

    def ready_ms(self) -> float:
        """The time from navigation to the end of the report's script, in milliseconds; waits for it."""
        return float(self.wait_for("document.documentElement.dataset.ready"))

    def js(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def visible_rows(self) -> int:
        return int(self.js("[...document.querySelectorAll('.row')].filter(r => r.offsetParent).length"))

    def requests(self) -> list[str]:
        """Every URL that the page asked for, beyond itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "data:", "about:"))]

    def axe(self) -> list[Any]:
        """What axe-core finds, by impact, and what it passed; AXE_CORE names its script, axe.min.js."""
        path = os.environ.get("AXE_CORE")
        if not path:
            assert not REQUIRED, "AXE_CORE must name axe.min.js where CI is set"
            pytest.skip("AXE_CORE does not name axe.min.js")
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": Path(path).read_text(encoding="utf-8")})
        return list(
            self.driver.execute_async_script(
                "const done = arguments[0];"
                "axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations"
                ".map(v => [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + n.failureSummary)])"
                ".concat(r.passes.map(p => ['passed', p.id]))))"
            )
        )


@contextmanager
def opened(pages: dict[str, Path], place: Path) -> Iterator[Browser]:
    """A Chromium that may open those pages; `place` is for what it keeps."""
    assert not LACKS, f"CI must have {', '.join(LACKS)}"
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in [*FLAGS.split(), f"--user-data-dir={place}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver, pages)
    finally:
        driver.quit()
