"""``dumbbell run --to``: tables and numbers in other formats."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from dumbbell.backends import simulate
from dumbbell.cli.app import app
from dumbbell.compare import Cell, compare, summary_of
from dumbbell.compare.exporting import Format, check_formats, exported_comparison
from dumbbell.errors import SpecError
from dumbbell.formats import read_capture
from dumbbell.formats.flent import read_flent
from dumbbell.spec import Experiment
from dumbbell.tables import SCHEMA
from small_networks import sampled_queue

SPEC = sampled_queue("small", "2s", "capture = true")
HOME = Path("results/small")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DUMBBELL_PAGE")
    Path("small.toml").write_text(SPEC, encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", "small.toml", *words])


def test_a_run_has_the_same_numbers_in_every_format() -> None:
    done = run("--to", "csv,parquet,sqlite,json,flent,pcapng")
    assert done.exit_code == 0, done.output
    wanted = summary_of(simulate(Experiment.from_toml(Path("small.toml"))))[
        "flow[bulk].goodput_bps"
    ]
    of_goodput = pl.col("quantity") == "flow[bulk].goodput_bps"
    for frame in (pl.read_csv(HOME / "summary.csv"), pl.read_parquet(HOME / "summary.parquet")):
        assert frame.filter(of_goodput)["value"].to_list() == pytest.approx([wanted], rel=1e-12)
    with closing(sqlite3.connect(HOME / "small.sqlite")) as database:
        query = "SELECT value, unit, typeof(value) FROM summary WHERE quantity = ?"
        assert database.execute(query, ["flow[bulk].goodput_bps"]).fetchall() == [
            (wanted, "bit/s", "real")
        ]
        rows = database.execute("SELECT flow_name, delivered_bytes FROM flows").fetchall()
        assert rows[0][0] == "bulk" and isinstance(rows[0][1], int)
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    whole = json.loads((HOME / "run.json").read_text(encoding="utf-8"))["tables"]
    place = whole["summary"]["quantity"].index("flow[bulk].goodput_bps")
    assert whole["summary"]["value"][place] == wanted
    assert names == set(whole) and names - {"summary"} <= set(SCHEMA)
    flent = read_flent(HOME / "small.flent.gz")
    got = [each for each in flent.results["TCP download::1"] if each is not None]
    assert 0.8 < math.fsum(got) / len(got) / (wanted / 1e6) < 1.2
    assert flent.text("NAME") == "tcp_ndown" and any(flent.results["Ping (ms) ICMP"])
    assert read_capture(HOME / "capture.pcapng").meta["read"]["pkts"] > 0
    assert (HOME / "index.html").is_file()


def test_with_out_they_are_beside_the_tables_and_without_a_page_alone() -> None:
    assert run("--to", "csv", "--out", "tables").exit_code == 0
    assert Path("tables/queues.csv").is_file() and Path("tables/queues.parquet").is_file()
    assert not HOME.exists()
    done = run("--to", "sqlite", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["flows"]
    assert [each.name for each in HOME.iterdir() if each.name[0] != "."] == ["small.sqlite"]


def test_one_s_own_files_stay() -> None:
    run("--to", "csv", "--no-page")
    (HOME / "mine.csv").write_text("mine", encoding="utf-8")
    assert run("--to", "json", "--no-page").exit_code == 0
    left = {each.name for each in HOME.iterdir() if each.name[0] != "."}
    assert left == {"mine.csv", "run.json"}


def test_a_comparison_has_a_row_a_number_of_every_run() -> None:
    queues = [f"--set=links[router->b].qdisc={each}" for each in ("pfifo limit 20", "fq_codel")]
    done = run(*queues, "--replications=3", "--to=csv,sqlite,json,parquet", "--no-page")
    assert done.exit_code == 0, done.output
    (folder,) = Path("results").glob("small-compared@*,replications=3*")
    rows = pl.read_csv(folder / "numbers.csv").filter(
        pl.col("quantity") == "flow[bulk].goodput_bps"
    )
    assert rows["cell"].to_list() == ["pfifo limit 20"] * 3 + ["fq_codel"] * 3
    assert rows["replication"].to_list() == [0, 1, 2] * 2
    assert set(rows["backend"]) == {"sim"} and set(rows["unit"]) == {"bit/s"}
    with closing(sqlite3.connect(folder / "small.sqlite")) as database:
        ((mean,),) = database.execute(
            "SELECT avg(value) FROM numbers WHERE cell = 'fq_codel' AND "
            "quantity = 'flow[bulk].goodput_bps'"
        )
    assert mean == pytest.approx(rows["value"][3:].mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "cvs"], "did you mean 'csv'"),
        (["--to", "flent", "--replications", "2"], "csv, parquet, sqlite, json of several runs"),
        (["--to", "pcapng", "--set", "links[1].capture=false"], "capture=true"),
    ],
)
def test_what_cannot_be_given_is_refused_before_a_run(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code != 0 and message in str(done.exception)
    assert not Path("results").exists()


def test_without_samples_flent_gets_none_and_says_what_to_do() -> None:
    text = Path("small.toml").read_text(encoding="utf-8")
    Path("small.toml").write_text(text.replace('sample_interval = "100ms"\n', ""), encoding="utf-8")
    assert "--set sample_interval=200ms" in str(run("--to", "flent").exception)


def test_cells_that_a_spreadsheet_would_evaluate_are_quoted() -> None:
    found = compare([Cell("=1+1", Experiment.from_toml(SPEC))], replications=1)
    text = exported_comparison(found, [Format.CSV])["numbers.csv"]
    assert isinstance(text, str)
    assert text.splitlines()[1].startswith("'=1+1,sim,0,")


LOGGED = """
name = "logged"
duration = "1s"
sample_interval = "100ms"
links = [{ a = "a", b = "r", rate = "inf" }, { a = "r", b = "b", rate = "5mbit" }]
flows = [{ name = "bulk", from = "a", to = "b", source = { kind = "greedy" } }]
probes = [{ name = "echo", from = "a", to = "b", interval = "100ms" }]
"""


def test_a_run_as_programs_would_have_logged_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logged.toml").write_text(LOGGED)
    done = CliRunner().invoke(app, ["run", "logged.toml", "--to", "ping,ss,tc", "--no-page"])
    assert done.exit_code == 0, done.output
    folder = Path("results") / "logged"
    logs = [str(folder / name) for name in ("echo.txt", "ss-a.txt", "tc-r-_b.txt")]
    done = CliRunner().invoke(app, ["analyze", *logs])
    assert done.exit_code == 0
    for taken in ("echo.txt: ping", "ss-a.txt: ss -tin", "tc-r-_b.txt: tc -s"):
        assert taken in done.output


@pytest.mark.parametrize(
    ("format_", "without"),
    [
        ("ss", 'sample_interval = "100ms"\n'),
        ("tc", 'sample_interval = "100ms"\n'),
        ("ping", LOGGED.splitlines()[-1]),
        ("ss", LOGGED.splitlines()[-2]),
    ],
)
def test_what_a_run_has_no_log_of(format_: str, without: str) -> None:
    experiment = Experiment.from_toml(LOGGED.replace(without, ""))
    with pytest.raises(SpecError, match="--to"):
        check_formats([Format(format_)], experiment)
    check_formats([Format(format_)], Experiment.from_toml(LOGGED))
