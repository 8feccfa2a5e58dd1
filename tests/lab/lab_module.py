"""The module of the laboratory: built once, asked through Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = "wasm32-unknown-unknown"
ASK = Path(__file__).with_name("ask.mjs")
LONGEST_S = 1200


def _lack() -> str | None:
    for program in ("cargo", "rustc", "node"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    library = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if library.returncode != 0 or not Path(library.stdout.strip()).is_dir():
        return f"Rust's target {TARGET} is not installed (rustup target add {TARGET})"
    return None


def built_module() -> Path:
    """The module as `make lab` builds it; skips where it cannot be built."""
    if (lack := _lack()) is not None:
        # A test that skips where it matters protects nobody.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lack)
    built = subprocess.run(
        ["make", "--no-print-directory", "lab-module"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return ROOT / "python/dumbbell/lab/engine.wasm"


def asked(module: Path, requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Answers of one process to requests; see ``ask.mjs``."""
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    done = subprocess.run(
        ["node", str(ASK), str(module)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
