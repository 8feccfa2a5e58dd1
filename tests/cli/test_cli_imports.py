from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dumbbell

CLUSTER = ("dask", "distributed", "tornado")
HEAVY = ("polars", "scipy", "altair", "pandas", "matplotlib", "vl_convert", *CLUSTER)


def modules_after(program: str) -> set[str]:
    code = f"{program}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import dumbbell",
        "import dumbbell; dumbbell.__version__; dumbbell.SpecError",
        "import dumbbell.tables, dumbbell.spec, dumbbell.backends, dumbbell.formats",
        "import dumbbell.cli",
    ],
)
def test_importing_loads_nothing_heavy(program: str) -> None:
    loaded = modules_after(program)
    assert "dumbbell" in loaded
    assert not loaded.intersection(HEAVY)


def test_importing_the_package_alone_loads_nothing_but_itself() -> None:
    outside = modules_after("import sys")
    loaded = {name for name in modules_after("import dumbbell") - outside if "dumbbell" in name}
    assert loaded == {"dumbbell"}
    others = modules_after("import dumbbell") - outside - loaded
    assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names


COMMAND_LINE = ("typer", "rich", "numpy", "pydantic", "dumbbell.spec")
OTHER_COMMANDS = ("analyze", "check", "flent", "kernel", "packetdrill", "reproduce", "shell")
NOT_OF_A_RUN = (
    *(f"dumbbell.cli.{name}" for name in OTHER_COMMANDS),
    *("dumbbell.claims", "dumbbell.compare.comparison", "dumbbell.compare.exporting"),
    *("dumbbell.formats", "dumbbell.lab", "dumbbell.learning", "dumbbell.plots"),
    *("dumbbell.replication.campaign", "dumbbell.report", "dumbbell.spec.flent"),
    *("dumbbell.studies", "dumbbell.theory", "jinja2", "rich.progress"),
    # What a file may have and this one has not.
    *("dumbbell.spec.programs", "dumbbell.spec.program_checks", "dumbbell.spec.claim_tables"),
    *("dumbbell.spec.sweep_tables", "dumbbell.spec.unresolve", "dumbbell.spec.render"),
    *("dumbbell.backends.native.building", "dumbbell.backends.native.checking"),
    *("dumbbell.backends.native.linux_source", "dumbbell.backends.native.python_class"),
    *("dumbbell.stats.bands", "dumbbell.stats.goodness", "dumbbell.stats.stopping"),
)
NOT_WITHOUT_A_STORE = ("dumbbell.store", "sqlite3", "_sqlite3")


def modules_of_command(*words: str, folder: Path | None = None) -> tuple[list[str], set[str]]:
    """What a command printed, and all modules that were loaded when it ended."""
    told = "atexit.register(lambda: print(*sys.modules)); from dumbbell.cli import main; main()"
    code = f"import atexit, sys; sys.argv = {['dumbbell', *words]!r}\n{told}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    *printed, loaded = done.stdout.splitlines()
    return printed, set(loaded.split())


def test_asking_for_the_version_loads_no_command_line() -> None:
    printed, loaded = modules_of_command("--version")
    assert printed == [f"dumbbell {dumbbell.__version__}"]
    assert not {*HEAVY, *COMMAND_LINE}.intersection(loaded)


def test_a_run_without_a_page_loads_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('duration = "1s"\nlinks = [{ a = "a", b = "b" }]\n')
    printed, loaded = modules_of_command(
        "run", "a.toml", "--no-page", "--store", "kept", folder=tmp_path
    )
    assert printed
    assert {"dumbbell.cli.run.single", "dumbbell.store"} <= loaded
    assert not {*HEAVY, *NOT_OF_A_RUN}.intersection(loaded)


def test_a_run_that_keeps_nothing_loads_no_store(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('duration = "1s"\nlinks = [{ a = "a", b = "b" }]\n')
    asked = ("run", "a.toml", "--no-page", "--no-store")
    printed, loaded = modules_of_command(*asked, folder=tmp_path)
    assert printed
    assert not {*HEAVY, *NOT_OF_A_RUN, *NOT_WITHOUT_A_STORE}.intersection(loaded)


def test_what_a_run_does_not_load_is_there() -> None:
    for name in (*NOT_OF_A_RUN, *NOT_WITHOUT_A_STORE):
        assert find_spec(name) is not None, name


def test_a_run_needs_nothing_heavy() -> None:
    loaded = modules_after(
        "import dumbbell\n"
        "dumbbell.simulate(dumbbell.Experiment.read("
        "{'duration': '1s', 'links': [{'a': 'a', 'b': 'b'}]}))"
    )
    assert not loaded.intersection(HEAVY)


def test_replications_here_need_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('duration = "1s"\nlinks = [{ a = "a", b = "b" }]\n')
    asked = ["dumbbell", "run", str(tmp_path / "a.toml"), "--replications", "2", "--no-page"]
    loaded = modules_after(
        "import os, sys\n"
        f"sys.argv = {asked!r}\n"
        "from dumbbell.cli.app import app\n"
        "app(standalone_mode=False)\n"
    )
    assert "dumbbell.compare.executing" in loaded
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize("name", dumbbell.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(dumbbell, name) is not None
    assert name in dir(dumbbell)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        import_module("dumbbell").simulat  # noqa: B018
