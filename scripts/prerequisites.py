"""Reports missing tools before anything is built or downloaded.

Run by ``make`` with the system's ``python3``, so it is written for Python 3.6 without any package.
Exit status 0 if all tools are present, otherwise 1 with instructions.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, List, Optional, Sequence, Tuple

PYTHON_AT_LEAST = (3, 11)
RUST_AT_LEAST = (1, 88)

GET_PYTHON = """Install a newer Python and name it:  make reproduce PYTHON=python3.12"""
GET_RUST = """Get Rust from https://rustup.rs (no root needed; a distribution's own package is
often too old):
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y
make finds it in ~/.cargo/bin by itself; no new shell is needed."""
GET_COMPILER = """On Debian or Ubuntu:  apt-get install build-essential
On macOS:             xcode-select --install"""


class MissingError(Exception):
    """A required tool is missing; the message says which, and how to get it."""


def dotted(version: Sequence[object]) -> str:
    """Format (3, 11) as 3.11."""
    return ".".join(str(part) for part in version)


def check_python(version: Optional[Tuple[int, int, int]] = None) -> str:
    """Check that the interpreter is new enough."""
    version = version or sys.version_info[:3]
    if version[:2] >= PYTHON_AT_LEAST:
        return "Python " + dotted(version)
    advice = GET_PYTHON
    newer = [
        name
        for name in ("python3.14", "python3.13", "python3.12", "python3.11")
        if shutil.which(name) and answers(name)
    ]
    if newer:
        advice = "There is a newer one on this computer:  make reproduce PYTHON=" + newer[0]
    raise MissingError(
        "Python {} or newer is needed; {} is {}.\n{}".format(
            dotted(PYTHON_AT_LEAST), sys.executable, dotted(version), advice
        )
    )


def answers(program: str) -> bool:
    """Return whether a program runs: version managers install names on PATH that do not."""
    try:
        status = subprocess.call(
            [program, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return False
    return status == 0


def check_venv() -> str:
    """Check that virtual environments work: Debian and Ubuntu package venv separately."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        package = "python{}-venv".format(dotted(sys.version_info[:2]))
        raise MissingError(
            "{} cannot make virtual environments (no module ensurepip).\n"
            "On Debian or Ubuntu:  apt-get install {}".format(sys.executable, package)
        ) from None
    return "venv"


def version_of(program: str) -> Tuple[str, Tuple[int, int]]:
    """Return the version printed by ``program --version`` as (major, minor).

    Raises MissingError if there is none. Standard error is passed on: rustup reports there the
    download of the toolchain named in rust-toolchain.toml, which takes a while.
    """
    path = shutil.which(program)
    if path is None:
        raise MissingError(
            "{} is not on PATH nor in ~/.cargo/bin; {} or newer is needed.\n{}".format(
                program, dotted(RUST_AT_LEAST), GET_RUST
            )
        )
    run = subprocess.run(
        [path, "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=False
    )
    found = re.search(r"(\d+)\.(\d+)", run.stdout)
    if run.returncode != 0 or found is None:
        raise MissingError(
            "`{} --version` failed (its message is above).\n"
            "If rustup could not download the toolchain named in rust-toolchain.toml, another one "
            "you have will do, {} or newer:\n    RUSTUP_TOOLCHAIN=stable make reproduce".format(
                path, dotted(RUST_AT_LEAST)
            )
        )
    return path, (int(found.group(1)), int(found.group(2)))


def check_rust(program: str) -> str:
    """Check that cargo or rustc is new enough; distributions may package them separately."""
    path, version = version_of(program)
    if version < RUST_AT_LEAST:
        raise MissingError(
            "{} {} or newer is needed; {} is {}.\n{}".format(
                program, dotted(RUST_AT_LEAST), path, dotted(version), GET_RUST
            )
        )
    return "{} {}".format(program, dotted(version))


def check_compiler() -> str:
    """Check that a C program can be compiled and linked: rustc links with ``cc``."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise MissingError("A C compiler is needed (the command cc).\n" + GET_COMPILER)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "empty.c")
        with open(source, "w") as file:
            file.write("int main(void) { return 0; }\n")
        run = subprocess.run(
            [compiler, source, "-o", os.path.join(folder, "empty")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            check=False,
        )
    if run.returncode != 0:
        raise MissingError(
            "{} cannot make a program:\n{}\n{}".format(compiler, run.stdout.strip(), GET_COMPILER)
        )
    return "C compiler"


CHECKS: Tuple[Callable[[], str], ...] = (
    check_python,
    check_venv,
    lambda: check_rust("cargo"),
    lambda: check_rust("rustc"),
    check_compiler,
)


def run_checks(checks: Sequence[Callable[[], str]]) -> Tuple[List[str], List[str]]:
    """Return all tools found and all that are missing, in one pass."""
    found: List[str] = []
    missing: List[str] = []
    for check in checks:
        try:
            found.append(check())
        except MissingError as problem:
            # cargo and rustc are usually missing together, with the same advice.
            if not (GET_RUST in str(problem) and any(GET_RUST in text for text in missing)):
                missing.append(str(problem))
    return found, missing


def main() -> int:
    """Print one line if all tools are present, otherwise instructions."""
    found, missing = run_checks(CHECKS)
    if not missing:
        print("Prerequisites: " + ", ".join(found))
        return 0
    print("\nNothing was started. Missing on this computer:\n", file=sys.stderr)
    for number, text in enumerate(missing, 1):
        print("{}. {}\n".format(number, text.replace("\n", "\n   ")), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
