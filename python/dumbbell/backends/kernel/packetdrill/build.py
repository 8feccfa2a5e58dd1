"""Build packetdrill from a user's checkout, once, into the cache.

The source is copied and compiled unchanged, by its own makefile. `virtual_time.c` adapts it to the
virtual-time kernel: the linker wraps some functions of the C library with it.
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
"""Environment variable: a checkout of packetdrill, or its folder with packetdrill.c."""

_SHIM = Path(__file__).with_name("virtual_time.c")
_WRAPPED = (*("times", "sched_yield", "pthread_yield", "getsockopt", "ioctl", "system", "unlink"),)
"""Functions of the C library that `virtual_time.c` wraps."""
_PROGRAM = "packetdrill"
_INFO = "info.json"
_KEY_DIGITS = 16
_IN_A_CHECKOUT = "gtests/net/packetdrill"
_TOOLS = ("gcc", "ld", "make", "bison", "flex")
_SOURCES = ("*.c", "*.h", "*.l", "*.y", "Makefile*")
_TIMEOUT_S = 600


class PacketdrillMissingError(DumbbellError):
    """packetdrill has not been built; the message is one line that says how to build it."""

    exit_code = EXIT_BAD_INPUT


@dataclass(frozen=True, slots=True)
class PacketdrillInfo:
    """A built packetdrill.

    Attributes:
        path: Path of the program.
        source_sha256: Hash of the names and contents of its source.
        shim_sha256: Hash of `virtual_time.c`.
        compiler: First line of the compiler's version.
        sha256: Hash of the program.
    """

    path: Path
    source_sha256: str
    shim_sha256: str
    compiler: str
    sha256: str


def find_packetdrill() -> PacketdrillInfo | None:
    """The newest one that was built with the current `virtual_time.c`, if any."""
    shim = _sha256(_SHIM)
    try:
        folders = [path for path in _folder().iterdir() if len(path.name) == _KEY_DIGITS]
    except OSError:
        return None
    found = [info for info in map(_read, folders) if info and info.shim_sha256 == shim]
    return max(found, key=lambda info: info.path.stat().st_mtime_ns, default=None)


def require_packetdrill() -> PacketdrillInfo:
    """Like `find_packetdrill`, but raises an error if there is none.

    Raises:
        PacketdrillMissingError: packetdrill has not been built.
    """
    info = find_packetdrill()
    if info is None:
        raise PacketdrillMissingError(how_to_build_packetdrill())
    return info


def how_to_build_packetdrill() -> str:
    """One line with the commands that build it."""
    return (
        "packetdrill has not been built: `git clone https://github.com/google/packetdrill`, then "
        "`dumbbell packetdrill --build packetdrill` once"
    )


def build_packetdrill(source: Path) -> PacketdrillInfo:
    """Return the packetdrill of a source, from the cache or built now.

    Args:
        source: A checkout, or its folder with packetdrill.c.

    Raises:
        SpecError: It is not a source of packetdrill.
        RunError: A tool is missing, or a step failed.
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
        shutil.rmtree(place, ignore_errors=True)  # an incomplete one
        result.rename(place)
    built = _read(place)
    if built is None:
        raise RunError(f"{place}: the new build has disappeared")
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
    # A static program starts in half the time inside the guest.
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
    """Read one folder of the cache; None if it is incomplete."""
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
