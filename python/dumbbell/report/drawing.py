"""The topology as inline SVG, in a full-width version and a version for phones."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from dumbbell.report.layout import Edge, Layout, Node, lay_out
from dumbbell.report.topology import Hop, Topology


@dataclass(frozen=True, slots=True)
class Style:
    """Sizes of a drawing, in CSS pixels at natural size.

    Attributes:
        box_width: Least width of a host's box.
        row_height: Height of one row of links.
        least_gap: Least distance between columns.
        font_size: Font size of all text.
        full_text: Whether the qdisc is printed on the links, or the rate only.
        page_width: Width of the page's column that it has to fit.
        least_scale: A drawing wider than that is shrunk by at most this factor, so that its text
            stays legible; beyond that it scrolls.
    """

    box_width: float
    row_height: float
    least_gap: float
    font_size: float
    full_text: bool
    page_width: float
    least_scale: float


WIDE = Style(
    box_width=92,
    row_height=92,
    least_gap=120,
    font_size=12.5,
    full_text=True,
    page_width=1192,
    least_scale=0.82,
)
NARROW = Style(
    box_width=62,
    row_height=64,
    least_gap=58,
    font_size=11.5,
    full_text=False,
    page_width=358,
    least_scale=0.9,
)

_EDGE_OF_BOX = 6.0
_MARGIN = 8.0
_CHARACTER_WIDTH = 0.6
"""Mean width of a character of a sans-serif face, in font sizes; overestimated on purpose."""
_QUEUE_ROOM = 28.0
_QDISC_LENGTHS = (60, 44, 32, 24, 16)
"""Most characters of a qdisc beside a link: the first with which the drawing fits its page."""
_DOWN_BOX_HEIGHT = 28.0
_DOWN_GAP = 58.0
_BESIDE_LINE = 8.0


def topology_svg(topology: Topology, style: Style = WIDE) -> str:
    """Draw a topology.

    Every link carries the forward direction above the line and the reverse one below it, each
    with an arrow, rate, delay and (in the wide style) the qdisc; a small stack of bars marks
    the hops whose finite rate makes packets queue.

    Args:
        topology: What to draw.
        style: Sizes, :data:`WIDE` or :data:`NARROW`.

    Returns:
        An ``<svg>`` element with a title for screen readers; all text escaped.
    """
    layout = lay_out(topology)
    drawings: list[_Drawing]
    if style.full_text:
        drawings = [_Drawing(layout, style, longest) for longest in _QDISC_LENGTHS]
    else:
        drawings = [_Drawing(layout, style), _Downward(layout, style)]
    fitting = (each for each in drawings if each.fits)
    return next(fitting, min(drawings, key=lambda each: each.width)).svg(topology.label)


class _Drawing:
    """Pixel coordinates of a layout, and the SVG elements."""

    def __init__(
        self, layout: Layout, style: Style, longest_qdisc: int = _QDISC_LENGTHS[0]
    ) -> None:
        self.layout, self.style, self.longest_qdisc = layout, style, longest_qdisc
        self._place()

    def _place(self) -> None:
        """Set the positions of columns, and width and height."""
        layout, style = self.layout, self.style
        self.widths = [
            max([style.box_width]
                + [self._text_width(self._name(n)) + 14 for n in layout.nodes if n.column == c])
            for c in range(layout.columns)
        ]  # fmt: skip
        self.lefts, x = [], _MARGIN
        for column in range(layout.columns):
            self.lefts.append(x)
            x += self.widths[column] + self._gap_after(column)
        self.width = x - self._gap_after(layout.columns - 1) + _MARGIN
        last = layout.columns - 1
        if any(layout.nodes[e.left].column == layout.nodes[e.right].column == last
               for e in layout.edges):  # fmt: skip
            self.width += self.widths[last] / 2
        arcs = sum(not edge.adjacent for edge in layout.edges)
        self.height = layout.rows * style.row_height + 2 * _MARGIN + arcs * style.font_size * 2

    @property
    def fits(self) -> bool:
        """Whether a page of its style shows it without scrolling."""
        return self._least_width <= self.style.page_width

    @property
    def _least_width(self) -> float:
        return self.style.least_scale * self.width

    def _text_width(self, text: str) -> float:
        return len(text) * self.style.font_size * _CHARACTER_WIDTH

    def _name(self, node: Node) -> str:
        if self.style.full_text or node.count == 1:
            return node.name
        return f"{node.count} hosts"

    def _gap_after(self, column: int) -> float:
        texts = [
            text
            for edge in self.layout.edges
            if edge.adjacent and self.layout.nodes[edge.left].column == column
            for hop in (edge.link.forward, edge.link.reverse)
            for text in (*self._hop_lines(hop), *self._arrowed(hop))
        ]
        longest = max((self._text_width(text) for text in texts), default=0.0)
        return max(self.style.least_gap, longest + 2 * _QUEUE_ROOM)

    def _hop_lines(self, hop: Hop) -> list[str]:
        if not self.style.full_text:
            return [hop.service] if hop.shaped else []
        return [f"{hop.rate}, {hop.delay}", _shortened(hop.qdisc, self.longest_qdisc)]

    def _arrowed(self, hop: Hop) -> list[str]:
        return [_with_arrow(line, upward=True) for line in self._hop_lines(hop)[:1]]

    def _y(self, row: float) -> float:
        return _MARGIN + row * self.style.row_height

    def svg(self, title: str) -> str:
        parts = [self._edge(edge, number) for number, edge in enumerate(self.layout.edges)]
        parts += [self._box(node) for node in self.layout.nodes]
        kind = "wide" if self.style.full_text else "narrow"
        return (
            f'<svg class="topology {kind}" role="img" viewBox="0 0 {self.width:.0f} '
            f'{self.height:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'font-size="{self.style.font_size:g}" '
            f'style="min-width:{self._least_width:.0f}px"><title>{escape(title)}</title>'
            + "".join(parts)
            + "</svg>"
        )

    def _frame(self, node: Node) -> tuple[float, float, float, float]:
        """Left edge, vertical middle, width and height of a box."""
        # End hosts stay small whatever the height of their row; routers span all their links.
        height = max(28.0, node.rows * self.style.row_height - 34)
        middle = self._y(node.top + node.rows / 2)
        return self.lefts[node.column], middle, self.widths[node.column], height

    def _box(self, node: Node) -> str:
        x, middle, width, height = self._frame(node)
        text = f'<text x="{x + width / 2:.1f}" y="{middle:.1f}" dy=".35em">' + escape(
            self._name(node)
        )
        if node.count > 1 and self.style.full_text:
            text += (
                f'<tspan x="{x + width / 2:.1f}" dy="1.3em" class="count">'
                f"{node.count} hosts alike</tspan>"
            )
            text = text.replace('dy=".35em"', 'dy="-.2em"', 1)
            height = max(height, 46.0)
        stack = (
            f'<rect class="host" x="{x + 4:.1f}" y="{middle - height / 2 - 4:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" rx="5"/>'
            if node.count > 1
            else ""
        )
        return (
            f'{stack}<rect class="host" x="{x:.1f}" y="{middle - height / 2:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" rx="5"/>{text}</text>'
        )

    def _edge(self, edge: Edge, number: int) -> str:
        nodes = self.layout.nodes
        left, right = nodes[edge.left], nodes[edge.right]
        if not edge.adjacent:
            return self._arc(left, right, number)
        x1 = self.lefts[left.column] + self.widths[left.column]
        x2 = self.lefts[right.column]
        y1, y2 = self._y(edge.y_left), self._y(edge.y_right)
        forward, reverse = edge.link.forward, edge.link.reverse
        above, below = (forward, reverse) if edge.left_to_right else (reverse, forward)
        line = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        middle_x, middle_y = (x1 + x2) / 2, (y1 + y2) / 2
        text = self._hop_text(above, middle_x, middle_y, upward=True)
        text += self._hop_text(below, middle_x, middle_y, upward=False)
        if above.shaped:
            text += _queue_glyph(x1 + _EDGE_OF_BOX, y1 - 4, upward=True)
        if below.shaped:
            text += _queue_glyph(x2 - _EDGE_OF_BOX - 14, y2 + 4, upward=False)
        return line + text

    def _hop_text(self, hop: Hop, x: float, y: float, *, upward: bool) -> str:
        lines = self._hop_lines(hop)
        if not lines:
            return ""
        size = self.style.font_size
        lines[0] = _with_arrow(lines[0], upward=upward)
        step = size * 1.25
        first = y - 7 - step * (len(lines) - 1) if upward else y + 5 + size
        weight = ' class="shaped"' if hop.shaped else ""
        return "".join(
            f'<text{weight} x="{x:.1f}" y="{first + step * place:.1f}">{escape(line)}</text>'
            for place, line in enumerate(lines)
        )

    def _arc(self, left: Node, right: Node, number: int) -> str:
        """Draw a link within a column or across several as a curve; the table has its text."""
        x1 = self.lefts[left.column] + self.widths[left.column] / 2
        x2 = self.lefts[right.column] + self.widths[right.column] / 2
        y1, y2 = (self._y(node.top + node.rows / 2) for node in (left, right))
        if left.column == right.column:
            bend = self.widths[left.column] * (0.8 + 0.15 * (number % 3))
            return (
                f'<path d="M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} '
                f'{x2 + bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"/>'
            )
        low = self.height - _MARGIN - number % 3 * self.style.font_size
        return (
            f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{low:.1f} {x2:.1f},{low:.1f} '
            f'{x2:.1f},{y2:.1f}"/>'
        )


class _Downward(_Drawing):
    """A drawing whose columns run from top to bottom, for a chain of links on a phone.

    The direction away from the first host is written left of a link, the other one right of it.
    """

    def _place(self) -> None:
        nodes, edges = self.layout.nodes, self.layout.edges
        texts = [
            line
            for edge in edges
            if edge.adjacent
            for hop in (edge.link.forward, edge.link.reverse)
            for line in self._arrowed(hop)
        ]
        longest = max((self._text_width(text) for text in texts), default=0.0)
        boxes = [(self._text_width(self._name(node)) + 22) / node.rows for node in nodes]
        self.row_width = max(self.style.box_width + 8, 2 * (longest + _BESIDE_LINE), *boxes)
        self.width = self.layout.rows * self.row_width + 2 * _MARGIN
        arcs = sum(not edge.adjacent for edge in edges)
        self.height = (
            self._top(self.layout.columns - 1)
            + _DOWN_BOX_HEIGHT
            + _MARGIN
            + arcs * self.style.font_size * 2
        )

    def _top(self, column: int) -> float:
        return _MARGIN + column * (_DOWN_BOX_HEIGHT + _DOWN_GAP)

    def _x(self, row: float) -> float:
        return _MARGIN + row * self.row_width

    def _frame(self, node: Node) -> tuple[float, float, float, float]:
        width = max(
            self.style.box_width,
            self._text_width(self._name(node)) + 14,
            (node.rows - 1) * self.row_width + self.style.box_width,
        )
        left = self._x(node.top + node.rows / 2) - width / 2
        return left, self._top(node.column) + _DOWN_BOX_HEIGHT / 2, width, _DOWN_BOX_HEIGHT

    def _edge(self, edge: Edge, number: int) -> str:
        nodes = self.layout.nodes
        upper, lower = nodes[edge.left], nodes[edge.right]
        if not edge.adjacent:
            return self._arc(upper, lower, number)
        x1, y1 = self._x(edge.y_left), self._top(upper.column) + _DOWN_BOX_HEIGHT
        x2, y2 = self._x(edge.y_right), self._top(lower.column)
        forward, reverse = edge.link.forward, edge.link.reverse
        down, up = (forward, reverse) if edge.left_to_right else (reverse, forward)
        middle = (x1 + x2) / 2, (y1 + y2) / 2
        text = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        text += self._side_text(down, *middle, is_left=True)
        text += self._side_text(up, *middle, is_left=False)
        if down.shaped:
            text += _queue_glyph(x1 - _EDGE_OF_BOX - 14, y1 + 4, upward=False)
        if up.shaped:
            text += _queue_glyph(x2 + _EDGE_OF_BOX, y2 - 4, upward=True)
        return text

    def _side_text(self, hop: Hop, x: float, y: float, *, is_left: bool) -> str:
        text = "".join(f"{line} ↓" if is_left else f"↑ {line}" for line in self._hop_lines(hop)[:1])
        if not text:
            return ""
        away = _BESIDE_LINE + self._text_width(text) / 2
        weight = ' class="shaped"' if hop.shaped else ""
        place = x - away if is_left else x + away
        return f'<text{weight} x="{place:.1f}" y="{y:.1f}" dy=".35em">{escape(text)}</text>'

    def _arc(self, left: Node, right: Node, number: int) -> str:
        """Draw a link within a row of boxes, or past one, as a curve; the table has its text."""
        (x1, y1, width, height), (x2, y2, other, _) = self._frame(left), self._frame(right)
        x1, x2 = x1 + width / 2, x2 + other / 2
        if left.column == right.column:
            low = y1 + height * (1 + 0.3 * (number % 3))
            return (
                f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{low:.1f} '
                f'{x2:.1f},{low:.1f} {x2:.1f},{y2:.1f}"/>'
            )
        bend = self.width - _MARGIN - number % 3 * self.style.font_size
        return (
            f'<path d="M{x1:.1f},{y1:.1f} C{bend:.1f},{y1:.1f} '
            f'{bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"/>'
        )


def _shortened(qdisc: str, longest: int) -> str:
    """Shorten so that a drawing of several hops stays legible; the table has the full text."""
    return qdisc if len(qdisc) <= longest else f"{qdisc[: longest - 1]}…"


def _with_arrow(line: str, *, upward: bool) -> str:
    return f"{line} →" if upward else f"← {line}"


def _queue_glyph(x: float, y: float, *, upward: bool) -> str:
    """Draw four bars: packets waiting at the egress."""
    top = y - 11 if upward else y
    return "".join(
        f'<rect class="queue" x="{x + 4 * bar:.1f}" y="{top:.1f}" width="2.6" height="11"/>'
        for bar in range(4)
    )
