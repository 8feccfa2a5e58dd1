"""Tables of clauses of disciplines and of accurate ECN: each clause names its test.

They are on the page of a discipline, or at the head of its source.

A cell names a Rust test of the discipline's own source, ``FILE::TEST`` of another one or of Python,
or a packet script. A clause that is not there ("no") has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from docs_pages import ROOT

_TABLE = re.compile(
    r"^\| [^|\n]+ \| here \| test(?:, or packet script)? \|\n\|[- |]+\n(?P<rows>(?:\|[^\n]*\n)+)",
    re.MULTILINE,
)
_RUST_TEST = re.compile(r"#\[test\]\s+(?:#\[[^\n]*\]\s+)*fn (\w+)")
_PYTHON_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
_IS_LEFT_OUT = re.compile(r"(?:no\b|there are no )")

DISCIPLINES = ("cake", "choke", "drr", "dualpi2", "ets", "fq_pie", "hfsc", "sfb", "sfq")
IN_SOURCES = ("codel", "fq_codel", "pie", "red", "tbf")
PAGES = {name: ROOT / f"docs/qdisc/{name}.md" for name in DISCIPLINES} | {
    name: ROOT / f"qdisc/src/{name}.rs" for name in IN_SOURCES
}
PAGES["accurate-ecn"] = ROOT / "docs/accurate-ecn.md"


@dataclass(frozen=True)
class Clause:
    page: str
    clause: str
    here: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.clause}"


def clauses(page: str) -> Iterator[Clause]:
    text = re.sub(r"^//! ?", "", PAGES[page].read_text(encoding="utf-8"), flags=re.MULTILINE)
    for table in _TABLE.finditer(text):
        for row in table["rows"].splitlines():
            clause, here, tests = (cell.strip() for cell in row.strip("|").split("|"))
            yield Clause(page, clause, here, tuple(re.findall(r"`([^`]+)`", tests)))


@cache
def names_of_tests(file: Path) -> frozenset[str]:
    text = file.read_text(encoding="utf-8")
    form = _PYTHON_TEST if file.suffix == ".py" else _RUST_TEST
    return frozenset(form.findall(text))


def sources(page: str) -> list[Path]:
    """Of a discipline, with its tests."""
    folder = ROOT / "qdisc/src"
    return [folder / f"{page}.rs", *sorted((folder / page).rglob("*.rs"))]


def exists(page: str, test: str) -> bool:
    file, _, name = test.rpartition("::")
    if test.endswith(".pkt"):
        return (ROOT / "packetdrill/scripts" / test).is_file()
    if file:
        path = ROOT / file
        return path.is_file() and name in names_of_tests(path)
    return any(name in names_of_tests(each) for each in sources(page) if each.is_file())


@pytest.mark.parametrize("page", PAGES)
def test_every_clause_has_a_test_that_exists(page: str) -> None:
    found = list(clauses(page))
    assert len(found) >= 6
    untested = [str(each) for each in found if not each.tests and not _IS_LEFT_OUT.match(each.here)]
    assert untested == []
    unknown = [f"{each}: {test}" for each in found for test in each.tests if not exists(page, test)]
    assert unknown == []


def test_a_clause_without_its_test_is_found() -> None:
    assert exists("sfb", "levels_are_independent")
    assert not exists("sfb", "levels_are_not_independent")
    assert not exists("sfq", "levels_are_independent")
    assert not exists("sfb", "qdisc/src/none.rs::levels_are_independent")
    assert not exists("accurate-ecn", "none.pkt")


def test_no_discipline_with_a_table_is_left_out() -> None:
    with_tables = {
        page.stem
        for page in (ROOT / "docs/qdisc").glob("*.md")
        if re.search(r"^\| clause", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    # Of lines, not of disciplines: tests/kernel_backend/test_tc_strings.py.
    assert with_tables - {"filters", "scripts"} == set(DISCIPLINES)
