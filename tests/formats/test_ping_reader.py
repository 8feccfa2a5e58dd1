from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import SpecError
from dumbbell.formats import FormatError, ping_reader, ping_text, read_ping, read_pingtimes_csv
from dumbbell.tables import SCHEMA, Run, check_schema

MS = 1_000_000
STAMPED = """\
PING 10.10.10.2 (10.10.10.2) 56(84) bytes of data.
[1795218143.841000] 64 bytes from 10.10.10.2: icmp_seq=1 ttl=63 time=0.060 ms
[1795218144.071185] 64 bytes from 10.10.10.2: icmp_seq=3 ttl=63 time=28.2 ms
[1795218144.071190] 64 bytes from 10.10.10.2: icmp_seq=3 ttl=63 time=29.2 ms (DUP!)
no answer yet for icmp_seq=4
From 10.10.10.1 icmp_seq=4 Destination Host Unreachable

--- 10.10.10.2 ping statistics ---
5 packets transmitted, 2 received, +1 duplicates, +1 errors, 60% packet loss, time 401ms
rtt min/avg/max/mdev = 0.060/14.130/28.200/14.070 ms
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pingtimes.txt"
    path.write_bytes(text.encode())
    return path


def column(run: Run, name: str) -> list[int]:
    return list(run.column("probes", name).tolist())


def test_stamped_text_with_losses_duplicates_and_errors(tmp_path: Path) -> None:
    run = read_ping(write(tmp_path, STAMPED), name="client")
    check_schema(run.tables)
    assert (run.origin, run.spec, run.probe_names) == ("imported", None, ["client"])
    assert column(run, "seq") == [1, 2, 3, 4, 5]
    assert column(run, "rtt_ns") == [60_000, -1, 28_200_000, -1, -1]
    assert column(run, "sent_ns") == [0, -1, 202_045_000, -1, -1]
    assert column(run, "received_ns") == [60_000, -1, 230_245_000, -1, -1]
    assert run.meta["t0_epoch_ns"] == 1_795_218_143_840_940_000
    assert run.meta["host"] == "10.10.10.2"


def test_a_name_before_the_address_and_windows_line_ends(tmp_path: Path) -> None:
    text = (
        "64 bytes from server-link-1 (10.10.2.2): icmp_seq=2 ttl=63 time=1.26 ms\r\n"
        "64 bytes from server-link-1 (10.10.2.2): icmp_req=3 ttl=63 time=26.4 ms\r\n"
    )
    run = read_ping(write(tmp_path, text))
    # A file that begins in the middle, without its trailer: request 1 was sent, too.
    assert column(run, "seq") == [1, 2, 3]
    assert column(run, "rtt_ns") == [-1, 1_260_000, 26_400_000]
    assert column(run, "sent_ns") == [-1, -1, -1]


def test_the_interval_says_when_requests_were_sent(tmp_path: Path) -> None:
    text = "64 bytes from a: icmp_seq=2 ttl=63 time=1 ms\n"
    run = read_ping(write(tmp_path, text), interval_ns=200 * MS)
    assert column(run, "sent_ns") == [0, 200 * MS]
    assert column(run, "received_ns") == [-1, 201 * MS]


def test_sequence_numbers_are_unwrapped(tmp_path: Path) -> None:
    numbers = [65534, 65535, 0, 1, 2]
    first = [f"64 bytes from a: icmp_seq={n} ttl=63 time={i}.5 ms" for i, n in enumerate(numbers)]
    run = read_ping(write(tmp_path, "\n".join(first)))
    answered = run.column("probes", "rtt_ns") >= 0
    assert run.column("probes", "seq")[answered].tolist() == [65534, 65535, 65536, 65537, 65538]


def test_a_writers_text_comes_back_as_ping_rounds_it(tmp_path: Path) -> None:
    from test_ping_text import a_run

    run = a_run([1.26, None, 26.44, 155.4, None])
    back = read_ping(write(tmp_path, ping_text(run, 0)), interval_ns=200 * MS)
    assert column(back, "rtt_ns") == [1_260_000, -1, 26_400_000, 155 * MS, -1]
    assert column(back, "sent_ns") == column(run, "sent_ns")


def test_the_real_kernels_first_answers_are_as_long_as_their_line_says(tmp_path: Path) -> None:
    only_header = "PING a (10.0.0.1) 56(84) bytes of data.\n"
    run = read_ping(write(tmp_path, only_header))
    assert column(run, "seq") == []
    assert [each.name for each in SCHEMA["probes"]] == list(run.tables["probes"])


@pytest.mark.parametrize("text", ["", "hello\nworld\n", "\x00\x01\x02" * 100, "seq,rtt\n1,2\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="iputils"):
        read_ping(write(tmp_path, text))


def test_lines_without_end_and_huge_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FormatError, match=r"pingtimes\.txt:2"):
        read_ping(write(tmp_path, "PING a\n" + "x" * 100_000))
    monkeypatch.setattr(ping_reader, "LARGEST_FILE_BYTES", 10)
    with pytest.raises(FormatError, match="at most 10 bytes"):
        read_ping(write(tmp_path, STAMPED))


def test_a_sequence_number_cannot_make_it_fill_memory(tmp_path: Path) -> None:
    text = "64 bytes from a: icmp_seq=999999999 ttl=63 time=1 ms\n"
    with pytest.raises(FormatError, match="fewer requests"):
        read_ping(write(tmp_path, text))
    with pytest.raises(FormatError, match="fewer requests"):
        read_ping(write(tmp_path, "999999999 packets transmitted, 0 received"))


@given(st.text(max_size=300) | st.text("64 bytesfrom:icmp_seq=tl.mPING\n()[]", max_size=300))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "ping.txt"
    path.write_text(text, encoding="utf-8", errors="replace")
    for read in (read_ping, read_pingtimes_csv):
        with contextlib.suppress(SpecError):
            check_schema(read(path).tables)


def test_the_csv_has_a_probe_for_each_sender_and_type(tmp_path: Path) -> None:
    one = tmp_path / "pingtimes-1-sm.csv"
    one.write_text("1,SM,1,2.520\n1,SM,3,110\n")
    two = tmp_path / "pingtimes-2-tdm.csv"
    two.write_text("2,TDM,1,3.38\n\n")
    run = read_pingtimes_csv([one, two], interval_ns=200 * MS)
    check_schema(run.tables)
    assert run.probe_names == ["SM/1", "TDM/2"]
    assert run.column("probes", "rtt_ns", probe="SM/1").tolist() == [2_520_000, 110 * MS]
    assert run.column("probes", "sent_ns", probe="SM/1").tolist() == [0, 400 * MS]
    assert run.column("probes", "seq", probe="TDM/2").tolist() == [1]
    np.testing.assert_array_equal(read_pingtimes_csv(one).column("probes", "sent_ns"), [-1, -1])


@pytest.mark.parametrize(
    "line", ["1,SM,1", "1,SM,one,2.5", "1,SM,1,-3", "1,SM,1,nan", "1,SM,1,2,3"]
)
def test_a_bad_line_of_the_csv_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "all.csv"
    path.write_text(f"1,SM,1,2.5\n{line}\n")
    with pytest.raises(FormatError, match="sender,kind,seq,rtt is expected") as caught:
        read_pingtimes_csv(path)
    assert caught.value.path == f"{path}:2"


def test_a_file_of_something_else_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.formats.logs.text.MOST_UNKNOWN_LINES", 1000)
    path = tmp_path / "ping.txt"
    head = "PING a (192.0.2.1) 56(84) bytes of data.\n"
    path.write_text(head + "another program said this\n" * 3000)
    with pytest.raises(FormatError, match="lines of iputils' ping") as refused:
        read_ping(path)
    assert refused.value.path == f"{path}:1001"
    # ping's own words are understood, however many.
    path.write_text(head + "".join(f"no answer yet for icmp_seq={n}\n" for n in range(1, 3000)))
    assert read_ping(path).meta["host"] == "a"
