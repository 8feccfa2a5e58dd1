"""Build packetdrill of a user's checkout, once, into the cache.

The source is copied and compiled as it is, by its own makefile; what the virtual-time kernel needs
besides is `virtual_time.c`, which the linker puts in front of some functions of the C library.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError, RunError, SpecError
from dumbbell.folders.cache import cache_folder

VARIABLE = "PACKETDRILL_SOURCE"
"""Names a checkout of packetdrill, or the folder in it with packetdrill.c."""

_SHIM = Path(__file__).with_name("virtual_time.c")
_WRAPPED = (*("times", "sched_yield", "pthread_yield", "getsockopt", "ioctl", "system", "unlink"),)
"""Functions of the C library that `virtual_time.c` stands in front of."""
_PROGRAM = "packetdrill"
_INFO = "info.json"
_KEY_DIGITS = 16
_IN_A_CHECKOUT = "gtests/net/packetdrill"
_TOOLS = ("gcc", "ld", "make", "bison", "flex")
_SOURCES = ("*.c", "*.h", "*.l", "*.y", "Makefile*")
_TIMEOUT_S = 600


class PacketdrillMissingError(DumbbellError):
    """packetdrill has not been built; the message is one line that says how to."""

    exit_code = EXIT_BAD_INPUT


@dataclass(frozen=True, slots=True)
class PacketdrillInfo:
    """One that was built.

    Attributes:
        path: The program.
        source_sha256: Of the names and contents of its source.
        shim_sha256: Of `virtual_time.c`.
        compiler: First line of its version.
        sha256: Of the program.
    """

    path: Path
    source_sha256: str
    shim_sha256: str
    compiler: str
    sha256: str


def find_packetdrill() -> PacketdrillInfo | None:
    """The newest that was built with today's `virtual_time.c`, if there is one."""
    shim = _sha256(_SHIM)
    try:
        folders = [path for path in _folder().iterdir() if len(path.name) == _KEY_DIGITS]
    except OSError:
        return None
    found = [info for info in map(_read, folders) if info and info.shim_sha256 == shim]
    return max(found, key=lambda info: info.path.stat().st_mtime_ns, default=None)


def require_packetdrill() -> PacketdrillInfo:
    """The same.

    Raises:
        PacketdrillMissingError: There is none.
    """
    info = find_packetdrill()
    if info is None:
        raise PacketdrillMissingError(how_to_build_packetdrill())
    return info


def how_to_build_packetdrill() -> str:
    """One line that says how to build it."""
    return (
        "packetdrill has not been built: `git clone https://github.com/google/packetdrill`, then "
        "`dumbbell packetdrill --build packetdrill` once"
    )


def build_packetdrill(source: Path) -> PacketdrillInfo:
    """The packetdrill of that source, from the cache or built now.

    Args:
        source: A checkout, or the folder in it with packetdrill.c.

    Raises:
        SpecError: It is no source of packetdrill.
        RunError: Something is missing on this machine, or a step failed.
    """
    folder = _source_folder(source)
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        raise RunError(
            f"not installed: {', '.join(missing)}: `apt-get install gcc make bison flex` brings "
            "all that the build needs"
        )
    files = sorted({file for pattern in _SOURCES for file in folder.glob(pattern)})
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    shim, compiler = _sha256(_SHIM), _compiler()
    made_of = json.dumps([digest.hexdigest(), shim, compiler])
    place = _folder() / hashlib.sha256(made_of.encode()).hexdigest()[:_KEY_DIGITS]
    if (ready := _read(place)) is not None:
        return ready
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="building-", dir=place.parent) as temporary:
        tree = Path(temporary) / "source"
        tree.mkdir()
        for file in files:
            shutil.copyfile(file, tree / file.name)
        _compile(tree)
        result = Path(temporary) / "result"
        result.mkdir()
        shutil.move(tree / _PROGRAM, result / _PROGRAM)
        program = result / _PROGRAM
        info = PacketdrillInfo(program, digest.hexdigest(), shim, compiler, _sha256(program))
        fields = {name: value for name, value in asdict(info).items() if name != "path"}
        (result / _INFO).write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)  # one that was not whole
        result.rename(place)
    built = _read(place)
    if built is None:
        raise RunError(f"{place}: what was just built is gone")
    return built


def _folder() -> Path:
    return cache_folder() / "packetdrill"


def _source_folder(source: Path) -> Path:
    for folder in (source, source / _IN_A_CHECKOUT):
        if (folder / "packetdrill.c").is_file() and (folder / "Makefile.Linux").is_file():
            return folder.resolve()
    raise SpecError(
        VARIABLE, source, "a checkout of packetdrill, or the folder in it with packetdrill.c"
    )


def _compile(tree: Path) -> None:
    objects = "virtual_time.o"
    wrapped = ",".join(f"--wrap={name}" for name in _WRAPPED)
    # Without shared libraries it starts in half the time inside.
    libraries = f"-static -lpthread -lrt -ldl -Wl,{wrapped}"
    _run(["gcc", "-O2", "-Wall", "-c", "-o", objects, str(_SHIM)], tree)
    _run(
        [
            *("make", "-f", "Makefile.Linux", f"-j{os.cpu_count() or 1}", _PROGRAM),
            f"packetdrill-extra-objs={objects}",
            f"packetdrill-ext-libs={libraries}",
        ],
        tree,
    )


def _run(command: list[str], folder: Path) -> None:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{command[0]} did not end within {_TIMEOUT_S} s") from None
    if done.returncode != 0:
        last = "\n  ".join((done.stdout + done.stderr).splitlines()[-25:])
        raise RunError(f"{command[0]} failed (status {done.returncode}):\n  {last}")


def _compiler() -> str:
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [""])[0]


def _read(folder: Path) -> PacketdrillInfo | None:
    """What was built in one folder of the cache; None when it is not whole."""
    program = folder / _PROGRAM
    try:
        fields = json.loads((folder / _INFO).read_text(encoding="utf-8"))
        info = PacketdrillInfo(path=program, **fields)
    except (OSError, ValueError, TypeError):
        return None
    return info if os.access(program, os.X_OK) else None


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
