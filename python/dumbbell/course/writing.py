"""Write the marks: one page per student, a league table, and a CSV file.

They depend only on the submissions, the course file, its experiments and the version of dumbbell,
not on the date or the machine.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dumbbell import __version__
from dumbbell.claims import Verdict
from dumbbell.course.confined_run import confinement_sentence
from dumbbell.course.description import Course, PlannedExperiment
from dumbbell.course.marking import MarkedClass, MarkedSubmission
from dumbbell.course.marks import RULE, Mark
from dumbbell.folders import ResultFolder, ResultKind, Subject, write_content
from dumbbell.printable import printable
from dumbbell.report.badges import BADGES
from dumbbell.report.claims_section import claim_view
from dumbbell.report.page import rendered

MARKS: Final = ResultKind(
    noun="marks", marker=".dumbbell-marks", known=frozenset({"index.html", "marks.csv"})
)
STUDENTS: Final = "students"
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that a spreadsheet would evaluate as formulas."""


def marks_folder(
    folder: Path,
    course: Course,
    *,
    replace: bool = False,
    tell: Callable[[str], None] | None = None,
) -> ResultFolder:
    """The folder for the marks; call its ``check`` before anything is run.

    Args:
        folder: New, empty, or with earlier marks of the same course.
        course: The course.
        replace: Whether marks of another course may be replaced.
        tell: Receives sentences about unexpected effects.
    """
    subject = Subject(f"{course.name} marks", course.file)
    return ResultFolder(folder, MARKS, subject, replace=replace, tell=tell)


def write_marks(found: MarkedClass, place: ResultFolder) -> Path:
    """Write ``index.html``, ``marks.csv`` and ``students/NAME.html``.

    Args:
        found: The marks.
        place: Result of `marks_folder`.

    Returns:
        Path of the league's page.

    Raises:
        SpecError: We did not write the folder, or it has the marks of another course.
        OSError: It cannot be written.
    """
    names = page_names(found.students)
    with place.replaced() as folder:
        (folder / STUDENTS).mkdir()
        for student, name in zip(found.students, names, strict=True):
            write_content(folder / STUDENTS / name, student_page(found, student))
        write_content(folder / "marks.csv", csv_text(found))
        write_content(folder / "index.html", league_page(found))
    return place.folder / "index.html"


def page_names(students: Sequence[MarkedSubmission]) -> list[str]:
    """A unique file name for each student, in order, that is valid on every system."""
    taken: set[str] = set()
    names = []
    for each in students:
        stem = _NO_FILE_NAME.sub("_", each.submission.student).lstrip("._-") or "student"
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names.append(f"{name}.html")
    return names


def csv_text(found: MarkedClass) -> str:
    """One row per student, in the order of the submissions; points and verdict for each claim."""
    claims = [plan.claim.id for each in found.course.experiments for plan in each.asserted.plans]
    ids = [name for claim in claims for name in (claim, f"{claim} verdict")]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["student", "file", "sha256", "outcome", "points", "of", *map(_cell, ids)])
    for each in found.students:
        submission = each.submission
        marks = [
            part
            for mark in each.marks
            for part in (points_text(mark.points), _cell(mark.view.verdict_text))
        ]
        told = [_cell(submission.student), _cell(submission.file), submission.sha256, each.outcome]
        totals = [points_text(each.points), points_text(found.course.points)]
        rows.writerow([*told, *totals, *marks])
    return text.getvalue()


def points_text(points: float) -> str:
    """``7``, ``7.5`` or ``7.25``."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def student_page(found: MarkedClass, each: MarkedSubmission) -> str:
    """The page of one student, without information about others."""
    course, submission = found.course, each.submission
    return rendered(
        "marks.html.j2",
        title=course.title,
        student=submission.student,
        points=points_text(each.points),
        of=points_text(course.points),
        summary=_summary(each),
        reasons=each.reasons,
        claims=[_claim(mark) for mark in each.marks],
        rule=RULE,
        output=each.output,
        facts=[*_facts_of(each), *_facts(course)],
        again=[] if submission.fault else list(_again(course, each)),
        has_elsewhere=False,
    )


def league_page(found: MarkedClass) -> str:
    """The league page of all students."""
    course = found.course
    names = dict(zip(map(id, found.students), page_names(found.students), strict=True))
    verdicts = {mark.view.verdict for each in found.students for mark in each.marks}
    return rendered(
        "league.html.j2",
        title=course.title,
        summary=league_words(found),
        of=points_text(course.points),
        claims=list(_asked(found)),
        students=[
            {
                "rank": rank,
                "student": each.submission.student,
                "page": f"{STUDENTS}/{names[id(each)]}",
                "remark": _remark(each),
                "percent": f"{100 * each.points / course.points if course.points else 0:.1f}",
                "points": points_text(each.points),
                "claims": [
                    {
                        "id": mark.view.id,
                        "points": points_text(mark.points),
                        "symbol": BADGES[mark.view.verdict].symbol,
                        "verdict": mark.view.verdict_text,
                    }
                    for mark in each.marks
                ],
            }
            for rank, each in found.ranked()
        ],
        key=[(badge.symbol, word.value) for word, badge in BADGES.items() if word in verdicts],
        rule=RULE,
        held=confinement_sentence(found.confinement),
        facts=_facts(course),
    )


def league_words(found: MarkedClass) -> str:
    """Number of submissions and their results, in a sentence or two."""
    students = found.students
    counts = [(len([e for e in students if e.outcome == word]), word) for word in _OUTCOMES]
    told = ", ".join(f"{count} {_OUTCOMES[word]}" for count, word in counts if count)
    who = "1 submission" if len(students) == 1 else f"{len(students)} submissions"
    points = sorted(each.points for each in students)
    middle = len(points) // 2
    median = points[middle] if len(points) % 2 else (points[middle - 1] + points[middle]) / 2
    of = points_text(found.course.points)
    return f"{who}: {told}. The median is {points_text(median)} of {of} points."


_OUTCOMES: Mapping[str, str] = {
    "marked": "ran to the end",
    "failed": "failed in a run",
    "not run": "could not be run",
}


def _summary(each: MarkedSubmission) -> str:
    if each.submission.fault:
        return f"It was not run: {each.submission.fault}."
    counts: dict[Verdict, int] = {}
    for mark in each.marks:
        counts[mark.view.verdict] = counts.get(mark.view.verdict, 0) + 1
    told = ", ".join(f"{counts[word]} {word.value}" for word in BADGES if word in counts)
    failed = " Runs failed: what went wrong stands below." if each.reasons else ""
    return f"Of {len(each.marks)} claims: {told}.{failed}"


def _remark(each: MarkedSubmission) -> str:
    if each.submission.fault:
        return each.submission.fault
    lines = [text.strip().splitlines()[-1] for _, text in each.reasons[:1] if text.strip()]
    return lines[0][:160] if lines else ""


def _claim(mark: Mark) -> dict[str, Any]:
    points = {"points": points_text(mark.points), "of": points_text(mark.of)}
    return {**claim_view(mark.view), **points}


def _asked(found: MarkedClass) -> Iterator[dict[str, str]]:
    place = 0
    for experiment in found.course.experiments:
        for plan in experiment.asserted.plans:
            earned = [each.marks[place].points for each in found.students]
            yield {
                "id": plan.claim.id,
                "statement": plan.claim.statement,
                "experiment": experiment.name,
                "of": points_text(experiment.points[plan.claim.id]),
                "mean": points_text(sum(earned) / len(earned)) if earned else "–",
            }
            place += 1


def _facts_of(each: MarkedSubmission) -> Iterator[tuple[str, str]]:
    submission = each.submission
    yield "file", submission.file
    if submission.language:
        yield "language", submission.language
    if submission.sha256:
        yield "SHA-256", submission.sha256


def _facts(course: Course) -> list[tuple[str, str]]:
    runs = ", ".join(f"{each.replications} of {each.name}" for each in course.experiments)
    limits = course.limits
    return [
        ("runs of each setting", runs),
        ("limits of an experiment", f"{limits.time_s} s of CPU time, {limits.memory_mb} MiB"),
        ("imports allowed", ", ".join(course.imports) or "none"),
        ("SHA-256 of the course", course.sha256),
        ("dumbbell", __version__),
    ]


def _again(course: Course, each: MarkedSubmission) -> Iterator[str]:
    name = Path(each.submission.file).name
    reference = f"file:{name}:CLASS" if each.submission.is_python else f"file:{name}"
    for experiment in course.experiments:
        yield _check_line(experiment, reference)


def _check_line(experiment: PlannedExperiment, reference: str) -> str:
    settings = [
        part
        for flow in experiment.flows
        for part in ("--set", f"flows[{flow}].tcp.congestion_control={reference}")
    ]
    count = ["--replications", str(experiment.replications)]
    return shlex.join(["dumbbell", "check", experiment.name, *settings, *count, "--allow-native"])


def _cell(text: str) -> str:
    """A cell that a spreadsheet shows as text instead of evaluating it."""
    shown = printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
