"""Replications of live figures: those of the command line, gone at once when a slider moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from live_numbers import NUMBERS, TOGETHER
from live_page import STUDIES, Live, LiveOpener

import dumbbell
from dumbbell.stats import student_interval

pytestmark = [pytest.mark.browser, pytest.mark.slow]
REPLICATIONS = "liveFigure.replications"
RANDOM = tuple(each for each in STUDIES if each != "traffic-policing")
"""The experiment of policing has nothing random in it."""


def _drawn(live: Live) -> list[dict[str, list[float | None]]]:
    """By arm, number to its values; none where there is no number."""
    found: list[dict[str, list[float | None]]] = live.page.evaluate(
        f"{REPLICATIONS}.drawn.map(each => Object.fromEntries(Object.entries(each).map("
        "([name, values]) => [name, values.map(v => Number.isFinite(v) ? v : null)])))"
    )
    return found


def _check(value: float | None, expected: float) -> None:
    found = float("nan") if value is None else value
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("study", STUDIES)
def test_each_run_is_a_replication_of_the_command_line(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until(f"{REPLICATIONS}.runs >= 3")
    drawn = _drawn(live)
    files = {arm.id: live.page.input_value(f"#live-toml-{arm.id}") for arm in live.hero.arms}
    for replication in (0, 1, 2):
        runs = {
            arm: dumbbell.simulate(dumbbell.Experiment.from_toml(text), replication)
            for arm, text in files.items()
        }
        for arm, found in zip(live.hero.arms, drawn, strict=True):
            for name, number in NUMBERS[study].items():
                _check(found[name][replication], number(runs[arm.id], arm))
            for name, together in TOGETHER.get(study, {}).items():
                _check(found[name][replication], together(runs, arm))
    assert live.seen.messages == []


def _shown(live: Live) -> dict[tuple[str, str], str]:
    """(arm, number) to what stands below the number."""
    cells = live.page.evaluate(
        "[...document.querySelectorAll('.live-interval')].map(each => {"
        " const { arm, number } = each.closest('td').dataset;"
        " return [arm, number, each.textContent]; })"
    )
    return {(arm, number): words for arm, number, words in cells}


@pytest.mark.parametrize("study", RANDOM)
def test_an_interval_is_that_of_the_runs_so_far(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until("document.querySelector('.live-runs').dataset.runs >= 4")
    # At one instant, as the next run may come at any.
    shown_and_drawn: Any = live.page.evaluate(
        "[+document.querySelector('.live-runs').dataset.runs, document.querySelector('.live-runs')"
        ".textContent]"
    )
    runs, words = shown_and_drawn
    assert f"mean of {runs} runs" in words and "95 %" in words
    shown = _shown(live)
    factors = {"utilization": 100, "lost": 100, "used": 100}
    seen = 0
    for arm, found in zip(live.hero.arms, _drawn(live), strict=True):
        for name, values in found.items():
            known = [each for each in values if each is not None]
            if len(known) < len(values) or (arm.id, name) not in shown:
                continue
            mean, half = map(float, shown[arm.id, name].split(" ± "))
            # A run more may have come meanwhile.
            for count in (runs, runs + 1, len(known)):
                own = student_interval(np.array(known[:count]) * factors.get(name, 1))
                expected = (own.high - own.low) / 2
                if half == pytest.approx(expected, rel=0.06, abs=1e-6):
                    assert mean == pytest.approx(own.value, rel=0.01, abs=half)
                    seen += 1
                    break
            else:
                pytest.fail(f"{arm.id} {name}: {shown[arm.id, name]} of {known}")
    assert seen >= len(live.hero.arms)


def test_what_is_not_random_is_said_and_not_run_on(live_opener: LiveOpener) -> None:
    live = live_opener("traffic-policing")
    live.until("document.querySelector('.live-runs').textContent")
    words = live.page.inner_text(".live-runs")
    assert words == "Nothing here is random: 3 runs gave the same."
    assert _shown(live) == {}
    live.page.wait_for_timeout(500)
    assert live.page.evaluate(f"{REPLICATIONS}.runs") == 3


@pytest.mark.parametrize("study", RANDOM)
def test_a_slider_stops_them_at_once(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until(f"{REPLICATIONS}.runs >= 3")
    (control, *_) = live.hero.controls
    # What comes after the order to stop is counted, whatever it belongs to.
    found = live.page.evaluate(
        """async (name) => {
          const { replications } = liveFigure, input = document.getElementById(`live-${name}`);
          let late = 0;
          replications.bench.worker.addEventListener("message", ({ data }) => {
            late += data.kind === "replicated";
          });
          // What has been said and not yet heard, the processor being another's, is heard first.
          for (let quiet = 0, turns = 0; quiet < 2 && turns < 200; turns += 1) {
            const heard = late;
            await new Promise((resolve) => setTimeout(resolve));
            quiet = late === heard ? quiet + 1 : 0;
          }
          late = 0;
          const before = replications.bench.id;
          input.value = String(Number(input.value) === 0 ? 1 : 0);
          input.dispatchEvent(new Event("input", { bubbles: true }));
          const now = { runs: replications.runs, isGoing: replications.isGoing };
          const stopped = await new Promise((resolve) => {
            const from = performance.now();
            replications.bench.worker.addEventListener("message", ({ data }) => {
              if (data.kind === "stopped") resolve(performance.now() - from);
            });
            setTimeout(() => resolve(Infinity), 20000);
          });
          return { ...now, late, stopped, orders: replications.bench.id - before };
        }""",
        control.id,
    )
    assert found["runs"] == 0 and not found["isGoing"]
    assert found["orders"] == 1
    # One that had ended when it was told may still say so.
    assert found["late"] <= 1
    assert found["stopped"] < 20_000
    live.until(f"{REPLICATIONS}.runs >= 3")
    assert live.seen.messages == []


@pytest.mark.long
def test_memory_stays_where_it_is(live_opener: LiveOpener) -> None:
    live = live_opener("statistical-multiplexing")
    live.page.click("#live-no-bet")
    session = live.page.context.new_cdp_session(live.page)

    def in_use() -> tuple[float, float, float]:
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        counted = session.send("Memory.getDOMCounters")
        used = session.send("Runtime.getHeapUsage")["usedSize"]
        return used, counted["nodes"], counted["jsEventListeners"]

    def change(times: int) -> None:
        for number in range(times):
            live.move({"load": number % 9})
            if number % 25 == 0:
                live.until(f"{REPLICATIONS}.runs >= 3")

    change(40)
    before = in_use()
    change(500)
    after = in_use()
    assert after[0] - before[0] < 5e6
    assert after[1] - before[1] < 2_000
    assert after[2] == before[2]
