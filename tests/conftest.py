"""What every test needs."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from rotation import Part, split
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts in the background with Ctrl-C ignored, and programs inherit that;
    # the tests of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):  # likewise, by `&` and `nohup`
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# Programs that tests start write no page beside what they are asked for, unless they are asked.
os.environ["DUMBBELL_PAGE"] = "no"
# Nor do they keep or look up what other tests ran.
os.environ["DUMBBELL_STORE"] = "no"
# A busy machine may take any time over an example; that is no fault of what is tested.
settings.register_profile("dumbbell", deadline=None)
settings.load_profile("dumbbell")


def _part(text: str) -> Part:
    try:
        return Part.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=_part, metavar="INDEX/COUNT", help="a part of the tests alone")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what asks for a built kernel, so that `make test` never runs it and CI always does.

    With `--part` those tests alone are left whose turn it is.
    """
    for item in items:
        if "kernel" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kernel)
    if (part := config.getoption("--part")) is not None:
        items[:], left = split(items, part, lambda item: item.nodeid)
        config.hook.pytest_deselected(items=left)


def _has_patience(browser: Browser) -> None:
    """Pages that it opens wait as long as tests do; Playwright's own limit is half a minute."""
    new_page = browser.new_page

    def patient_page(**options: Any) -> Page:
        page = new_page(**options)
        page.set_default_timeout(1000 * PATIENCE_S)
        return page

    browser.new_page = patient_page  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, where there is one; in continuous integration there has to be."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        reason = "no chromium on PATH: Debian's package 'chromium' has it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    arguments = ["--disable-gpu", "--disable-background-networking"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=arguments, timeout=1000 * PATIENCE_S
        )
        _has_patience(launched)
        yield launched
        launched.close()
