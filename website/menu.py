"""A hook of MkDocs: the menu's patterns, such as `cca-*.md`, stand for the pages that match.

Their order is that in which `index.md` links to them; one that it does not link to comes last.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Put the pages into the menu."""
    pages = Path(config["docs_dir"])
    found = [path.relative_to(pages).as_posix() for path in sorted(pages.rglob("*.md"))]
    linked = re.findall(r"\]\(([^)#]+\.md)", (pages / "index.md").read_text(encoding="utf-8"))
    ordered = sorted(found, key=lambda page: linked.index(page) if page in linked else len(linked))
    config["nav"] = _with_pages(config["nav"], ordered)
    return config


def _with_pages(menu: list[Any], pages: list[str]) -> list[Any]:
    filled: list[Any] = []
    for entry in menu:
        if isinstance(entry, dict):
            filled.append(
                {
                    title: _with_pages(under, pages) if isinstance(under, list) else under
                    for title, under in entry.items()
                }
            )
        elif "*" in entry:
            filled += [page for page in pages if fnmatchcase(page, entry)]
        else:
            filled.append(entry)
    return filled
