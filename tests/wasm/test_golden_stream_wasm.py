"""The engine compiled to WebAssembly and run by Node draws the golden stream."""

import hashlib
import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = "wasm32-unknown-unknown"
ENTRIES: list[dict[str, Any]] = json.loads(
    (HERE.parent / "golden" / "stream.json").read_text(encoding="utf-8")
)


def missing() -> str | None:
    """What this machine lacks to run the test, if anything."""
    for program in ("cargo", "rustc", "node"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    library = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=False)
    if library.returncode != 0 or not Path(library.stdout.strip()).is_dir():
        return f"Rust's target {TARGET} is not installed (rustup target add {TARGET})"
    return None


@pytest.fixture(scope="module")
def module() -> Path:
    """The compiled module."""
    if (lack := missing()) is not None:
        # A test that skips where it matters protects nobody.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lack)
    folder = ROOT / "target" / "wasm"
    command = ["cargo", "build", "--locked", "--release", "--target", TARGET]
    built = subprocess.run(
        [*command, "--target-dir", str(folder)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / TARGET / "release" / "dumbbell_golden_wasm.wasm"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['component']} {e['law']}")
def test_draws_are_the_golden_ones(module: Path, entry: dict[str, Any]) -> None:
    stream = (str(entry["seed"]), str(entry["replication"]), entry["component"])
    command = ["node", "draw.mjs", str(module), *stream, entry["law"], str(entry["count"])]
    bits = subprocess.run(command, cwd=HERE, capture_output=True, check=True).stdout
    first = [bits[i : i + 8][::-1].hex() for i in range(0, 8 * len(entry["first"]), 8)]
    assert first == entry["first"]
    assert hashlib.sha256(bits).hexdigest() == entry["sha256"]


def test_the_maths_library_is_that_of_the_engine() -> None:
    def libm(folder: Path) -> list[str]:
        lock = tomllib.loads((folder / "Cargo.lock").read_text(encoding="utf-8"))
        return [package["version"] for package in lock["package"] if package["name"] == "libm"]

    assert libm(HERE) == libm(ROOT)
