"""``dumbbell figures``: convert the figures of an existing result."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.backends import simulate
from dumbbell.cli.app import app
from dumbbell.compare.run_page import run_report
from dumbbell.report import write_report
from dumbbell.spec import Experiment

SPEC = """
name = "small"
duration = "1s"
links = [{ a = "a", b = "b", forward = { rate = "1mbit" } }]
[[flows]]
name = "stream"
from = "a"
to = "b"
source = { kind = "poisson", rate = "220pps", size = "exponential 512B" }
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    experiment = Experiment.from_toml(SPEC)
    folder = tmp_path_factory.mktemp("result") / "small"
    write_report(run_report(simulate(experiment), experiment), folder)
    return folder


def test_png_and_pdf_are_drawn_when_they_are_wanted(result: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", str(result), "--out", str(tmp_path / "for a paper")])
    assert done.exit_code == 0
    png, pdf = (tmp_path / "for a paper" / f"delay-cdf.{suffix}" for suffix in ("png", "pdf"))
    assert png.read_bytes().startswith(b"\x89PNG") and pdf.read_bytes().startswith(b"%PDF-")
    assert str(png) in done.stdout
    assert not list(result.rglob("*.png"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "gif"], "one of svg, png, pdf"),
        (["--to", "png,"], "one of svg, png, pdf"),
    ],
)
def test_other_formats_are_refused(result: Path, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["figures", str(result), *arguments])
    assert done.exception is not None and words in str(done.exception)


def test_a_folder_without_figures_and_broken_ones_are_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", str(tmp_path)])
    assert "a folder with figures in it" in str(done.exception)
    (tmp_path / "figures").mkdir()
    file = tmp_path / "figures" / "x.vl.json"
    for content, words in (("{", "Vega-Lite as JSON"), ("[]", "a JSON object")):
        file.write_text(content)
        done = CliRunner().invoke(app, ["figures", str(tmp_path)])
        assert words in str(done.exception)


def test_a_strangers_figure_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    chart = '{"mark": "text", "data": {"url": "file:///etc/passwd", "format": {"type": "csv"}}}'
    for name, spec in {"data": chart, "layer": f'{{"layer": [{chart}]}}'}.items():
        (tmp_path / "figures" / f"{name}.vl.json").write_text(spec)
    done = CliRunner().invoke(app, ["figures", str(tmp_path), "--out", str(tmp_path)])
    assert str(done.exception).count("names data elsewhere") == 2
    assert not list(tmp_path.glob("*.png"))
