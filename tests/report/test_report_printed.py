"""The section on printed numbers: every number once, words escaped, alike ones in one row."""

from __future__ import annotations

import json
from pathlib import Path

from dumbbell.claims import (
    Arm,
    Claim,
    Cost,
    Judged,
    NumberClaim,
    PrintedNumber,
    PrintedNumbers,
    Runs,
    State,
    judge,
)
from dumbbell.claims.rules import Published
from dumbbell.report import Report, write_report
from dumbbell.report.page import page_html
from dumbbell.report.printed_section import printed_rows, printed_view

ARM = Arm(name="with <b>bold</b> senders", cost=Cost.LEFT_OPEN, why="Because & so.")
VALUES = [9.8, 10.2, 9.9, 10.1, 10.0, 10.3, 9.7, 10.1, 9.9, 10.0]


def judged(name: str, printed: float) -> Judged:
    rule = Published(printed=printed, rounding=0.05, unit="ms")
    return judge(Claim(id=name, statement="s", source="s", rule=rule), Runs(VALUES))


def printed() -> PrintedNumbers:
    return PrintedNumbers(
        [
            PrintedNumber(
                key=key, group="Delays", name=key, printed=text, unit="ms",
                spoken=(NumberClaim(key, ARM),),
            )
            for key, text in (("a", "10"), ("b", "10.0"), ("c", "20"), ("d", "not run"))
        ],
        story=("What <i>one</i> learns.",),
    )  # fmt: skip


ACCOUNTS = printed().account([judged("a", 10.0), judged("b", 10.0), judged("c", 20.0)])


def test_numbers_alike_stand_in_one_row_and_each_once() -> None:
    (group,) = printed_view(ACCOUNTS)["groups"]
    shown = [[one["name"] for one in row["numbers"]] for row in group["rows"]]
    assert shown == [["a", "b"], ["c"], ["d"]]
    assert [row["words"] for row in group["rows"]] == [
        State.REPRODUCED.value,
        State.NOT_EXPLAINED.value,
        State.NOT_JUDGED.value,
    ]
    (missed,) = group["rows"][1]["numbers"]
    assert missed["printed"] == "20\u202fms" and missed["ours"]
    assert not group["rows"][0]["numbers"][0]["ours"]  # what comes out needs no second number


def test_the_page_has_it_escaped_and_only_where_there_are_such_numbers() -> None:
    report = Report(study="s", title="T?", summary="S.", answer="A.", printed=ACCOUNTS)
    page = page_html(report, [], "")
    assert "with &lt;b&gt;bold&lt;/b&gt; senders" in page and "<b>bold" not in page
    assert "What &lt;i&gt;one&lt;/i&gt; learns." in page
    assert "The source prints 4 numbers" in page and 'id="printed"' in page
    assert 'id="printed"' not in page_html(Report(study="s", title="T", summary="S"), [], "")


def test_the_file_has_a_row_a_number(tmp_path: Path) -> None:
    report = Report(study="s", title="T?", summary="S.", printed=ACCOUNTS)
    write_report(report, tmp_path / "s")
    rows = json.loads((tmp_path / "s" / "printed.json").read_text(encoding="utf-8"))
    assert rows == json.loads(json.dumps(printed_rows(ACCOUNTS)))
    assert [(row["number"], row["state"]) for row in rows] == [
        ("a", "reproduced"),
        ("b", "reproduced"),
        ("c", "not explained anywhere"),
        ("d", "not judged in these runs"),
    ]
    assert rows[2]["low"] < 10 < rows[2]["high"] and rows[3]["claim"] is None
