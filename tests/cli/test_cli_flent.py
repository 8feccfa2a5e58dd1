"""``dumbbell flent``: the published command line, its file and its plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.formats.flent import read_flent

Dumbbell = Callable[..., tuple[int, str, str]]
SHORT = ("-l", "3", "-d", "1", "--rate", "10mbit", "--qdisc", "pie target 20ms tupdate 15ms")
PUBLISHED = (
    "--test-parameter", "bandwidth=800M",
    "--test-parameter", "upload_stream=num_cpus",
    "--test-parameter", "download_streams=num_cpus",
    "--test-parameter", "qdisc_stats_hosts=pg@192.168.20.2",
    "--test-parameter", "qdisc_stats_interfaces=enx000000001220",
    "-H", "172.16.10.2",
    "-t", "pie60_t20_tu_1_without_traffic",
)  # fmt: skip
DATA = "rrul-2000-01-01T000000.000000.pie60_t20_tu_1_without_traffic"


def test_the_published_command(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, err = dumbbell("flent", "rrul", "-p", "totals", *PUBLISHED, *SHORT, "-o", "a.png")
    assert (code, [line for line in err.splitlines() if "error" in line]) == (0, [])
    for ignored in ("bandwidth", "upload_stream", "download_streams"):
        assert f"{ignored} has no effect: rrul does not read it" in out
    assert "qdisc_stats_hosts has no effect" not in out
    assert f"data: {DATA}.flent.gz" in out
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.png").stat().st_size > 20_000
    file = read_flent(tmp_path / f"{DATA}.flent.gz")
    assert file.metadata["HOST"] == "172.16.10.2"
    assert "qdisc_stats_pg@192.168.20.2::delay" in file.results
    assert file.metadata["TEST_PARAMETERS"]["bandwidth"] == "800M"


def test_a_file_is_not_overwritten_by_another_run(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for seed in ("1", "1", "2"):
        assert dumbbell("flent", "ping", "-l", "2", "--seed", seed, "-t", "a")[0] == 0
    names = sorted(path.name for path in tmp_path.glob("*.gz"))
    stem = "ping-2000-01-01T000000.000000.a"
    assert names == [f"{stem}.2.flent.gz", f"{stem}.flent.gz"]


def test_what_the_run_may_use_can_be_said(dumbbell: Dumbbell) -> None:
    code, _, error = dumbbell("flent", "ping", "-l", "2", "--memory", "100kb")
    assert code == 2
    assert "102 kB of free memory" in error


def test_without_a_plot_there_is_the_summary(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, _ = dumbbell("flent", "tcp_1up", *SHORT)
    assert code == 0
    assert "Summary of tcp_1up test run" in out
    (data,) = tmp_path.glob("*.flent.gz")
    code, again, _ = dumbbell("flent", "-i", data.name, "-f", "summary")
    assert code == 0
    assert again in out
    code, out, _ = dumbbell("flent", "-i", data.name, "-p", "tcp_cwnd")
    assert code == 0
    assert out == f"plot: {data.name.removesuffix('.flent.gz')}.tcp_cwnd.png\n"


def test_a_data_file_and_a_pictures_name_say_enough(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """As with Flent: no ``-i``, and a plot where the output can be nothing else."""
    assert dumbbell("flent", "ping", "-l", "2", "-o", "a.svg")[1].endswith("plot: a.svg\n")
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")[:300]
    (data,) = tmp_path.glob("*.flent.gz")
    code, out, _ = dumbbell("flent", data.name)
    assert (code, "Summary of ping" in out) == (0, True)
    assert dumbbell("flent", data.name, "-o", "a.txt")[0] == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == out


def test_several_data_files_are_one_plot(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for rate in ("10mbit", "20mbit"):
        dumbbell("flent", "tcp_1down", "-l", "2", "-d", "1", "-t", rate, "--rate", rate)
    files = sorted(path.name for path in tmp_path.glob("*.flent.gz"))
    code, out, _ = dumbbell("flent", *files, "-p", "totals", "-o", "both.svg")
    assert (code, out) == (0, "plot: both.svg\n")
    drawn = (tmp_path / "both.svg").read_text(encoding="utf-8")
    assert "Download, 10mbit" in drawn or "1, 10mbit" in drawn
    assert "20mbit" in drawn
    words = [word for name in files for word in ("-i", name)]
    assert dumbbell("flent", *words)[1].count("Summary of tcp_1down") == 2
    assert dumbbell("flent", *(files * 7), "-o", "more.svg")[0] == 2


def test_a_test_too_short_for_a_burst_says_so(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("flent", "bursts", "-l", "5", "-d", "1")
    assert code == 0
    assert "No burst fits into 5 s: one takes a pause of 1 s and 5 s (burst_length)." in out


def test_a_strangers_text_does_nothing_to_a_terminal(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = (
        '{"version": 4, "x_values": [0, 1], "results": {"TCP upload": [1, 2]}, "raw_values": {}, '
        '"metadata": {"NAME": "tcp_1up", "TITLE": "\\u001b[2J\\ud800\\n", "HOST": "\\u0007"}}'
    )
    (tmp_path / "a.flent").write_text(text, encoding="utf-8")
    for words in (("flent", "a.flent"), ("analyze", "a.flent", "--replications", "0")):
        code, out, _ = dumbbell(*words)
        assert code == 0
        assert all(line.isprintable() for line in out.splitlines())
        assert "<U+001B>[2J<U+D800><U+000A>" in out


def test_any_topology_and_other_traffic(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(
        'duration = "5s"\n'
        'links = [{ a = "laptop", b = "box", rate = "5mbit" }, { a = "box", b = "far" }]\n'
        '[[flows]]\nname = "other"\nfrom = "laptop"\nto = "far"\n'
        'source = { kind = "cbr", rate = "100pps", size = "1000B" }\n'
    )
    words = ("--topology", "net.toml", "--client", "laptop", "-H", "far", "-l", "3", "-d", "1")
    assert dumbbell("flent", "tcp_1up", *words)[0] == 0
    (data,) = tmp_path.glob("*.flent.gz")
    file = read_flent(data)
    names = [flow["name"] for flow in file.metadata["DUMBBELL"]["experiment"]["flows"]]
    assert names == ["tcp-upload", "other"]
    rates = [value for value in file.results["TCP upload"] if value is not None]
    assert 3.0 < sum(rates) / len(rates) < 4.3  # 5 less 0.81 Mbit/s and headers


def test_another_controller_where_the_simulator_has_none(dumbbell: Dumbbell) -> None:
    veno = ("flent", "tcp_1up", "-l", "3", "-d", "1", "--test-parameter", "tcp_cong_control=veno")
    code, _, err = dumbbell(*veno)
    assert code == 2
    assert "--instead veno=reno" in err
    code, out, _ = dumbbell(*veno, "--instead", "veno=reno")
    assert code == 0
    assert "reno is run in place of veno." in out


def test_a_test_with_westwood_runs(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("flent", "tcp_2up_square", "-l", "3", "-d", "1")
    assert code == 0
    assert "in place of" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the name of a test"),
        (("rull",), "did you mean 'rrul'"),
        (("rrul", "-i", "a.gz"), "or --input FILE"),
        (("rrul", "-p", "elipsis"), "did you mean 'ellipsis'"),
        (("rrul", "-p", "box_combine"), "of several files each of these has all"),
        (("rrul", "-p", "totals", "-o", "a.gif"), ".png, .svg or .pdf"),
        (("rrul", "-f", "csv"), "plot, summary"),
        (("rrul", "-D", "nowhere"), "a folder that exists"),
        (("rrul", "--test-parameter", "x"), "KEY=VALUE"),
        (("rrul", "--qdisc", "piee"), "did you mean 'pie'"),
        (("rrul", "--rate", "10"), "did you mean '10bit'"),
        (("rrul", "--rtt", "1ms,2ms"), "one for each host"),
        (("rrul", "--queue", "router->gatewy"), "did you mean 'router->gateway'"),
        (("rrul", "-H", "a b"), "error: host: 'a b'"),
        (("rrul", "-t", "\x1b[2J"), "printable"),
        (("rrul", "-t", "a\nb"), "printable"),
        (("rrul", "-n", "\ud800"), "printable"),
        (("rrul", "-t", "x" * 1001), "printable"),
        (("tcp_nup",), "--test-parameter upload_streams=4"),
        (("bursts", "--test-parameter", "burst_tos=EFF"), "did you mean 'EF'"),
        (("udp_flood", "--test-parameter", "udp_bandwidth=0"), "a rate such as 100M"),
        (("nothing.flent.gz",), "nothing.flent.gz"),
        (("rrul", "--irtt"), "--backend kernel"),
        (("-i", "nothing.flent.gz"), "nothing.flent.gz"),
    ],
)
def test_bad_input(
    words: tuple[str, ...], message: str, dumbbell: Dumbbell, tmp_path: Path
) -> None:
    code, _, err = dumbbell("flent", *words)
    assert code == 2
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_file_leaves_with_2(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "a.flent.gz").write_bytes(b"\x1f\x8bnothing")
    code, _, err = dumbbell("flent", "-i", "a.flent.gz", "-p", "totals")
    assert code == 2
    assert "a whole compressed file" in err


def test_the_list_of_plots(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, _ = dumbbell("flent", "tcp_nup", "--list-plots")
    names = out.split()
    assert (code, names[0]) == (0, "totals")
    assert {"upload_with_ping", "tcp_cwnd", "delay"} < set(names)
    assert list(tmp_path.iterdir()) == []
    assert dumbbell("flent", "ping", "-l", "2")[0] == 0
    (data,) = tmp_path.glob("*.gz")
    code, out, _ = dumbbell("flent", data.name, "--list-plots")
    assert (code, out.split()) == (0, ["ping", "ping_cdf", "backlog", "drops", "delay"])
    assert dumbbell("flent", "rull", "--list-plots")[0] == 2


def test_the_list(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("flent", "--list-tests")
    assert code == 0
    assert len(out.splitlines()) == 15
