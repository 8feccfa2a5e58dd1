"""A description's programs as command lines in a guest, and their results as tables.

A command line runs in a host as after a login (guest/src/login.rs). Its output goes to the run's
folder; files in its home are copied there after the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.backends.kernel.login import Login
from dumbbell.errors import RunError
from dumbbell.formats.errors import FormatError
from dumbbell.formats.program_tables import (
    ANSWERING,
    ASKING,
    ParsedProgram,
    PrintedFile,
    read_printed,
    tables_of,
)
from dumbbell.printable import printable
from dumbbell.spec import Resolved
from dumbbell.spec.programs import (
    CommandContext,
    NewOutputFile,
    RunTimes,
    Task,
    model_of,
    programs_of,
    starts_others,
)
from dumbbell.tables import Table

HOMES = "homes"
"""Folder of the job that holds the copied homes, by host."""
UNDER_WAY = "under-way"
LEAST_HOME_BYTES = 64 << 20
_MOST_HOME_FILES = 1000
_MOST_TAIL_BYTES = 400
_MOST_UNDER_WAY_BYTES = 1 << 16
_NO_STATUS = -1
_MOST_LINKS = 16
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

MOST_RUN_BYTES = 16 * 2**30
"""Limit on the total size of a run's files, for any number of programs."""


@dataclass(frozen=True, slots=True)
class PlannedProgram:
    """A command line of a program.

    Attributes:
        program: Index of the program in the description.
        asked: The resolved program.
        task: The task that is run.
    """

    program: int
    asked: Mapping[str, Any]
    task: Task


def planned_tasks(resolved: Mapping[str, Any], replication: int) -> list[PlannedProgram]:
    """The command lines of all programs; a shared server appears once.

    Args:
        resolved: The description.
        replication: Number of the replication, which seeds the programs' random numbers.
    """
    view = Resolved(resolved)
    topology = view.topology
    asked_of = programs_of(resolved)

    def address(start: str, end: str) -> str:
        route = topology.route(start, end)
        assert route, "the description was checked"
        return topology.interfaces[route[-1]].peer_address

    def device(host: str, neighbor: str) -> str:
        found = (each for each in topology.interfaces if (each.host, each.peer) == (host, neighbor))
        return next(found).device

    files = {each["name"]: f"{each['name']}.pcap" for each in asked_of if each["kind"] == "tcpdump"}
    planned: list[PlannedProgram] = []
    servers: set[tuple[str, str, tuple[str, ...]]] = set()
    for index, asked in enumerate(asked_of):
        seed = _seed(resolved["seed"], replication, asked["name"])
        site = CommandContext(index, resolved["duration_ns"], seed, address, device, files)
        for task in model_of(asked).tasks(asked, site):
            if task.is_shared:
                server = (task.tool, task.host, task.words)
                if server in servers:
                    continue
                servers.add(server)
            planned.append(PlannedProgram(index, asked, task))
    return planned


def _seed(seed: int, replication: int, name: str) -> int:
    text = f"dumbbell program {seed} {replication} {name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def program_jobs(
    resolved: Mapping[str, Any], replication: int, tools: Mapping[str, str]
) -> dict[str, Any]:
    """The job's section on programs.

    Args:
        resolved: The description.
        replication: Number of the replication.
        tools: Paths of programs by name; others are searched inside the guest.
    """
    hosts = {host["name"]: index for index, host in enumerate(resolved["hosts"])}
    return {"tasks": [_task(each, hosts, tools) for each in planned_tasks(resolved, replication)]}


def program_login(resolved: Mapping[str, Any], output: Path, readable: Sequence[Path]) -> Login:
    """Settings of the hosts in which programs run.

    Args:
        resolved: The description.
        output: Folder of the job.
        readable: Files of the machine that the guest may read, and programs therefore see.
    """
    return Login(
        homes=output / HOMES,
        home_bytes=LEAST_HOME_BYTES + program_bytes(resolved),
        shown=tuple(_with_targets(readable)),
        starts_others=starts_others(resolved),
    )


def _with_targets(paths: Sequence[Path]) -> list[Path]:
    """Paths, and the targets of links among them: links are shown as links."""
    found: dict[Path, None] = {}
    for path in paths:
        seen = path
        for _ in range(_MOST_LINKS):
            found[seen] = None
            if not seen.is_symlink():
                break
            seen = Path(os.path.normpath(seen.parent / seen.readlink()))
    return [*found]


def _task(
    each: PlannedProgram, hosts: Mapping[str, int], tools: Mapping[str, str]
) -> dict[str, Any]:
    task = each.task
    return {
        "name": each.asked["name"],
        "kind": each.asked["kind"],
        "tool": task.tool,
        "words": [tools.get(task.tool, task.tool), *task.words],
        "host": hosts[task.host],
        "output": task.output,
        "errors": task.errors or None,
        "input": task.input or None,
        "when": task.when,
        "start_ns": each.asked["start_ns"],
        "ends": task.ends,
        "may_exit": list(task.may_exit),
        "most_bytes": task.most_bytes,
    }


def program_bytes(resolved: Mapping[str, Any]) -> int:
    """Memory of a guest that programs and their files may use."""
    return sum(model_of(each).memory_bytes(each) for each in programs_of(resolved))


def most_written_bytes(resolved: Mapping[str, Any], replication: int, memory_bytes: int) -> int:
    """Limit on what a run with programs may write: the programs' limits plus results as large as
    its memory.

    Args:
        resolved: The description.
        replication: Number of the replication.
        memory_bytes: Memory of the guest: it holds packets and homes until they are written.
    """
    allowed = sum(each.task.most_bytes for each in planned_tasks(resolved, replication))
    return min(allowed, MOST_RUN_BYTES) + 2 * memory_bytes


def program_packets(resolved: Mapping[str, Any]) -> float:
    """Rough number of packets that programs send and receive."""
    view = Resolved(resolved)
    total = 0.0
    for asked in programs_of(resolved):
        rates = [float("inf")]
        if "to" in asked:
            rates += [
                queue.served_bps
                for queue in view.route(asked["from"], asked["to"])
                if queue.served_bps
            ]
        total += model_of(asked).packets(asked, min(rates), resolved["duration_ns"])
    return total


def unfinished_programs(output: Path) -> str:
    """Programs that had not ended when the guest was killed, with their last output.

    Args:
        output: Folder of the job.

    Returns:
        A sentence; empty if all had ended.
    """
    try:
        with (output / UNDER_WAY).open("rb") as file:
            text = file.read(_MOST_UNDER_WAY_BYTES).decode("utf-8", "replace")
        told = [json.loads(line) for line in text.split("\n")[:20] if line]
    except (OSError, ValueError, RecursionError):  # it may have been killed while writing
        return ""
    said = []
    for each in told:
        # Command lines can also write to the run's folder.
        is_told = isinstance(each, dict) and all(
            isinstance(each.get(key), str) for key in ("name", "kind", "output")
        )
        if not is_told:
            return ""
        last = _tail(output / Path(each["output"]).name)
        who = printable(f"{each['name']} ({each['kind']})")
        said.append(f"{who}, which printed last {printable(last)!r}")
    return f"programs that had not ended: {'; '.join(said)}" if said else ""


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_TAIL_BYTES))
            return file.read(_MOST_TAIL_BYTES).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # ValueError: a name with a zero byte
        return ""


@dataclass(frozen=True, slots=True)
class ProgramsRead:
    """Results of a run's programs.

    Attributes:
        tables: The tables.
        digest: Hash of the tables.
        series_names: Names of Flent's series, indexed by their numbers.
    """

    tables: dict[str, Table]
    digest: str
    series_names: tuple[str, ...]


def read_programs(resolved: Mapping[str, Any], replication: int, output: Path) -> ProgramsRead:
    """Convert the programs' output and files to tables.

    Args:
        resolved: The description.
        replication: Number of the replication.
        output: Folder of the job, whose guest has ended.

    Raises:
        RunError: A program's output is malformed.
    """
    result = json.loads((output / "result.json").read_text(encoding="utf-8"))
    planned = planned_tasks(resolved, replication)
    found: dict[int, tuple[dict[str, Any], ParsedProgram]] = {}
    told = {each["task"]: each for each in result["programs"]}
    begun = {
        each.program: told[index]["started_ns"]
        for index, each in enumerate(planned)
        if each.task.when is RunTimes.AT_START
    }
    for index, each in enumerate(planned):
        ended = told[index]
        row, rows = found.setdefault(each.program, ({}, ParsedProgram()))
        if each.task.when is RunTimes.AT_START or not row:
            status = _NO_STATUS if ended["status"] is None else ended["status"]
            row |= {"started_ns": ended["started_ns"], "ended_ns": ended["ended_ns"]}
            row |= {"exit_status": status}
        # A server's test begins with its client.
        started_ns = begun.get(each.program, ended["started_ns"])
        _read(each, output, started_ns, result["zero_wall_ns"], rows)
    named = [(resolved["programs"][index]["name"], rows) for index, (_, rows) in found.items()]
    names = tuple(f"{name}: {series}" for name, rows in named for series in rows.series)
    tables = tables_of(found)
    return ProgramsRead(tables, _digest(tables), names)


def _read(
    each: PlannedProgram, output: Path, started_ns: int, zero_wall_ns: int, rows: ParsedProgram
) -> None:
    task = each.task
    side = ASKING if task.host in (each.asked.get("from"), each.asked.get("host")) else ANSWERING
    home = output / HOMES / task.host
    written = [(output / task.output, task.reads), *((home / name, who) for name, who in task.also)]
    written += [(_left(each, left, output), left.reads) for left in task.left]
    for path, reads in written:
        try:
            read_printed(PrintedFile(path, reads, side, started_ns, zero_wall_ns), rows)
        except (FormatError, OSError) as error:
            name, kind = each.asked["name"], each.asked["kind"]
            raise RunError(
                f"program {name} ({kind}): what {task.tool} wrote cannot be read: {error}"
            ) from error


def _left(each: PlannedProgram, left: NewOutputFile, output: Path) -> Path:
    """The file that a program wrote under a name of its own choice.

    Raises:
        RunError: There is not exactly one such file.
    """
    found = _matching(output / HOMES / each.task.host, left.pattern)
    if len(found) != 1:
        name, kind, tool = each.asked["name"], each.asked["kind"], each.task.tool
        what = "no file" if not found else f"{len(found)} files"
        said = _tail(output / each.task.output)
        raise RunError(
            f"program {name} ({kind}): {tool} left {what} {left.pattern}; it printed last: "
            f"{printable(said)}"
        )
    return found[0]


def _matching(home: Path, pattern: str) -> list[Path]:
    is_plain = lambda path: path.is_file() and not path.is_symlink()  # noqa: E731
    return sorted(filter(is_plain, home.glob(pattern)))


def _digest(tables: Mapping[str, Table]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tables):
        for column, values in tables[name].items():
            digest.update(f"{name}.{column} {values.size}\n".encode())
            digest.update(values.tobytes())
    return digest.hexdigest()


def written_files(resolved: Mapping[str, Any], replication: int, output: Path) -> dict[str, Path]:
    """The programs' output and the files in their hosts' homes, by name.

    Args:
        resolved: The description.
        replication: Number of the replication.
        output: Folder of the job, whose guest has ended.
    """
    files: dict[str, Path] = {}
    for name, path in _written(resolved, replication, output):
        is_new = name not in files and path not in files.values()
        if is_new and path.is_file() and not path.is_symlink():
            files[name] = path
    return files


def _written(
    resolved: Mapping[str, Any], replication: int, output: Path
) -> Iterator[tuple[str, Path]]:
    for each in planned_tasks(resolved, replication):
        for name in filter(None, (each.task.output, each.task.errors)):
            yield name, output / name
        home = output / HOMES / each.task.host
        for left in each.task.left:
            yield from ((left.kept_as, path) for path in _matching(home, left.pattern)[:1])
    many = 0
    for host in (each["name"] for each in resolved["hosts"]):
        home = output / HOMES / host
        for path in sorted(home.iterdir()) if home.is_dir() else ():
            many += 1
            if many > _MOST_HOME_FILES:
                return
            if _PLAIN_NAME.fullmatch(path.name):
                yield f"{host}.{path.name}", path
