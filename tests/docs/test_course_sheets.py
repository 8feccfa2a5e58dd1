"""The answer sheets are those of the handouts, and a hand-in has the digest that teachers hold."""

from __future__ import annotations

import re

import pytest
from course_sheets import COURSE, HANDED_IN, SHEETS, digest_row, digest_rows, sheet


@pytest.mark.parametrize("handout", HANDED_IN)
def test_a_sheet_follows_from_its_handout(handout: str) -> None:
    """When this fails: python tests/docs/course_sheets.py."""
    assert (SHEETS / f"{handout}.md").read_text(encoding="utf-8") == sheet(COURSE / f"{handout}.md")


@pytest.mark.parametrize(("place", "handout"), list(enumerate(HANDED_IN)))
def test_the_digest_of_a_hand_in_is_that_of_its_run(place: int, handout: str) -> None:
    """When this fails: python tests/docs/course_sheets.py."""
    assert digest_rows()[place] == digest_row(place + 1, handout)


def test_what_is_handed_in_is_what_the_handout_says() -> None:
    for handout, (name, settings) in HANDED_IN.items():
        text = (COURSE / f"{handout}.md").read_text(encoding="utf-8")
        said = text.split("## Hand in\n")[1]
        assert f"`{name}`" in said
        value = re.findall(r"\d+|fq_codel", settings[-1].split("=")[1])[-1]
        assert value in said
