"""Lists the sections of RFCs, and those with MUST or SHOULD, for `tests/docs/rfc_sections.toml`.

    python scripts/rfc_sections.py rfc5681.txt rfc6298.txt.gz ...

Prints a table for each text, as the RFC editor has them (rfc-editor.org/rfc/rfcN.txt; Debian's
doc-rfc packages). Numbers and titles are all that is kept of a text.
`tests/docs/test_rfc_citations.py` holds all citations against them.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

# "3.1.  Title", "Appendix A.  Title", "A.1.  Title"; deeper sections of old texts are indented.
_HEADING = re.compile(
    r"^( *)(?:([1-9]\d?(?:\.\d{1,2}){0,5})\.?|(?:Appendix|APPENDIX) ([A-Z])[.:]?"
    r"|([A-Z](?:\.\d)+)\.)"
    r"\s+([\"A-Z0-9].*)$"
)
# "(2.1) Until a measurement ...": RFC 6298 numbers its paragraphs.
_PARAGRAPH = re.compile(r"^ {3,}\((\d\.\d)\) ")
# A heading continued on the next line ("2.17." alone, in RFC 2525).
_NUMBER_ALONE = re.compile(r"^(\d{1,2}\.\d{1,2})\.$")
_IN_CONTENTS = re.compile(r"(\.\s?){4,}|\s{2,}\d+$")
_NORMATIVE = re.compile(r"\b(MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED)\b")
_INDENT_OF_DEEP_SECTIONS = 9


def heading(line: str) -> tuple[str, str] | None:
    """Return number and title of the section that a line begins; None for any other line."""
    if alone := _NUMBER_ALONE.match(line):
        return alone[1], ""
    if paragraph := _PARAGRAPH.match(line):
        return paragraph[1], ""
    found = _HEADING.match(line)
    if found is None or _IN_CONTENTS.search(line) or len(found[5]) > 90:
        return None
    number: str = found[2] or found[3] or found[4]
    depth = number.count(".")
    # An indented line with a single number is a list item.
    deepest = 0 if number.isdigit() else _INDENT_OF_DEEP_SECTIONS if depth > 1 else 3
    return (number, found[5].strip()) if len(found[1]) <= deepest else None


def sections(text: str) -> tuple[dict[str, str], list[str]]:
    """Return titles of an RFC's sections by number, and the numbers of normative sections."""
    titles: dict[str, str] = {}
    normative = set()
    current = None
    for line in text.splitlines():
        if begun := heading(line):
            current, title = begun
            titles.setdefault(current, title)
        if current is not None and _NORMATIVE.search(line):
            normative.add(current)
    ordered = sorted(titles, key=_in_order)
    return {number: titles[number] for number in ordered}, sorted(normative, key=_in_order)


def _in_order(number: str) -> list[tuple[bool, int, str]]:
    """Return a sort key: sections before appendices, 3.9 before 3.10."""
    parts = number.split(".")
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def main(paths: list[str]) -> None:
    """Print the tables of some texts; the file name gives the RFC's number."""
    for path in paths:
        packed = Path(path).read_bytes()
        text = (gzip.decompress(packed) if path.endswith(".gz") else packed).decode(
            "utf-8", "replace"
        )
        number = re.search(r"rfc(\d+)", Path(path).name)
        if number is None:
            raise SystemExit(f"{path}: which RFC? rfcN.txt is expected")
        titles, normative = sections(text)
        print(f"[{number[1]}]")
        print(f'normative = "{" ".join(normative)}"')
        print(f"[{number[1]}.sections]")
        for section, title in titles.items():
            print(f"{json.dumps(section)} = {json.dumps(title, ensure_ascii=False)}")
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
