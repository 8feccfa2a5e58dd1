"""Queues as tc prints them, compared with the program itself, and parsed again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dumbbell import units
from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError
from dumbbell.formats import FormatError, read_tc, tc_iterate_text, tc_json, tc_reader, tc_text
from dumbbell.formats.logs.tc import read_tc_log
from dumbbell.formats.logs.text import LogText
from dumbbell.spec import Experiment
from dumbbell.tables import Run

QUEUE = "a->b"


def a_run(qdisc: str, *, sample_interval: str = "500ms") -> Run:
    """Two seconds of an overload through a queue of this discipline."""
    experiment = Experiment.from_toml(
        f"""
        duration = "2s"
        sample_interval = "{sample_interval}"
        links = [{{ a = "a", b = "b", qdisc = '''{qdisc}''' }}]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        source = {{ kind = "cbr", rate = "200pps", size = "986B" }}
        """
    )
    return simulate(experiment)


def real_tc(qdisc: str) -> tuple[str, list[dict[str, object]]]:
    """What the installed tc and the host's kernel say of the same discipline, unused."""
    if os.geteuid() != 0 or not shutil.which("tc") or not shutil.which("unshare"):
        pytest.skip("needs root, unshare and tc")
    script = f"{_commands(qdisc)}; tc -s -d qdisc show dev lo; echo; tc -s -d -j qdisc show dev lo"
    done = subprocess.run(
        ["unshare", "-n", "sh", "-ec", script], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"this host's kernel: {done.stderr.strip()}")
    text, _, as_json = done.stdout.rpartition("\n[")
    return text.rstrip("\n"), json.loads(f"[{as_json}")


def _commands(qdisc: str) -> str:
    if "\n" not in qdisc:
        return f"tc qdisc add dev lo root handle 1: {qdisc}"
    return "; ".join(f"tc {line}".replace("add", "add dev lo", 1) for line in qdisc.splitlines())


def shape(text: str) -> list[str]:
    """Lines, their counters taken out."""
    return [
        re.sub(r"\d+(?:[KM]?b)?", "N", line) if line.startswith(" ") else line
        for line in text.splitlines()
    ]


@pytest.mark.parametrize(
    "qdisc",
    [
        "pfifo limit 50",
        "bfifo limit 10kb",
        "bfifo limit 51199",
        "bfifo limit 2mb",
        "bfifo limit 1514000",
        "tbf rate 1mbit burst 10kb limit 20kb",
        "tbf rate 6.55mbit burst 10kb limit 2mb",
        "tbf rate 33.3333kbit burst 1600 limit 10kb",
        "tbf rate 1mbit burst 10kb limit 20kb peakrate 2mbit mtu 1514",
        "tbf rate 1gbit burst 1mb limit 3mb",
        "qdisc add root handle 1: tbf rate 1mbit burst 10kb limit 10kb\n"
        "qdisc add parent 1:1 handle 2: pfifo limit 20",
        "pfifo_fast",
        "prio",
        "qdisc add root handle 1: htb default 10\nclass add parent 1: classid 1:10 htb rate 1mbit",
        "qdisc add root handle 1: htb default 1f r2q 5 direct_qlen 50\n"
        "class add parent 1: classid 1:1 htb rate 2mbit\n"
        "class add parent 1:1 classid 1:1f htb rate 1mbit ceil 2mbit",
    ],
)
def test_text_and_json_are_those_of_tc(qdisc: str) -> None:
    run = a_run(qdisc)
    text, as_json = real_tc(qdisc)
    assert shape(tc_text(run, QUEUE)) == shape(text)
    ours = json.loads(tc_json(run, QUEUE))
    assert [list(each) for each in ours] == [list(each) for each in as_json]
    assert [each["options"] for each in ours] == [each["options"] for each in as_json]


def test_numbers_are_those_of_the_last_sample() -> None:
    run = a_run("tbf rate 1mbit burst 10kb limit 20kb")
    last = {
        name: run.column("queue_samples", name, queue=QUEUE)[-1]
        for name in ("departed_bytes", "departed_pkts", "dropped_pkts", "backlog_pkts")
    }
    assert last["dropped_pkts"] > 0
    lines = tc_text(run, QUEUE).splitlines()
    assert lines[1] == (
        f" Sent {last['departed_bytes']} bytes {last['departed_pkts']} pkt"
        f" (dropped {last['dropped_pkts']}, overlimits 0 requeues 0) "
    )
    assert lines[2].endswith(f"b {last['backlog_pkts']}p requeues 0")


@pytest.mark.parametrize(
    ("qdisc", "expected"),
    [
        ("codel", "codel 1: root refcnt 2 limit 1000p target 5ms interval 100ms "),
        (
            "fq_codel",
            "fq_codel 1: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms "
            "interval 100ms memory_limit 32Mb ecn drop_batch 64 ",
        ),
        (
            "cake bandwidth 20mbit docsis",
            "cake 1: root refcnt 2 bandwidth 20Mbit diffserv3 triple-isolate nonat nowash "
            "no-ack-filter split-gso rtt 100ms noatm overhead 18 mpu 64 ",
        ),
        (
            "fq_pie ecn",
            "fq_pie 1: root refcnt 2 limit 10240p flows 1024 target 15ms tupdate 15ms alpha 2 "
            "beta 20 quantum 1514b memory_limit 32Mb ecn_prob 10 ecn ",
        ),
        (
            "choke limit 1000 bandwidth 10mbit ecn",
            "choke 1: root refcnt 2 limit 1000p min 83p max 250p ecn ",
        ),
        (
            "sfb max 30",
            "sfb 1: root refcnt 2 rehash 600s db 60s limit 1000p max 30p target 24p "
            "increment 0.000503548 decrement 4.57771e-05 penalty_rate 10pps penalty_burst 20p ",
        ),
        (
            "sfq perturb 10",
            "sfq 1: root refcnt 2 limit 127p quantum 1514b depth 127 flows 128 divisor 1024 "
            "perturb 10sec ",
        ),
        ("pie", "pie 1: root refcnt 2 limit 1000p target 15ms tupdate 15ms alpha 2 beta 20 "),
        (  # as iproute2 6.1 shows ticks of 64 ns: in whole microseconds
            "netem delay 500us 10us",
            "netem 1: root refcnt 2 limit 1000 delay 499us  9us",
        ),
        (
            "netem delay 10ms 2ms 25% loss gemodel 1% 10% 70% 0.1% reorder 25% gap 5 rate 1mbit",
            "netem 1: root refcnt 2 limit 1000 delay 10ms  2ms 25% loss gemodel p 1% r 10% "
            "1-h 70% 1-k 0.1% reorder 25% rate 1Mbit gap 5",
        ),
        (
            "prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 3",
            "prio 1: root refcnt 2 bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 3",
        ),
        (  # every packet passes unshaped: how many, the run does not say
            "htb",
            "htb 1: root refcnt 2 r2q 10 default 0x0 ver 3.17 direct_qlen 1000",
        ),
        ("drr", "drr 1: root refcnt 2 "),
        ("hfsc default 1f", "hfsc 1: root refcnt 2 default 1f "),
        (
            "netem loss 0.5% 25% ecn duplicate 1%",
            "netem 1: root refcnt 2 limit 1000 loss 0.5% 25% duplicate 1% ecn ",
        ),
    ],
)
def test_disciplines_this_host_may_not_have(qdisc: str, expected: str) -> None:
    run = a_run(qdisc)
    assert tc_text(run, QUEUE).splitlines()[0] == f"qdisc {expected}"
    json.loads(tc_json(run, QUEUE))


TREE = """root handle 1: htb default 20
class add parent 1: classid 1:10 htb rate 1mbit
class add parent 1: classid 1:20 htb rate 1mbit
parent 1:10 handle 5: prio
parent 5:1 pfifo limit 3
parent 5:3 tbf rate 1mbit burst 10kb limit 10kb
parent 1:20 fq_codel"""


def test_what_is_inside_several_classes_is_shown_without_numbers(tmp_path: Path) -> None:
    run = a_run(TREE)
    lines = tc_text(run, QUEUE).splitlines()
    heads = [line for line in lines if line.startswith("qdisc")]
    assert [head.split(" limit")[0].split(" r2q")[0] for head in heads] == [
        "qdisc htb 1: root refcnt 2",
        "qdisc prio 2: parent 1:10 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
        "qdisc pfifo 3: parent 2:1",
        "qdisc tbf 4: parent 2:3 rate 1Mbit burst 10Kb/1 mpu 0b lat 0us linklayer ethernet ",
        "qdisc fq_codel 5: parent 1:20",
    ]
    assert "quantum 1514" in heads[-1]
    assert [line.split()[0] for line in lines if line not in heads] == ["Sent", "backlog"]
    # The handles are those of the lines one types.
    assert run.spec is not None
    typed = units.qdisc_lines(run.spec["links"][0]["forward"]["qdisc"], device="X", handle=1)
    qdiscs = [line.split() for line in typed if line.startswith("qdisc")]
    assert [words[words.index("handle") + 1] for words in qdiscs] == [
        head.split()[2] for head in heads
    ]
    as_json = json.loads(tc_json(run, QUEUE))
    assert [(each["handle"], each.get("parent")) for each in as_json] == [
        ("1:", None),
        ("2:", "1:10"),
        ("3:", "2:1"),
        ("4:", "2:3"),
        ("5:", "1:20"),
    ]
    assert [each["handle"] for each in as_json if "bytes" in each] == ["1:"]
    for text in (tc_text(run, QUEUE), tc_json(run, QUEUE)):
        file = tmp_path / "tc.txt"
        file.write_text(text)
        assert read_tc(file).meta["queue_names"] == ["htb 1:"]


def test_every_sample_is_a_block_and_reads_back(tmp_path: Path) -> None:
    run = a_run("tbf rate 1mbit burst 10kb limit 20kb")
    text = tc_iterate_text(run, QUEUE, t0_epoch_ns=1_700_000_000 * 10**9)
    assert text.count("\n---\n") == len(run.column("queue_samples", "t_ns", queue=QUEUE))
    file = tmp_path / "tc.txt"
    file.write_text(text)
    read = read_tc(file)
    assert read.origin == "imported"
    assert read.meta["queue_names"] == ["tbf 1:"]
    for name in ("departed_bytes", "departed_pkts", "dropped_pkts", "backlog_pkts"):
        np.testing.assert_array_equal(
            read.column("queue_samples", name), run.column("queue_samples", name, queue=QUEUE)
        )
    at = run.column("queue_samples", "t_ns", queue=QUEUE)
    np.testing.assert_array_equal(read.column("queue_samples", "t_ns"), at - at[0])
    file.write_text(tc_json(run, QUEUE))
    backlog = run.column("queue_samples", "backlog_bytes", queue=QUEUE)[-1]
    assert read_tc(file).column("queue_samples", "backlog_bytes").tolist() == [backlog]


def test_text_of_a_real_pie_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pie.txt"
    file.write_text(
        "qdisc pie 8001: dev eth0 root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 "
        "beta 20 \n Sent 1514 bytes 1 pkt (dropped 7, overlimits 0 requeues 0) \n"
        " backlog 14Kb 10p requeues 0\n  prob 0.012 delay 14.5ms\n"
        "  pkts_in 18 overlimit 0 dropped 7 maxq 11 ecn_mark 3\n"
    )
    row = read_tc(file).table("queue_samples").row(0, named=True)
    assert row["backlog_bytes"] == 14 << 10
    assert (row["drop_probability"], row["delay_estimate_ns"]) == (0.012, 14_500_000)
    assert (row["marked_pkts"], row["dropped_pkts"]) == (3, 7)


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_iproute2_prints_of_dualpi2_is_read(form: str, tmp_path: Path) -> None:
    """By its own words of output (iproute2 6.16, ``tc/q_dualpi2.c``)."""
    file = tmp_path / "dualpi2.txt"
    counted = "prob 0.051 delay_c 14210us delay_l 310us\npkts_in_c 9 pkts_in_l 1 maxq 77\n"
    as_text = (
        "qdisc dualpi2 1: dev eth0 root refcnt 2 limit 10000p memlimit 30280000B target 15ms "
        "tupdate 16ms alpha 0.156250 beta 3.195312 step_thresh 1ms min_qlen_step 0p "
        "coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso "
        "\n Sent 1514 bytes 1 pkt (dropped 7, overlimits 0 requeues 0) \n"
        f" backlog 15140b 10p requeues 0\n{counted}ecn_mark 60 step_mark 5\n"
        "credit -121120 (L-queue)\nmemory_used 23040 (max 177408) of memory limit 30280000\n"
    )
    as_json = [
        {
            "kind": "dualpi2", "handle": "1:", "dev": "eth0", "root": True, "bytes": 1514,
            "packets": 1, "drops": 7, "overlimits": 0, "requeues": 0, "backlog": 15140,
            "qlen": 10, "prob": 0.051, "delay-c": 14210, "delay-l": 310, "ecn-mark": 60,
        }
    ]  # fmt: skip
    file.write_text(as_text if form == "text" else json.dumps(as_json))
    row = read_tc(file).table("queue_samples").row(0, named=True)
    assert (row["backlog_bytes"], row["marked_pkts"], row["dropped_pkts"]) == (15140, 60, 7)
    assert (row["drop_probability"], row["delay_estimate_ns"]) == (0.051, 14_210_000)


@pytest.mark.parametrize("text", ["", "hello\n", "[", '[{"kind":"pfifo"}]', "[1]", "[" * 5000])
def test_what_is_not_of_tc_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tc.txt"
    file.write_text(text)
    with pytest.raises(FormatError):
        read_tc(file)


def test_runs_that_do_not_say_enough_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "tc.txt"
    run = a_run("pfifo limit 5")
    file.write_text(tc_text(run, QUEUE))
    with pytest.raises(DumbbellError, match="imported"):
        tc_text(read_tc(file), 0)
    file.write_text(tc_text(run, QUEUE) + "---\n" + tc_text(run, QUEUE))
    with pytest.raises(FormatError, match="Time"):
        read_tc(file)
    with pytest.raises(DumbbellError, match="sample_interval"):
        tc_text(a_run("pfifo limit 5", sample_interval="0s"), QUEUE)


def test_a_file_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not say that it is too large: its size is 0."""
    monkeypatch.setattr(tc_reader, "LARGEST_FILE_BYTES", 1000)
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(FormatError, match=r"'more than 1000 bytes'.*at most 1000 bytes are"):
        read_tc(tmp_path / "zero.txt")


@pytest.mark.parametrize("words", ["diffserv3", "diffserv4", "diffserv8", "besteffort"])
def test_tins_of_cake_are_printed_and_read_back(words: str, tmp_path: Path) -> None:
    run = a_run(f"cake bandwidth 1mbit {words}")
    tins = {
        name: run.column("tin_samples", name, queue=QUEUE)
        for name in ("t_ns", "arrived_pkts", "dropped_pkts", "backlog_bytes", "mean_delay_ns")
    }
    last = tins["t_ns"] == tins["t_ns"][-1]
    last_queue = {
        name: run.column("queue_samples", name, queue=QUEUE)[-1]
        for name in ("backlog_bytes", "backlog_pkts", "departed_pkts", "dropped_pkts")
    }
    assert tins["dropped_pkts"][last].sum() == last_queue["dropped_pkts"] > 0
    assert tins["backlog_bytes"][last].sum() == last_queue["backlog_bytes"]
    arrived = tins["arrived_pkts"][last].sum()
    left = last_queue["departed_pkts"] + last_queue["backlog_pkts"] + last_queue["dropped_pkts"]
    assert 0 <= arrived - left <= 1  # one may be in transmission
    for text in (tc_text(run, QUEUE), tc_json(run, QUEUE)):
        file = tmp_path / "tc.txt"
        file.write_text(text)
        log = read_tc_log(LogText.of_file(file, 1 << 20))
        assert str(log.unknown) == ""
        read = log.tables["tins"]
        for ours, theirs in (
            ("arrived_pkts", "arrived_pkts"),
            ("dropped_pkts", "dropped_pkts"),
        ):
            np.testing.assert_array_equal(read[theirs], tins[ours][last])
        # tc prints three digits.
        np.testing.assert_allclose(read["delay_mean_ns"], tins["mean_delay_ns"][last], rtol=5e-3)


def test_runs_without_cake_have_no_tins() -> None:
    assert not {"cake_samples", "tin_samples"} & a_run("fq_codel").tables.keys()
