"""The how-tos are done: their blocks are applied to a copy, and what they promise is checked.

That the changes fit the code as it stands is checked of all of them; those in Rust are built by
`test_docs_howto_rust.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks, blocks

HOWTO = ROOT / "docs" / "howto"
PAGES = [page for page in sorted(HOWTO.glob("*.md")) if any(each.file for each in blocks(page))]
RUSTFMT = shutil.which("rustfmt")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "target", "*.so")


def copy_of_the_files_named(page: Path, folder: Path) -> None:
    for file in {block.file for block in blocks(page) if block.file}:
        source, target = ROOT / file, folder / file
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The Python package, its pages and some of its tests, apart from the repository."""
    for folder in ("python", "docs", "tests/metrics"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=_NOT_COPIED)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for native in (ROOT / "python" / "dumbbell").glob("_engine*.so"):
        (tmp_path / "python" / "dumbbell" / native.name).symlink_to(native)
    return tmp_path


def python(copy: Path, *arguments: str) -> str:
    """Standard output of an interpreter that sees the copy and not the repository."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "python"), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lint(copy: Path, files: list[Path]) -> None:
    names = [str(file) for file in files if file.suffix == ".py"]
    python(copy, "-m", "ruff", "check", "--no-cache", *names)
    python(copy, "-m", "ruff", "format", "--no-cache", "--check", *names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_changes_fit_the_code(page: Path, tmp_path: Path) -> None:
    copy_of_the_files_named(page, tmp_path)
    for file in apply_blocks(page, tmp_path):
        if file.suffix == ".rs" and RUSTFMT:
            source = file.read_bytes()
            command = [RUSTFMT, "--edition", "2024"]
            done = subprocess.run(command, input=source, capture_output=True, check=True)
            assert done.stdout == source, f"{file.name} is not as rustfmt has it"


@pytest.mark.slow
def test_add_a_metric(copy: Path) -> None:
    files = apply_blocks(HOWTO / "add-a-metric.md", copy)
    assert python(copy, "-c", "import dumbbell; print(dumbbell.__file__)").startswith(str(copy))
    lint(copy, files)
    page = python(copy, "-m", "dumbbell.metrics")
    assert "### `ping_mdev_ms(run, probes=None, *, first_s=None)`" in page
    (copy / "docs" / "metrics.md").write_text(page, encoding="utf-8")
    python(copy, "-m", "pytest", "-p", "no:cacheprovider", "tests/metrics/test_metrics_registry.py")
    python(
        copy, "-m", "pytest", "-p", "no:cacheprovider", "tests/metrics/test_metrics_ping_mdev.py"
    )


@pytest.mark.slow
def test_add_a_study(copy: Path) -> None:
    files = apply_blocks(HOWTO / "add-a-study.md", copy)
    lint(copy, files)
    assert "constant-sizes" in python(copy, "-m", "dumbbell.cli", "studies")
    printed = python(copy, "-m", "dumbbell.cli", "reproduce", "constant-sizes", "--json")
    (study,) = json.loads(printed)
    (claim,) = study["claims"]
    assert claim["verdict"] == "reproduced"
    assert claim["rule"].startswith("Equivalence")
    written = {path.name for path in (copy / "results" / "constant-sizes").iterdir()}
    assert {"index.html", "claims.json", "meta.json", "provenance.json", "figures"} <= written
    page = copy / "results" / "constant-sizes" / "index.html"
    assert 'id="live-hero"' in page.read_text(encoding="utf-8")
    assert (copy / "results" / "live.js").is_file()
    (short,) = json.loads(python(copy, "-m", "dumbbell.cli", "reproduce", "half-buffer", "--json"))
    assert [claim["verdict"] for claim in short["claims"]] == ["reproduced"]


PRINTS_A_KIND = """
import sys

from dumbbell.compare import MeasureSubject
from dumbbell.compare.measures import measures_of
from dumbbell.spec import Experiment
from dumbbell.spec.programs import CommandContext, model_of

asked = {"kind": "adaptive_ping", "name": "pings", "from": "a", "to": "b", "count": 9}
experiment = Experiment(duration="1s", links=[{"a": "a", "b": "b"}], programs=[asked])
(resolved,) = experiment.resolved()["programs"]
site = CommandContext(0, 10**9, 1, lambda start, end: "10.0.0.2", lambda host, neighbor: "eth0", {})
(task,) = model_of(resolved).tasks(resolved, site)
print(task.tool, *task.words)
measures = measures_of(MeasureSubject.PROGRAM)
print(*(each.name for each in measures if "adaptive_ping" in each.of_kinds))
"""


def test_add_a_program(copy: Path) -> None:
    """Its command line, and its quantities, without a word of it anywhere else."""
    files = apply_blocks(HOWTO / "add-a-program.md", copy)
    lint(copy, files)
    command, quantities = python(copy, "-c", PRINTS_A_KIND).splitlines()
    assert command == "ping -D -n -A -c 9 10.0.0.2"
    assert {"mean_rtt_ms", "rtt_p95_ms", "loss_ratio"} <= set(quantities.split())
    assert "throughput_bps" not in quantities.split()
    assert "adaptive_ping" in python(copy, "-m", "dumbbell.cli", "schema")


@pytest.mark.long
@pytest.mark.parametrize("name", ["add-a-metric", "add-a-program", "add-a-study"])
def test_types(name: str, copy: Path) -> None:
    files = apply_blocks(HOWTO / f"{name}.md", copy)
    ours = [str(file) for file in files if file.is_relative_to(copy / "python")]
    options = ("--follow-imports=silent", "--cache-dir", str(copy / ".mypy_cache"))
    python(copy, "-m", "mypy", *options, *ours)


@pytest.mark.slow
def test_add_a_reader(copy: Path) -> None:
    lint(copy, apply_blocks(HOWTO / "add-a-reader.md", copy))
    log = copy / "fping.log"
    log.write_text(
        "192.0.2.1 : [0], 64 bytes, 12.3 ms (12.3 avg, 0% loss)\n"
        "192.0.2.1 : [1], timed out (12.3 avg, 50% loss)\n"
    )
    printed = python(copy, "-m", "dumbbell.cli", "analyze", str(log), "--json")
    (found,) = json.loads(printed)["logs"]
    values = {each["name"]: each["value"] for each in found["numbers"]}
    assert (found["variant"], values["loss_percent"]) == ("fping", 50)
    assert values["rtt_mean_ms"] == pytest.approx(12.3)
    assert "| ping | fping `-c` |" in python(copy, "-m", "dumbbell.formats.logs.reading")
