"""The first difference between two records of a controller's events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.backends.native.recording import ACK, EVENTS, RECORD, Records
from dumbbell.compare.controllers import CLOSE_NS, Field, compare_records, with_controller
from dumbbell.errors import SpecError

ACKS = EVENTS.index("on_ack")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def acks(count: int, connection: int = 0) -> Records:
    """Acknowledgements, a millisecond apart; the window grows by one with each."""
    records = np.zeros(count, RECORD)
    told = np.zeros(count, ACK)
    told["now_ns"] = 1_000_000 * np.arange(1, count + 1)
    told["newly_delivered_pkts"] = 1
    records["event"], records["connection"] = ACKS, connection
    records["before"]["cwnd_pkts"] = np.arange(10, 10 + count)
    records["after"]["cwnd_pkts"] = np.arange(11, 11 + count)
    records["told"] = told.view(records["told"].dtype)
    return records


def told(records: Records, index: int, **values: Any) -> Records:
    changed = records.copy()
    fields = np.frombuffer(changed["told"][index].tobytes(), ACK).copy()
    for name, value in values.items():
        fields[name] = value
    changed["told"][index] = fields.view(records["told"].dtype)[0]
    return changed


def test_alike() -> None:
    found = compare_records(acks(5), acks(5))
    assert (found.events_sim, found.events_kernel) == (5, 5)
    assert found.anything is None
    assert found.window is None


def test_times_that_are_close_are_alike() -> None:
    one = acks(5)
    assert compare_records(one, told(one, 3, now_ns=4_000_000 + CLOSE_NS - 1)).anything is None
    found = compare_records(one, told(one, 3, now_ns=4_000_000 + CLOSE_NS)).anything
    assert found is not None
    assert (found.number, found.fields, found.now_ns) == (3, (Field("told", "now_ns"),), 4_000_000)


def test_what_is_told_and_the_window_are_named_apart() -> None:
    one = acks(5)
    other = told(one, 1, in_flight_pkts=3)
    other["after"]["cwnd_pkts"][3] = 99
    found = compare_records(one, other)
    assert found.anything is not None
    assert found.window is not None
    assert (found.anything.number, found.anything.fields) == (1, (Field("told", "in_flight_pkts"),))
    assert (found.window.number, found.window.fields) == (3, (Field("after", "cwnd_pkts"),))
    assert found.window.sim is not None
    assert found.window.kernel is not None
    assert found.window.sim.after["cwnd_pkts"] == 14
    assert found.window.kernel.after["cwnd_pkts"] == 99


def test_another_event_and_one_that_is_missing() -> None:
    one, other = acks(5), acks(5)
    other["event"][2] = EVENTS.index("on_loss")
    found = compare_records(one, other).anything
    assert found is not None
    assert (found.number, found.fields) == (2, ())
    found = compare_records(one, one[:4]).anything
    assert found is not None
    assert (found.number, found.kernel, found.fields) == (4, None, ())


def test_the_earliest_of_several_connections() -> None:
    one = np.concatenate([acks(5), acks(5, connection=1)])
    other = one.copy()
    other["after"]["cwnd_pkts"][[4, 6]] = 99
    found = compare_records(one, other).window
    assert found is not None
    assert (found.connection, found.number) == (1, 1)


def test_a_rate_sample_that_linux_does_not_give_is_no_difference() -> None:
    one = acks(2)
    rate = np.zeros((), ACK["rate"])
    rate["delivered_pkts"], rate["interval_ns"] = 4, 10**8
    sim = told(one, 0, rate=rate)
    rate["delivered_pkts"], rate["interval_ns"] = -1, 0
    assert compare_records(sim, told(one, 0, rate=rate)).anything is None
    rate["delivered_pkts"] = 5
    found = compare_records(sim, told(one, 0, rate=rate)).anything
    assert found is not None
    assert found.fields == (Field("rate", "delivered_pkts"), Field("rate", "interval_ns"))


def test_a_pacing_rate_is_held_where_the_controller_sets_it() -> None:
    one, other = acks(3), acks(3)
    for part in ("before", "after"):
        one[part]["pacing_rate_bytes_per_s"], other[part]["pacing_rate_bytes_per_s"] = 1000, 500
    assert compare_records(one, other).anything is None
    one["after"]["pacing_rate_bytes_per_s"][1] = 2000
    other["after"]["pacing_rate_bytes_per_s"][1] = 1980
    assert compare_records(one, other).anything is None
    other["after"]["pacing_rate_bytes_per_s"][1] = 1979
    found = compare_records(one, other).anything
    assert found is not None
    assert (found.number, found.fields) == (1, (Field("after", "pacing_rate_bytes_per_s"),))


def test_the_first_flow_gets_it_where_none_names_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.c"
    file.write_text("int x;")
    flows = with_controller(file, None).resolved()["flows"]
    assert flows[0]["tcp"]["congestion_control"] == "file:own.c"
    text = Path(__file__).parents[2] / "examples/controllers/my_cc.toml"
    with pytest.raises(SpecError, match="the C file that is compared"):
        with_controller(file, text)
    with pytest.raises(SpecError, match="a file that is there"):
        with_controller(tmp_path / "none.c", None)
