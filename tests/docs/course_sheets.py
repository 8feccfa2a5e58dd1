"""Answer sheets of the course to print, and the digests of what is handed in.

python tests/docs/course_sheets.py    # writes docs/course/sheets/*.md and the table of digests
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from course_tables import ANSWERS, rows_of
from docs_pages import ROOT

from dumbbell import simulate
from dumbbell.spec import Experiment, Setting, settings_applied

COURSE = ROOT / "docs" / "course"
SHEETS = COURSE / "sheets"
TEACHERS = COURSE / "teachers.md"
SHOWN_DIGITS = 16
HANDED_IN = {
    "multiplexing": ("one-lane", ("flows[stream].source.rate=116pps",)),
    "queue-size": ("full-buffer", ("links[router->receiver].forward.qdisc=bfifo limit 81920",)),
    "policing": (
        "policer",
        ("links[router->receiver].forward.police=police rate 10mbit burst 100kb drop",),
    ),
    "buffer-sizing": (
        "router-buffer",
        ("flows[download].count=16", "links[router->home].forward.qdisc=pfifo limit 41"),
    ),
    "active-queue": ("active-queue", ("links[router->home].forward.qdisc=fq_codel",)),
}
"""Handout to the experiment and the setting that are handed in."""
_POINTS = re.compile(r"^\| ([\w ]+) \| (\d+) \|", re.MULTILINE)
_DIGESTS = re.compile(r"(?P<head><!-- digests -->\n\n\|.*\|\n\|[ :|-]+\|\n)(?P<rows>(?:\|.*\|\n)+)")


def points() -> dict[str, int]:
    """Points of each part of a lab, as the page for teachers has them."""
    text = TEACHERS.read_text(encoding="utf-8").split("## Marking")[1]
    return {name: int(number) for name, number in _POINTS.findall(text)}


def sheet(handout: Path) -> str:
    """The sheet of a lab."""
    text = handout.read_text(encoding="utf-8")
    title = text.splitlines()[0].removeprefix("# ")
    questions = text.split("## Questions\n")[1].split("\n## ")[0]
    guess = text.split("Write down: ")[1].split("\n\n")[0]
    each = points()
    name, settings = HANDED_IN[handout.stem]
    answers = next(page for page in ANSWERS if page.stem == handout.stem)
    # Of the first table: the others are of the teacher's answers.
    first = answers.read_text(encoding="utf-8").split("<!-- numbers:")[1]
    rows = list(rows_of(answers))[: len(re.findall(r"^\| ", first, re.MULTILINE)) - 2]
    titles = rows[0].titles
    blank = " | ".join(" " for _ in titles)
    lines = [
        f"# Answer sheet: {title[:1].lower()}{title[1:]}",
        "",
        f"For [the handout](../{handout.name}). {sum(each.values())} points.",
        "",
        "Name: ______________________________  Date: ______________",
        "",
        f"## Guess ({each['guess']} points)",
        "",
        f"{guess[:1].upper()}{' '.join(guess[1:].split())}",
        "",
        *_lines(2),
        f"## File and digest ({each['file and digest']} points)",
        "",
        f"`{name}.toml` with {' and '.join(f'`{one}`' for one in settings)}.",
        "",
        f"Digest (first {SHOWN_DIGITS} characters): " + " ".join(["__"] * SHOWN_DIGITS),
        "",
        f"## Table ({each['table']} points)",
        "",
        "Means of 30 runs.",
        "",
        f"| changed | {' | '.join(titles)} |",
        f"|{' --- |' * (len(titles) + 1)}",
        *(f"| {row.change} | {blank} |" for row in rows),
        "",
        f"## Answers ({each['answers']} points, shared equally)",
        "",
    ]
    for number in re.findall(r"^(\d+)\. ", questions, re.MULTILINE):
        lines += [f"{number}.", "", *_lines(2)]
    return "\n".join(lines).rstrip() + "\n"


def _lines(count: int) -> list[str]:
    return [part for _ in range(count) for part in ("_" * 76, "")]


def digest(handout: str) -> str:
    """Of the run that is handed in."""
    name, settings = HANDED_IN[handout]
    file = ROOT / "examples" / "course" / f"{name}.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    changed = settings_applied(document, [Setting.parse(each) for each in settings])
    return str(simulate(Experiment.read(changed)).meta["digest"])


def digest_row(number: int, handout: str) -> str:
    """A row of the table of digests."""
    name, settings = HANDED_IN[handout]
    told = " ".join(f"`{each}`" for each in settings)
    return f"| {number} | `{name}.toml` | {told} | `{digest(handout)[:SHOWN_DIGITS]}` |"


def digest_rows() -> list[str]:
    """As they stand on the page for teachers."""
    found = _DIGESTS.search(TEACHERS.read_text(encoding="utf-8"))
    assert found is not None
    return found["rows"].splitlines()


def main() -> None:
    """Write them."""
    SHEETS.mkdir(exist_ok=True)
    for handout in HANDED_IN:
        page = COURSE / f"{handout}.md"
        (SHEETS / page.name).write_text(sheet(page), encoding="utf-8")
    rows = "".join(f"{digest_row(n, each)}\n" for n, each in enumerate(HANDED_IN, start=1))
    text = TEACHERS.read_text(encoding="utf-8")
    TEACHERS.write_text(_DIGESTS.sub(lambda found: found["head"] + rows, text), encoding="utf-8")


if __name__ == "__main__":
    main()
