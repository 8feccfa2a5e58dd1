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


def test_its_names_are_those_of_the_code() -> None:
    """Whatever stands as code: each word of it is in a source, or names one."""
    folders = [folder for folder in ROOT.iterdir() if (folder / "src").is_dir()]
    sources = [
        path
        for folder in (*folders, ROOT / "python", ROOT / "scripts", ROOT / "tests")
        for path in folder.rglob("*")
        if path.suffix in {".rs", ".py"} and "target" not in path.parts
    ]
    known = {path.stem for path in sources} | {"lint", "imports"}
    for path in sources:
        known.update(re.findall(r"\w{4,}", path.read_text(encoding="utf-8")))
    for code in inline_code(PAGE):
        assert set(re.findall(r"[A-Za-z_]\w{3,}", code)) <= known, code


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
        ("tcp/src/receiver.rs", "size_of::<Receiver>() <= 256", "at most 256 bytes of a receiver"),
        ("tcp/src/sender.rs", "size_of::<Sender>() <= 728", "728 of a sender"),
        (
            "engine/src/traffic/conversation.rs",
            "size_of::<Conversation>() <= 256",
            "256 of a conversation",
        ),
    ],
)
def test_its_sizes_are_those_that_the_compiler_holds(path: str, asserted: str, said: str) -> None:
    assert asserted in (ROOT / path).read_text()
    assert said in " ".join(TEXT.split())


@pytest.mark.parametrize(
    ("path", "stated", "said"),
    [
        (
            "engine/src/run/watch.rs",
            "MOST_TIMES_THE_EVENTS: u64 = 5;",
            "five times the estimated number of events",
        ),
        ("engine/src/run/watch.rs", "EVENTS_ALWAYS_DONE: u64 = 10_000_000;", "at least 10 million"),
        (
            "engine/src/run/watch.rs",
            "EVENTS_AT_AN_INSTANT: u64 = 4_000_000;",
            "4 million events at one",
        ),
        ("core/src/histogram.rs", "BINS_LOG2: u32 = 7;", "1/128 relative width"),
        ("tests/kernel_backend/test_qdisc_agreement.py", "LATE_NS = 2_000\n", "within 2 us"),
    ],
)
def test_its_other_numbers_are_those_of_the_code(path: str, stated: str, said: str) -> None:
    assert stated in (ROOT / path).read_text(encoding="utf-8")
    assert said in " ".join(TEXT.split())


def test_a_packet_has_the_free_bits_that_it_says() -> None:
    text = (ROOT / "core" / "src" / "packet.rs").read_text(encoding="utf-8")
    flags = re.findall(r"^const \w+: u8 = 0x[1248]0;$", text, re.MULTILINE)
    assert f"; {4 - len(flags)} free |" in section("The packet")


def test_a_time_lasts_as_long_as_it_says() -> None:
    assert f"picoseconds ({2**64 // 10**12 // 86400} days)" in TEXT


def test_the_fields_of_a_packet_have_its_size() -> None:
    bits = [int(bits) for _, bits, _ in rows(section("The packet"))]
    assert sum(bits) == 32 * 8


def test_the_glossary_is_printed_from_its_terms() -> None:
    from dumbbell.report.glossary import glossary_markdown

    # `python -m dumbbell.report > docs/glossary.md` writes it.
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary_markdown()
