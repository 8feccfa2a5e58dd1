"""``dumbbell analyze FILE.flent.gz``: compare a measurement with simulated runs of its test."""

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
from dumbbell.cli.analyze.flent_comparison import compare
from dumbbell.cli.analyze.flent_network import same_test
from dumbbell.cli.analyze.flent_options import FlentRunOptions, Statement, statements_of
from dumbbell.errors import SpecError
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


@pytest.mark.slow
def test_a_measurement_beside_the_same_test(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    write_flent(foreign(measured[0]), tmp_path / "a.flent.gz")
    words = ("--qdisc", "pie target 20ms tupdate 15ms", "--rate", "20mbit", "--rate-down", "40mbit")
    words += ("--set", "congestion_control=cubic", "--replications", "3", "--out", "page")
    code, out, _ = dumbbell("analyze", "a.flent.gz", "--simulate", *words)
    assert code == 0
    assert "rrul_be, at home: 8 s to server" in out
    rtt = re.search(r"--rtt (\S+)ms: the least ping of the measurement", out)
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


def test_what_was_measured_is_shown_and_nothing_is_guessed(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    """The fastest second of a queue that filled is no rate, and no file says ``pfifo 1000``."""
    write_flent(foreign(measured[0]), tmp_path / "a.flent.gz")
    code, alone, err = dumbbell("analyze", "a.flent.gz")
    assert (code, err) == (0, "")
    assert "TCP upload sum" in alone and "simulated" not in alone and "--s" not in alone
    code, out, err = dumbbell("analyze", "a.flent.gz", "--simulate")
    assert (code, out) == (2, alone)
    assert (
        "the bottleneck's rate, its queue and the controller of uploads and downloads\n"
        "  allowed: with --set rate=RATE --set qdisc=QDISC --set congestion_control=NAME\n"
    ) in err
    code, out, err = dumbbell(
        "analyze",
        "a.flent.gz",
        "--simulate",
        "--set",
        "rate=9mbit",
        "--qdisc",
        "fq_codel",
        "--json",
    )
    assert code == 2
    assert json.loads(out)["measurements"][0]["beside"] is None
    assert "allowed: with --set congestion_control=NAME\n" in err
    without_pings = {name: v for name, v in measured[0].results.items() if "Ping" not in name}
    file = dataclasses.replace(foreign(measured[0]), results=without_pings)
    with pytest.raises(SpecError, match="--set rtt=TIME"):
        same_test(file, FlentRunOptions(network={"rate": "1mbit", "qdisc": "pie"}))


def test_controllers_are_those_that_file_and_options_name(measured: list[FlentFile]) -> None:
    network = {"rate": "20mbit", "qdisc": "pie"}

    def run_of(asked: dict[str, object], **metadata: object) -> tuple[dict[str, str], list[str]]:
        of_others = foreign(measured[0])
        file = dataclasses.replace(of_others, metadata={**of_others.metadata, **metadata})
        same = same_test(file, FlentRunOptions(network=network, **asked))  # type: ignore[arg-type]
        flows = same.experiment.resolved()["flows"]
        return {f["name"]: f["tcp"]["congestion_control"] for f in flows}, same.notes

    up, down = "tcp-upload-BE", "tcp-download-BE"
    found, _ = run_of({"congestion_control": "bbr"})
    assert (found[up], found[down]) == ("bbr", "bbr")
    found, _ = run_of({"congestion_control": "reno,bbr"})
    assert (found[up], found[down]) == ("reno", "bbr")
    told = {"TEST_PARAMETERS": {"tcp_cong_control": "cubic,reno"}}
    found, _ = run_of({}, **told)
    assert (found[up], found[down]) == ("cubic", "reno")
    # A sysctl is the client's, whose uploads they are.
    sysctl = {"SYSCTLS": {"net.ipv4.tcp_congestion_control": "bbr"}}
    with pytest.raises(SpecError, match=r"controller of downloads.*congestion_control=bbr,NAME"):
        run_of({}, **sysctl)
    assert run_of({}, **told, **sysctl)[0] == found
    # One that only the file knows.
    strange = {"TEST_PARAMETERS": {"tcp_cong_control": "cubic-sce"}}
    with pytest.raises(SpecError, match="--instead cubic-sce="):
        run_of({}, **strange)
    found, notes = run_of({"instead": {"cubic-sce": "reno"}}, **strange)
    assert (found[up], found[down]) == ("reno", "reno")
    assert "reno is run in place of cubic-sce." in notes
    with pytest.raises(SpecError, match="'vegas'"):
        run_of({"instead": {"vegas": "reno"}}, **told)


def test_set_gives_values_by_their_paths(measured: list[FlentFile]) -> None:
    asked = FlentRunOptions.of(
        {"rate": "20mbit", "qdisc": None},
        ["qdisc=pie", "congestion_control=bbr", "links[router->gateway].forward.loss=0.25"],
        instead={},
        seed=3,
        timer_hz=None,
    )
    assert asked.network == {"rate": "20mbit", "qdisc": "pie"}
    same = same_test(foreign(measured[0]), asked)
    assert same.experiment.resolved()["links"][1]["forward"]["loss"] == 0.25
    with pytest.raises(SpecError, match="--rate 20mbit"):
        FlentRunOptions.of({"rate": "20mbit"}, ["rate=10mbit"], instead={}, seed=1, timer_hz=None)


def titled(file: FlentFile, title: str, **metadata: object) -> FlentFile:
    of_others = foreign(file)
    return dataclasses.replace(
        of_others, metadata={**of_others.metadata, "TITLE": title, **metadata}
    )


@pytest.mark.parametrize(
    ("title", "options"),
    [
        (
            "qdisc:codel rate:10Mbit/10Mbit cc:bbr rtt:10ms",
            ["rate=10mbit", "qdisc=codel", "congestion_control=bbr", "rtt=10ms"],
        ),
        ("at home", []),
        # The measurement has 20 up and 40 down: only one order can be.
        ("45/22 Mbit", ["rate=22mbit", "rate_down=45mbit"]),
        ("22Mbit/45Mbit", ["rate=22mbit", "rate_down=45mbit"]),
        ("50/60 Mbit", []),
    ],
)
def test_what_a_title_says_is_offered(
    title: str, options: list[str], measured: list[FlentFile]
) -> None:
    found = [
        option for each in statements_of(titled(measured[0], title)) for option in each.options
    ]
    assert found == options


def test_what_is_offered_can_be_typed(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    host = {
        "EGRESS_INFO": {
            "qdiscs": [
                {"id": "1:", "name": "tbf", "params": {"rate": "20Mbit"}, "parent": "root"},
                {
                    "id": "2:",
                    "name": "fq_codel",
                    "params": {"limit": "500p", "target": "5.0ms", "refcnt": "2"},
                    "parent": "1:1",
                },
            ]
        }
    }
    file = titled(measured[0], "20 Mbit, cubic, lfq_cobalt", REMOTE_METADATA={"gw": host})
    write_flent(file, tmp_path / "a.flent.gz")
    code, out, _ = dumbbell("analyze", "a.flent.gz")
    assert code == 0
    typed = "--set rate=20mbit --set congestion_control=cubic"
    assert (
        f"The title says rate 20mbit, congestion control cubic: --simulate {typed} uses it" in out
    )
    queue = "fq_codel limit 500 target 5.0ms"
    assert f"On gw tc says rate 20mbit, qdisc {queue}: --simulate --set rate=20mbit" in out
    assert f"--set 'qdisc={queue}' uses it." in out
    words = [*typed.split(), "--set", f"qdisc={queue}", "--replications", "2", "--json"]
    code, out, _ = dumbbell("analyze", "a.flent.gz", "--simulate", *words)
    assert code == 0
    assert json.loads(out)["measurements"][0]["beside"]["runs"] == 2


def test_what_the_simulator_has_not_is_no_offer(measured: list[FlentFile]) -> None:
    (found,) = statements_of(titled(measured[0], "qdisc:lfq_cobalt cc:cubic-sce 10Mbit"))
    assert isinstance(found, Statement)
    assert found.options == ("rate=10mbit",)
    assert any("lfq_cobalt" in each for each in found.remarks)
    assert any("--instead cubic-sce=NAME" in each for each in found.remarks)


@pytest.mark.slow
def test_a_file_of_ours_says_its_network(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    """Not what `analyze` takes for somebody's network: a FIFO of 1000 packets."""
    own = measured[3].metadata["DUMBBELL"]["experiment"]
    found = same_test(measured[3], FlentRunOptions())
    assert found.experiment.resolved() == own | {"seed": 1}
    assert found.own_replication is None
    words = '--rate 20mbit --rate-down 40mbit --qdisc "pie limit 1000 target 20ms tupdate 15ms '
    assert found.notes[0].startswith(words)
    assert found.notes[0].endswith("--rtt 8ms --overhead 14b: the file says so.")
    write_flent(measured[3], tmp_path / "a.flent.gz")
    words_typed = ("--simulate", "--replications", "8", "--seed", "77", "--out", "page")
    code, out, _ = dumbbell("analyze", "a.flent.gz", *words_typed)
    assert code == 0
    inside = [line.split()[-1] for line in out.splitlines() if line.endswith((" yes ", " no "))]
    assert inside.count("yes") > 0.6 * len(inside) > 8
    # Of its own runs all but itself, which says nothing of how others differ.
    files = [read_flent(tmp_path / "page" / f"simulated-{k}.flent.gz") for k in range(8)]
    numbers = [each.metadata["DUMBBELL"]["replication"] for each in files]
    assert numbers == [0, 1, 2, 4, 5, 6, 7, 8]


def test_what_is_given_comes_before_what_the_file_says(measured: list[FlentFile]) -> None:
    given = {"rate": "50mbit", "qdisc": "fq_codel", "rtt": "3ms"}
    found = same_test(measured[0], FlentRunOptions(network=given, seed=77, timer_hz=250))
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
    found = same_test(file, FlentRunOptions())
    assert [flow.name for flow in found.experiment.flows] == ["tcp-upload", "other"]
    assert found.experiment.all_links[0].forward.loss == 0.01
    assert not found.experiment.all_links[0].forward.capture
    assert "Links and traffic are those of the experiment in the file." in found.notes
    # Options of a network that it is not are those of the one that is built in.
    given = {"rate": "7mbit", "qdisc": "pie"}
    other_network = same_test(file, FlentRunOptions(network=given, congestion_control="reno"))
    assert "another than that of --rate" in other_network.notes[0]
    assert other_network.experiment.all_links[1].rate == "7mbit"
    # Another controller in place of what its flows have.
    replaced = same_test(file, FlentRunOptions(instead={"cubic": "reno"}))
    flows = replaced.experiment.resolved()["flows"]
    assert {flow["tcp"]["congestion_control"] for flow in flows} == {"reno"}


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
    given = {"rate": "7mbit", "qdisc": "pie"}
    found = same_test(file, FlentRunOptions(network=given, congestion_control="reno"))
    assert found.notes[0].startswith("The network of the experiment in the file is not taken: ")
    assert found.notes[0].isprintable()
    assert any("the least ping" in note for note in found.notes)


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
        (("a.flent.gz", "--rtt", "9ms"), "error: --rtt: '9ms'\n  allowed: with --simulate"),
        (("a.flent.gz", "--view", "a->b after"), "a capture, not a.flent.gz"),
        (("empty.flent.gz",), "a whole data file of Flent"),
        (("a.flent.gz", "--simulate", "--replications", "1"), "one has no interval"),
        (("a.flent.gz", "--simulate", "--replications", "0"), "one has no interval"),
        (("a.flent.gz", "--simulate", "--qdisc", "piee"), "did you mean 'pie'"),
        (("a.flent.gz", "--simulate", "--instead", "westwood"), "KEY=VALUE"),
        (("a.flent.gz", "--simulate", "--set", "seet=1"), "did you mean 'seed'"),
        (("a.flent.gz", "--to", "flent"), "--to"),
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
    code, out, err = dumbbell("analyze", "a.flent.gz")
    assert (code, err) == (0, "")
    assert "TCP upload sum" in out
    code, again, err = dumbbell("analyze", "a.flent.gz", "--simulate")
    assert (code, again) == (2, out)
    assert "'http'\n  allowed: a test that the simulator has: rrul, " in err


def test_json_and_tables_have_every_series(
    dumbbell: Dumbbell, measured: list[FlentFile], tmp_path: Path
) -> None:
    write_flent(measured[0], tmp_path / "a.flent.gz")
    code, out, err = dumbbell("analyze", "a.flent.gz", "--json", "--to", "csv,sqlite")
    folder = Path("results") / "a-flent"
    names = "series.csv, flow_samples.csv, probes.csv, queue_samples.csv, flent.sqlite"
    assert (code, err) == (0, f"exported: {names} in {folder}\n")
    (found,) = json.loads(out)["measurements"]
    assert (found["test"], found["beside"]) == ("rrul_be", None)
    rows = {each["name"]: each for each in found["series"]}
    assert rows.keys() == measured[0].results.keys()
    table = pl.read_csv(tmp_path / folder / "series.csv")
    assert table["series"].to_list() == list(rows)
    known = [name for name in rows if rows[name]["samples"]]
    means = table.filter(pl.col("series").is_in(known))["mean"].to_list()
    assert means == pytest.approx([rows[name]["mean"] for name in known])
    code, out, _ = dumbbell("analyze", "a.flent.gz", "a.flent.gz", "--json")
    assert code == 0
    assert len(json.loads(out)["measurements"]) == 2


def test_a_call_is_what_was_measured(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """Flent's VoIP tests have their delay, jitter and loss in columns alone."""
    data = {
        "version": 4,
        "x_values": [0.2, 0.4],
        "results": {"TCP upload": [1.0, 3.0], "VoIP::delay": [20.0, 30.0], "VoIP::loss": [0, 1.0]},
        "raw_values": {"VoIP": [{"t": 1.0, "val": 25.0}]},
        "metadata": {"NAME": "voip-1up", "LENGTH": 8},
    }
    (tmp_path / "a.flent.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    code, out, _ = dumbbell("analyze", "a.flent.gz")
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith(" VoIP::delay"))
    assert row.split() == ["VoIP::delay", "25.00", "25.00", "29.50", "29.90", "2", "ms"]
    assert "Sockets" not in out


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
