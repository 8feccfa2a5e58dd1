"""Where a file of the repository stands on the site, and the links between pages turned there.

Pages link as GitHub reads them: to a file beside them, or to one further up in the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PAGES = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "kernel/README.md": "virtual-time-kernel.md",
}
"""Pages outside docs/, by their place in the repository."""
FILES = {"LICENSE": "LICENSE.txt"}
FOLDERS = ("examples/",)
"""What is brought along as it is."""

_CODE = r"^```.*?^```[ ]*$|(?<!`)`[^`\n]+`(?!`)"
_LINK = r"(?P<text>\[[^\]]*\])\((?P<target>[^)\s]+)\)"
_CODE_OR_LINK = re.compile(f"{_CODE}|{_LINK}", re.MULTILINE | re.DOTALL)
"""Whichever begins first: code may show a link, and the text of a link may have code in it."""
_FENCE_OF_FILE = re.compile(r"^```(?P<language>\w+) file=(?P<file>\S+)[ ]*$", re.MULTILINE)
_REMOTE = re.compile(r"[a-z]+:")


class NotOnSiteError(Exception):
    """A page links to a file of the repository that the site does not have."""


def place_in_repository(on_site: str) -> str:
    """The path in the repository of a page of the site."""
    outside = {there: here for here, there in PAGES.items()}
    return outside.get(on_site, f"docs/{on_site}")


def place_on_site(in_repository: str) -> str:
    """The path on the site of a file of the repository.

    Raises:
        NotOnSiteError: It is not brought along.
    """
    if in_repository.startswith("docs/"):
        return in_repository.removeprefix("docs/")
    if in_repository.startswith(FOLDERS):
        return in_repository
    for known in (PAGES, FILES):
        if in_repository in known:
            return known[in_repository]
    raise NotOnSiteError(in_repository)


def linked(markdown: str, page: str, after: Callable[[str], str]) -> str:
    """A page's text with its links as the site needs them.

    Args:
        markdown: As it stands in the repository.
        page: Its place on the site.
        after: Told what a link leads to, by its place in the repository, says what follows it.

    Raises:
        NotOnSiteError: A link leads to what the site has not.
    """

    def turned(match: re.Match[str]) -> str:
        target, hash_, fragment = (match["target"] or "").partition("#")
        if not target or _REMOTE.match(target):
            return match[0]
        here = posixpath.dirname(place_in_repository(page))
        there = posixpath.normpath(posixpath.join(here, target))
        relative = posixpath.relpath(place_on_site(there), posixpath.dirname(page) or ".")
        return f"{match['text']}({relative}{hash_}{fragment})" + after(there)

    return _CODE_OR_LINK.sub(turned, markdown)


def titled(markdown: str) -> str:
    """Blocks that are files of the how-tos, with the file's name above them."""
    return _FENCE_OF_FILE.sub(r'```\g<language> title="\g<file>"', markdown)
