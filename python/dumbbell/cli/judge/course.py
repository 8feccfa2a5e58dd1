"""``dumbbell judge SUBMISSIONS --course COURSE.toml``: a class's controllers, marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dumbbell.cli.common.pages import has_page, page_folder
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.course.confined_run import confinement_here, confinement_sentence
from dumbbell.course.description import read_course
from dumbbell.course.marking import MarkedClass, MarkedSubmission, marked
from dumbbell.course.submissions import submissions_in
from dumbbell.course.writing import league_words, marks_folder, points_text, write_marks
from dumbbell.errors import EXIT_DONE
from dumbbell.replication import Interrupted
from dumbbell.spec.native import is_allowing


def judge_course(submissions: Path, course: Path, out: Path | None, *, json: bool) -> int:
    """Run and mark a class's submissions.

    The command itself is the teacher's permission to run these files confined to their own folder.
    If the machine cannot confine them, nothing is run unless `allowing_native` (``--allow-native``)
    is in effect.

    Args:
        submissions: A folder with a file (.py, .c) or a folder for each student; or one file.
        course: The course file.
        out: Folder of the marks; when None, ``results/NAME-marks``, or none with ``json``.
        json: Whether to print JSON instead of a table.

    Returns:
        The exit status: 0 if all are marked, whatever their marks; 130 if interrupted.

    Raises:
        SpecError: The course file, an experiment, the folder or ``out`` is not allowed.
        NotConfinedError: This machine cannot confine the submissions.
        RunError: A run without any submission in it failed.
    """
    asked = read_course(course)
    handed_in = submissions_in(submissions)
    confinement = confinement_here(is_unconfined_allowed=is_allowing())
    place = None
    if has_page(None, out, as_json=json):
        place = marks_folder(out or page_folder(asked.name, "marks"), asked, tell=tell)
        place.check()
    tell(f"{len(handed_in)} submissions are run. {confinement_sentence(confinement)}.")
    with stopped_by_ctrl_c() as stop:
        found = marked(asked, handed_in, confinement, cancel=stop)
    if found.interrupted:
        tell("Interrupted: no marks were written.")
        return Interrupted.exit_code
    if json:
        say(json_text(_json(found)))
    else:
        _print(found)
    if place is not None:
        page = write_marks(found, place)
        tell(f"page: {page}") if json else say(f"page: {page}")
    return EXIT_DONE


def _print(found: MarkedClass) -> None:
    of = points_text(found.course.points)
    say(f"{found.course.title}: {league_words(found)}")
    say()
    width = max(len(each.submission.student) for each in found.students)
    for rank, each in found.ranked():
        name = each.submission.student.ljust(width)
        remark = "" if each.outcome == "marked" else f"  {each.outcome}: {_why(each)}"
        say(f"{rank:4}  {name}  {points_text(each.points):>6} of {of}{remark}")
    say()


def _why(each: MarkedSubmission) -> str:
    text = each.submission.fault or next((reason for _, reason in each.reasons), "")
    return text.strip().splitlines()[-1][:100] if text.strip() else ""


def _json(found: MarkedClass) -> dict[str, Any]:
    return {
        "course": found.course.name,
        "points": found.course.points,
        "sha256": found.course.sha256,
        "confinement": found.confinement.means,
        "students": [
            {
                "student": each.submission.student,
                "file": each.submission.file,
                "sha256": each.submission.sha256,
                "rank": rank,
                "outcome": each.outcome,
                "why": each.submission.fault or [list(reason) for reason in each.reasons],
                "points": each.points,
                "claims": [
                    {
                        "id": mark.view.id,
                        "verdict": mark.view.verdict_text,
                        "measured": mark.view.measured,
                        "low": mark.view.low,
                        "high": mark.view.high,
                        "unit": mark.view.unit,
                        "points": mark.points,
                        "of": mark.of,
                    }
                    for mark in each.marks
                ],
            }
            for rank, each in found.ranked()
        ],
    }
