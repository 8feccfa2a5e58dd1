"""Builds the site: puts its pages together in a folder, then has the generator make it.

``build.py --results results --output results/site [--url https://example.org/dumbbell/]``

The output folder is emptied first. Exit status: 0 done, 1 a link on a page leads nowhere or a page
is in no menu, 2 bad input.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import python_reference
import result_pages
from courses import on_paper, opening
from repository import FILES, FOLDERS, PAGES, ROOT, NotOnSiteError, linked, titled

CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
ASSETS = ("site.css", "iframe-worker.js")
BROUGHT = {".toml", ".ipynb"}
"""Of the folders that are brought along, these files."""
BAD_INPUT = 2


def gather(found: Path, pages: Path, url: str) -> None:
    """Put what the site is made from into a folder.

    Args:
        found: The folder of results.
        pages: An empty folder.
        url: Where the site will be, with a / at its end; empty where nobody knows.

    Raises:
        NotOnSiteError: A page links to a file of the repository that the site has not.
    """
    result_pages.bring(found, pages, url)
    _write(pages / "studies.md", result_pages.overview(found))
    for place, text in python_reference.pages():
        _write(pages / place, text)
    for name in ASSETS:
        text = Path(__file__).with_name(name).read_text(encoding="utf-8")
        _write(pages / "assets" / name, text)
    for here, there in FILES.items():
        shutil.copyfile(ROOT / here, pages / there)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in BROUGHT:
                target = pages / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    has_laboratory = (found / result_pages.LABORATORY).is_file()
    for source, there in _written_pages():
        after = partial(opening, page=there) if has_laboratory else _nothing
        text = on_paper(titled(source.read_text(encoding="utf-8")), there)
        try:
            _write(pages / there, linked(text, there, after))
        except NotOnSiteError as error:
            raise NotOnSiteError(f"{source.relative_to(ROOT)} links to {error}") from error
    first = pages / "index.md"
    title, rest = first.read_text(encoding="utf-8").split("\n", 1)
    _write(first, f"{title}\n\n{result_pages.opening(found)}{rest}")
    for path in (ROOT / "docs").rglob("*.svg"):
        shutil.copyfile(path, pages / path.relative_to(ROOT / "docs"))


def _written_pages() -> list[tuple[Path, str]]:
    """Every page that a person wrote, and its place on the site."""
    docs = ROOT / "docs"
    inside = [(path, path.relative_to(docs).as_posix()) for path in sorted(docs.rglob("*.md"))]
    return [*inside, *((ROOT / here, there) for here, there in PAGES.items())]


def _nothing(_: str) -> str:
    return ""


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def build(pages: Path, output: Path, url: str) -> int:
    """Have the generator make the site, strictly; its exit status."""
    environment = {
        **os.environ,
        "SITE_PAGES": str(pages),
        "SITE_OUTPUT": str(output),
        "SITE_URL": url,
        # The announcement of the theme's successor, on every build.
        "NO_MKDOCS_2_WARNING": "1",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["--config-file", str(CONFIGURATION)]
    return subprocess.run(command, env=environment, check=False).returncode


def _address(text: str) -> str:
    """An address that begins what is published, with a / at its end; empty where there is none."""
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        message = f"{text!r}: an address such as https://example.org/dumbbell/ is allowed"
        raise argparse.ArgumentTypeError(message)
    return text.rstrip("/") + "/"


def main(words: Sequence[str]) -> int:
    """Build it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--output", type=Path, default=Path("results/site"))
    parser.add_argument("--url", type=_address, default="")
    chosen = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="dumbbell-site-") as folder:
        pages = Path(folder)
        try:
            gather(chosen.results, pages, chosen.url)
        except NotOnSiteError as error:
            print(f"the site: {error}, which it does not have", file=sys.stderr)
            return BAD_INPUT
        status = build(pages, chosen.output.resolve(), chosen.url)
    for name in result_pages.missing(chosen.results):
        print(f"not on the site: {name}, which {chosen.results} does not have")
    if status == 0:
        print(f"The site: {(chosen.output / 'index.html').resolve().as_uri()}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
