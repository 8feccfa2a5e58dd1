"""Values printed in the source, and parameters that it does not give.

"Report for Assignment #GP5: Performance Evaluation of PIE on FLENT": a router of two Ethernet
adapters, Flent's test `rrul` for 60 s, two tables of numbers read off Flent's plots.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

SOURCE = "Performance Evaluation of PIE on FLENT, report for assignment GP5"
PARAMETERS = MappingProxyType(
    {
        "bandwidth": "800M",
        "upload_stream": "num_cpus",
        "download_streams": "num_cpus",
        "qdisc_stats_hosts": "pg@192.168.20.2",
        "qdisc_stats_interfaces": "enx000000001220",
    }
)
"""``--test-parameter`` of the printed command."""
LENGTH_S = 60
"""``-l 60``."""
TIMER_HZ = 250
"""HZ of a kernel on which ``tupdate 1ms`` becomes 4 ms."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of the observation tables.

    Attributes:
        title: Name on the page.
        short: Short name in a table.
        unit: Unit of the number.
        resolution: Half the resolution of the printed number, in ``unit``.
        measure: Attribute of `dumbbell.studies.pie_rrul.measures.Measured`.
        fact: Common name of dependent numbers. Both ends of an ellipse follow from the mean and one
            standard deviation, and the upload of a flow is a quarter of the total upload.
        may_be_negative: Whether it can be negative although no sample is: an ellipse's lower end.
    """

    title: str
    short: str
    unit: str
    resolution: float
    measure: str
    fact: str
    may_be_negative: bool = False


# fmt: off
QUANTITIES = MappingProxyType({
    "latency-low": Quantity("Latency, low end of the ellipse", "Latency, low end", "ms", 0.5,
                            "latency_low_ms", "latency range", may_be_negative=True),
    "latency-high": Quantity("Latency, high end of the ellipse", "Latency, high end", "ms", 0.5,
                             "latency_high_ms", "latency range"),
    "throughput-low": Quantity("Upload, low end of the ellipse", "Upload, low end", "Mbit/s", 0.5,
                               "upload_low_mbps", "upload range", may_be_negative=True),
    "throughput-high": Quantity("Upload, high end of the ellipse", "Upload, high end", "Mbit/s",
                                0.5, "upload_high_mbps", "upload range"),
    "latency": Quantity("Average latency", "Latency", "ms", 0.5, "latency_ms", "latency"),
    "throughput": Quantity("Average upload of all", "Upload", "Mbit/s", 0.5, "upload_mbps",
                           "upload"),
    "queue-delay": Quantity("Queue delay", "Queue delay", "ms", 0.5, "queue_delay_ms",
                            "queue delay"),
    "download": Quantity("Download of a flow", "Download a flow", "Mbit/s", 0.05,
                         "download_each_mbps", "download"),
    "upload": Quantity("Upload of a flow", "Upload a flow", "Mbit/s", 0.5, "upload_each_mbps",
                       "upload"),
})
# fmt: on
"""Columns in the source's order. The ellipse is that of Flent's plot: two standard deviations of
latency and of the sum of the uploads."""
CHOSE_THE_RING = "latency"
"""The quantity whose printed numbers determined the driver's ring: `arms.RING_BYTES`."""

_ROWS: dict[tuple[str, int], tuple[float, ...]] = {
    ("tupdate", 1): (22, 30, 80, 102, 26, 91, 20, 22.34, 24),
    ("tupdate", 15): (21, 31, 80, 104, 26, 91, 20, 22.34, 24),
    ("tupdate", 30): (21, 31, 79, 106, 26, 91, 20, 22.3, 24),
    ("tupdate", 60): (22, 32, 83, 100, 27, 91.5, 20, 22.4, 24),
    ("target", 5): (8.5, 15, 84, 99, 11.5, 91, 5, 22.5, 24),
    ("target", 10): (11, 21, 79, 104, 16, 91, 10, 22.5, 23),
    ("target", 15): (16, 26, 81, 104, 22, 91, 15, 22.35, 24),
    ("target", 20): (21, 31, 79, 106, 26, 91, 20, 22.3, 24),
}
TABLES = MappingProxyType(
    {
        row: MappingProxyType(dict(zip(QUANTITIES, numbers, strict=True)))
        for row, numbers in _ROWS.items()
    }
)
"""Printed numbers by (varied parameter, milliseconds) and quantity: 72 of them. Row ``tupdate`` 30
is row ``target`` 20: seven settings."""

LINE_MBPS = 100.0
PAYLOAD_BYTES, WIRE_BYTES = 1448, 1538
"""Bytes of a full segment: payload with timestamps, and size on a 100BASE-TX line."""
LARGEST_MBPS = LINE_MBPS * PAYLOAD_BYTES / WIRE_BYTES
"""Maximum payload rate of such a line: 94.1 Mbit/s."""
