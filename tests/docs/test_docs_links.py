"""Links, anchors and paths on the pages lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from docs_pages import PAGES, ROOT, anchors, inline_code, links, page_id

INDEX = ROOT / "docs" / "index.md"
# Folders of the repository; a path in a sentence that begins with one of them is looked for.
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"results", "target", "dist"}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        parts = urlsplit(target)
        if parts.scheme:
            assert parts.scheme == "https" and parts.netloc, target
            continue
        path = (page.parent / parts.path).resolve() if parts.path else page
        assert path.is_relative_to(ROOT), f"{target} leaves the repository"
        assert path.exists(), target
        if parts.fragment:
            assert parts.fragment in anchors(path), f"{target}: one of {sorted(anchors(path))}"


def test_every_page_can_be_reached() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        parts = [urlsplit(target) for target in links(page)]
        waiting += [(page.parent / each.path).resolve() for each in parts if each.path]
    assert not set(PAGES) - reached


def test_the_index_names_every_page() -> None:
    # Answers of the course are named by its page for teachers alone, not where students begin.
    teachers = INDEX.parent / "course" / "teachers.md"
    named = {
        (page.parent / urlsplit(target).path).resolve()
        for page in (INDEX, teachers)
        for target in links(page)
    }
    assert {page for page in PAGES if page.is_relative_to(INDEX.parent)} - {INDEX} <= named


def _entries(menu: list[Any]) -> Iterator[str]:
    """The pages of a site's menu and its patterns, such as `cca-*.md` (`website/menu.py`)."""
    for entry in menu:
        for under in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _entries(under) if isinstance(under, list) else [under]


def test_the_menu_of_the_site_names_every_page() -> None:
    # BaseLoader: the file has tags of Python, which are not to be executed.
    site = yaml.load((ROOT / "website" / "mkdocs.yml").read_text(), Loader=yaml.BaseLoader)
    menu = list(_entries(site["nav"]))
    inside = [page for page in PAGES if page.is_relative_to(INDEX.parent)]
    docs = [page.relative_to(INDEX.parent).as_posix() for page in inside]
    assert "tcp.md" in menu and "cca-*.md" in menu and "traces.md" in docs
    assert [page for page in docs if not any(fnmatchcase(page, each) for each in menu)] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_paths_in_sentences_exist(page: Path) -> None:
    for code in inline_code(page):
        path = code.rstrip("/")
        if not re.fullmatch(r"[\w.\-]+(/[\w.\-]+)*", path) or path.split("/")[0] not in FOLDERS:
            continue
        # Capitals stand for a name of one's own, and what a how-to adds is not there yet.
        if "NAME" in path or "/" not in code or path.startswith(".venv/"):
            continue
        assert (ROOT / path).exists(), code
