"""Parse packetdrill's output into verdicts of the same form as the simulator's.

packetdrill prints the first difference and exits:

    FILE:LINE: error handling packet: live packet field ack_seq: expected: 1 ... vs actual: 2 ...
    script packet:  0.300000 P. 1:1001(1000) ack 1
    actual packet:  0.100000 P. 1:1001(1000) ack 2 win 502

Only this module parses its messages. ``tests/kernel/test_packetdrill_reports.py`` has examples of
each kind.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dumbbell._engine import judge_packet_script_record

Report = dict[str, Any]
"""``verdict`` and its details, in the form of `dumbbell._engine.check_packet_script`."""

_PLACE = re.compile(r"^[^\n]*?:(?P<line>\d+): (?P<what>[^\n]*)", re.MULTILINE)
_PACKET = re.compile(
    r"^(?P<whose>script|actual) packet: +(?P<time>[0-9.]+) (?P<rest>.*\S)\s*$", re.MULTILINE
)
_CALL = re.compile(r"^runtime error in (?P<name>\w+) call: (?P<what>.*)$")
_CALL_SIDES = (
    re.compile(r"Expected result (?P<expected>\S+) but got (?P<found>.*)$"),
    re.compile(r"Expected errno (?P<expected>\S+ \([^)]*\)) but got (?P<found>.*)$"),
    re.compile(r"[Ee]xpected: (?P<expected>.*?),? actual: (?P<found>.*)$"),
)
_TIMING = re.compile(
    r"timing error: expected (?P<what>.*?) (?P<expected>(?:at|in)\b.*) but happened (?P<found>at "
    r".*?)(?:; tolerance.*)?$"
)
_SIDES = re.compile(r"expected:? (?P<expected>\S.*?) vs\.? actual:? (?P<found>\S.*)$")
_HANDLING = "error handling packet: "
_REFUSED = ("syntax error", "semantic error", "unknown symbol")
_SET_UP = "error executing init command"
_NO_IP = "Address family not supported by protocol"


def report_of(said: str, *, status: int | None, record: str | None) -> Report:
    """The verdict on a script that ended by itself.

    Args:
        said: packetdrill's output.
        status: Its exit status; None if a signal killed it.
        record: Its record of the assertions; None without one.
    """
    if status == 0:
        if record is None:
            return {"verdict": "passed"}
        judged: Report = json.loads(judge_packet_script_record(record))
        return judged
    found = _PLACE.search(said)
    what = found["what"] if found else ""
    line = int(found["line"]) if found else 0
    report: Report = {"verdict": "failed", "line": line, "column": 1}
    if _NO_IP in said:
        return unsupported("IPv6 (the kernel is built without it)", line)
    if any(word in what for word in _REFUSED):
        return unsupported(f"this packetdrill says: {what}", line)
    if _SET_UP in said:
        first = said.strip().splitlines()[0]
        return unsupported(f"a set-up line fails: {first}", line)
    report["difference"] = _difference(said, what)
    return report


def unsupported(name: str, line: int = 1) -> Report:
    """The verdict on a script that needs a missing feature."""
    return {"verdict": "unsupported", "line": line, "column": 1, "missing": [name]}


def ended(how: str) -> Report:
    """The verdict on a script that did not reach its end."""
    return {
        "verdict": "failed",
        "line": 1,
        "column": 1,
        "difference": {"kind": "ending", "expected": "its end", "found": how},
    }


def _difference(said: str, what: str) -> Report:
    packets = {found["whose"]: f"{found['time']} > {found['rest']}"
               for found in _PACKET.finditer(said)}  # fmt: skip
    if packets:
        difference = {
            "kind": "packet",
            "expected": packets.get("script"),
            "found": packets.get("actual"),
        }
        return difference | {"reason": what.removeprefix(_HANDLING)}
    if what.startswith(_HANDLING) and (found := _SIDES.search(what)):
        return {"kind": "packet", **found.groupdict(), "reason": what.removeprefix(_HANDLING)}
    if call := _CALL.match(what):
        for sides in _CALL_SIDES:
            if found := sides.search(call["what"]):
                return {"kind": "call", "name": call["name"], **found.groupdict()}
        return {"kind": "call", "name": call["name"], "expected": None, "found": call["what"]}
    if late := _TIMING.search(what):
        return {"kind": "call", "name": late["what"], "expected": late["expected"],
                "found": late["found"]}  # fmt: skip
    lines = [line for line in said.splitlines() if line.strip()]
    return {"kind": "ending", "expected": "its end", "found": what or " ".join(lines[-2:])}
