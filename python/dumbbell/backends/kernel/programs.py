"""The host's programs that run inside a guest, and hashes of everything loaded with them.

A guest sees the host's files: its `ip` and `tc`, and the shared libraries they load, are the
machine's. They affect results and are therefore hashed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.backends.kernel.guest import guest_program
from dumbbell.errors import RunError
from dumbbell.printable import printable
from dumbbell.spec.programs import Tool, model_of, programs_of, tools_of

_TC_TABLES = tuple(
    Path(place) for place in ("/usr/lib/x86_64-linux-gnu/tc", "/usr/lib64/tc", "/usr/lib/tc")
)
"""Where `tc` looks for the tables of `netem ... distribution NAME` on Debian and other systems."""
_READ_BY_TOOLS = tuple(
    Path(place)
    for place in (
        *("/etc/ld.so.cache", "/etc/iproute2", "/usr/lib/iproute2", "/usr/share/iproute2"),
        *("/etc/localtime", "/usr/share/zoneinfo"),
    )
)
"""Tables that the loader, iproute2 and irtt's runtime read, on any distribution."""

_SYSTEM_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"
_NOT_FREE = {"netperf": "netperf", "netserver": "netperf"}
"""Programs whose packages are in Debian's section non-free."""
_TOOLS = ("ip", "tc")
IRTT = "irtt"
"""Program for probes of kind irtt."""
IRTT_TOOL = Tool(IRTT, "irtt")
_INTERPRETER = 3
"""PT_INTERP of elf(5)."""
_LOADED = re.compile(r"^\s*(?:(\S+) => )?(/\S.*?) \(0x[0-9a-f]+\)$")

_Stamp = tuple[int, int, int]


def asked_tools(resolved: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Programs that a description needs besides those that set up hosts."""
    of_probes = (IRTT_TOOL,) if any(p["kind"] == IRTT for p in resolved["probes"]) else ()
    return (*of_probes, *tools_of(resolved))


def host_tools(asked: Sequence[Tool] = ()) -> dict[str, str]:
    """Paths of the programs that set up hosts and queues, and of those that a description needs.

    Args:
        asked: Further programs that the description needs.

    Raises:
        RunError: A program is not installed.
    """
    tools = {name: path for name in _TOOLS if (path := _found(name))}
    if missing := set(_TOOLS) - tools.keys():
        names = " and ".join(sorted(missing))
        raise RunError(f"{names} of iproute2 are not installed (Debian: apt-get install iproute2)")
    for tool in asked:
        path = _found(tool.name)
        if path is None:
            raise RunError(f"{tool.name} is not installed{_how_to_get(tool)}")
        tools[tool.name] = path
    return tools


def check_programs(resolved: Mapping[str, Any]) -> None:
    """Check that the programs of a description are installed, before anything runs.

    Args:
        resolved: The description.

    Raises:
        RunError: A program is not installed; the message says what needs it, which package to
            install, and the alternatives.
    """
    for index, asked in enumerate(programs_of(resolved)):
        model = model_of(asked)
        for tool in model.tools(asked):
            if _found(tool.name) is None:
                of_test = f" with test {asked['test']!r}" if "test" in asked else ""
                without = f"; without it: {model.WITHOUT}" if model.WITHOUT else ""
                raise RunError(
                    f"programs[{index}]: {asked['name']} ({asked['kind']}{of_test}) needs "
                    f"{printable(tool.name)}, which is not installed{_how_to_get(tool)}{without}"
                )


def _how_to_get(tool: Tool) -> str:
    if not tool.package:
        where = f" in {_SYSTEM_FOLDERS.replace(':', ', ')}"
        if package := _NOT_FREE.get(tool.name):
            return f"{where} (Debian: apt-get install {package}, in its section non-free only)"
        return where
    same = '; a probe of kind "udp" measures the same without it' if tool.name == IRTT else ""
    return f" (Debian: apt-get install {tool.package}){same}"


def are_installed(tools: Iterable[Tool]) -> bool:
    """Whether all of them can run in a guest of this machine."""
    return all(_found(tool.name) is not None for tool in tools)


def irtt_is_installed() -> bool:
    """Whether probes of kind irtt can run in a guest of this machine."""
    return are_installed((IRTT_TOOL,))


def _found(name: str) -> str | None:
    """Path of a program of the system; a name with a path must exist."""
    return shutil.which(name, path=_SYSTEM_FOLDERS)


def program_hashes(asked: Sequence[Tool] = ()) -> dict[str, str | dict[str, str]]:
    """SHA-256 of every program that runs in a guest, and of every library loaded with them.

    Args:
        asked: Further programs that a description needs.

    Returns:
        ``guest_sha256``, ``ip_sha256``, ``tc_sha256``, likewise for further programs
        (``iperf3_sha256``) and their folders (``flent_content_sha256``);
        ``libraries_sha256``: name of the library (`libc.so.6`) to hash; ``tc_tables_sha256``:
        likewise of the tables of distributions that `tc` reads (`normal.dist`).

    Raises:
        RunError: A program is missing, or the dynamic loader does not list its libraries.
    """
    tools = host_tools(asked)
    programs = {"guest": guest_program(), **{name: Path(path) for name, path in tools.items()}}
    libraries: dict[str, Path] = {}
    for program in programs.values():
        libraries |= shared_libraries(program)
    of_content = {
        f"{tool.name}_content_sha256": _folders_sha256(tool.content)
        for tool in asked
        if tool.content
    }
    return {
        **{f"{name}_sha256": file_sha256(path) for name, path in programs.items()},
        **of_content,
        "libraries_sha256": {name: file_sha256(libraries[name]) for name in sorted(libraries)},
        "tc_tables_sha256": {
            table.name: file_sha256(table)
            for folder in _TC_TABLES
            for table in sorted(folder.glob("*.dist"))
        },
    }


def files_read_inside(asked: Sequence[Tool] = ()) -> list[Path]:
    """All files of the host that a guest reads: programs, their libraries, their tables.

    Args:
        asked: Further programs that a description needs.

    Raises:
        RunError: As for `program_hashes`.
    """
    programs = [guest_program(), *map(Path, host_tools(asked).values())]
    libraries = {path for program in programs for path in shared_libraries(program).values()}
    read = [path for tool in asked for path in tool.reads]
    return [*programs, *sorted(libraries), *_TC_TABLES, *_READ_BY_TOOLS, *read]


def shared_libraries(program: Path) -> dict[str, Path]:
    """Shared libraries of a program, including the dynamic loader: name to file.

    Raises:
        RunError: The loader fails, for example because a library is missing.
    """
    return _shared_libraries(program, _stamp(program))


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes; read again only when the file has changed."""
    return _file_sha256(path, _stamp(path))


def _folders_sha256(folders: Iterable[Path]) -> str:
    """SHA-256 of the names and bytes of all files below, without compiled Python files."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(folder)} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


@functools.lru_cache(maxsize=512)
def _file_sha256(path: Path, stamp: _Stamp) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@functools.lru_cache(maxsize=16)
def _shared_libraries(program: Path, stamp: _Stamp) -> dict[str, Path]:
    loader = _interpreter(program)
    if loader is None:
        return {}
    # As in the guest: no LD_LIBRARY_PATH, no LD_PRELOAD.
    done = subprocess.run(
        [loader, "--list", program],
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    if done.returncode != 0:
        raise RunError(f"{program} cannot be loaded: {(done.stderr or done.stdout).strip()}")
    found = {loader.name: loader}
    for line in done.stdout.splitlines():
        if loaded := _LOADED.match(line):
            path = Path(loaded[2])
            found[Path(loaded[1] or path).name] = path
    return found


def _interpreter(program: Path) -> Path | None:
    """The dynamic loader named by a 64-bit little-endian ELF program; None without one."""
    content = program.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return None  # a script: its interpreter is not examined
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * count, size):
        (kind,) = struct.unpack_from("<I", content, at)
        if kind == _INTERPRETER:
            offset, length = (struct.unpack_from("<Q", content, at + n)[0] for n in (8, 32))
            return Path(os.fsdecode(content[offset : offset + length].rstrip(b"\0")))
    return None
