"""What `dumbbell reproduce` and `dumbbell lab` wrote, brought to the site.

The pages stay as they are, but for two addresses that they cannot know: that of their
documentation, and the whole one of the picture that is shown where somebody links to them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from dumbbell.lab import LIVE, STORY, story_opening
from dumbbell.report.palette import style_sheet
from dumbbell.studies import STUDIES, get_study

FOLDER = "results"
"""On the site."""
LABORATORY = "laboratory.html"
BESIDE = (LABORATORY, STORY, LIVE)
PAGE = "index.html"
OF_A_STUDY = ("claims.json", "values.json", "meta.json", "provenance.json", "figures", "tables")
_PICTURE = '<meta property="og:image" content="'


def studies_in(folder: Path) -> list[str]:
    """The studies whose pages are there."""
    return [name for name in STUDIES if (folder / name / PAGE).is_file()]


def overview(folder: Path) -> str:
    """The page of the site that says what there is, in Markdown."""
    there = studies_in(folder)
    lines = ["# The studies", ""]
    if (folder / PAGE).is_file() and there:
        lines += [
            f"[All studies at a glance]({FOLDER}/{PAGE}): what one should set on a router.",
            "",
        ]
    if (folder / STORY).is_file():
        lines += [f"[The story]({FOLDER}/{STORY}): your call behind a download, to push.", ""]
    if (folder / LABORATORY).is_file():
        lines += [f"[The laboratory]({FOLDER}/{LABORATORY}): move a slider, see the packets.", ""]
    lines += ["| study | its results | its story |", "| --- | --- | --- |"]
    for name in STUDIES:
        page = f"[figures and verdicts]({FOLDER}/{name}/{PAGE})" if name in there else "not built"
        lines.append(f"| {get_study(name).title} | {page} | [told for a student]({name}.md) |")
    if len(there) < len(STUDIES):
        lines += ["", "Pages that are not built are written by `dumbbell reproduce all`."]
    return "\n".join([*lines, ""])


def opening(folder: Path) -> str:
    """What the first page of the site begins with: the story, where it is there, as HTML."""
    if not (folder / STORY).is_file():
        return ""
    story = story_opening()
    address = f"{FOLDER}/{story.address}"
    return (
        f'<style>{style_sheet()}</style>\n\n<div class="opening">'
        f'<p class="opening-title"><a href="{address}">{story.title}</a></p>'
        f"<p>{story.question} {story.answer}</p>"
        f'<p><a class="md-button md-button--primary" href="{address}">{story.invitation}</a></p>'
        f"{story.drawing}</div>\n\n"
    )


def bring(folder: Path, pages: Path, url: str) -> None:
    """Copy the pages and what belongs to them; notes of yours beside them are left.

    Args:
        folder: Of results.
        pages: Of the site, not built yet.
        url: Where the site will be, with a / at its end; empty where nobody knows.
    """
    place = pages / FOLDER
    studies = studies_in(folder)
    if studies:
        _page(folder / PAGE, place / PAGE, "", f"{url}{FOLDER}/" if url else "")
    for name in studies:
        for part in OF_A_STUDY:
            _copy(folder / name / part, place / name / part)
        _page(
            folder / name / PAGE, place / name / PAGE, name, f"{url}{FOLDER}/{name}/" if url else ""
        )
    for part in BESIDE:
        _copy(folder / part, place / part)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.is_file():
        shutil.copyfile(source, target)


def _page(source: Path, target: Path, study: str, address: str) -> None:
    text = source.read_text(encoding="utf-8")
    if study:
        text = with_documentation(text, study)
    if address:
        text = text.replace(_PICTURE, f"{_PICTURE}{address}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def with_documentation(text: str, study: str) -> str:
    """A study's page whose link to its documentation, if it has one, leads to the site's."""
    before, link, rest = text.partition(">Documentation of this study</a>")
    if not link:
        return text
    head, opening, _ = before.rpartition('<a href="')
    return f'{head}{opening}../../{study}.html"{link}{rest}'


def missing(folder: Path) -> Sequence[str]:
    """What could be on the site and is not there."""
    return [name for name in (*STUDIES, LABORATORY) if not (folder / name).exists()]
