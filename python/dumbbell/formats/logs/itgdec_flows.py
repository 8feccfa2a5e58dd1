"""ITGDec's output with ``-d``, ``-j``, ``-b`` or ``-p``: one quantity per flow, one line per step.

The layout is that of D-ITG 2.8.1: a heading with the flows, then the time and a value for each
flow. The four files differ only in the quantity, which must follow from the file's name, as in
ITGDec's default names. The last column, the sum over all flows, is ignored, because it is
meaningless for delays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs.itgdec import ItgLog
from dumbbell.formats.logs.model import LogColumn, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, real

Row = dict[str, int | float | str]

FLOW_STEPS = (
    LogColumn("t_s", "s", "When the step begins.", "real"),
    LogColumn("flow", "-", "D-ITG's number of it."),
    LogColumn("ends", "-", "Addresses, as printed: ``10.0.0.1-10.0.0.2``.", "text"),
    LogColumn("bitrate_bps", "bit/s", "Payload received in it (``-b``).", "real"),
    LogColumn("delay_mean_s", "s", "Mean one-way delay (``-d``).", "real"),
    LogColumn("jitter_mean_s", "s", "Mean jitter (``-j``).", "real"),
    LogColumn("dropped_pkts", "packets", "Missing sequence numbers (``-p``).", "real"),
)
_HEADING = re.compile(r"Time(?P<flows>(?: +\d{1,9}-\S{1,160}){1,4096}) +Aggregate-Flow\s*")
_FLOW = re.compile(r"(?P<number>\d{1,9})-(?P<ends>\S{1,160})")
_LINE = re.compile(r"-?\d{1,12}\.\d{6}(?: +-?\d{1,15}\.\d{6}){2,4097}\s*")


@dataclass(frozen=True, slots=True)
class _Quantity:
    """The quantity of a file: part of its name, column, factor to the column's unit."""

    named: str
    column: str
    scale: float = 1.0


_QUANTITIES = (
    _Quantity("delay", "delay_mean_s"),
    _Quantity("jitter", "jitter_mean_s"),
    _Quantity("bitrate", "bitrate_bps", 1000.0),
    _Quantity("loss", "dropped_pkts"),
)


def is_itgdec_flows(text: LogText) -> bool:
    """Whether the text is ITGDec's output with one of those options."""
    return any(_HEADING.fullmatch(line) for line in text.first_lines)


def read_itgdec_flows(text: LogText) -> ItgLog:
    """Parse a log.

    Raises:
        UnreadableError: The quantity does not follow from the name, or no line has values.
    """
    found = [each for each in _QUANTITIES if each.named in text.name.lower()]
    if len(found) != 1:
        names = "delay, jitter, bitrate or loss"
        raise UnreadableError(
            text.name,
            "ITGDec's steps of flows (-d, -j, -b, -p) do not say what their values are, and the "
            f"name has to: one of {names} in it",
        )
    (quantity,) = found
    noted = UnreadCounter()
    flows: list[re.Match[str]] = []
    rows: list[Row] = []

    def take(line: str) -> bool:
        if heading := _HEADING.fullmatch(line):
            flows[:] = list(_FLOW.finditer(heading["flows"]))
            return True
        values = line.split()
        if not values:
            return True
        if not _LINE.fullmatch(line) or len(values) != len(flows) + 2:
            return False
        for flow, value in zip(flows, values[1:-1], strict=True):
            row: Row = {"t_s": real(values[0]), "flow": int(flow["number"]), "ends": flow["ends"]}
            rows.append({**row, quantity.column: real(value) * quantity.scale})
        return True

    noted.lines(text, take)
    if not rows:
        raise nothing_in(text, "D-ITG")
    return ItgLog(
        source=text.name,
        variant=f"D-ITG, {quantity.named} of flows",
        tables={"flow_steps": LogTable.of(FLOW_STEPS, rows)},
        unknown=noted.unknown,
        has_delays=quantity.named in ("delay", "jitter"),
    )
