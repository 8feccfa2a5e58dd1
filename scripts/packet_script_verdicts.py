"""Records the kernel's verdicts on the packet scripts, and writes the table of rules in the docs.

``--write`` has packetdrill judge every script in ``packetdrill/scripts`` that has changed inside
the virtual-time kernel (all of them when the judge itself has changed) and keeps the verdicts in
``packetdrill/kernel-verdicts.json``, with the hash of what was judged. ``--table`` writes
``docs/packetdrill-rules.md`` of them and of what the simulator says now.
``tests/cli/test_packet_script_verdicts.py`` holds both against the scripts without a kernel.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "packetdrill" / "scripts"
KEPT = ROOT / "packetdrill" / "kernel-verdicts.json"
PAGE = ROOT / "docs" / "packetdrill-rules.md"
JUDGE = ROOT / "python" / "dumbbell" / "backends" / "kernel" / "packetdrill" / "virtual_time.c"
_GSO_MAX_SEGS = 1
BURSTS = "bursts"
"""Folder of scripts about skbs of several segments. The kernel may build them there, and the device
gets frames, so segments that left together are recognized by their timestamps."""
_AT_ONCE = 8

_HEAD = """# The rules of TCP, as scripts

Printed by `scripts/packet_script_verdicts.py`: for each script of `packetdrill/scripts` the rule
and its source, what real packetdrill says of it inside Linux 6.1 ({about}),
and what the simulator's TCP does. *Unsupported* on the kernel are scripts about the RFCs where
Linux has behaviour of its own, and those with lines that only dumbbell knows
([packet scripts](packetdrill.md)). Those in `bursts/` are judged with {about_bursts}.

| rule | source | script | kernel | simulator |
| --- | --- | --- | --- | --- |
"""


def own_scripts() -> list[Path]:
    """Return all scripts, in the order of the table."""
    return sorted(SCRIPTS.glob("*.pkt")) + sorted(SCRIPTS.glob("*/*.pkt"))


def digest(path: Path) -> str:
    """Return the digest of a script's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def judge_digest() -> str:
    """Return the digest of packetdrill's settings: start of a script, and timing tolerance."""
    return digest(JUDGE)


def kept() -> dict[str, Any]:
    """Return the stored verdicts."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def rule_of(text: str) -> tuple[str, str]:
    """Return the text of the first comment, and the source that it begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("// "):
            break
        lines.append(line.removeprefix("// "))
    source, _, rule = " ".join(lines).partition(": ")
    return rule, source


def by_simulator(text: str) -> str:
    """Return passed, failed or unsupported."""
    from dumbbell._engine import check_packet_script

    verdict: str = json.loads(check_packet_script(text, "linux-6.1"))["verdict"]
    return verdict


def by_kernel(verdict: dict[str, Any]) -> str:
    """Return a cell of the table."""
    why = verdict.get("missing") or []
    return " ".join([verdict["verdict"], *(f"({name})" for name in why)])


def table() -> str:
    """Return the page."""
    stored = kept()
    rows = []
    for path in own_scripts():
        text = path.read_text(encoding="utf-8")
        rule, source = rule_of(text)
        name = name_of(path)
        verdict = stored["scripts"].get(name, {"verdict": {"verdict": "not judged"}})["verdict"]
        cells = [rule, source, f"`{name}`", by_kernel(verdict)]
        rows.append(" | ".join(["", *(_cell(cell) for cell in cells), by_simulator(text), ""]))
    head = _HEAD.format(about=stored["about"], about_bursts=stored["about_bursts"])
    return head + "\n".join(row.strip() for row in rows) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([|_*<>])", r"\\\1", text) if "`" not in text else text.replace("|", "\\|")


def judge_what_changed() -> None:
    """Run packetdrill on scripts that changed; store each verdict as it is ready."""
    from dumbbell.backends.kernel.packetdrill import Conditions, judge_scripts

    single, bursts = Conditions(gso_max_segs=_GSO_MAX_SEGS), Conditions(offloads=False)
    judge = judge_digest()
    before = kept() if KEPT.is_file() else {}
    before = before["scripts"] if before.get("judge_sha256") == judge else {}
    scripts = {name_of(path): path for path in own_scripts()}
    stored = {
        name: before[name]
        for name, path in scripts.items()
        if name in before and before[name]["sha256"] == digest(path)
    }
    changed = [path for name, path in scripts.items() if name not in stored]
    of_bursts = [path for path in changed if path.parent.name == BURSTS]
    others = [path for path in changed if path not in of_bursts]
    for conditions, paths in ((single, others), (bursts, of_bursts)):
        for first in range(0, len(paths), _AT_ONCE):
            reports = judge_scripts(paths[first : first + _AT_ONCE], conditions)
            for path, report in reports.items():
                stored[name_of(path)] = {"sha256": digest(path), "verdict": report}
            found = {
                "about": single.of_its_device,
                "about_bursts": bursts.of_its_device,
                "judge_sha256": judge,
                "scripts": dict(sorted(stored.items())),
            }
            KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def name_of(path: Path) -> str:
    """Return a script's name without its suffix."""
    return path.relative_to(SCRIPTS).with_suffix("").as_posix()


def main() -> None:
    """Run the requested action."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="judge all, keep the verdicts")
    parser.add_argument("--table", action="store_true", help="write the page of what is kept")
    asked = parser.parse_args()
    if asked.write:
        judge_what_changed()
    if asked.write or asked.table:
        PAGE.write_text(table(), encoding="utf-8")
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
