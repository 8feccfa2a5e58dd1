"""Citations of RFCs: the section exists, has the title that is given, and no clause is forgotten.

`rfc_sections.toml` has sections and titles; `scripts/rfc_sections.py` prints it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from docs_pages import ROOT

STORED = tomllib.loads((Path(__file__).parent / "rfc_sections.toml").read_text(encoding="utf-8"))
CODE = ("core", "spec", "qdisc", "tcp", "engine", "packetdrill", "capture", "tc", "lab", "guest")
FOLDERS = (*CODE, "python", "tests", "docs", "scripts", "fuzz", "bench", "website")
SUFFIXES = {".rs", ".py", ".md", ".pkt", ".c", ".js", ".toml"}
_SKIPPED = {"target", "__pycache__", "build", "node_modules"}

_NUMBER = r"\d+(?:\.\d+)*|[A-Z](?:\.\d+)*(?![\w'])"
_MORE = r"(?:(?:, and | and | to |, )\d+(?:\.\d+)*)*"
_CITED = re.compile(
    rf"RFC ?(?P<rfc>\d{{3,4}}),? (?:sections? (?P<numbers>\d+(?:\.\d+)*{_MORE})"
    r"|appendix (?P<letter>[A-Z](?:\.\d+)*))"
)
_REVERSED = re.compile(
    rf"[Ss]ections? (?P<numbers>\d+(?:\.\d+)*{_MORE}) of RFC ?(?P<rfc>\d{{3,4}})"
)
_COMMENT_BREAK = re.compile(r"\s*\n[ \t]*(?://[/!]?|#+|\*|>)?[ \t]*")
# A table whose first column has sections of one RFC.
_TABLE_OF_RFC = re.compile(
    r"^\| RFC (?P<rfc>\d+) \|[^\n]*\n\|[-| ]+\n(?P<rows>(?:\|[^\n]*\n)+)", re.MULTILINE
)
# A row of a table of clauses that has the title of its section.
_TITLED_ROW = re.compile(
    r"^//! \| RFC (\d+) section ([\d.]+) \(([A-Z][^()]*(?:\([^()]*\))?)\)", re.MULTILINE
)
# A row of a table of clauses whose section has a number and no RFC.
_BARE_ROW = re.compile(r"^//! \| (?:sections? )?\d+\.\d[\d.]*", re.MULTILINE)


@dataclass(frozen=True)
class Citation:
    file: Path
    rfc: str
    section: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}: RFC {self.rfc} section {self.section}"


@cache
def files() -> tuple[Path, ...]:
    found = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES
        and not _SKIPPED & set(path.relative_to(ROOT).parts)
        and path.name not in ("rfc_sections.toml", Path(__file__).name)
    ]
    return (*sorted(found), *sorted(ROOT.glob("[!C]*.md")))


def in_text(file: Path, text: str) -> Iterator[Citation]:
    """A citation may be broken over lines of a comment."""
    flat = _COMMENT_BREAK.sub(" ", text)
    for found in (*_CITED.finditer(flat), *_REVERSED.finditer(flat)):
        groups = found.groupdict()
        for number in re.findall(_NUMBER, groups["numbers"] or groups["letter"]):
            yield Citation(file, groups["rfc"], number)
    for table in _TABLE_OF_RFC.finditer(text):
        for row in re.findall(r"^\| ([\d., ]+) ", table["rows"], re.MULTILINE):
            for number in re.findall(_NUMBER, row):
                yield Citation(file, table["rfc"], number)


@cache
def citations() -> tuple[Citation, ...]:
    return tuple(
        citation
        for path in files()
        for citation in in_text(path, path.read_text(encoding="utf-8", errors="replace"))
    )


def test_a_citation_is_found_however_it_is_written() -> None:
    text = """
    //! (RFC 8289 section 5.6, Helper Routines); RFC 6298
    //! section 5.1 to 5.3, sections 3 and 4.2 of RFC 9438, RFC 7323, appendix A.

| RFC 8033 | here |
| --- | --- |
| 4.2, 5.5 a cap | yes |
"""
    assert [(at.rfc, at.section) for at in in_text(ROOT, text)] == [
        ("8289", "5.6"), ("6298", "5.1"), ("6298", "5.3"), ("7323", "A"),
        ("9438", "3"), ("9438", "4.2"), ("8033", "4.2"), ("8033", "5.5"),
    ]  # fmt: skip


def test_sections_that_are_cited_exist() -> None:
    assert len(citations()) > 400
    unknown = [
        str(at)
        for at in citations()
        if at.section not in STORED.get(at.rfc, {"sections": {}})["sections"]
    ]
    assert not unknown, "no such section, or scripts/rfc_sections.py was not asked for that RFC"


def test_titles_that_clauses_give_are_those_of_the_sections() -> None:
    given = [
        (f"{path.relative_to(ROOT)}: {found[0]}", found[3], STORED[found[1]]["sections"][found[2]])
        for path in files()
        if path.suffix == ".rs"
        for found in _TITLED_ROW.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(given) > 25
    wrong = [f"{row}: it is {title!r}" for row, text, title in given if text != title]
    assert not wrong


def test_a_clause_names_its_rfc() -> None:
    bare = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files()
        if path.suffix == ".rs"
        for text in [path.read_text(encoding="utf-8")]
        # Where no RFC is what a file is about, its sections are those of a paper.
        if "RFC" in text.split("\n//!\n")[0]
        for found in _BARE_ROW.finditer(text)
    ]
    assert not bare, "write 'RFC N section X (Title of the section): ...'"


_WORDS = "says what MUST and SHOULD mean"
_HISTORY = "is about another document"
_TUNNEL = "is about tunnels, which no network here has"
# Sections with a MUST or SHOULD that nothing here implements, and why.
LEFT_OUT: dict[str, dict[str, str]] = {
    "2018": {},
    "2883": {"1": _WORDS, "3": "quotes RFC 2018"},
    "3168": {
        "2": _WORDS, "12": "sums up the sections before it", "20.2": "is about the use of ECT(1)",
        "9.1.1": _TUNNEL, "9.1.2": _TUNNEL, "9.2": _TUNNEL, "9.2.1": _TUNNEL, "9.2.1.1": _TUNNEL,
        "9.2.1.2": _TUNNEL, "9.2.1.3": _TUNNEL, "9.2.2": _TUNNEL,
    },
    "5681": {"1": _WORDS, "7": _HISTORY},
    "5682": {"1.1": _WORDS, "4": "leaves open what a sender does; F-RTO's undo is RFC 3522's here"},
    "6298": {"1": _WORDS},
    "6582": {"5": "quotes RFC 5681"},
    "6675": {"2": _WORDS, "9": _HISTORY},
    "6928": {"1.1": _WORDS, "9": "points to RFC 6298", "12": "is about servers that are deployed"},
    "6937": {},
    "7323": {"1.4": _WORDS, "7": "is about attackers, whom no network here has", "7.1": "likewise"},
    "8033": {"2": _WORDS},
    "8257": {
        "1": "is about data centres", "2": _WORDS, "4.1": "is about who is to use it",
        "5": "is about who else is in the data centre",
    },
    "8289": {"1": "recommends FQ-CoDel", "2": _WORDS, "3.1": "is the theory of the interval"},
    "8290": {"1.1": _WORDS},
    "8985": {"1": _WORDS, "2": _WORDS, "9.2": "forbids RFC 6675 beside RACK: one of them is used"},
    "9332": {
        "1.3": _WORDS, "2.5.2.1": "is about what operators can set: the words of tc",
        "2.5.2.2": "is about what they can count: the tables of a run", "2.5.2.3": "likewise",
    },
    "9406": {},
    "9438": {},
}  # fmt: skip


@pytest.mark.parametrize("rfc", sorted(LEFT_OUT))
def test_every_clause_is_implemented_or_left_out_for_a_reason(rfc: str) -> None:
    cited = {
        at.section
        for at in citations()
        if at.rfc == rfc
        and (at.file.relative_to(ROOT).parts[0] in CODE or at.file.name.startswith("cca-"))
    }
    normative = STORED[rfc]["normative"].split()
    # A section is cited by itself, by one within it, or by the one that it is in.
    forgotten = {
        section
        for section in normative
        if not any(
            section == other or section.startswith(f"{other}.") or other.startswith(f"{section}.")
            for other in cited
        )
    }
    assert forgotten == set(LEFT_OUT[rfc]), "cite it where it is implemented, or say why it is not"
