"""The simulators available on this computer, and how they are started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
PEERS = BENCH / "peers"
BUILD = BENCH / "build"
PROFILE_VARIABLE = "BENCH_PROFILE"
"""Names the profile by which our programs are built; see `profiled.py`."""
OWN_BINARY = BENCH / "rust" / "target" / "release" / "mm1"
NS3_LIBRARIES = ("point-to-point", "network", "stats", "core")
NS3_TCP_LIBRARIES = (
    "applications", "traffic-control", "point-to-point", "internet", "network", "bridge", "stats",
    "mobility", "config-store", "core",
)  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """A program that does the work: ``command PACKETS SEED`` prints one line of JSON.

    Attributes:
        name: For the table.
        target: How many times faster than it the engine is to be; None for no promise.
        packets: How many a run takes, so that one run costs seconds at most.
        command: How it is started; empty when it cannot be.
        missing: Why it cannot be started.
        note: What a reader of its row should know.
    """

    name: str
    target: float | None
    packets: int
    command: tuple[str, ...] = ()
    missing: str = ""
    note: str = ""


def build_own(flags: str = "", target: Path = BENCH / "rust" / "target") -> None:
    """Compiles our programs; cargo shows what is wrong when it fails.

    Args:
        flags: Of the compiler; without any, those that use the profile which is named.
        target: Where they are built.
    """
    if shutil.which("cargo") is None:
        sys.exit("make bench needs cargo")
    locked = ["--locked"] if os.environ.get("CI") else []
    manifest = str(BENCH / "rust" / "Cargo.toml")
    command = ["cargo", "build", "--quiet", "--release", *locked, "--manifest-path", manifest]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    if profile := os.environ.get(PROFILE_VARIABLE):
        flags = flags or f"-Cprofile-use={Path(profile).resolve()}"
    if flags:
        environment["CARGO_ENCODED_RUSTFLAGS"] = flags
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        sys.exit("make bench: our program could not be built")


def interpreters() -> list[str]:
    """Where Python packages are looked for: the bench's own environment first."""
    own = BENCH / ".venv" / "bin" / "python"
    return [str(own)] * own.exists() + [sys.executable]


def can_import(interpreter: str, module: str) -> bool:
    """Whether an interpreter has a package."""
    command = [interpreter, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def python_peer(
    name: str, module: str, script: str, target: float | None, packets: int, *, note: str = ""
) -> Peer:
    """A peer that is a Python package."""
    for interpreter in interpreters():
        if can_import(interpreter, module):
            command = (interpreter, str(PEERS / script))
            return Peer(name, target, packets, command, note=note)
    missing = "not installed (make bench PEERS=1 installs it)"
    return Peer(name, target, packets, missing=missing)


def ns3_program(name: str, modules: tuple[str, ...]) -> tuple[Path, str]:
    """A program of `peers/`, compiled against the system's ns-3; and why it is missing, if it is.

    The libraries are named here: the pkg-config files of Debian's package carry a stray flag.
    """
    source, binary = PEERS / f"{name}.cc", BUILD / name
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3/core-module.h").exists():
        return binary, "not installed (Debian: apt-get install g++ libns3-dev)"
    BUILD.mkdir(exist_ok=True)
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        libraries = [f"-lns3-{module}" for module in modules]
        command = [compiler, "-std=c++17", "-O3", "-w", str(source), "-o", str(binary), *libraries]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            reason = (built.stderr.strip().splitlines() or ["no reason given"])[-1]
            return binary, f"could not be built: {reason}"
    return binary, ""


def ns3_peer(target: float, packets: int) -> Peer:
    """ns-3's bare device."""
    name = "ns-3 bare device"
    binary, missing = ns3_program("mm1_ns3", NS3_LIBRARIES)
    if missing:
        return Peer(name, target, packets, missing=missing)
    return Peer(name, target, packets, (str(binary),), note="the libraries as installed")


def peers() -> list[Peer]:
    """Every peer, installed or not."""
    return [
        ns3_peer(25, 1_000_000),
        python_peer("SimPy", "simpy", "mm1_simpy.py", 100, 1_000_000),
        python_peer(
            "ns.py", "ns.port.port", "mm1_nspy.py", None, 500_000,
            note="0.4.3 stamps a packet before waiting for its arrival: delays hold a gap too much",
        ),
        python_peer(
            "Ciw", "ciw", "mm1_ciw.py", None, 500_000, note="keeps a record of every customer"
        ),
    ]  # fmt: skip
