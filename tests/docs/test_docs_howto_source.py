"""The how-to of a source of traffic, built and run in a copy of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks
from test_docs_howto_rust import BUILT, cargo, copy_of_the_repository

PAGE = ROOT / "docs" / "howto" / "add-a-source.md"
CRATES = ("-p", "dumbbell-spec", "-p", "dumbbell-lab")
RESOLVED = """
import json
import sys
sys.path.insert(0, "scripts")
from digest_runs import descriptions
from dumbbell.spec import Experiment, Flow, Link, LinkEnd
from dumbbell.spec.sources import MODELS
assert "source isochronous" in descriptions()
camera = MODELS["isochronous"](gap="20ms", lateness="uniform 0s 9ms", size="900B")
experiment = Experiment(
    duration="10s",
    links=[Link(a="a", b="b", forward=LinkEnd(rate="10mbit"))],
    flows=[Flow(name="camera", from_="a", to="b", source=camera)],
)
resolved = experiment.resolved()
assert Experiment.from_resolved(resolved).resolved() == resolved
print(json.dumps(resolved))
"""
CHECK = """\
//! Made by tests/docs: the source of the how-to, in a whole run.

#[test]
fn a_packet_every_twenty_milliseconds() {{
    let run = dumbbell_engine::run::simulate_one(r#"{resolved}"#, 0).unwrap();
    assert_eq!(run.tables.column_i64("flows", "sent_datagrams")[0], 500);
    assert!(run.expected.events >= 500);
}}
"""


def python(copy: Path, text: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "python")}
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def native_module(copy: Path) -> None:
    """That of the copy, in the place of the one that was copied."""
    cargo(copy, "build", "--locked", "-p", "dumbbell-bindings")
    place = copy / "python" / "dumbbell" / "_engine.abi3.so"
    place.unlink(missing_ok=True)
    (built,) = (BUILT / "debug").glob("lib_engine.*[!d]")
    shutil.copy(built, place)


@pytest.mark.long
def test_add_a_source(tmp_path: Path) -> None:
    copy_of_the_repository(PAGE, tmp_path)
    not_copied = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=not_copied, dirs_exist_ok=True)
    (tmp_path / "scripts").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scripts" / "digest_runs.py", tmp_path / "scripts")
    apply_blocks(PAGE, tmp_path)
    native_module(tmp_path)
    resolved = python(tmp_path, RESOLVED)
    assert json.loads(resolved)["flows"][0]["source"]["kind"] == "isochronous"
    check = tmp_path / "engine" / "tests" / "howto.rs"
    check.write_text(CHECK.format(resolved=resolved), encoding="utf-8")
    cargo(tmp_path, "fmt", "--check", *CRATES)
    cargo(tmp_path, "clippy", "--locked", *CRATES, "--lib", "--", "-D", "warnings")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-spec", "--lib", "isochronous")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-engine", "--test", "howto")
