"""Tasks of a page's own thread, in processor time.

By the clock a task takes as long as other programs let it; its processor time is its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page

LONGEST_MS = 50
"""What the performance timeline calls a long task."""


def tasks_ms(browser: Browser, page: Page, act: Callable[[], Any]) -> list[float]:
    """Processor time of each task while something is done."""
    browser.start_tracing(page=page, categories=["toplevel"])
    act()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (each["pid"], each["tid"])
        for each in events
        if each.get("name") == "thread_name" and each["args"].get("name") == "CrRendererMain"
    }
    return [
        each["tdur"] / 1e3
        for each in events
        if each.get("name", "").endswith("RunTask")
        and (each["pid"], each["tid"]) in threads
        and "tdur" in each
    ]
