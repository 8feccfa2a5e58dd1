"""The small drawings of claims, as SVG."""

from __future__ import annotations

from dumbbell.claims import Glyph, Origin, Side

_WIDTH, _HEIGHT, _PAD = 132.0, 18.0, 8.0
_MIDDLE = _HEIGHT / 2


def _x(glyph: Glyph, value: float) -> float:
    return _WIDTH / 2 + glyph.place(value) * (_WIDTH / 2 - _PAD)


def glyph_svg(glyph: Glyph) -> str:
    """A small drawing: shaded margin, interval bar, measured dot, published diamond, theory tick.

    The reference value is at the middle of every drawing, so equal values have equal positions.
    Values beyond the axis are drawn as a chevron at its end.
    """
    if glyph.measured is None and glyph.low is None:
        return ""
    parts = [_shade(glyph), f'<line class="middle" x1="{_WIDTH / 2:g}" x2="{_WIDTH / 2:g}" '
             f'y1="2" y2="{_HEIGHT - 2:g}"/>', _bar(glyph)]  # fmt: skip
    parts += [_mark(glyph, stated.value, stated.origin) for stated in glyph.marks]
    if glyph.measured is not None:
        if glyph.is_beyond(glyph.measured):
            parts.append(_chevron(glyph, glyph.measured))
        else:
            parts.append(f'<circle cx="{_x(glyph, glyph.measured):.1f}" cy="{_MIDDLE:g}" r="3"/>')
    parts.append(_arrow(glyph))
    return (
        f'<svg class="strip" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}" aria-hidden="true">{"".join(parts)}</svg>'
    )


def _shade(glyph: Glyph) -> str:
    if glyph.shaded is None:
        return ""
    left, right = (_x(glyph, end) for end in glyph.shaded)
    return (
        f'<rect class="margin" x="{left:.1f}" y="1" width="{max(1.0, right - left):.1f}" '
        f'height="{_HEIGHT - 2:g}"/>'
    )


def _bar(glyph: Glyph) -> str:
    if glyph.low is None or glyph.high is None:
        return ""
    left, right = _x(glyph, glyph.low), _x(glyph, glyph.high)
    left = min(left, right - 1.5)
    return (
        f'<rect class="bar" x="{left:.1f}" y="{_MIDDLE - 3.5:g}" width="{right - left:.1f}" '
        'height="7"/>'
    )


def _mark(glyph: Glyph, value: float, origin: Origin) -> str:
    at = _x(glyph, value)
    if origin is Origin.THEORY:
        return f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="{_HEIGHT - 1:g}"/>'
    css = ' class="elsewhere"' if origin is Origin.ELSEWHERE else ""
    return (
        f'<path{css} d="M{at - 5:.1f},{_MIDDLE:g} L{at:.1f},{_MIDDLE - 5:g} '
        f'L{at + 5:.1f},{_MIDDLE:g} L{at:.1f},{_MIDDLE + 5:g} Z"/>'
    )


def _chevron(glyph: Glyph, value: float) -> str:
    way = 1 if value > glyph.centre else -1
    at = _WIDTH / 2 + way * (_WIDTH / 2 - 1.5)
    return (
        f'<polyline class="beyond" points="{at - 5 * way:.1f},{_MIDDLE - 5:g} {at:.1f},{_MIDDLE:g} '
        f'{at - 5 * way:.1f},{_MIDDLE + 5:g}"/>'
    )


def _arrow(glyph: Glyph) -> str:
    if glyph.side is Side.EQUALS:
        return ""
    way = 1 if glyph.side is Side.AT_LEAST else -1
    start, end = _WIDTH / 2, _WIDTH / 2 + way * 16
    return (
        f'<path class="side" d="M{start:g},2.5 L{end:g},2.5 M{end - 3 * way:g},0.5 L{end:g},2.5 '
        f'L{end - 3 * way:g},4.5"/>'
    )
