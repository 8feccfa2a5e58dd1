"""The pages as the tests read them: blocks of code, inline code, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^|\n)\n(?P<text>(?: {4}[^\n]*\n)+)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (?P<title>.*?)\s*$", re.MULTILINE)


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    """A fenced block: ```` ```python file=PATH ```` is the content of that file, a `diff` with a
    file is a change of it, and anything else stands for itself."""

    page: Path
    line: int
    language: str
    file: str | None
    text: str

    @property
    def id(self) -> str:
        return f"{page_id(self.page)}:{self.line}"


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        options = dict(word.split("=", 1) for word in words)
        assert options.keys() <= {"file"}, f"{page_id(page)}: ```{match['info']}"
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(page, line, language, options.get("file"), match["text"]))
    return tuple(found)


def all_blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language == language]


@cache
def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def indented_blocks(page: Path) -> list[str]:
    """Blocks of code set in by four spaces, without them."""
    return [
        "".join(line[4:] + "\n" for line in match["text"].splitlines())
        for match in _INDENTED.finditer(prose(page))
    ]


def inline_code(page: Path) -> list[str]:
    return _INLINE.findall(_INDENTED.sub("\n", prose(page)))


def shell_lines(page: Path) -> list[str]:
    """Lines of code that a person would type, without comments."""
    texts = [*indented_blocks(page)]
    texts += [block.text for block in blocks(page) if block.language in ("sh", "shell", "bash")]
    lines = [line.split(" #")[0].strip() for text in texts for line in text.splitlines()]
    return [line for line in lines if line]


def links(page: Path) -> list[str]:
    return [match["target"] for match in _LINK.finditer(_INLINE.sub("", prose(page)))]


@cache
def anchors(page: Path) -> frozenset[str]:
    """What may follow `#`, by GitHub's rule: lower case, no punctuation, blanks become hyphens."""
    seen: dict[str, int] = {}
    found = set()
    for match in _HEADING.finditer(prose(page)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match["title"])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        times = seen.get(slug, 0)
        seen[slug] = times + 1
        found.add(slug if not times else f"{slug}-{times}")
    return frozenset(found)


class DoesNotApplyError(AssertionError):
    """The page and the code are no longer about the same thing."""


def apply_blocks(page: Path, folder: Path) -> list[Path]:
    """Do in a copy of the repository what a how-to says; the files that it changed."""
    changed = []
    for block in blocks(page):
        if block.file is None:
            continue
        target = folder / block.file
        if block.language == "diff":
            target.write_text(_patched(block, target.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            if target.exists():
                raise DoesNotApplyError(f"{block.id}: {block.file} exists already")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        changed.append(target)
    assert changed, f"{page_id(page)} changes nothing"
    return list(dict.fromkeys(changed))


def _patched(block: Block, text: str) -> str:
    """A diff without line numbers: what it shows must stand in the file exactly once."""
    before, after = [], []
    for line in block.text.splitlines():
        # An editor may have cut the blank off an empty line of context.
        mark, rest = (line[0], line[1:]) if line else (" ", "")
        if mark not in " +-":
            raise DoesNotApplyError(f"{block.id}: {line!r} is no line of a diff")
        if mark != "+":
            before.append(rest + "\n")
        if mark != "-":
            after.append(rest + "\n")
    old = "".join(before)
    # Lines are compared whole: a context must not match the end of another line.
    times = f"\n{text}".count(f"\n{old}")
    if times != 1:
        where = f"{times} times in {block.file}"
        raise DoesNotApplyError(f"{block.id}: its lines stand {where}:\n{old}")
    return f"\n{text}".replace(f"\n{old}", "\n" + "".join(after))[1:]
