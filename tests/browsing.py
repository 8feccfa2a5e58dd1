"""Pages as Chromium shows them, for tests of pages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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


BANDS = 10
"""Of a screen's height: a font that is a little larger moves nothing by two of them."""


def bands(page: Page, parts: Mapping[str, str], height: int) -> dict[str, list[int]]:
    """The tenths of the screen in which each part begins and ends.

    Args:
        page: As it is opened, not scrolled.
        parts: Name to selector, of which the first element counts.
        height: Of the screen.
    """
    found = {}
    for name, selector in parts.items():
        box = page.locator(selector).first.bounding_box()
        assert box is not None, name
        ends = box["y"], box["y"] + box["height"]
        found[name] = [math.floor(BANDS * end / height) for end in ends]
    return found


def moved(found: Mapping[str, Sequence[int]], kept: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Parts of which an end is more than a band from where it is kept, with what is kept."""
    return {
        name: (kept.get(name), ends)
        for name, ends in found.items()
        if name not in kept
        or any(abs(one - other) > 1 for one, other in zip(kept[name], ends, strict=True))
    }


_UNDER = """selector => [...document.querySelectorAll(selector)].flatMap(each => {
  if (!each.checkVisibility()) return [];
  each.scrollIntoView({ block: 'center' });
  return [...each.getClientRects()].filter(box => box.width > 1 && box.height > 1).flatMap(box => {
    const [x, y] = [box.left + Math.min(20, box.width / 2), box.top + box.height / 2];
    const found = document.elementFromPoint(x, y);
    const isSeen = found && (each.contains(found) || found.contains(each));
    return isSeen ? [] : [each.textContent.slice(0, 60)];
  });
})"""


def lies_under(page: Page, selector: str) -> list[str]:
    """Texts of those elements that lie under something else when they are scrolled to."""
    found: list[str] = page.evaluate(_UNDER, selector)
    return found


def sheets(page: Page) -> int:
    """A4 sheets that it is printed on, by the page objects of its PDF."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


def barriers(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using a page as it stands: rule, element, why."""
    return _found_by_axe(page, BARRIERS)


def findings(page: Page) -> list[str]:
    """All that axe finds on a page as it stands, what is little besides: rule, element, why."""
    return _found_by_axe(page, ("minor", "moderate", *BARRIERS))


def _found_by_axe(page: Page, impacts: Sequence[str]) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
        for rule in found
        if rule["impact"] in impacts
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
