"""The lens of live figures: packets around the cursor, those of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from live_page import STUDIES, Live, LiveOpener

import dumbbell
from browsing import barriers
from dumbbell.report.live import LiveArm

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LENS = "liveFigure.lens"
BESIDE = "statistical-multiplexing"
"""Whose lens shows all queues of all arms."""


def _look(live: Live, places: int) -> None:
    """Moves the lens by `places` places, with keys alone, and waits for its packets."""
    live.page.focus("#live-lens-moment")
    for _ in range(places):
        live.page.keyboard.press("PageUp")
    from_s = f"({LENS}.figure.begin_s + {LENS}.at_s)"
    live.until(f"Math.abs({LENS}.stage.packets?.from_ns - 1e9 * {from_s}) < 1")


def _lanes(live: Live) -> list[dict[str, Any]]:
    """What each of its stages shows."""
    found: list[dict[str, Any]] = live.page.evaluate(
        f"{LENS}.stages.map(({{ packets }}) => ({{ ...packets,"
        " in_ns: [...packets.in_ns], drop: [...packets.drop],"
        " out_ns: [...packets.out_ns].map(each => Number.isFinite(each) ? each : -1) }))"
    )
    return found


def _recorded(live: Live, arm: LiveArm, names: Sequence[str]) -> dumbbell.Run:
    """The run of an arm with the packets of some queues."""
    toml = live.page.input_value(f"#live-toml-{arm.id}")
    experiment = dumbbell.Experiment.from_toml(toml)
    resolved = experiment.resolved()
    for name in names:
        queue = experiment.queue_names.index(name)
        end = resolved["links"][queue // 2]["reverse" if queue % 2 else "forward"]
        end["record_packets"] = True
    return dumbbell.simulate(dumbbell.Experiment.from_resolved(resolved))


def _check_equal(run: dumbbell.Run, queue: str, lane: Mapping[str, Any]) -> int:
    """A stage shows the packets of the run; how many left the queue."""

    def times_ns(event: str) -> list[int]:
        t_ns = run.column("packets", "t_ns", queue=queue, event=event)
        inside = (t_ns >= lane["from_ns"]) & (t_ns <= lane["until_ns"])
        return sorted(t_ns[inside].tolist())

    def seen(name: str, *, is_drop: bool) -> list[float]:
        at = zip(lane[name], lane["drop"], strict=True)
        inside = [t for t, drop in at if bool(drop) is is_drop]
        return sorted(t for t in inside if lane["from_ns"] <= t <= lane["until_ns"])

    assert seen("in_ns", is_drop=False) == times_ns("enqueue")
    # What a discipline drops later left the queue then.
    gone = seen("out_ns", is_drop=False) + seen("out_ns", is_drop=True)
    assert sorted(gone) == sorted(times_ns("dequeue") + times_ns("drop"))
    return len(times_ns("dequeue"))


@pytest.mark.parametrize("study", STUDIES)
def test_a_lens_shows_the_packets_of_the_run(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.page.focus(".live-lens summary")
    live.page.keyboard.press("Enter")
    _look(live, 3)
    lanes = _lanes(live)
    arms = live.hero.arms if study == BESIDE else live.hero.arms[:1]
    queues = [(arm, name) for arm in arms for name in arm.queues[0]]
    assert len(lanes) == len(queues)
    runs = {arm.id: _recorded(live, arm, arm.queues[0]) for arm in arms}
    left = [
        _check_equal(runs[arm.id], queue, lane)
        for (arm, queue), lane in zip(queues, lanes, strict=True)
    ]
    assert left[0] > 5
    label = live.page.get_attribute("canvas[data-lens] >> nth=0", "aria-label") or ""
    assert "packets" in label and label != "no packets yet"
    assert live.seen.messages == []


def test_the_same_packets_come_to_one_lane_and_to_several(live_opener: LiveOpener) -> None:
    live = live_opener(BESIDE)
    live.page.click(".live-lens summary")
    _look(live, 1)
    for place, streams in enumerate((2, 4, 8)):
        live.move({"lanes": place})
        live.until(f"{LENS}.stages.length === {1 + streams} && {LENS}.stages.every(e => e.packets)")
        fast, *slow = _lanes(live)
        # Those that wait there since before the window are others.
        came, came_slowly = (
            sorted(t for lane in lanes for t in lane["in_ns"] if t >= fast["from_ns"])
            for lanes in ([fast], slow)
        )
        assert came == came_slowly and len(came) > 5
        # All play on the clock of the first.
        frames = live.page.evaluate(f"{LENS}.stage.frames")
        live.until(f"{LENS}.stage.frames > {frames + 3}")
        assert live.page.evaluate(
            f"{LENS}.stages.every(each => each.now_ns === {LENS}.stage.now_ns)"
        )
        names = live.page.locator(".live-lanes figcaption").all_inner_texts()
        assert len(names) == 1 + streams and names[-1].endswith(f"{streams} of {streams}")
    assert barriers(live.page) == []
    assert live.seen.messages == []


@pytest.mark.parametrize("study", STUDIES)
def test_a_lens_plays_for_about_ten_seconds(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.page.click(".live-lens summary")
    _look(live, 4)
    lane = _lanes(live)[0]
    watched_s = (lane["until_ns"] - lane["from_ns"]) / 1e9
    watched_s *= live.page.evaluate(f"{LENS}.stage.slowness(0)")
    assert 3 < watched_s < 40
    frames = live.page.evaluate(f"{LENS}.stage.frames")
    live.until(f"{LENS}.stage.frames > {frames + 5}")
    live.page.click("#live-lens-play")
    assert live.page.inner_text("#live-lens-play") == "Play"
    assert not live.page.evaluate(f"{LENS}.stage.isPlaying")
    assert barriers(live.page) == []


def test_a_lens_stands_still_where_motion_is_unwanted(live_opener: LiveOpener) -> None:
    live = live_opener("traffic-policing")
    live.page.emulate_media(reduced_motion="reduce")
    live.page.click(".live-lens summary")
    _look(live, 2)
    frames = live.page.evaluate(f"{LENS}.stage.frames")
    live.page.wait_for_timeout(300)
    assert live.page.evaluate(f"{LENS}.stage.frames") == frames
    live.page.click("#live-lens-play")
    live.until(f"{LENS}.stage.frames > {frames + 5}")
    # The lens and the pictures over time look at the same instant, and so does a pointer.
    assert live.page.evaluate(f"liveFigure.cursor_s === {LENS}.at_s")
    canvas = live.page.locator("canvas[data-picture=window]")
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 300, "y": 40})
    live.until(f"liveFigure.cursor_s === {LENS}.at_s && {LENS}.at_s > 4")
    live.page.emulate_media(reduced_motion="no-preference")
    # A page hears of it when it draws a frame: of what is taken back before that it hears nothing.
    frames = live.page.evaluate(f"{LENS}.stage.frames")
    live.until(f"{LENS}.stage.frames > {frames + 2}")
    live.page.emulate_media(reduced_motion="reduce")
    live.until(f"!{LENS}.stage.isPlaying")
