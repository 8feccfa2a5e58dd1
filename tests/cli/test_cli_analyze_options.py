"""Options of ``dumbbell analyze`` by kind of file: the documentation's table and the behaviour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from dumbbell.cli.analyze.options import (
    OPTIONS,
    AnalyzedKind,
    OptionUse,
    check_options,
    options_table,
)
from dumbbell.cli.app import app
from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, write_flent

Dumbbell = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "formats" / "logs" / "ping.txt"


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "analyze.md").read_text(encoding="utf-8")
    # `print(options_table())` prints it.
    assert f"\n{options_table()}\n" in page


def test_every_option_of_the_command_is_in_the_table() -> None:
    command = typer.main.get_command(app).commands["analyze"]  # type: ignore[attr-defined]
    options = {
        name
        for each in command.params
        for name in each.opts
        if name.startswith("--") and name != "--help"
    }
    assert options == OPTIONS.keys()


@pytest.mark.parametrize("kind", list(AnalyzedKind))
@pytest.mark.parametrize("option", list(OPTIONS))
def test_what_the_table_says_is_refused_is(option: str, kind: AnalyzedKind) -> None:
    when = OPTIONS[option][kind]
    one, several = [Path("a")], [Path("a"), Path("b")]
    needs = {OptionUse.SIMULATED: "--simulate", OptionUse.BESIDE: "--beside"}.get(when)
    alone, whole = {option: "x"}, {option: "x"} | ({needs: "y"} if needs else {})
    if when is OptionUse.NEVER:
        with pytest.raises(SpecError, match="not a"):
            check_options(kind, whole, one)
        return
    check_options(kind, whole, one)
    if when is OptionUse.ONE_FILE:
        with pytest.raises(SpecError, match="one at a time, not 2 files"):
            check_options(kind, whole, several)
    elif needs and option != "--simulate":
        with pytest.raises(SpecError, match=needs):
            check_options(kind, alone, one)


@pytest.fixture
def files(tmp_path: Path) -> dict[AnalyzedKind, Path]:
    """One of each kind, the least that can be read."""
    flent = tmp_path / "a.flent.gz"
    write_flent(FlentFile([0.2], {"TCP upload": [1.0]}, {}, {"NAME": "tcp_1up_noping"}), flent)
    fields = tmp_path / "fields.csv"
    line = "{}.5,10.0.0.1,10.0.0.2,1000,80,1514,\n"
    fields.write_text("".join(line.format(n) for n in range(30)))
    return {AnalyzedKind.FLENT: flent, AnalyzedKind.CAPTURE: fields, AnalyzedKind.LOG: LOG}


@pytest.mark.parametrize("kind", list(AnalyzedKind))
def test_json_and_tables_mean_the_same_for_every_kind(
    kind: AnalyzedKind, files: dict[AnalyzedKind, Path], dumbbell: Dumbbell, tmp_path: Path
) -> None:
    file = str(files[kind])
    code, out, err = dumbbell("analyze", file, "--json", "--to", "csv,parquet,sqlite")
    assert code == 0 and json.loads(out)
    (folder,) = (tmp_path / "results").iterdir()
    written = {path.suffix for path in folder.iterdir()}
    assert {".csv", ".parquet", ".sqlite"} <= written and "index.html" not in err
    assert f"in results/{folder.name}" in err
    # A format of runs only is refused before anything is written.
    code, out, err = dumbbell("analyze", file, "--to", "flent", "--out", "x")
    assert (code, out) == (2, "") and "csv, parquet, sqlite" in err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", list(AnalyzedKind))
def test_simulate_says_what_it_lacks_after_what_was_measured(
    kind: AnalyzedKind, files: dict[AnalyzedKind, Path], dumbbell: Dumbbell
) -> None:
    _, alone, _ = dumbbell("analyze", str(files[kind]))
    code, out, err = dumbbell("analyze", str(files[kind]), "--simulate")
    assert (code, out) == (2, alone) and alone
    assert "error: --simulate: " in err
    assert ("--beside FILE.toml" in err) is (kind is not AnalyzedKind.FLENT)
