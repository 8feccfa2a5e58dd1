"""The grammar of the LaTeX tables, for machines without LaTeX: no name makes one that fails."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.judge.tables import latex_row, latex_text, verdict_frame
from small_dossiers import short_dossier

_CONTROL = re.compile(r"\\(?:[A-Za-z]+|.)")


def columns(latex: str) -> set[int]:
    """Columns of each row of a table.

    Braces and environments are paired, no special character is bare, and no row begins with what
    the end of the row before would take as its argument.
    """
    lines = latex.splitlines()
    assert lines[0].startswith(r"% \usepackage{")
    begins = re.findall(r"\\begin\{(\w+)\}", latex)
    assert begins == re.findall(r"\\end\{(\w+)\}", latex)
    assert len(begins) == 1
    rows = [each for each in lines if each.endswith(r" \\")]
    for row in rows:
        bare = _CONTROL.sub("", row.replace("$-$", ""))
        assert not set(bare) & set("#$%_^~<>|"), row
        assert bare.count("{") == bare.count("}")
        assert not row.startswith(("[", "*"))
        assert row.isprintable()
    others = [each for each in lines[1:] if each not in rows]
    known = r"\\(begin|end|toprule|midrule|bottomrule|endhead)\b"
    assert all(re.match(known, each) for each in others)
    return {1 + _CONTROL.sub("", row).count("&") for row in rows}


def test_a_dossier_has_four_columns(tmp_path: Path) -> None:
    dossier = short_dossier(JudgeRequest("bbr", against=("cubic",)), tmp_path)
    frame = verdict_frame(dossier)
    assert columns(latex_text(frame, RFC_9743)) == {4}
    odd = r"\input{/etc/passwd} 50 % of $x_1^2$ & {more} # ~ <b> | [x] – −1" + "\n\\\\ \x1b[2J"
    hostile = frame.with_columns(pl.lit(odd).alias("expectation"))
    assert columns(latex_text(hostile, RFC_9743)) == {4}


@pytest.mark.parametrize("first", ["[2cm].c", "*.c", r"\\[1cm]"])
def test_a_row_is_no_argument_of_the_row_before(first: str) -> None:
    row = latex_row((first, "1"))
    assert row.startswith(("{}", r"\textbackslash{}"))
    assert columns(f"% \\usepackage{{booktabs}}\n\\begin{{x}}\n{row}\n\\end{{x}}") == {2}
