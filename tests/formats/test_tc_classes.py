"""cake's tins, and classes of htb, hfsc and fq_codel: public layouts, numbers of our own."""

from __future__ import annotations

import pytest
from log_samples import CAKE, sample

from dumbbell.formats.logs import LogText, TcLog, log_of_text
from dumbbell.metrics.logs import log_numbers


def read(name: str) -> TcLog:
    log = log_of_text(sample(name))
    assert isinstance(log, TcLog)
    assert str(log.unknown) == ""
    return log


@pytest.mark.parametrize("name", ["cake", "cake-json"])
def test_tins_of_cake(name: str) -> None:
    log = read(name)
    tins = log.tables["tins"]
    (row,) = [at for at, pkts in enumerate(tins["arrived_pkts"].tolist()) if pkts == 925]
    found = {each.name: tins[each.name][row] for each in tins.columns}
    assert found["queue"] == "eth0 cake 8004:"
    assert found["tin"] == ("Best Effort" if name == "cake" else "Tin 0")
    assert (found["arrived_bytes"], found["dropped_pkts"], found["marked_pkts"]) == (1029000, 20, 7)
    assert (found["ack_dropped_pkts"], found["backlog_bytes"]) == (3, 15140)
    assert (found["delay_peak_ns"], found["delay_mean_ns"], found["delay_base_ns"]) == (
        20_700_000,
        10_500_000,
        1000,
    )
    queue = log.tables["queues"]
    assert (queue["sent_pkts"][0], queue["backlog_bytes"][0], queue["marked_pkts"][0]) == (
        900,
        15140,
        7,
    )
    of_tin = {each.name: each.value for each in log_numbers(log) if each.of.endswith(found["tin"])}
    assert of_tin["tin_delay_mean_ms"] == pytest.approx(10.5)
    assert of_tin["arrived_pkts"] == 925


def test_tins_in_a_loop_belong_to_their_calls() -> None:
    later = CAKE.replace("          925 ", "         1925 ")
    log = log_of_text(LogText("it", f"Time: 10\n{CAKE}Time: 11\n{later}"))
    assert isinstance(log, TcLog) and log.calls == 2
    tins = log.tables["tins"]
    assert tins["call"].tolist() == [1] * 4 + [2] * 4
    assert tins["epoch_ns"].tolist() == [10 * 10**9] * 4 + [11 * 10**9] * 4
    grown = [each.value for each in log_numbers(log) if each.name == "arrived_pkts"]
    assert grown == [1000, 0]


def test_classes() -> None:
    table = read("tc-classes").tables["queues"]
    assert table["kind"].tolist() == ["class hfsc", "class hfsc", "class htb", "class fq_codel"]
    assert table["sent_pkts"].tolist() == [0, 7052, 4345978, -1]
    assert table["dropped_pkts"].tolist() == [0, 4, 662, 5]
    assert table["backlog_pkts"].tolist() == [0, 2, 0, 3]
    assert table["delay_ns"].tolist() == [-1, -1, -1, 12_500_000]


def test_classes_as_json() -> None:
    table = read("tc-classes-json").tables["queues"]
    assert table["queue"].tolist() == ["class htb 1:10", "class fq_codel 10:313"]
    assert table["sent_bytes"].tolist() == [123456, -1]
    assert table["dropped_pkts"].tolist() == [12, 5]
    assert table["backlog_bytes"].tolist() == [3028, 4542]
