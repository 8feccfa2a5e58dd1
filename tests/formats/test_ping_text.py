from __future__ import annotations

import io
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError
from dumbbell.formats import PingStyle, ping_text, pingtimes_csv, pingtimes_file_name
from dumbbell.formats.ping import time_text
from dumbbell.spec import Experiment
from dumbbell.tables import Run

MS = 1_000_000
# As the published experiment has it, once for SM and once for TDM.
AWK = """grep "bytes from" | awk 'BEGIN { FS = " |=" } ; { print "1,SM," $7 "," $11 }'"""

SPEC = Experiment.from_toml(
    """
    duration = "60s"
    links = [{ a = "sender-1", b = "router" }, { a = "router", b = "receiver-1" }]
    [[probes]]
    name = "ping"
    from = "sender-1"
    to = "receiver-1"
    interval = "200ms"
    """
).resolved()


def a_run(rtts_ms: list[float | None], interval_ms: int = 200, first_seq: int = 1) -> Run:
    """A run whose requests leave at multiples of an interval and are answered after so long."""
    n = len(rtts_ms)
    rtt = np.array([-1 if each is None else round(each * MS) for each in rtts_ms])
    sent = np.arange(n) * interval_ms * MS
    probes = {
        "probe": np.zeros(n, np.int32),
        "seq": np.arange(first_seq, first_seq + n),
        "sent_ns": sent,
        "received_ns": np.where(rtt < 0, -1, sent + rtt),
        "rtt_ns": rtt,
    }
    return Run("simulated", 0, SPEC, {"probes": probes})


@pytest.mark.parametrize(
    ("rtt_us", "printed"),
    [
        (0, "0.000"),
        (60, "0.060"),
        (999, "0.999"),
        (1000, "1.00"),
        (1004, "1.00"),
        (1005, "1.01"),
        (1260, "1.26"),
        (9994, "9.99"),
        (9995, "10.00"),  # ping picks the format before it rounds
        (10_000, "10.0"),
        (26_449, "26.4"),
        (26_450, "26.5"),
        (99_949, "99.9"),
        (99_950, "100.0"),
        (100_000, "100"),
        (154_499, "154"),
        (154_500, "155"),
        (2_561_499, "2561"),
    ],
)
def test_times_are_rounded_as_ping_does(rtt_us: int, printed: str) -> None:
    assert time_text(rtt_us) == printed


def test_the_whole_text() -> None:
    text = ping_text(a_run([1.26, 26.4, 155.0, None]), "ping", PingStyle(address="10.10.10.2"))
    assert text == (
        "PING receiver-1 (10.10.10.2) 56(84) bytes of data.\n"
        "64 bytes from receiver-1 (10.10.10.2): icmp_seq=1 ttl=63 time=1.26 ms\n"
        "64 bytes from receiver-1 (10.10.10.2): icmp_seq=2 ttl=63 time=26.4 ms\n"
        "64 bytes from receiver-1 (10.10.10.2): icmp_seq=3 ttl=63 time=155 ms\n"
        "\n"
        "--- receiver-1 ping statistics ---\n"
        "4 packets transmitted, 3 received, 25% packet loss, time 600ms\n"
        "rtt min/avg/max/mdev = 1.260/60.886/155.000/67.334 ms\n"
    )


def test_the_address_is_that_of_the_testbed_lines() -> None:
    assert ping_text(a_run([1.0]), 0).startswith("PING receiver-1 (10.10.2.2) 56(84) bytes")


def test_no_answer_at_all() -> None:
    text = ping_text(a_run([None, None]), 0)
    assert text.endswith("2 packets transmitted, 0 received, 100% packet loss, time 200ms\n\n")
    assert "rtt" not in text


def test_thirds_of_loss_have_pings_six_digits() -> None:
    assert "33.3333% packet loss" in ping_text(a_run([1.0, 1.0, None]), 0)


def test_pipe_is_the_most_requests_in_flight() -> None:
    # At 200 ms apart an answer after 610 ms finds requests 2, 3 and 4 sent since.
    assert ping_text(a_run([610, 1, 1, 1, 1]), 0).endswith("ms, pipe 4\n")
    assert "pipe" not in ping_text(a_run([199.0] * 3), 0)


def test_answers_are_printed_as_they_come_in() -> None:
    lines = ping_text(a_run([500.0, 1.0, 1.0]), 0).splitlines()
    assert [line.split("icmp_seq=")[1][0] for line in lines[1:4]] == ["2", "3", "1"]


def test_sequence_numbers_have_sixteen_bits() -> None:
    run = a_run([1.0, 1.0, 1.0], first_seq=65535)
    assert [line.split(",")[2] for line in pingtimes_csv(run, 0, sender=1, kind="SM").split()] == [
        "65535",
        "0",
        "1",
    ]
    assert "icmp_seq=0 ttl" in ping_text(run, 0)


def test_timestamps_as_with_option_d() -> None:
    style = PingStyle(timestamps=True, t0_epoch_ns=1_795_218_143_840_940_000)
    line = ping_text(a_run([0.060]), 0, style).splitlines()[1]
    assert line.startswith("[1795218143.841000] 64 bytes from receiver-1 (")


def test_pings_clock_has_whole_microseconds() -> None:
    run = a_run([1.0])
    run.tables["probes"]["sent_ns"][:] = 1_999  # type: ignore[index]
    run.tables["probes"]["received_ns"][:] = 62_000  # type: ignore[index]
    assert "time=0.061 ms" in ping_text(run, 0)


def test_the_published_awk_line_gives_sender_type_seq_and_rtt() -> None:
    run = a_run([1.26, None, 26.4, 155.0, 0.06, 7.595])
    text = ping_text(run, 0)
    made = subprocess.run(["/bin/sh", "-c", AWK], input=text, capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert made.stdout == "1,SM,1,1.26\n1,SM,3,26.4\n1,SM,4,155\n1,SM,5,0.060\n1,SM,6,7.60\n"
    assert pingtimes_csv(run, 0, sender=1, kind="SM") == made.stdout


def test_of_a_real_run_awk_makes_the_csv_and_r_would_read_it() -> None:
    experiment = Experiment.from_toml(
        """
        duration = "30s"
        links = [
          { a = "sender-1", b = "router" },
          { a = "router", b = "receiver-1", forward = { qdisc = "netem rate 1mbit limit 30" } },
        ]
        [[flows]]
        name = "stream"
        from = "sender-1"
        to = "receiver-1"
        source = { kind = "ditg", gap = "exponential 220pps", size = "exponential 512B" }
        [[probes]]
        name = "ping"
        from = "sender-1"
        to = "receiver-1"
        interval = "200ms"
        """
    )
    run = simulate(experiment)
    text = ping_text(run, "ping")
    made = subprocess.run(["/bin/sh", "-c", AWK], input=text, capture_output=True, text=True,
                          check=True)  # fmt: skip
    csv = pingtimes_csv(run, "ping", sender=1, kind="SM")
    assert csv == made.stdout
    pandas = pytest.importorskip("pandas")
    # read.table("pingtimes-all.csv", header=FALSE, sep=",") and tapply(rtt, type, quantile)
    frame = pandas.read_csv(io.StringIO(csv), header=None, names=["sender", "type", "seq", "rtt"])
    exact = run.column("probes", "rtt_ns", probe="ping") / MS
    exact = exact[exact > 0]
    assert 0 < len(frame) < 150  # the limit of 30 packets loses some
    assert len(frame) == len(exact)
    np.testing.assert_allclose(frame["rtt"], exact, rtol=0.005, atol=0.0011)


def test_file_names_are_the_published_ones() -> None:
    assert pingtimes_file_name(1, "SM") == "pingtimes-1-sm.csv"
    assert pingtimes_file_name(2, "TDM") == "pingtimes-2-tdm.csv"


def test_an_imported_run_is_refused(tmp_path: Path) -> None:
    imported = Run("imported", 0, None, a_run([1.0]).tables, {"probe_names": ["ping"]})
    with pytest.raises(DumbbellError, match="imported"):
        ping_text(imported, 0)
    unknown = a_run([1.0])
    unknown.tables["probes"]["sent_ns"][:] = -1  # type: ignore[index]
    with pytest.raises(DumbbellError, match="times of sending"):
        ping_text(unknown, 0)
