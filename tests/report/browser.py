"""A real headless Chromium, driven as a person would: where there is none, tests say so.

`RAG_EVALS_REQUIRE_BROWSER=1`, as CI has it, turns the skip into a failure.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

REQUIRED = "RAG_EVALS_REQUIRE_BROWSER"
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--hide-scrollbars --force-device-scale-factor=1"
).split()


class Browser:
    """One tab: opens a page, presses keys, reads what is shown."""

    def __init__(self, driver: Chrome, downloads: Path) -> None:
        self.driver = driver
        self.downloads = downloads

    def open(self, page: Path) -> None:
        """Open a page from disk and wait until its rows are there."""
        self.driver.get(page.as_uri())
        self.wait("return document.body.dataset.ready === 'yes'")

    def run(self, script: str, *arguments: object) -> Any:
        """Run JavaScript in the page; `return` hands a value back."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, 15, poll_frequency=0.02).until(lambda _: self.run(script))

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def choose(self, control: str, value: str) -> None:
        """Set a filter as a click would."""
        self.run(
            "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'));",
            control,
            value,
        )

    def search(self, words: str) -> None:
        """Look for words; the table follows at once, without the pause that typing has."""
        self.run("document.getElementById('search').value = arguments[0]", words)
        self.run("document.getElementById('verdict').dispatchEvent(new Event('change'))")

    def open_row(self, number: int = 0) -> None:
        """Open a row of the table and wait for its details."""
        self.run("document.getElementById('detail').replaceChildren()")
        self.run("document.querySelectorAll('#rows .row')[arguments[0]].click()", number)
        self.wait("return document.querySelector('#detail .sides')")

    def texts(self, selector: str) -> list[str]:
        """Return the text of each element, in the order of the page."""
        texts: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )
        return texts

    def ids(self) -> list[str]:
        """Return the row names that the table shows."""
        return self.texts("#rows .row span:nth-child(2)")

    def errors(self) -> list[str]:
        """Return what the console complained of since it was last asked."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]  # selenium's own
        return [entry["message"] for entry in entries]

    def size(self, width: int, height: int) -> None:
        """Make the page so large."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def dark(self, wanted: bool) -> None:
        """Say which colours the reader's system prefers."""
        value = "dark" if wanted else "light"
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": value}]},
        )


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start Debian's Chromium with an empty profile.

    Args:
        folder: An empty folder for the profile and for downloads.
    """
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        message = (
            "no chromium and chromedriver; on Debian: apt-get install chromium chromium-driver"
        )
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    downloads = folder / "downloads"
    downloads.mkdir()
    options = ChromeOptions()
    options.binary_location = program
    for flag in [*_FLAGS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = Chrome(options=options, service=Service(driver))
    try:
        started.execute_cdp_cmd(
            "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(downloads)},
        )
        yield Browser(started, downloads)
    finally:
        started.quit()
