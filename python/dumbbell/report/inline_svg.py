"""A drawn figure as part of a page: no script, the colours of the page's mode, read aloud."""

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
    """The element to put into a page.

    Args:
        svg: A file as Vega draws it.
        prefix: Put before the names of clip paths, of which a page has only one each.
        css: Class of the element.
        description: Read aloud in place of the picture.

    Raises:
        ValueError: It is no SVG with a size.
    """
    text = svg.decode("utf-8")
    root = _ROOT.search(text)
    size = _SIZE.search(root[0]) if root else None
    if root is None or size is None:
        raise ValueError("an SVG without a root element that has a width and a height")
    width, height = size[1], size[2]
    # What is inside is named by the whole; as elements of their own the marks are only noise.
    inside = _HIDDEN.sub("", text[root.end() :])
    inside = _NUMBERED.sub(rf"\g<1>{prefix}-\g<2>", as_variables(inside))
    return Markup(
        f'<svg class="{css}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-label="{escape(description)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">{inside}'
    )
