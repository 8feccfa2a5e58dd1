"""The how-to of a queue discipline, built and run in a copy of the crates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks

from dumbbell.spec import Experiment

PAGE = ROOT / "docs" / "howto" / "add-a-qdisc.md"
WORKSPACE = ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml")
PURE = ("-p", "dumbbell-tc", "-p", "dumbbell-engine")
# Two streams of constant rate are more than the link carries; what is marked minimize-delay must
# not wait for more than the packet in transmission.
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
source = { kind = "cbr", rate = "130pps", size = "1000B" }
[[flows]]
name = "quick"
from = "a"
to = "b"
dscp = 4
source = { kind = "cbr", rate = "20pps", size = "100B" }
"""
CHECK = """\
//! Made by tests/docs: the discipline of the how-to, in a whole run.

/// Greatest delay of the bulk and of the quick stream, ns.
fn longest_delays(resolved: &str) -> (i64, i64) {{
    let run = dumbbell_engine::run::simulate_one(resolved, 0).unwrap();
    let longest = run.tables.column_i64("flows", "delay_max_ns");
    (longest[0], longest[1])
}}

#[test]
fn what_minimizes_delay_waits_for_one_packet_at_most() {{
    let (bulk, quick) = longest_delays(r#"{in_bands}"#);
    // A packet of 1000 bytes takes 8 ms, and one of 100 bytes 0.8 ms.
    assert!(quick <= 8_800_000 && bulk > 100_000_000, "{{bulk}} {{quick}}");
    let (_, quick) = longest_delays(r#"{in_order}"#);
    assert!(quick > 100_000_000, "{{quick}}");
}}
"""


def cargo(folder: Path, *arguments: str) -> None:
    # Dependencies are kept between runs, beside what `make` builds.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "howto")}
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


def resolved_with(qdisc: dict[str, str | int]) -> str:
    resolved = Experiment.from_toml(EXPERIMENT).resolved()
    resolved["links"][0]["forward"]["qdisc"] = qdisc
    return json.dumps(resolved)


@pytest.mark.long
def test_add_a_qdisc(tmp_path: Path) -> None:
    for name in WORKSPACE:
        shutil.copy(ROOT / name, tmp_path)
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    for crate in workspace["members"]:
        shutil.copytree(ROOT / crate, tmp_path / crate, ignore=shutil.ignore_patterns("target"))
    apply_blocks(PAGE, tmp_path)
    cargo(tmp_path, "fmt", "--check", *PURE)
    check = tmp_path / "engine" / "tests" / "howto.rs"
    in_bands = resolved_with({"kind": "pfifo_fast"})
    in_order = resolved_with({"kind": "pfifo", "limit_packets": 1000})
    check.write_text(CHECK.format(in_bands=in_bands, in_order=in_order), encoding="utf-8")
    cargo(tmp_path, "clippy", "--locked", *PURE, "--lib", "--tests", "--", "-D", "warnings")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-tc")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-engine", "--lib", "qdisc")
    cargo(tmp_path, "test", "--locked", "-p", "dumbbell-engine", "--test", "howto")
