"""Replications of live figures: those of the command line, gone at once when a slider moves."""

from __future__ import annotations

import numpy as np
import pytest
from live_numbers import NUMBERS, TOGETHER
from live_page import STUDIES, LiveOpener

import dumbbell
from dumbbell.stats import student_interval

pytestmark = [pytest.mark.browser, pytest.mark.slow]
REPLICATIONS = "liveFigure.replications"
RANDOM = tuple(each for each in STUDIES if each != "traffic-policing")
"""The experiment of policing has nothing random in it."""


_DRAWN = (
    f"{REPLICATIONS}.drawn.map(each => Object.fromEntries(Object.entries(each).map("
    "([name, values]) => [name, values.map(v => Number.isFinite(v) ? v : null)])))"
)
"""By arm, number to its values; none where there is no number."""


def _check(value: float | None, expected: float) -> None:
    found = float("nan") if value is None else value
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("study", STUDIES)
def test_each_run_is_a_replication_of_the_command_line(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until(f"{REPLICATIONS}.runs >= 3")
    drawn: list[dict[str, list[float | None]]] = live.page.evaluate(_DRAWN)
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


_SHOWN = """[...document.querySelectorAll('.live-interval')].map(each => {
  const { arm, number } = each.closest('td').dataset;
  return [arm, number, each.textContent];
})"""
"""What stands below numbers, with whose they are."""


@pytest.mark.parametrize("study", RANDOM)
def test_an_interval_is_that_of_the_runs_so_far(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until("document.querySelector('.live-runs').dataset.runs >= 4")
    # All at one instant, as the next run may come at any.
    of_runs = "document.querySelector('.live-runs')"
    runs, words, cells, drawn = live.page.evaluate(
        f"[Number({of_runs}.dataset.runs), {of_runs}.textContent, {_SHOWN}, {_DRAWN}]"
    )
    assert f"mean of {runs} runs" in words and "95 %" in words
    shown = {(arm, number): interval for arm, number, interval in cells}
    factors = {"utilization": 100, "lost": 100, "used": 100}
    seen = 0
    for arm, found in zip(live.hero.arms, drawn, strict=True):
        for name, values in found.items():
            # A run that has come may not have been drawn yet.
            known = [each for each in values[:runs] if each is not None]
            if len(known) < runs or (arm.id, name) not in shown:
                continue
            mean, half = map(float, shown[arm.id, name].split(" ± "))
            own = student_interval(np.array(known) * factors.get(name, 1))
            place = f"{arm.id} {name}: {shown[arm.id, name]} of {known}"
            assert half == pytest.approx((own.high - own.low) / 2, rel=0.06, abs=1e-6), place
            assert mean == pytest.approx(own.value, rel=0.01, abs=half), place
            seen += 1
    assert seen >= len(live.hero.arms)


def test_what_is_not_random_is_said_and_not_run_on(live_opener: LiveOpener) -> None:
    live = live_opener("traffic-policing")
    live.until("document.querySelector('.live-runs').textContent")
    words = live.page.inner_text(".live-runs")
    assert words == "Nothing here is random: 3 runs gave the same."
    assert live.page.evaluate(_SHOWN) == []
    live.page.wait_for_timeout(500)
    assert live.page.evaluate(f"{REPLICATIONS}.runs") == 3


_STOPPED = """(name) => {
  const { replications } = liveFigure, { bench } = replications;
  const input = document.getElementById(`live-${name}`);
  const move = () => {
    input.value = String(Number(input.value) === 0 ? 1 : 0);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const stopped = window.stopped = { said: [], id: null };
  // A worker that hears an order late is replaced: what is listened to is whichever there is.
  const listen = (worker) => {
    worker.addEventListener("message", ({ data }) => stopped.said.push([data.kind, data.id]));
  };
  let { worker } = bench;
  listen(worker);
  Object.defineProperty(bench, "worker", {
    get: () => worker,
    set: (made) => listen((worker = made)),
  });
  const { hear } = bench;
  bench.hear = (message) => {
    hear(message);
    // In the middle of them, on a machine of any speed.
    if (message.kind !== "replicated" || replications.runs < 3 || stopped.id !== null) return;
    stopped.wasGoing = replications.isGoing;
    const before = bench.id;
    move();
    const { runs, isGoing } = replications;
    Object.assign(stopped, { id: bench.id, orders: bench.id - before, runs, isGoing });
  };
  move();
}"""
"""Moves a control, and once more when some replications of that have come."""


@pytest.mark.parametrize("study", RANDOM)
def test_a_slider_stops_them_at_once(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    live.until(f"{REPLICATIONS}.runs >= 3")
    (control, *_) = live.hero.controls
    live.page.evaluate(_STOPPED, control.id)
    of_the_next = "stopped.said.filter(([kind, id]) => kind === 'replicated' && id > stopped.id)"
    live.until(f"stopped.id !== null && {of_the_next}.length >= 2")
    found = live.page.evaluate("stopped")
    assert found["wasGoing"]
    assert found["runs"] == 0 and not found["isGoing"]
    assert found["orders"] == 1
    assert ["stopped", found["id"]] in found["said"]
    # What a worker had said before it heard the order may come; after that, nothing.
    said = found["said"][found["said"].index(["heard", found["id"]]) :]
    assert [id_ for kind, id_ in said if kind == "replicated" and id_ < found["id"]] == []
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
