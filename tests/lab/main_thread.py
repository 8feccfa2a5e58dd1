"""Tasks of a page's own thread, in processor time beside that of a known piece of work.

By the clock a task takes as long as other programs let it. Its processor time is its own, but on a
busy machine everything takes more of that, too: so it is held against work of the same minute.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page

LONGEST = 2.0
"""A task's processor time at most, in that of `WORK`: 50 milliseconds, what the performance
timeline calls a long task, where the work takes 25 (Intel Xeon, idle)."""
WORK = """() => {
  let x = 1;
  for (let i = 0; i < 1.9e6; i++) x = (x * 1664525 + 1013904223) % 4294967296;
  return x;
}"""
HANG = 30.0
"""A task after which a page has hung, likewise: three quarters of a second there."""
_LONG_TASK_MS = 50
_TIMES = 5
_TRIES = 3


def longest(browser: Browser, page: Page, act: Callable[[], Any]) -> float:
    """The longest task while something is done, in the processor time of `WORK`."""
    before = _work_ms(browser, page)
    found_ms = tasks_ms(browser, page, act)
    assert len(found_ms) > 50
    return max(found_ms) / max(before, _work_ms(browser, page))


def check_no_task_is_long(browser: Browser, page: Page, act: Callable[[], Any]) -> None:
    """Something may be done again and again, and none of its tasks is long each time.

    The longest of hundreds is what a busy machine made of one of them, now and then; a task that
    is long by what it does is long whenever it is done.
    """
    found: list[float] = []
    while len(found) < _TRIES:
        found.append(longest(browser, page, act))
        if found[-1] < LONGEST:
            return
    raise AssertionError(f"tasks that take too long, in the time of known work: {found}")


def check_it_never_hangs(browser: Browser, page: Page, act: Callable[[], Any]) -> None:
    """While something is done, the page's own thread is always free again soon."""
    longest_ms = max(tasks_ms(browser, page, act))
    # What is no long task at all is no hang, and needs nothing to be held against.
    if longest_ms > _LONG_TASK_MS:
        assert longest_ms < HANG * _work_ms(browser, page)


def _work_ms(browser: Browser, page: Page) -> float:
    """Median of a few evaluations; a trace that begins too late has none of it."""
    each_ms = [max(tasks_ms(browser, page, lambda: page.evaluate(WORK))) for _ in range(_TIMES)]
    return statistics.median(one for one in each_ms if one > max(each_ms) / 2)


def tasks_ms(browser: Browser, page: Page, act: Callable[[], Any]) -> list[float]:
    """Processor time of each task while something is done."""
    browser.start_tracing(page=page, categories=["toplevel"])
    try:
        act()
    finally:  # else the next trace of this browser could not begin
        trace = browser.stop_tracing()
    events = json.loads(trace)["traceEvents"]
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
