"""Lines of `tc` from public scripts: nine in ten are taken, and the others say why.

`tc-lines-of-scripts.txt` has 232 lines of 55 scripts, a script after each `# NUMBER`, as they were
found but for the variables of a shell, which have values. A line is taken when the script up to it,
without the lines that were refused, is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dumbbell import units

LINES = Path(__file__).parent / "tc-lines-of-scripts.txt"
LEAST_SHARE = 0.9
REFUSED = {
    "is no longer in Linux; use htb": 2,
    "no discipline has the handle 1:": 5,  # after those
    'filter "bpf" is not implemented': 3,
    "it matches only some packets": 2,
    "no line before it adds the hook": 1,
    "for the source port all": 1,
    "it does not fit, and": 1,  # a latency of 10000 s
}
"""Parts of messages, and how many lines have each."""


def scripts() -> Iterator[list[str]]:
    text = LINES.read_text(encoding="ascii")
    for script in text.split("# ")[1:]:
        yield script.splitlines()[1:]


def refusal(lines: list[str]) -> str:
    """Why a script is refused; nothing where it is not."""
    try:
        script = units.split_script("\n".join(lines))
        if script is None:
            units.parse_qdisc("\n".join(lines))
            return ""
        for key in ("qdisc", "arriving_qdisc"):
            if text := script[key]:
                units.parse_qdisc(text)
        for key in ("police", "arriving_police"):
            if text := script[key]:
                units.parse_police(text)
    except units.QdiscError as error:
        return str(error)
    return ""


def judged() -> Iterator[tuple[str, str]]:
    """Each line, and why it is refused."""
    for script in scripts():
        kept: list[str] = []
        for line in script:
            # What begins anew is judged with a root after it.
            device = line.split()[4] if line.startswith("tc qdisc del") else ""
            root = [f"tc qdisc add dev {device} root pfifo"] if device else []
            why = refusal([*kept, line, *root])
            if not why:
                kept.append(line)
            yield line, why


def test_nine_in_ten_lines_are_taken() -> None:
    found = list(judged())
    assert len(found) == 232
    refused = [(line, why) for line, why in found if why]
    assert len(refused) <= (1 - LEAST_SHARE) * len(found), refused
    counts = {part: sum(part in why for _, why in refused) for part in REFUSED}
    assert counts == REFUSED
    assert len(refused) == sum(REFUSED.values()), refused
