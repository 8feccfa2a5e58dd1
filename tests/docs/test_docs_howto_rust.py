"""The how-to of a queue discipline, built and run in a copy of the crates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks, blocks

from dumbbell.spec import Experiment

PAGE = ROOT / "docs" / "howto" / "add-a-qdisc.md"
WORKSPACE = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml")
BUILT = ROOT / "target" / "howto"
PURE = ("-p", "dumbbell-tc", "-p", "dumbbell-qdisc", "-p", "dumbbell-engine")
# Twice what the link carries. A packet of 1000 bytes takes 8 ms; one comes every 4 ms.
EXPERIMENT = """
duration = "10s"
[[links]]
a = "a"
b = "b"
forward = { rate = "1mbit" }
[[flows]]
name = "bulk"
from = "a"
to = "b"
source = { kind = "cbr", rate = "250pps", size = "1000B" }
"""
CHECK = """\
//! Made by tests/docs: the discipline of the how-to, in a whole run.

#[test]
fn tests_and_digests_find_its_short_example() {{
    let table = dumbbell_tc::disciplines_json();
    assert!(table.contains(r#""short_example":"pfifo_head_drop limit 5""#));
}}

/// Greatest delay, ns, and packets dropped.
fn delay_and_drops(resolved: &str) -> (i64, i64) {{
    let run = dumbbell_engine::run::simulate_one(resolved, 0).unwrap();
    let longest = run.tables.column_i64("flows", "delay_max_ns")[0];
    (longest, run.tables.column_i64("queues", "dropped_overlimit_pkts")[0])
}}

#[test]
fn the_same_is_lost_and_what_is_not_lost_waits_less() {{
    let (at_head, dropped) = delay_and_drops(r#"{at_head}"#);
    let (at_tail, also_dropped) = delay_and_drops(r#"{at_tail}"#);
    assert!(dropped > 1000 && (dropped - also_dropped).abs() <= 1, "{{dropped}} {{also_dropped}}");
    // Ten places: the last is left by ten transmissions, or by half as many and as many drops.
    assert!(at_tail > 80_000_000 && at_head <= 52_000_000, "{{at_tail}} {{at_head}}");
}}
"""


def cargo(folder: Path, *arguments: str) -> None:
    # Dependencies are kept between runs, beside what `make` builds.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILT), "PYO3_PYTHON": sys.executable}
    path = f"{Path.home() / '.cargo' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def copy_of_the_repository(page: Path, folder: Path) -> None:
    """What the page changes, and what cargo needs to build it."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    left_out = shutil.ignore_patterns("target", "found")
    for crate in workspace["members"]:
        shutil.copytree(ROOT / crate, folder / crate, ignore=left_out)
    for name in {*WORKSPACE, *(block.file for block in blocks(page) if block.file)}:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def resolved_with(qdisc: dict[str, str | int]) -> str:
    resolved = Experiment.from_toml(EXPERIMENT).resolved()
    resolved["links"][0]["forward"]["qdisc"] = qdisc
    return json.dumps(resolved)


@pytest.mark.long
def test_add_a_qdisc(tmp_path: Path) -> None:
    copy_of_the_repository(PAGE, tmp_path)
    apply_blocks(PAGE, tmp_path)
    cargo(tmp_path, "fmt", "--check", *PURE)
    check = tmp_path / "engine" / "tests" / "howto.rs"
    at_head = resolved_with({"kind": "pfifo_head_drop", "limit_packets": 10})
    at_tail = resolved_with({"kind": "pfifo", "limit_packets": 10})
    check.write_text(CHECK.format(at_head=at_head, at_tail=at_tail), encoding="utf-8")
    cargo(tmp_path, "clippy", "--locked", *PURE, "--lib", "--tests", "--", "-D", "warnings")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-tc")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-qdisc", "--lib", "pfifo_head_drop")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-qdisc", "--test", "qdisc_properties")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-engine", "--test", "howto")
