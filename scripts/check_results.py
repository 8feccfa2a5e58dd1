"""Checks the output of ``dumbbell reproduce`` without importing the package.

``check_results.py FOLDER`` checks that the pages exist and need no network access, and that each
study's ``claims.json`` holds judged claims, each with every field, a known verdict, and finite
numbers. Prints a summary; exit status 1, with a list of all faults, if there are any.
"""

import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

FIELDS = (
    "id", "statement", "source", "backend", "rule", "margin", "published", "theory", "measured",
    "low", "high", "unit", "level", "n_replications", "verdict", "interval_kind", "p_value", "fact",
)  # fmt: skip
TEXTS = ("id", "statement", "source", "backend", "rule", "unit", "verdict")
NUMBERS = ("margin", "published", "theory", "measured", "low", "high", "level")
VERDICTS = (
    "reproduced", "not reproduced", "inconclusive", "uninformative", "not testable",
    "not explained anywhere", "preview", "calibration", "check holds",
)  # fmt: skip
SMALLEST_PAGE_BYTES = 1000
VERSION = 2


class Resources(HTMLParser):
    """Collects the resources that a page loads and its links."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle an opening tag; called by the parser."""
        given = {name: value for name, value in attrs if value}
        if "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "href" in given:
            self.loaded.append(given["href"])
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])


def is_verdict(word: object) -> bool:
    """Return whether a word is a verdict."""
    if not isinstance(word, str):
        return False
    return word in VERDICTS or bool(re.fullmatch(r"(depends on|explained at) \S.*", word))


def faults_of_claim(claim: Any) -> list[str]:
    """Return the faults of one judged claim."""
    if not isinstance(claim, dict):
        return ["is not an object"]
    faults = ["lacks " + field for field in FIELDS if field not in claim]
    for field in TEXTS:
        if not isinstance(claim.get(field, ""), str):
            faults.append(f"{field} is not text: {claim[field]!r}")
    for field in NUMBERS:
        value = claim.get(field)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            faults.append(f"{field} is neither a number nor null: {value!r}")
    if "verdict" in claim and not is_verdict(claim["verdict"]):
        faults.append(f"verdict {claim['verdict']!r} is not one of the words")
    low, high = claim.get("low"), claim.get("high")
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
        faults.append(f"interval is upside down: [{low}, {high}]")
    if claim.get("verdict") == "reproduced" and claim.get("n_replications", 0) < 1:
        faults.append("reproduced without a replication")
    return faults


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON excludes and Python's reader accepts."""
    raise ValueError(f"{name} is not a number in JSON")


def read_claims(path: Path) -> tuple[list[Any], list[str]]:
    """Return the claims in a file and their faults."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
    except (OSError, ValueError) as error:
        return [], [f"{path}: {error}"]
    if not isinstance(whole, dict) or whole.get("version") != VERSION:
        return [], [f"{path}: not an object of version {VERSION}"]
    claims = whole.get("claims")
    if not isinstance(claims, list) or not claims:
        return [], [f"{path}: claims is not a non-empty list"]
    faults = []
    for number, claim in enumerate(claims):
        name = claim.get("id", number) if isinstance(claim, dict) else number
        faults += [f"{path}: claim {name} {fault}" for fault in faults_of_claim(claim)]
    ids = Counter(claim.get("id") for claim in claims if isinstance(claim, dict))
    faults += [
        f"{path}: id {name} occurs {times} times" for name, times in ids.items() if times > 1
    ]
    return claims, faults


def faults_of_page(path: Path) -> list[str]:
    """Return the faults of a page: it must work from a file, without the network."""
    if not path.is_file():
        return [f"{path} is missing"]
    text = path.read_text(encoding="utf-8")
    if len(text) < SMALLEST_PAGE_BYTES:
        return [f"{path} has only {len(text)} bytes"]
    page = Resources()
    page.feed(text)
    remote = [
        url for url in page.loaded if urlsplit(url).scheme not in ("", "data") or url[:2] == "//"
    ]
    faults = [f"{path} loads {url[:80]} from the network" for url in remote]
    for url in {*page.loaded, *page.linked}:
        parts = urlsplit(url)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        if not (path.parent / unquote(parts.path)).exists():
            faults.append(f"{path} refers to {parts.path}, which is not there")
    return faults


def check(folder: Path) -> list[str]:
    """Return every fault of a results folder; print one line per study."""
    faults = faults_of_page(folder / "index.html")
    studies = sorted(path.parent for path in folder.glob("*/index.html"))
    if not studies:
        faults.append(f"{folder} holds no study")
    for study in studies:
        claims, wrong = read_claims(study / "claims.json")
        faults += wrong + faults_of_page(study / "index.html")
        for name in ("meta.json", "provenance.json"):
            if not (study / name).is_file():
                faults.append(f"{study / name} is missing")
        verdicts = Counter(c["verdict"] for c in claims if isinstance(c, dict) and "verdict" in c)
        print(f"{study.name}: {len(claims)} claims; " + ", ".join(
            f"{word} {times}" for word, times in sorted(verdicts.items())))  # fmt: skip
    return faults


def main(arguments: list[str]) -> int:
    """Run the command line."""
    if len(arguments) != 1:
        print("usage: check_results.py FOLDER", file=sys.stderr)
        return 2
    faults = check(Path(arguments[0]))
    for fault in faults:
        print("FAULT: " + fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
