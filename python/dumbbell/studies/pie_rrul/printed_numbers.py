"""Every number printed in the source, and the attempts to reproduce it."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.claims import Arm, Cost, NumberClaim, PrintedNumber, PrintedNumbers
from dumbbell.studies.pie_rrul import arms, claims, published
from dumbbell.studies.pie_rrul.claims import Row

AS_PRINTED = Arm(
    name="with nothing behind PIE but the line",
    cost=Cost.AS_PRINTED,
    why="What follows from the printed parameters alone. PIE keeps its own queue at the target, "
    "and the printed latencies are 6 to 7 ms above it, at every target.",
)
RING = Arm(
    name=f"with {arms.RING_BYTES / 1000:g} kB in the router's driver",
    cost=Cost.ONE_NUMBER,
    why="One number for all settings: a ring behind PIE that PIE cannot see. The interface is "
    "named enx..., as USB adapters are, and Linux's driver of USB 2 adapters queued 60 packets of "
    "any size then. Which adapter it was is not said. The average latencies chose the size; the "
    "other numbers did not.",
)
AT_THE_SENDER = Arm(
    name="counted by what netperf's send calls took",
    cost=Cost.KNOWN,
    why="netperf's TCP_STREAM counts what its send calls took, and those wait until a third of "
    "the send buffer is free. How large the buffer is follows from the window and from what the "
    "kernel reckons a packet with: 2304 bytes, or 4352 where its largest header is long, as in a "
    "distribution's kernel. Both are tried; neither is fitted.",
)

_RANGES = ("throughput-low", "throughput-high")


def key_of(row: Row, quantity: str) -> str:
    """Return the key of a printed number."""
    varied, milliseconds = row
    return f"{varied}-{milliseconds}-{quantity}"


def _spoken(row: Row, quantity: str) -> Iterator[NumberClaim]:
    setting = arms.setting_of(*row)
    if quantity == published.CHOSE_THE_RING:
        yield NumberClaim(f"nominal-latency-{setting.name}", AS_PRINTED)
        yield NumberClaim("ring", RING)
        return
    yield NumberClaim(claims.row_number(row, quantity).id, RING)
    if quantity in _RANGES:
        yield NumberClaim(
            claims.written_id(setting), AT_THE_SENDER, claims.end_name(setting, quantity)
        )


def _numbers() -> Iterator[PrintedNumber]:
    for quantity, of in published.QUANTITIES.items():
        for row, numbers in published.TABLES.items():
            varied, milliseconds = row
            yield PrintedNumber(
                key=key_of(row, quantity),
                group=of.title,
                name=f"{varied} {milliseconds} ms",
                printed=f"{numbers[quantity]:g}",
                unit=of.unit,
                spoken=tuple(_spoken(row, quantity)),
            )


def centres() -> dict[str, int]:
    """Count the rows, of eight, whose printed average is the middle of the printed range.

    Counts latency and uploads separately, to the precision of reading.
    """
    counts = {}
    for average, low, high in (
        ("latency", "latency-low", "latency-high"),
        ("throughput", *_RANGES),
    ):
        near = published.QUANTITIES[average].resolution
        counts[average] = sum(
            abs((row[low] + row[high]) / 2 - row[average]) <= near
            for row in published.TABLES.values()
        )
    return counts


_CENTRES, _ROWS = centres(), len(published.TABLES)

PRINTED = PrintedNumbers(
    numbers=tuple(_numbers()),
    story=(
        "72 numbers in two tables, read off Flent's plots, one test of a minute each. Row tupdate "
        "30 is row target 20, number by number: it is the same test, so there are seven. And an "
        f"average is often the middle of its range: in {_CENTRES['latency']} of {_ROWS} rows for "
        f"the latency, in {_CENTRES['throughput']} of {_ROWS} for the uploads, to what can be "
        "read. Whoever read them off may have taken the centre of the ellipse for the average. "
        "An ellipse's ends are two standard deviations from it, so its centre is the mean.",
        "Three things that the tables do not tell decide what comes out. First, a queue behind "
        "PIE: PIE holds its own queue at the target, and the probes wait 6 ms longer. Second, who "
        "counts the uploads. The line carries 94.1 Mbit/s, and ranges up to 106 are printed. "
        "netperf counts bytes when TCP takes them from it, not when they arrive. TCP takes them in "
        "pieces, a third of the send buffer at a time, and a step of 0.2 s has one piece more or "
        "less. The mean is the same; the spread is that of the pieces. Third, a slip: 24 Mbit/s "
        "for each of four uploads are 96, more than the line carries and than the 91 beside it.",
        "Is that all of the uploads' ranges? With a distribution's buffer the ends of nearly every "
        "row come out, each for itself. But an ellipse's middle is its mean, so both ends of a row "
        "together say what the mean was, and for some rows that is 92.5 Mbit/s beside a printed "
        "average of 91 and a line that has 91.5 to give. Such rows are not explained, though "
        "either end is: a range was read more coarsely than to half a Mbit/s, or its average was.",
        "Not explained are the downloads: at the printed settings ours get 1.4 to 2.4 % more. "
        "They never meet the router's PIE; the server's egress, the adapters and the client are "
        "not described.",
    ),
)
