"""``dumbbell analyze FILE.flent.gz``: a measurement beside simulated runs of the same test."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.cli.analyze_flent import compare
from dumbbell.cli.flent_network import network_of, same_test
from dumbbell.formats.flent import FlentFile, flent_file, read_flent, write_flent
from dumbbell.spec import Flow, Link, flent

Dumbbell = Callable[..., tuple[int, str, str]]
NETWORK = flent.Network(
    rate="20mbit", rate_down="40mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("8ms",)
)


@pytest.fixture(scope="module")
def measured() -> list[FlentFile]:
    """Runs that take the place of measurements."""
    test = flent.flent_test("rrul_be", length_s=8, delay_s=1)
    experiment = test.experiment(NETWORK, seed=77)
    return [
        flent_file(dumbbell.simulate(experiment, replication=number), test, title="at home")
        for number in range(10)
    ]


def foreign(file: FlentFile) -> FlentFile:
    """As if somebody else's program had written it: nothing says in which network."""
    others = {key: value for key, value in file.metadata.items() if key != "DUMBBELL"}
    return dataclasses.replace(file, metadata=others)


def test_a_measurement_beside_the_same_test(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    write_flent(foreign(measured[0]), tmp_path / "a.flent.gz")
    words = ("--qdisc", "pie target 20ms tupdate 15ms", "--replications", "3", "--out", "page")
    code, out, _ = dumbbell("analyze", "a.flent.gz", *words)
    assert code == 0
    assert "rrul_be, at home: 8 s to server" in out
    rtt = re.search(r"--rtt (\S+)ms: guessed, from the least ping", out)
    assert rtt is not None
    assert float(rtt[1]) == pytest.approx(8.1, abs=0.1)
    row = next(line for line in out.splitlines() if line.startswith(" TCP upload sum"))
    mean = float(row.split()[5])
    values = [v for v in measured[0].results["TCP upload sum"] if v is not None]
    assert mean == pytest.approx(sum(values) / len(values), abs=0.006)
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "at home" in page
    probes = pl.read_parquet(tmp_path / "page" / "tables" / "probes.parquet")
    assert probes["probe_name"].n_unique() == 4
    again = read_flent(tmp_path / "page" / "simulated-2.flent.gz")
    assert again.results.keys() == measured[0].results.keys()


def test_rates_are_guessed_from_the_fastest_second(measured: list[FlentFile]) -> None:
    network, notes = network_of(measured[0], {})
    assert float(network.rate.removesuffix("bit")) == pytest.approx(20e6, rel=0.06)
    assert network.rate_down is not None
    assert float(network.rate_down.removesuffix("bit")) == pytest.approx(40e6, rel=0.06)
    assert len(notes) == 4
    given, notes = network_of(measured[0], {"rate": "50mbit", "rtts": "3ms", "qdisc": "fq_codel"})
    assert (given.rate, given.rate_down, tuple(given.rtts)) == ("50mbit", None, ("3ms",))
    assert notes == []


def test_a_file_of_ours_says_its_network(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    """Not what `analyze` takes for somebody's network: a FIFO of 1000 packets."""
    own = measured[3].metadata["DUMBBELL"]["experiment"]
    found = same_test(measured[3], {}, {}, seed=1, timer_hz=None)
    assert found.experiment.resolved() == own | {"seed": 1}
    assert found.own_replication is None
    words = '--rate 20mbit --rate-down 40mbit --qdisc "pie limit 1000 target 20ms tupdate 15ms '
    assert found.notes[0].startswith(words)
    assert found.notes[0].endswith("--rtt 8ms --overhead 14b: the file says so.")
    write_flent(measured[3], tmp_path / "a.flent.gz")
    words_typed = ("--replications", "8", "--seed", "77", "--out", "page")
    code, out, _ = dumbbell("analyze", "a.flent.gz", *words_typed)
    assert code == 0
    assert "guessed" not in out and "does not say" not in out
    inside = [line.split()[-1] for line in out.splitlines() if line.endswith((" yes ", " no "))]
    assert inside.count("yes") > 0.6 * len(inside) > 8
    # Of its own runs all but itself, which says nothing of how others differ.
    files = [read_flent(tmp_path / "page" / f"simulated-{k}.flent.gz") for k in range(8)]
    numbers = [each.metadata["DUMBBELL"]["replication"] for each in files]
    assert numbers == [0, 1, 2, 4, 5, 6, 7, 8]


def test_what_is_given_comes_before_what_the_file_says(measured: list[FlentFile]) -> None:
    given = {"rate": "50mbit", "qdisc": "fq_codel", "rtts": "3ms"}
    found = same_test(measured[0], given, {}, seed=77, timer_hz=250)
    network = flent.Network.of(found.experiment.all_links, ["server"])
    assert network is not None
    assert (network.rate, network.rate_down, tuple(network.rtts)) == ("50mbit", "40mbit", ("3ms",))
    # Of the upload; the file's other direction has its own.
    assert network.qdisc.startswith("fq_codel")
    assert found.experiment.timer_hz == 250
    assert "--rate 50mbit" not in found.notes[0] and "--rate-down 40mbit" in found.notes[0]


def test_any_links_of_a_file_of_ours_are_run_again() -> None:
    test = flent.flent_test("tcp_1up", length_s=2, delay_s=1)
    links = [Link(a="client", b="server", rate="5mbit", delay="2ms", loss=0.01, capture=True)]
    other = Flow(name="other", from_="client", to="server", source={"kind": "greedy"})
    experiment = test.experiment(links, more_flows=[other])
    file = flent_file(dumbbell.simulate(experiment), test)
    found = same_test(file, {}, {}, seed=1, timer_hz=None)
    assert [flow.name for flow in found.experiment.flows] == ["tcp-upload", "other"]
    assert found.experiment.all_links[0].forward.loss == 0.01
    assert not found.experiment.all_links[0].forward.capture
    assert "Links and traffic are those of the experiment in the file." in found.notes
    # Options of a network that it is not are those of one like it.
    guessed = same_test(file, {"rate": "7mbit"}, {}, seed=1, timer_hz=None)
    assert "another than that of --rate" in guessed.notes[0]
    assert guessed.experiment.all_links[1].forward.rate is None
    assert guessed.experiment.all_links[1].rate == "7mbit"


@pytest.mark.parametrize(
    "experiment",
    [{}, {"links": 1}, {"schema": 1, "name": "\u202eevil"}, {"links": [{"a": [[[]]]}]}, "other"],
)
def test_a_file_that_says_it_is_ours_and_is_not(
    experiment: object, measured: list[FlentFile]
) -> None:
    if experiment == "other":
        other = flent.flent_test("tcp_1up", length_s=2, delay_s=1)
        experiment = other.experiment(NETWORK).resolved()
    metadata = {**measured[0].metadata, "DUMBBELL": {"experiment": experiment}}
    file = dataclasses.replace(measured[0], metadata=metadata)
    found = same_test(file, {}, {}, seed=1, timer_hz=None)
    assert found.notes[0].startswith("The network of the experiment in the file is not taken: ")
    assert found.notes[0].isprintable()
    assert any("guessed" in note for note in found.notes)


def test_a_run_of_the_same_law_is_mostly_inside_and_another_is_not(
    measured: list[FlentFile],
) -> None:
    rows = [
        row
        for one in measured
        for row in compare(one, [each for each in measured if each is not one])
    ]
    # 95 % each; the rows of one run go together.
    assert 0.85 <= sum(row.inside for row in rows) / len(rows) < 1
    test = flent.flent_test("rrul_be", length_s=8, delay_s=1)
    slower = flent.Network(rate="10mbit", qdisc="pfifo limit 200", rtts=("8ms",))
    run = dumbbell.simulate(test.experiment(slower))
    other = {(row.series, row.statistic): row for row in compare(
        flent_file(run, test), measured[1:])}  # fmt: skip
    assert not other["TCP upload sum", "mean"].inside
    assert not other["Ping (ms) ICMP", "mean"].inside


def test_without_runs_there_is_the_measurement(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    write_flent(measured[0], tmp_path / "a.flent.gz")
    code, out, _ = dumbbell("analyze", "a.flent.gz", "--replications", "0")
    assert code == 0
    assert "simulated" not in out
    assert "Ping (ms) ICMP" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.pcap", "--rtt", "9ms"), "error: --rtt: '9ms'\n  allowed: a data file of Flent"),
        (("a.flent.gz", "--view", "a->b after"), "a capture, not a.flent.gz"),
        (("empty.flent.gz",), "a whole data file of Flent"),
        (("a.flent.gz", "--replications", "1"), "one has no interval"),
        (("a.flent.gz", "--qdisc", "piee"), "did you mean 'pie'"),
        (("a.flent.gz", "--instead", "westwood"), "KEY=VALUE"),
    ],
)
def test_bad_input(
    words: tuple[str, ...],
    message: str,
    dumbbell: Dumbbell,
    measured: list[FlentFile],
    tmp_path: Path,
) -> None:
    write_flent(measured[0], tmp_path / "a.flent.gz")
    (tmp_path / "empty.flent.gz").touch()
    code, _, err = dumbbell("analyze", *words)
    assert code == 2
    assert message in err


def test_another_test_than_ours(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    """A file of a test that we cannot run is still read."""
    data = {
        "version": 4,
        "x_values": measured[0].x_values,
        "results": measured[0].results,
        "raw_values": {},
        "metadata": {"NAME": "http", "LENGTH": 8},
    }
    (tmp_path / "a.flent.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    code, _, err = dumbbell("analyze", "a.flent.gz")
    assert code == 2
    assert "--replications 0" in err
    code, out, _ = dumbbell("analyze", "a.flent.gz", "--replications", "0")
    assert code == 0
    assert "TCP upload sum" in out


def test_several_measurements_are_set_side_by_side(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    titled = {"TITLE": "in the loft"}
    other = dataclasses.replace(measured[1], metadata={**measured[1].metadata, **titled})
    for name, file in (("a", measured[0]), ("b", other)):
        write_flent(file, tmp_path / f"{name}.flent.gz")
    code, out, err = dumbbell("analyze", "a.flent.gz", "b.flent.gz", "--out", "page")
    assert (code, err) == (0, "")
    assert "at home: rrul_be, at home: 8 s to server" in out
    row = next(line for line in out.splitlines() if line.startswith(" TCP upload sum"))
    means = [
        sum(values) / len(values)
        for file in measured[:2]
        for values in [[v for v in file.results["TCP upload sum"] if v is not None]]
    ]
    assert [float(each) for each in row.split()[-2:]] == pytest.approx(means, abs=0.006)
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "at home and in the loft, side by side" in page
    # Every plot has the curves of both.
    drawn = list((tmp_path / "page" / "figures").glob("*.csv"))
    assert len(drawn) >= 4
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        assert "at home" in text and "in the loft" in text, path.name
    table = pl.read_parquet(tmp_path / "page" / "tables" / "side_by_side.parquet")
    assert table["file"].unique(maintain_order=True).to_list() == ["at home", "in the loft"]
