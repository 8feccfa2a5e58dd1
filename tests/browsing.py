"""Pages as Chromium shows them, for tests of pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from waiting import PATIENCE_S

BARRIERS = ("serious", "critical")
"""Of axe's impacts: what keeps somebody from using a page."""


@dataclass
class Seen:
    """What a page said and asked for."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(
    browser: Browser,
    path: Path,
    width: int,
    height: int = 900,
    *,
    scheme: Literal["light", "dark"] = "light",
    has_script: bool = True,
) -> tuple[Page, Seen]:
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        java_script_enabled=has_script,
    )
    seen = Seen()
    page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
    page.on("requestfailed", lambda request: seen.messages.append(f"failed: {request.url[:200]}"))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(path.as_uri())
    return page, seen


def unfolded(page: Page) -> None:
    """Everything that is folded is opened."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


def brought_to_life(page: Page, figure: str) -> Locator:
    """The figure of that name after somebody pointed at it: drawn again, with values and zoom."""
    plot = page.locator(f"#figure-{figure} .plot")
    unfolded(page)
    plot.scroll_into_view_if_needed()
    plot.hover(force=True)
    live = page.locator(f"#figure-{figure} .plot.live.drawn svg.marks")
    live.wait_for(timeout=1000 * PATIENCE_S)
    return live


def sheets(page: Page) -> int:
    """A4 sheets that it is printed on, by the page objects of its PDF."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


def barriers(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using a page as it stands: rule, element, why."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
        for rule in found
        if rule["impact"] in BARRIERS
        for node in rule["nodes"]
    ]


def outside(page: Page, width: int) -> list[str]:
    """Elements that reach past the right edge."""
    found: list[str] = page.evaluate(
        """width => [...document.querySelectorAll('main *, header *')].filter(e => {
            // Tables of values scroll by themselves.
            // What is inside an SVG may reach past its clip path without being seen.
            if (e.closest('pre, .drawing, thead, .values') || e.ownerSVGElement) return false;
            const box = e.getBoundingClientRect();
            return box.width > 0 && box.right > width + 1;
        }).map(e => e.outerHTML.slice(0, 120))""",
        width,
    )
    return found
