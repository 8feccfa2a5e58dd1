"""A drawn figure embedded in a page: no script, theme colours, and a text for screen readers."""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

from dumbbell.report.palette import as_variables

_ROOT = re.compile(r"<svg [^>]*>")
_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')
_NUMBERED = re.compile(r'(id="|url\(#)([A-Za-z_]+\d+)(?=[")])')
_HIDDEN = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')


def inline_svg(svg: bytes, *, prefix: str, css: str, description: str) -> Markup:
    """Return the element to embed in a page.

    Args:
        svg: A file as Vega draws it.
        prefix: Prefix for clip paths' ids, which must be unique in a page.
        css: CSS class of the element.
        description: Text for screen readers.

    Raises:
        ValueError: The input is not an SVG with a size.
    """
    text = svg.decode("utf-8")
    root = _ROOT.search(text)
    size = _SIZE.search(root[0]) if root else None
    if root is None or size is None:
        raise ValueError("an SVG without a root element that has a width and a height")
    width, height = size[1], size[2]
    # The description names the whole element; for screen readers the marks inside are only noise.
    inside = _HIDDEN.sub("", text[root.end() :])
    inside = _NUMBERED.sub(rf"\g<1>{prefix}-\g<2>", as_variables(inside))
    return Markup(
        f'<svg class="{css}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-label="{escape(description)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">{inside}'
    )
