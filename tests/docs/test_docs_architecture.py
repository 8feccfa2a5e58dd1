"""The architecture page says what the code says: its length, paths, layers, crates and sizes."""

from __future__ import annotations

import configparser
import re
import tomllib

import pytest
from docs_pages import ROOT, inline_code

PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
# Where a path on the page may begin: the repository, the engine, the Python package.
ROOTS = (
    ROOT, ROOT / "engine" / "src", ROOT / "engine", ROOT / "python" / "dumbbell",
    ROOT / "tcp" / "src",
)  # fmt: skip


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Cells of the body of a Markdown table."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_it_is_read_in_twenty_minutes() -> None:
    assert len(TEXT.splitlines()) <= 250


def test_its_paths_exist() -> None:
    paths = [
        code.rstrip("/")
        for code in inline_code(PAGE)
        if re.fullmatch(r"[\w\-.]+(/[\w\-.]+)+/?", code) and "NAME" not in code
    ]
    assert len(paths) > 25
    missing = [path for path in paths if not any((root / path).exists() for root in ROOTS)]
    assert not missing


def test_its_layers_are_those_that_are_checked() -> None:
    checked = configparser.ConfigParser()
    checked.read(ROOT / ".importlinter")
    layers = checked["importlinter:contract:layers"]["layers"].strip().splitlines()
    from_the_top = [set(re.findall(r"\w+", layer)) for layer in layers]
    groups = [
        set(re.findall(r"`(\w+)`", group))
        for _, packages, _ in rows(section("Python packages"))
        for group in re.split(";", packages)
    ]
    assert groups == from_the_top[::-1]


def test_its_crates_are_the_workspace() -> None:
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    named = [name.strip("`/") for name, _ in rows(section("Rust crates"))]
    assert sorted(named) == sorted(members)


@pytest.mark.parametrize(
    ("path", "asserted", "said"),
    [
        ("core/src/packet.rs", "size_of::<Packet>() == 32", "A packet has 32 bytes"),
        ("tcp/src/receiver.rs", "size_of::<Receiver>() <= 256", "a receiver has at most 256 bytes"),
        ("tcp/src/sender.rs", "size_of::<Sender>() <= 728", "of a sender at most 728"),
        (
            "engine/src/traffic/conversation.rs",
            "size_of::<Conversation>() <= 256",
            "of a conversation\n  256",
        ),
    ],
)
def test_its_sizes_are_those_that_the_compiler_holds(path: str, asserted: str, said: str) -> None:
    assert asserted in (ROOT / path).read_text()
    assert said in TEXT


def test_the_fields_of_a_packet_have_its_size() -> None:
    bits = [int(bits) for _, bits, _ in rows(section("The packet"))]
    assert sum(bits) == 32 * 8


def test_the_glossary_is_printed_from_its_terms() -> None:
    from dumbbell.report.glossary import glossary_markdown

    # `python -m dumbbell.report > docs/glossary.md` writes it.
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary_markdown()
