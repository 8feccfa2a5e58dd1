"""Pages of a run and a comparison in Chromium: offline, without errors, on phone and desktop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from browsing import barriers, opened, outside
from dumbbell.backends import simulate
from dumbbell.cli.app import app
from dumbbell.spec import Experiment

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDTHS = {"desktop": 1440, "phone": 390}
RUN = """
name = "a-run"
duration = "8s"
sample_interval = "100ms"
links = [
    { a = "server", b = "router" },
    { a = "router", b = "client", delay = "15ms", rate = "10mbit", qdisc = "pfifo limit 60" },
]
[[flows]]
name = "download"
from = "server"
to = "client"
count = 2
start_jitter = "200ms"
source = { kind = "greedy" }
[[probes]]
name = "call"
from = "client"
to = "server"
interval = "100ms"
"""
TRANSFERS = """
name = "transfers"
duration = "8s"
links = [
    { a = "server", b = "router" },
    { a = "router", b = "client", delay = "15ms", rate = "10mbit" },
]
[[flows]]
name = "pages"
from = "server"
to = "client"
source = { kind = "arrivals", gap = "exponential 80ms", size = "exponential 30kB" }
[[flows]]
name = "pictures"
from = "server"
to = "client"
source = { kind = "arrivals", gap = "exponential 500ms", size = "pareto 1.3 100kB" }
"""
CAPTURED = """
name = "captured"
duration = "5s"
[[links]]
a = "server"
b = "router"
[[links]]
a = "router"
b = "client"
delay = "15ms"
rate = "10mbit"
qdisc = "pfifo limit 30"
capture = true
[[flows]]
name = "download"
from = "server"
to = "client"
transport = "tcp"
source = { kind = "greedy" }
[[flows]]
name = "pages"
from = "server"
to = "client"
transport = "tcp"
source = { kind = "arrivals", gap = "exponential 200ms", size = "exponential 30kB" }
"""
QUEUES = [f"--set=links[router->client].qdisc={each}" for each in ("pfifo limit 60", "fq_codel")]
CLAIM = """
[[claim]]
id = "waits"
kind = "ordering"
statement = "A call waits behind a download"
quantity = "probe[call].mean_rtt_ms"
above = "32ms"
"""
PAGES = ("a-run", "transfers", "a-run-compared", "a-capture", "captures")
JUDGED = "judged"
"""The page of a file's claims, which has no figure that can be downloaded."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "run.toml").write_text(RUN, encoding="utf-8")
    (folder / "transfers.toml").write_text(TRANSFERS, encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        compared = [*QUEUES, "--replications=3", "--out=results/a-run-compared"]
        for words in (["run.toml"], ["transfers.toml"], ["run.toml", *compared]):
            done = CliRunner().invoke(app, ["run", *words, "--page"])
            assert done.exit_code == 0, done.output
        captures = [_capture(folder, name) for name in ("fifo", "codel")]
        for page, files in (("a-capture", captures[:1]), ("captures", captures)):
            words = ["analyze", *map(str, files), "--out", f"results/{page}"]
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, done.output
        (folder / "claims.toml").write_text(RUN + CLAIM, encoding="utf-8")
        words = ["check", "claims.toml", "--replications=3", "--out", f"results/{JUDGED}"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    finally:
        os.chdir(here)
    return folder / "results"


def _capture(folder: Path, name: str) -> Path:
    qdisc = {"fifo": "pfifo limit 30", "codel": "fq_codel"}[name]
    run = simulate(Experiment.from_toml(CAPTURED.replace("pfifo limit 30", qdisc)))
    path = folder / f"{name}.pcapng"
    path.write_bytes(run.files["capture.pcapng"].path.read_bytes())
    return path


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_offline_and_fits(
    browser: Browser, results: Path, name: str, width: int
) -> None:
    page, seen = opened(browser, results / name / "index.html", width)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(200)
    assert seen.messages == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(page, width) == []
    assert page.locator(".plot svg.chart:visible").count() == page.locator("figure").count() > 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize("name", [*PAGES, JUDGED])
def test_axe_finds_no_barrier(
    browser: Browser, results: Path, name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page, seen = opened(browser, results / name / "index.html", width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert barriers(page) == []
    assert seen.messages == []
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_what_can_be_downloaded_is_there(browser: Browser, results: Path, name: str) -> None:
    page, _ = opened(browser, results / name / "index.html", WIDTHS["desktop"])
    links = page.locator("a[download]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert len(links) >= 3 * page.locator("figure").count()
    assert [link for link in links if not (results / name / link).stat().st_size] == []
    page.close()
