from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell import metrics
from dumbbell.backends import Cost, simulate
from dumbbell.cli.common.confirmation import agree_to_run
from dumbbell.cli.terminal.errors import exit_code_of
from dumbbell.formats import read_ping
from dumbbell.spec import Experiment
from dumbbell.tables import read_parquet

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]

LAB = """
name = "lab"
duration = "60s"
warm_up = "5s"
[[links]]
a = "sender"
b = "router"
[[links]]
a = "router"
b = "receiver"
forward = { rate = "1mbit" }
[[flows]]
name = "stream"
from = "sender"
to = "receiver"
source = { kind = "ditg", gap = "exponential 200pps", size = "exponential 512B" }
[[probes]]
name = "ping"
from = "sender"
to = "receiver"
interval = "200ms"
"""


@pytest.fixture
def lab(tmp_path: Path) -> str:
    (tmp_path / "lab.toml").write_text(LAB)
    return "lab.toml"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "lab.toml"),
        ("run", "lab.toml", "--replications", "50"),
        ("check", "lab.toml", "--replications", "50"),
        ("reproduce", "buffer-sizing", "--full"),
        ("reproduce", "all", "--full"),
    ],
)
def test_a_place_that_cannot_be_is_noticed_before_the_runs(
    dumbbell: Dumbbell, lab: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Which would take minutes and more."""
    claim = """
[[claim]]
id = "delay"
kind = "ordering"
statement = "95 % of the round trips are below a second"
quantity = "probe[ping].rtt_p95_ms"
below = "1s"
"""
    text = LAB.replace('"60s"', '"16000000s"')
    (tmp_path / lab).write_text(text + (claim if words[0] == "check" else ""))
    (tmp_path / "file").write_text("mine")
    code, _, said = dumbbell(*words, "--out", "file/out")
    assert code == 2 and "file is no folder" in said


def test_the_summary_says_what_was_asked_and_what_came(dumbbell: Dumbbell, lab: str) -> None:
    code, out, _ = dumbbell("run", lab)
    assert code == 0
    assert "lab: 60s, the first 5s left out, seed 1, replication 0" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    run = simulate(Experiment.from_toml(LAB))
    mean = 1e3 * metrics.mean_sojourn_s(run, "router->receiver")
    assert f"{mean:.4g}" in lines["router->receiver"] or f"{mean:.2f}" in out
    assert "headers and fragments and pings are on the wire too" in out
    assert "3 more that packets pass without waiting" in out
    assert "ping" in lines
    assert "stream" in lines


def test_numbers_are_never_cut(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = LAB.replace("1mbit", "1gbit").replace('name = "lab"', 'name = "fast"')
    (tmp_path / "fast.toml").write_text(text.replace('"router"', '"a-router-with-a-long-name"'))
    code, out, _ = dumbbell("run", "fast.toml")
    assert code == 0
    assert "e-" in out
    assert "…" not in out


def test_of_acknowledgements_nothing_was_asked(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "tcp.toml").write_text("""
duration = "5s"
[[links]]
a = "a"
b = "b"
delay = "10ms"
forward = { rate = "10mbit" }
reverse = { rate = "1mbit" }
[[flows]]
name = "up"
from = "a"
to = "b"
source = { kind = "greedy" }
""")
    code, out, _ = dumbbell("run", "tcp.toml")
    assert code == 0
    assert "inf" not in out
    assert "b->a: acknowledgements are on the wire too" in out


def test_a_table_of_many_flows_says_how_many_it_leaves_out(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    (tmp_path / "many.toml").write_text("""
duration = "100ms"
[[links]]
a = "a"
b = "b"
[[flows]]
name = "sensor"
count = 103
from = "a"
to = "b"
source = { kind = "cbr", gap = "10ms", size = "100B" }
""")
    code, out, _ = dumbbell("run", "many.toml")
    assert code == 0
    assert "sensor-100 " in out and "sensor-101 " not in out
    assert "3 more: --json has them all" in out
    # What they are together is not left out.
    assert "sensor, together" in out
    assert len(json.loads(dumbbell("run", "many.toml", "--json")[1])["flows"]) == 103


def test_a_replication_that_there_is_not(dumbbell: Dumbbell, lab: str) -> None:
    code, _, err = dumbbell("run", lab, "--replication", "9" * 20)
    assert code == 2
    assert "allowed: a whole number from 0 to 18446744073709551615" in err
    assert dumbbell("run", lab, "--replication", str(2**64 - 1))[0] == 0


def test_another_experiment_is_replaced_when_that_is_said(
    dumbbell: Dumbbell, lab: str, tmp_path: Path
) -> None:
    assert dumbbell("run", lab, "--out", "out")[0] == 0
    (tmp_path / "out" / "notes.md").write_text("mine")
    # The same file, changed: what one does all day.
    (tmp_path / lab).write_text(LAB.replace("1mbit", "2mbit"))
    code, _, err = dumbbell("run", lab, "--out", "out", "--seed", "5")
    assert code == 0
    assert "out: the run there will be replaced; it had another description, seed 1 (now 5)" in err
    assert "will be replaced" not in dumbbell("run", lab, "--out", "out", "--seed", "5")[2]
    (tmp_path / "office.toml").write_text(LAB.replace("1mbit", "3mbit"))
    code, out, err = dumbbell("run", "office.toml", "--out", "out")
    assert (code, out) == (2, "")
    assert "this one holds the run of 'lab' (../lab.toml); or --replace" in err
    assert read_parquet(tmp_path / "out").meta["seed"] == 5
    assert dumbbell("run", "office.toml", "--out", "out", "--replace")[0] == 0
    assert (tmp_path / "out" / "notes.md").read_text() == "mine"


def test_json_has_the_same_numbers_and_nothing_else(dumbbell: Dumbbell, lab: str) -> None:
    code, out, _ = dumbbell("run", lab, "--json", "--seed", "3", "--replication", "2")
    assert code == 0
    summary = json.loads(out)
    run = simulate(Experiment.from_toml(LAB).with_seed(3), replication=2)
    assert summary["meta"] == run.meta
    queue = next(each for each in summary["queues"] if each["queue"] == "router->receiver")
    assert queue["mean_sojourn_s"] == metrics.mean_sojourn_s(run, "router->receiver")
    assert queue["utilization"] == metrics.utilization(run, "router->receiver")
    assert summary["probes"][0]["rtt_p50_ms"] == metrics.ping_rtt_quantiles_ms(run, 0.5)
    assert summary["flows"][0]["goodput_bps"] == metrics.goodput_bps(run, 0)
    assert {row["unit"] for row in summary["load"]} == {"packets/s", "Mbit/s", "1"}
    assert summary["notices"] == []


def test_transfers_and_shares_are_said(dumbbell: Dumbbell, tmp_path: Path) -> None:
    flow = 'from = "sender"\nto = "receiver"\nsource ='
    web = 'kind = "arrivals", gap = "exponential 2pps", size = "10kb"'
    text = f"""
{LAB}
[[flows]]
name = "web"
{flow} {{ {web} }}
[[flows]]
name = "bulk-1"
{flow} {{ kind = "greedy" }}
[[flows]]
name = "bulk-2"
{flow} {{ kind = "greedy" }}
"""
    (tmp_path / "web.toml").write_text(text)
    code, out, _ = dumbbell("run", "web.toml")
    assert code == 0
    run = simulate(Experiment.from_toml(text))
    assert f"Jain's index of the greedy flows' goodputs: {metrics.jain_index(run):#.4g}" in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    transfers = [metrics.begun_transfers(run), metrics.completed_transfers(run)]
    assert lines["web"][1:3] == [str(each) for each in transfers]
    assert "bulk, together" in out
    summary = json.loads(dumbbell("run", "web.toml", "--json")[1])
    assert summary["equal_flows"][0]["flow"] == "bulk"
    assert summary["network"]["jain_index"] == metrics.jain_index(run)
    web_numbers = next(each for each in summary["flows"] if each["flow"] == "web")
    assert web_numbers["mean_completion_time_s"] == metrics.mean_completion_time_s(run, "web")
    assert summary["flows"][1]["capacity_share"] == metrics.capacity_share(run, 1)


def test_a_value_is_set_by_its_path(dumbbell: Dumbbell, lab: str, tmp_path: Path) -> None:
    arguments = ("--set", "links[router->receiver].forward.rate=2mbit", "--set", "duration=20s")
    code, out, _ = dumbbell("run", lab, "--json", *arguments)
    assert code == 0
    (tmp_path / "other.toml").write_text(LAB.replace("1mbit", "2mbit").replace("60s", "20s"))
    assert out == dumbbell("run", "other.toml", "--json")[1]
    code, _, err = dumbbell("run", lab, "--set", "links[router->reciever].forward.rate=2mbit")
    assert code == 2
    assert "error: links[router->reciever]: 'router->reciever'" in err
    assert "did you mean 'router->receiver'?" in err


def test_bytes_per_second_are_said(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = LAB.replace('rate = "1mbit"', 'rate = "1Mbps"').replace('"60s"', '"6s"')
    (tmp_path / "bytes.toml").write_text(text)
    code, out, _ = dumbbell("run", "bytes.toml")
    assert code == 0
    assert 'links[1].forward.rate: "1Mbps" is 8mbit' in out
    code, out, _ = dumbbell("run", "bytes.toml", "--json")
    assert code == 0
    (notice,) = json.loads(out)["notices"]
    assert notice["kind"] == "bytes_per_second"
    assert (notice["path"], notice["instead"]) == ("links[1].forward.rate", "1Mbit")


def test_why_tc_text_is_refused_is_said(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = LAB.replace('rate = "1mbit"', 'rate = "1mbit", qdisc = "codel limit 0"')
    (tmp_path / "zero.toml").write_text(text)
    code, _, err = dumbbell("run", "zero.toml")
    assert code == 2
    assert "because: tc or the kernel ignores it" in err


def test_an_experiment_without_traffic_has_nulls_not_nans(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    (tmp_path / "empty.toml").write_text('duration = "1s"\nlinks = [{ a = "a", b = "b" }]\n')
    code, out, _ = dumbbell("run", "empty.toml", "--json")
    assert code == 0
    assert json.loads(out)["queues"][0]["mean_sojourn_s"] is None
    assert dumbbell("run", "empty.toml")[0] == 0


def test_out_writes_tables_and_pings_text(dumbbell: Dumbbell, lab: str, tmp_path: Path) -> None:
    code, out, _ = dumbbell("run", lab, "--out", "tables")
    assert code == 0
    assert "tables: tables" in out
    run = read_parquet(tmp_path / "tables")
    assert run.meta["digest"] == simulate(Experiment.from_toml(LAB)).meta["digest"]
    assert json.loads((tmp_path / "tables" / "provenance.json").read_text())["host"]
    pinged = read_ping(tmp_path / "tables" / "ping.txt")
    answered = int((run.column("probes", "rtt_ns") >= 0).sum())
    assert int((pinged.column("probes", "rtt_ns") >= 0).sum()) == answered > 290
    assert dumbbell("run", lab, "--out", "tables")[0] == 0  # again, in its place


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rate = "1mbit"', 'rate = "-1mbit"', ("links[1].forward.rate", "'-1mbit'")),
        ('rate = "1mbit"', "rate = 5", ("links[1].forward.rate", "'5'")),
        ('rate = "1mbit"', 'rte = "1mbit"', ("links[1].forward.rte", "did you mean 'rate'?")),
        ('"60s"', '"0s"', ("duration", "'0s'")),
        ('"60s"', '"60"', ("duration", "'60'")),
        ('to = "receiver"\nsource', 'to = "reciever"\nsource', ("flows[0].to", "'receiver'")),
        (
            '"1mbit" }',
            '"1mbit", qdisc = "pfio" }',
            ("links[1].forward.qdisc", "did you mean 'pfifo'?"),
        ),
        ("exponential 512B", "exponential nan", ("flows[0].source.size", "nan")),
    ],
)
def test_bad_input_is_one_message_with_path_value_allowed_and_hint(
    dumbbell: Dumbbell, tmp_path: Path, old: str, new: str, message: tuple[str, str]
) -> None:
    path, words = message
    assert old in LAB
    (tmp_path / "lab.toml").write_text(LAB.replace(old, new))
    code, out, err = dumbbell("run", "lab.toml", "--out", "tables")
    assert code == 2
    assert f"error: {path}" in err
    assert "allowed: " in err
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert [each.name for each in tmp_path.iterdir()] == ["lab.toml"]


def test_a_run_of_days_is_bad_input(dumbbell: Dumbbell, tmp_path: Path) -> None:
    text = LAB.replace("200pps", "200000pps").replace('"60s"', '"17000000s"')
    (tmp_path / "lab.toml").write_text(text)
    code, _, err = dumbbell("run", "lab.toml")
    assert code == 2
    assert err.startswith("error: duration: '17000000s'\n  allowed: at most a day")


def test_files_that_cannot_be_read_or_written(dumbbell: Dumbbell, lab: str, tmp_path: Path) -> None:
    code, _, err = dumbbell("run", "nowhere.toml")
    assert code == 2
    assert "nowhere.toml" in err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    code, out, err = dumbbell("run", lab, "--out", "mine")
    assert code == 2
    assert "not written by dumbbell" in err
    assert out == ""


def test_the_schema_is_json_that_knows_the_keys(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("schema")
    assert code == 0
    schema = json.loads(out)
    assert {"duration", "links", "flows", "probes", "seed"} <= schema["properties"].keys()
    assert schema["additionalProperties"] is False


def test_version_and_help(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("--version")
    assert (code, out.split()[0]) == (0, "dumbbell")
    code, out, _ = dumbbell("--help")
    assert code == 0
    for command in ("studies", "reproduce", "run", "schema"):
        assert command in out


def test_studies_are_listed(dumbbell: Dumbbell, only: Callable[..., None]) -> None:
    only("md1", "broken")
    code, out, _ = dumbbell("studies")
    assert code == 0
    assert "md1  Is it 4.5 ms?" in out
    code, out, _ = dumbbell("studies", "--json")
    assert [each["id"] for each in json.loads(out)] == ["md1", "broken"]


def test_the_real_study_is_listed(dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("studies")
    assert code == 0
    assert "statistical-multiplexing" in out


def test_ctrl_c_before_a_command_listens(
    dumbbell: Dumbbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dumbbell.cli.app.app", pressed)
    assert dumbbell("schema") == (130, "", "")


@pytest.mark.parametrize("arguments", [["schema"], ["--help"], ["schema", "--help"]])
def test_a_reader_that_goes_away_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "dumbbell.cli", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_are_printed_for_people() -> None:
    from dumbbell.cli.run.summary import _n

    printed = {v: _n(v) for v in (0.0, 41.424, 0.978, 12345.6, 0.0001, 2.5e9, math.nan)}
    assert list(printed.values()) == [
        "0.000", "41.42", "0.9780", "12346", "1.000e-04", "2.500e+09", "-",
    ]  # fmt: skip


def test_a_failed_allocation_is_said_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(MemoryError()) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: there is not enough memory")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("wall_s", "said"),
    [
        (59.0, ""),
        (394.4, "this takes some 7 minutes: 2e+09 events are estimated\n"),
        (48 * 3600.0, ""),  # is refused
    ],
)
def test_a_run_of_minutes_says_so_first(
    wall_s: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agree_to_run(Cost(1_971_834_946, 1_143_843, wall_s), yes=False)
    assert capsys.readouterr() == ("", said)


def test_what_a_run_may_use_can_be_said(dumbbell: Dumbbell, lab: str) -> None:
    code, _, error = dumbbell("run", lab, "--memory", "100kb")
    assert code == 2
    assert "102 kB of free memory" in error
    assert dumbbell("run", lab, "--memory", "1gb")[0] == 0
    code, _, error = dumbbell("run", lab, "--memory", "lots")
    assert code == 2
    assert "--memory: 'lots'" in error
