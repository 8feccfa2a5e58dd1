"""What the guest's own ``tc`` and kernel make of many lines, in one boot.

All go through one ``tc -batch``, since a process is what costs time in the guest: each line is
typed, shown and taken away. Where a value is missing ``tc`` ends there and then, even in a batch
that is to go on (``incomplete_command`` in iproute2's ``lib/utils.c``): the next one goes on with
the line after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dumbbell.backends.kernel import launch

_SCRIPT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -n -t tmpfs tmpfs /run || exit 2
mount -n -t proc proc /proc && mount -n -t sysfs sysfs /sys || exit 2
cd "$1" || exit 2
ip link add d0 type dummy || exit 3
: >shown.txt; : >said.txt
lines=$(wc -l <lines.txt)
while shown=$(wc -l <shown.txt); [ "$shown" -lt "$lines" ]; do
  echo "begin $shown" >>said.txt
  tail -n +$((shown + 1)) lines.txt | while IFS= read -r line; do
    printf '%s\\n' "qdisc add dev d0 root $line" "qdisc show dev d0" "qdisc del dev d0 root"
  done >/run/batch
  tc -j -d -force -batch /run/batch >>shown.txt 2>>said.txt
  # One more than before it ended, which is what it ended at.
  [ "$(wc -l <shown.txt)" -eq "$lines" ] || echo '[]' >>shown.txt
done
"""
_STEPS = 3
_FAILED = re.compile(r"Command failed /run/batch:(?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a line.

    Attributes:
        is_taken: Whether the discipline was there then.
        shown: Its entry of ``tc -j -d qdisc show``, without handle and device.
        error: The first line of what was said.
    """

    is_taken: bool
    shown: dict[str, Any]
    error: str


def ask_tc(kernel: Path, lines: Sequence[str], folder: Path) -> list[Answer]:
    """What happens on ``tc qdisc add dev X root LINE`` for each line, in an empty folder.

    Words that ``tc -batch`` would take apart (quotes, ``#``, backslashes) must not be in them.
    """
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    init = folder / "init"
    init.write_text(_SCRIPT, encoding="utf-8")
    init.chmod(0o700)
    result = launch(
        kernel, init, run_dir=folder, seed=1, wall_limit_s=600.0, memory_mb=256, args=[str(folder)]
    )
    assert result.ok, result.why()
    blocks = (folder / "shown.txt").read_text(encoding="utf-8").splitlines()
    assert len(blocks) == len(lines)
    said = _said((folder / "said.txt").read_text(encoding="utf-8", errors="replace"))
    answers = []
    for index, block in enumerate(blocks):
        shown = _root(json.loads(block))
        answers.append(Answer(bool(shown), shown, said.get(index, "")))
    return answers


def _root(shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The discipline of the line; an interface that is down shows none of its own."""
    left_out = ("dev", "handle", "refcnt")
    for each in shown:
        if each.get("root"):
            return {key: value for key, value in each.items() if key not in left_out}
    return {}


def _said(text: str) -> dict[int, str]:
    """The first line of what was said, by the line it was said of."""
    said: dict[int, str] = {}
    parts = re.split(r"(?m)^begin (\d+)$", text)
    for begin, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        ends = [*_FAILED.finditer(part)]
        starts = [0, *(each.end() for each in ends)]
        for (start, _), failed in zip(pairwise([*starts, len(part)]), ends, strict=False):
            step = int(failed["line"]) - 1
            if step % _STEPS == 0:
                words = part[start : failed.start()].strip()
                said[begin + step // _STEPS] = words.split("\n")[0]
    return said
