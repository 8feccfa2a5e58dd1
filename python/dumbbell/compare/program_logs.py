"""Export a run as logs of a testbed's programs: ping, ``ss -tin`` and ``tc -s``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dumbbell.formats import ping_text, ss_hosts, ss_iterate_text, tc_iterate_text
from dumbbell.tables import Run


def ping_files(run: Run) -> dict[str, str]:
    """Each probe as ping's output, by file name."""
    names = file_names(run.probe_names)
    return {name: ping_text(run, index) for index, name in enumerate(names)}


def tc_files(run: Run) -> dict[str, str]:
    """Each sampled queue as the output of ``tc -s -d qdisc show`` in a loop; none
    without samples.
    """
    if not len(run.column("queue_samples", "t_ns")):
        return {}
    names = file_names(f"tc-{name}" for name in run.queue_names)
    return {name: tc_iterate_text(run, index) for index, name in enumerate(names)}


def ss_files(run: Run) -> dict[str, str]:
    """Each host with TCP senders as the output of ``ss -tin`` in a loop; none without samples."""
    if not len(run.column("flow_samples", "t_ns")):
        return {}
    hosts = ss_hosts(run)
    names = file_names(f"ss-{host}" for host in hosts)
    return {name: ss_iterate_text(run, host) for name, host in zip(names, hosts, strict=True)}


def file_names(names: Iterable[str]) -> list[str]:
    """``NAME.txt`` with letters that every system allows, made unique by numbers."""
    found: list[str] = []
    for index, name in enumerate(names):
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or str(index)
        found.append(f"{safe}.txt" if f"{safe}.txt" not in found else f"{safe}-{index}.txt")
    return found
