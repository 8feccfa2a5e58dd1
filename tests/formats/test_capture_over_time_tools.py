"""Connections over time compared with tshark: RTT, bytes in flight, windows, retransmissions."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from capture_samples import QUEUE, capture_of, captured, tool

from dumbbell.formats import read_capture, write_view
from dumbbell.metrics.captured_over_time import captured_over_time
from dumbbell.tables import Run

ARMS = {
    "cubic": captured,
    "no SACK": lambda: captured(tcp="{ sack = false }"),
    "no drops": lambda: captured("pfifo limit 2000"),
    "loss after the queue": lambda: captured(more="loss = 0.02"),
}
FIELDS = {
    "frame.time_epoch": "at",
    "tcp.srcport": "source",
    "tcp.dstport": "destination",
    "tcp.seq_raw": "seq",
    "tcp.ack_raw": "ack",
    "tcp.len": "payload",
    "tcp.flags": "flags",
    "tcp.window_size": "window",
    "tcp.analysis.ack_rtt": "rtt",
    "tcp.analysis.bytes_in_flight": "in_flight",
    "tcp.analysis.retransmission": "retransmission",
    "tcp.analysis.out_of_order": "out_of_order",
}
FIN, SYN, RST, ACK = 1, 2, 4, 16
_Way = tuple[int, int]


@pytest.fixture(scope="module", params=list(ARMS))
def run(request: pytest.FixtureRequest) -> Run:
    return ARMS[request.param]()


def ahead(a: int, b: int) -> int:
    return (a - b + 2**31) % 2**32 - 2**31


def nanoseconds(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * 10**9 + int(rest.ljust(9, "0"))


@dataclass
class Direction:
    """What tshark says of one direction: times, and values at them."""

    round_trips: list[tuple[int, int]] = field(default_factory=list)
    in_flight: list[tuple[int, int]] = field(default_factory=list)
    """From the sequence and acknowledgement numbers that tshark prints."""
    in_flight_by_tshark: list[tuple[int, int]] = field(default_factory=list)
    windows: list[tuple[int, int]] = field(default_factory=list)
    retransmissions: list[tuple[int, int]] = field(default_factory=list)
    packets: list[tuple[int, int]] = field(default_factory=list)
    highest: int | None = None
    acknowledged: int | None = None
    unclear: list[tuple[int, int]] = field(default_factory=list)
    """(begin, highest then) of what came below the highest."""

    def is_new(self, ack: int) -> bool:
        """Of what was acknowledged and is sent again tshark gives a time as well."""
        return self.acknowledged is None or ahead(ack, self.acknowledged) > 0

    def is_clear(self, ack: int) -> bool:
        """Whether no acknowledgement of this number may answer a repair (Karn)."""
        return not any(ahead(ack, low) > 0 >= ahead(ack, high) for low, high in self.unclear)


def lines_of(path: Path) -> Iterator[dict[str, str]]:
    options = [each for name in FIELDS for each in ("-e", name)]
    style = ["-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]
    said = tool("tshark", "-n", "-r", str(path), "-Y", "tcp", *style, *options)
    yield from csv.DictReader(said.splitlines(), list(FIELDS.values()))


def told(path: Path) -> dict[_Way, Direction]:
    found: dict[_Way, Direction] = defaultdict(Direction)
    for line in lines_of(path):
        at, flags = nanoseconds(line["at"]), int(line["flags"], 16)
        way = (int(line["source"]), int(line["destination"]))
        here, there = found[way], found[way[::-1]]
        seq, ack, payload = int(line["seq"]), int(line["ack"]), int(line["payload"])
        here.packets.append((at, 1))
        if not flags & RST:
            there.windows.append((at, int(line["window"])))
        if flags & ACK and there.is_new(ack):
            if line["rtt"] and there.is_clear(ack):
                there.round_trips.append((at, nanoseconds(line["rtt"])))
            there.acknowledged = ack
            there.unclear = [each for each in there.unclear if ahead(each[1], ack) > 0]
        if line["in_flight"]:
            here.in_flight_by_tshark.append((at, int(line["in_flight"])))
        if line["retransmission"]:
            here.retransmissions.append((at, 1))
        end = seq + payload + bool(flags & (SYN | FIN))
        highest = here.highest
        is_old = here.acknowledged is not None and ahead(end, here.acknowledged) <= 0
        if (line["retransmission"] or line["out_of_order"]) and not is_old and highest is not None:
            here.unclear.append((seq, highest))
        if end != seq and (highest is None or ahead(end, highest) > 0):
            here.highest = end % 2**32
        if payload and here.acknowledged is not None and not flags & RST:
            assert here.highest is not None
            here.in_flight.append((at, max(0, ahead(here.highest, here.acknowledged))))
    return found


def binned(
    samples: list[tuple[int, int]], begin: int, width: int
) -> dict[int, tuple[int, int, int, int]]:
    """Count, least, mean and greatest of each interval."""
    groups: dict[int, list[int]] = defaultdict(list)
    for at, value in samples:
        groups[(at - begin) // width].append(value)
    return {
        index: (len(some), min(some), sum(some) // len(some), max(some))
        for index, some in groups.items()
    }


def ours(
    columns: dict[str, np.ndarray], begin: int, width: int, names: tuple[str, ...]
) -> dict[int, tuple[int, ...]]:
    index = ((columns["begin_ns"] - begin) // width).tolist()
    values = zip(*(columns[name].tolist() for name in names), strict=True)
    return {at: value for at, value in zip(index, values, strict=True) if value[0]}


def directions(run: Run) -> Iterator[tuple[_Way, dict[str, np.ndarray]]]:
    """Ports and intervals of each direction that was followed."""
    flows = run.columns("captured_flows")
    intervals = run.columns("captured_intervals")
    for row in np.flatnonzero(flows["protocol"] == 6).tolist():
        keep = np.ones(len(intervals["flow"]), bool)
        for key in ("queue", "place", "flow", "connection", "is_reply"):
            keep &= intervals[key] == flows[key][row]
        way = (int(flows["source_port"][row]), int(flows["destination_port"][row]))
        if keep.any():
            yield way, {name: values[keep] for name, values in intervals.items()}


SPREADS = {
    "round_trips": ("round_trip", "ns", "round_trips"),
    "in_flight": ("in_flight", "bytes", "in_flight_pkts"),
    "in_flight_by_tshark": ("in_flight", "bytes", "in_flight_pkts"),
    "windows": ("window", "bytes", "window_pkts"),
}


def compared(run: Run, theirs: dict[_Way, Direction], quantity: str) -> Iterator[tuple]:
    """Both sides of each direction, by interval."""
    t0 = run.meta["t0_epoch_ns"]
    for way, columns in directions(run):
        width = int(columns["width_ns"][0])
        # Both directions of a connection count from its first packet.
        first = min(at for each in (way, way[::-1]) for at, _ in theirs[each].packets[:1])
        samples = getattr(theirs[way], quantity)
        name, unit, counts = SPREADS[quantity]
        names = (counts, *(f"{name}_{key}_{unit}" for key in ("min", "mean", "max")))
        yield way, ours(columns, first - t0, width, names), binned(samples, first, width)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_round_trips_flight_windows_and_flags_are_tsharks(
    run: Run, tmp_path: Path, place: int
) -> None:
    path = tmp_path / "view.pcap"
    write_view(capture_of(run), path, queue=QUEUE, place=place)
    imported, theirs = read_capture(path), told(path)
    for quantity in ("round_trips", "windows", "in_flight"):
        samples = 0
        for way, mine, expected in compared(imported, theirs, quantity):
            assert mine == expected, (quantity, way)
            samples += sum(count for count, *_ in mine.values())
        assert samples > 1000
    for way, columns in directions(imported):
        assert columns["retransmission_pkts"].sum() == len(theirs[way].retransmissions)
        assert columns["pkts"].sum() == len(theirs[way].packets)


@pytest.mark.parametrize(("arm", "least"), [("no drops", 1.0), ("no SACK", 0.98)])
def test_bytes_in_flight_are_tsharks_where_nothing_is_selective(
    tmp_path: Path, arm: str, least: float
) -> None:
    """Wireshark takes what SACK blocks have out of them, and counts what is sent again although it
    was acknowledged: RFC 5681's FlightSize does neither.
    """
    path = tmp_path / "view.pcap"
    run = ARMS[arm]()  # its file goes with it
    write_view(capture_of(run), path, queue=QUEUE, place=0)
    imported, theirs = read_capture(path), told(path)
    same = [
        mine[at] == expected[at]
        for _, mine, expected in compared(imported, theirs, "in_flight_by_tshark")
        for at in mine
    ]
    assert len(same) > 500
    assert np.mean(same) >= least


def test_a_flow_over_time_is_put_together_from_its_intervals(run: Run) -> None:
    imported = read_capture(capture_of(run))
    whole = captured_over_time(imported, QUEUE, "before", 0)
    coarse = captured_over_time(imported, QUEUE, "before", 0, most=10)
    assert whole is not None and coarse is not None
    assert len(coarse.t_s) <= 10 < len(whole.t_s) <= 512
    flows = imported.columns("captured_flows")
    keep = (flows["queue"] == 0) & (flows["place"] == 0) & (flows["flow"] == 0)
    sent = flows["bytes"][keep & (flows["is_reply"] == 0)].sum()
    for each in (whole, coarse):
        assert each.bytes.sum() == sent
        np.testing.assert_allclose(each.rate_bps[:-1] * each.width_s / 8, each.bytes[:-1])
        assert each.is_window_scaled
        spread = each.round_trip_s
        known = ~np.isnan(spread.mean)
        assert (spread.low[known] <= spread.mean[known] + 1e-12).all()
        assert (spread.mean[known] <= spread.high[known] + 1e-12).all()
        # 20 ms there and 20 back to the receiver, and some transmission.
        assert 0.04 < np.nanmin(spread.low) < 0.05
    assert np.nanmax(coarse.window_bytes.high) == np.nanmax(whole.window_bytes.high)
    assert coarse.sent_again_pkts.sum() == whole.sent_again_pkts.sum()
    assert captured_over_time(imported, QUEUE, "after", 1, connection=77) is None
