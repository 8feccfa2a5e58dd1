"""The chart of round-trip times: those of the run's probes, first, with what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lab_page import Opened, Opener, typed

import dumbbell
from browsing import barriers
from dumbbell.lab import LabExperiment, write_laboratory
from dumbbell.spec import Experiment

pytestmark = pytest.mark.browser

_SHOWN = """() => laboratory.now.series.probes.map(each => ({
  ...each, t_s: [...each.t_s], lost_s: [...each.lost_s],
  rtt_ms: [...each.rtt_ms].map(ms => Number.isFinite(ms) ? ms : null),
}))"""
_NONE_NS = -1


def _probes(seen: Opened) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = seen.page.evaluate(_SHOWN)
    return found


def _check(seen: Opened) -> Mapping[str, Any]:
    """The chart has the round trips of the file that the page gives; the first probe's."""
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(seen.toml()))
    shown = _probes(seen)
    for place, probe in enumerate(shown):
        sent, trips = (run.column("probes", name, probe=place) for name in ("sent_ns", "rtt_ns"))
        answered = trips != _NONE_NS
        assert probe["requests"] == len(sent) and probe["answered"] == answered.sum()
        drawn = dict(zip(probe["t_s"], probe["rtt_ms"], strict=True))
        expected = dict(zip(sent[answered] / 1e9, trips[answered] / 1e6, strict=True))
        assert {t: ms for t, ms in drawn.items() if ms is not None} == pytest.approx(expected)
        gaps = [t for t, ms in drawn.items() if ms is None]
        assert gaps == probe["lost_s"]
        # Each that was lost has no answer, and one that was sent later has.
        last = sent[answered].max() / 1e9
        without = (sent[~answered] / 1e9).tolist()
        assert [t for t in without if t < last] == pytest.approx(probe["lost_s"])
        assert probe["lost"] == len(probe["lost_s"])
    return shown[0]


def test_the_call_of_the_question_is_shown_first(opener: Opener) -> None:
    seen = opener()
    call = _check(seen)
    assert call["name"] == "call" and call["lost"] > 0
    figures = "[...document.querySelectorAll('.figures figure:not([hidden]) canvas')]"
    assert seen.page.evaluate(f"{figures}[0].dataset.figure") == "probes"
    assert seen.page.inner_text("#legend").split()[0] == "call"
    words = str(seen.page.get_attribute("canvas[data-figure=probes]", "aria-label"))
    assert f"{call['lost']} of {call['requests']} lost" in words
    before = max(ms for ms in call["rtt_ms"] if ms is not None)
    seen.after(typed("qdisc", "fq_codel"))
    assert max(ms for ms in _check(seen)["rtt_ms"] if ms is not None) < before / 5
    assert seen.page.evaluate("laboratory.before.series.probes[0].lost") == call["lost"]
    assert seen.messages == []


def test_without_a_probe_there_is_no_such_chart(opener: Opener) -> None:
    seen = opener()
    seen.choose("policing")
    assert not seen.page.is_visible("#calls")
    seen.choose("bbr-against-cubic")
    assert seen.page.is_visible("#calls")
    assert _check(seen)["name"] == "ping"


_TWO = """
duration = "4s"
sample_interval = "50ms"
links = [{ a = "x", b = "y", delay = "20ms", rate = "1mbit", loss = 0.2 }]

[[probes]]
name = "often"
from = "x"
to = "y"
interval = "1ms"

[[probes]]
name = "seldom"
from = "y"
to = "x"
interval = "500ms"
"""


def test_of_very_many_requests_the_slowest_are_drawn(opener: Opener, tmp_path: Path) -> None:
    place = tmp_path / "two.html"
    shown = LabExperiment("two", "two", "Two probes.", Experiment.from_toml(_TWO), is_own=True)
    write_laboratory(place, (shown,))
    seen = opener(place=place)
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(seen.toml()))
    often, seldom = _probes(seen)
    trips = run.column("probes", "rtt_ns", probe=0)
    assert often["requests"] == len(trips) > 3000
    assert often["lost"] > 300
    assert len(often["t_s"]) <= 700
    assert max(filter(None, often["rtt_ms"])) == pytest.approx(trips.max() / 1e6)
    assert seldom["requests"] == len(run.column("probes", "seq", probe=1))
    assert barriers(seen.page) == []


@pytest.mark.parametrize("width", [390, 1440])
def test_the_chart_of_the_call_stays_in_sight_of_a_phone(opener: Opener, width: int) -> None:
    seen = opener(width=width)
    seen.page.evaluate(
        "document.getElementById('control-qdisc').scrollIntoView({ block: 'center' })"
    )
    top = seen.page.evaluate(
        "() => { const { left, top, width } = document.getElementById('calls')"
        ".getBoundingClientRect(); const hit = document.elementFromPoint(left + width / 2, 60);"
        " return { top, hit: hit?.closest('figure')?.id }; }"
    )
    if width < 760:
        assert top == {"top": 0, "hit": "calls"}
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
