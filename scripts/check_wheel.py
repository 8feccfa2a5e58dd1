"""Checks a wheel as somebody has it who has nothing else of ours.

``check_wheel.py WHEEL``: installs it into an environment of its own below the folder for temporary
files, with the pinned versions, and there does what a user does: asks for the version, runs an
example, reproduces a study and, where the kernel in virtual time is built, runs the example on it
with the guest that the wheel brings. Exit status 1 with the first thing that does not work.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUDY = "traffic-policing"
EXAMPLE = "two-queues.toml"
WHERE = """
import dumbbell, dumbbell._engine
from dumbbell.backends.kernel.programs import guest_program
print(dumbbell.__file__, dumbbell._engine.__file__, guest_program(), sep="\\n")
"""


def fail(reason: str) -> None:
    """Say why, and end."""
    sys.exit(f"check_wheel: {reason}")


def clean_environment() -> dict[str, str]:
    """This process's, without what would bring in a checkout or another environment."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "DUMBBELL_GUEST")
    return {name: value for name, value in os.environ.items() if name not in leaks}


def run(
    command: list[str], folder: Path, environment: Mapping[str, str], may_fail: bool = False
) -> str | None:
    """Output of a command, timed; None when it failed and may.

    Standard error goes through.
    """
    print("+", Path(command[0]).name, *(shortened(word) for word in command[1:]), flush=True)
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    print(f"  {time.monotonic() - begun:.1f} s", flush=True)
    if done.returncode and not may_fail:
        fail(f"exit status {done.returncode}\n{done.stdout[-3000:]}")
    return None if done.returncode else done.stdout


def shortened(word: str) -> str:
    """A word of a command line, its first line only."""
    return word.strip().splitlines()[0] if word.strip() else word


def installed(wheel: Path, folder: Path, environment: Mapping[str, str]) -> Path:
    """Install the wheel into a new environment; the folder of its programs."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    pinned = str(ROOT / "constraints.txt")
    install = ["-m", "pip", "install", "--quiet", "-c", pinned, str(wheel)]
    run([str(programs / "python"), *install], folder, environment)
    return programs


def check_results(folder: Path) -> None:
    """The study's page and claims are there, and what was claimed was judged."""
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    reproduced = sum(claim["verdict"] == "reproduced" for claim in claims)
    if not (folder / "index.html").is_file() or not reproduced:
        fail(f"{folder}: {reproduced} claims reproduced")
    print(f"  {reproduced} of {len(claims)} claims reproduced")


def check(wheel: Path, folder: Path) -> None:
    """Do what a user does."""
    environment = clean_environment()
    programs = installed(wheel, folder, environment)
    python, dumbbell = str(programs / "python"), str(programs / "dumbbell")

    where = run([python, "-c", WHERE], folder, environment) or ""
    for path in where.split("\n")[:-1]:
        if not Path(path).resolve().is_relative_to(folder.resolve()):
            fail(f"{path} is not the wheel's")
    version = run([dumbbell, "--version"], folder, environment) or ""
    print(f"  {version.strip()}")
    if wheel.name.split("-")[1] not in version:
        fail(f"it says {version!r}")

    shutil.copy(ROOT / "examples" / EXAMPLE, folder)
    run([dumbbell, "run", EXAMPLE, "--out", "simulated"], folder, environment)
    run([dumbbell, "reproduce", STUDY, "--quick", "--out", "study"], folder, environment)
    check_results(folder / "study")

    information = run([dumbbell, "kernel", "info"], folder, environment, may_fail=True)
    if information is None:
        print("SKIPPED: the kernel in virtual time is not built. make kernel")
        return
    on_kernel = ["run", EXAMPLE, "--backend", "kernel", "--out", "on-kernel"]
    run([dumbbell, *on_kernel], folder, environment)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".whl"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="dumbbell-wheel-") as temporary:
        check(Path(sys.argv[1]).resolve(), Path(temporary))
    print("check_wheel: it works")
