"""What the guest's own ``tc`` and kernel make of many lines, in one boot.

All go through one ``tc -batch``, since a process is what costs time in the guest: each line is
typed, shown and taken away. Where a value is missing ``tc`` ends there and then, even in a batch
that is to go on (``incomplete_command`` in iproute2's ``lib/utils.c``): the next one goes on with
the line after it. What is shown may break off without the end of its line ("Buffer too small for
object"), so that each case ends with a device that is known.
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
ip link add d0 type dummy && ip link add d2 type dummy || exit 3
tc qdisc add dev d2 root handle ff: pfifo || exit 3
sh -e ./begin.sh >/dev/null || exit 3
: >shown.txt; : >said.txt
lines=$(($(wc -l <steps.txt) / $2))
while shown=$(grep -c '"handle":"ff:"' shown.txt); [ "$shown" -lt "$lines" ]; do
  echo "begin $shown" >>said.txt
  # What the case left behind in which it ended.
  tc filter del dev d0 2>/dev/null
  tail -n +$((shown * $2 + 1)) steps.txt >/run/batch
  tc -j -d -force -batch /run/batch >>shown.txt 2>>said.txt
  # One more than before it ended, which is what it ended at.
  shown=$(grep -c '"handle":"ff:"' shown.txt)
  [ "$shown" -eq "$lines" ] || echo '[][{"handle":"ff:"}]' >>shown.txt
done
"""
_SHOWS_END = "qdisc show dev d2"
_END = re.compile(r'\[\{[^{}]*"handle":"ff:".*\n')
"""The device that ends a case, as it is shown."""
_HFSC_DEFAULT = re.compile(r"\{default (\w+) \}")
"""Which iproute2 6.1 prints as text in its JSON."""
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
    steps = [
        [f"qdisc add dev d0 root {line}", "qdisc show dev d0", "qdisc del dev d0 root"]
        for line in lines
    ]
    answers = []
    for block, said in _ask(kernel, steps, folder, []):
        shown = _root(json.loads(_HFSC_DEFAULT.sub(r'{"default":"\1"}', block)))
        answers.append(Answer(bool(shown), shown, said))
    return answers


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """What became of the filters of a case.

    Attributes:
        shown: What ``tc -j filter show`` prints, which is not always JSON.
        error: The first line of what was said where a line was refused, or nothing.
    """

    shown: str
    error: str

    @property
    def is_taken(self) -> bool:
        """Whether all of them are there."""
        return not self.error and self.shown != "[]"


def ask_tc_of_filters(
    kernel: Path, cases: Sequence[Sequence[str]], folder: Path, *, most: int
) -> list[FilterAnswer]:
    """What happens on ``tc filter add dev X LINE`` for the lines of each case, up to ``most``.

    A ``prio`` of four bands is the discipline, ``1:``.
    """
    steps = []
    for case in cases:
        # Every case has as many steps; these are taken.
        adds = [f"filter add dev d0 {line}" for line in case]
        adds += ["qdisc replace dev d1 root pfifo"] * (most - len(case))
        steps.append([*adds, "filter show dev d0", "filter del dev d0"])
    begin = [
        "ip link add d1 type dummy",
        "tc qdisc add dev d0 root handle 1: prio bands 4",
    ]
    answers = _ask(kernel, steps, folder, begin, refused_by=most)
    return [FilterAnswer(shown, said) for shown, said in answers]


def _ask(
    kernel: Path,
    cases: Sequence[Sequence[str]],
    folder: Path,
    begin: Sequence[str],
    *,
    refused_by: int = 1,
) -> list[tuple[str, str]]:
    """What the one step of each case that shows prints, and the first line of what was said in the
    first ``refused_by`` steps.
    """
    count = len(cases[0]) + 1
    assert all(len(case) + 1 == count for case in cases)
    text = "".join(f"{step}\n" for case in cases for step in (*case, _SHOWS_END))
    (folder / "steps.txt").write_text(text, encoding="ascii")
    (folder / "begin.sh").write_text("".join(f"{line}\n" for line in begin), encoding="ascii")
    init = folder / "init"
    init.write_text(_SCRIPT, encoding="utf-8")
    init.chmod(0o700)
    result = launch(
        kernel,
        init,
        run_dir=folder,
        seed=1,
        wall_limit_s=600.0,
        memory_mb=256,
        args=[str(folder), str(count)],
    )
    assert result.ok, result.why()
    *blocks, rest = _END.split((folder / "shown.txt").read_text(encoding="utf-8"))
    assert len(blocks) == len(cases) and not rest
    said = _said(
        (folder / "said.txt").read_text(encoding="utf-8", errors="replace"), count, refused_by
    )
    return [(block.strip(), said.get(index, "")) for index, block in enumerate(blocks)]


def _root(shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The discipline of the line; an interface that is down shows none of its own."""
    left_out = ("dev", "handle", "refcnt")
    for each in shown:
        if each.get("root"):
            return {key: value for key, value in each.items() if key not in left_out}
    return {}


def _said(text: str, steps: int, refused_by: int) -> dict[int, str]:
    """The first line of what was said, by the case it was said of."""
    said: dict[int, str] = {}
    parts = re.split(r"(?m)^begin (\d+)$", text)
    for begin, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        ends = [*_FAILED.finditer(part)]
        starts = [0, *(each.end() for each in ends)]
        for (start, _), failed in zip(pairwise([*starts, len(part)]), ends, strict=False):
            step = int(failed["line"]) - 1
            if step % steps < refused_by:
                words = part[start : failed.start()].strip()
                said.setdefault(begin + step // steps, words.split("\n")[0] or "refused")
    return said
