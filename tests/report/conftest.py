"""One browser for all tests of the page: starting it takes longer than a test."""

from collections.abc import Iterator

import pytest

from tests.report.browser import Browser, chromium


@pytest.fixture(scope="session")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start Chromium once."""
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Browser) -> Iterator[Browser]:
    """Hand out the browser with nothing stored; any complaint of the console fails the test."""
    shared_browser.size(1280, 900)
    shared_browser.dark(wanted=False)
    shared_browser.errors()
    yield shared_browser
    assert shared_browser.errors() == []
    shared_browser.run("try { localStorage.clear() } catch {}")
