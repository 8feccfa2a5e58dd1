"""The page's file: small, the same each time, with colours that can be told apart."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from dumbbell import Experiment, SpecError
from dumbbell.cli import main
from dumbbell.lab import LabExperiment, bottleneck_of, modules, page_file, page_text, presets

MOST_BYTES = 2_000_000
LEAST_CONTRAST = {"graphics": 3.0, "text": 4.5}
HOSTILE = "</script><script>alert(1)</script><!--"


def test_the_file_is_small_and_the_same_each_time(module: Path) -> None:
    text = page_text()
    assert len(gzip.compress(text.encode())) < MOST_BYTES
    assert text == page_text()
    assert len(module.read_bytes()) > 100_000


def test_a_hostile_name_stays_inside_its_element(module: Path) -> None:
    toml = 'duration = "1s"\nlinks = [{ a = "a", b = "b", rate = "1mbit" }]\n'
    toml += 'probes = [{ name = "p", from = "a", to = "b" }]\n'
    experiment = Experiment.from_toml(toml)
    text = page_text([LabExperiment("file", HOSTILE, HOSTILE, experiment)])
    assert text.count("</script>") == page_text().count("</script>")
    assert "<!--" not in text


def test_without_the_module_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(modules, "MODULE", "nothing.wasm")
    with pytest.raises(modules.NoModuleError, match="make lab"):
        page_text()


def test_the_command_says_so_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "page.html"
    monkeypatch.setattr(modules, "MODULE", "nothing.wasm")
    monkeypatch.setattr("sys.argv", ["dumbbell", "lab", "--no-open", "--output", str(place)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.err.startswith("error: the laboratory's page cannot be written")
    assert "nothing.wasm" in said.err
    assert not place.exists()


def test_the_bottleneck_is_the_slowest_queue_on_the_way() -> None:
    assert [bottleneck_of(each.experiment) for each in presets()] == [
        "router->home",
        "router->home",
        "router->receiver",
        "gateway->dish",
        "router->receiver",
        "switch->client",
        "router->receiver",
        "router->internet",
        "sender->receiver",
    ]
    lonely = Experiment.from_toml('duration = "1s"\nlinks = [{ a = "a", b = "b" }]\n')
    with pytest.raises(SpecError, match="flow or a probe"):
        bottleneck_of(lonely)


def _schemes() -> list[dict[str, str]]:
    style = page_file._file("style.css")
    found = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", each)) for each in found]
    assert len(colours) == 2
    return colours


def _luminance(colour: str) -> float:
    """WCAG 2.2, "relative luminance"."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", _schemes(), ids=["light", "dark"])
def test_lines_and_text_stand_out(colours: dict[str, str]) -> None:
    lines = [name for name in colours if name.startswith("flow-")] + ["ghost", "edge", "accent"]
    lines += ["green", "orange", "purple", "sky"]
    for back in (colours["back"], colours["panel"]):
        for name in (*lines, "text", "quiet", "bad"):
            kind = "text" if name in ("text", "quiet", "bad") else "graphics"
            # The grey of the run before lies on the page's own colour only.
            if name != "ghost" or back == colours["back"]:
                assert _contrast(colours[name], back) >= LEAST_CONTRAST[kind], (name, back)
