"""The laboratory's figures: who is in the queue, its limit, what senders do, the tail of delays."""

from __future__ import annotations

import numpy as np
import pytest
from lab_page import Opened, Opener, moved, preset_ids, typed

import dumbbell

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOW = "laboratory.now"
STACKED = f"{NOW}.stacked"


def _levels(seen: Opened) -> dict[str, list[float]]:
    """Group to its packets in queue and transmission at the samples."""
    seen.until(STACKED)
    groups = seen.page.evaluate(f"{STACKED}.groups.map(each => [each.name, [...each.pkts]])")
    return dict(groups)


def _system_pkts(seen: Opened) -> list[float]:
    found: list[float] = seen.page.evaluate(f"[...{NOW}.series.queue.system_pkts]")
    return found


@pytest.mark.parametrize("name", preset_ids())
def test_layers_of_the_queue_are_as_high_as_the_queue(opener: Opener, name: str) -> None:
    seen = opener()
    seen.choose(name)
    levels = _levels(seen)
    assert np.sum(list(levels.values()), axis=0).tolist() == _system_pkts(seen)
    assert seen.is_quiet(), seen


@pytest.mark.parametrize("qdisc", ["pfifo limit 40", "fq_codel limit 60", "codel limit 80"])
def test_layers_of_flows_that_share_a_discipline(opener: Opener, qdisc: str) -> None:
    seen = opener()
    for act in (typed("count-mice", "2"), typed("count-on-off", "3"), typed("qdisc", qdisc)):
        seen.after(act)
    levels = _levels(seen)
    assert {"download", "mice", "on-off"} <= set(levels)
    assert np.sum(list(levels.values()), axis=0).tolist() == _system_pkts(seen)


def test_a_layer_is_its_flow_s_packets(opener: Opener) -> None:
    seen = opener()
    seen.choose("bbr-against-cubic")
    levels = _levels(seen)
    resolved = dumbbell.Experiment.from_toml(seen.toml()).resolved()
    place = seen.page.evaluate("laboratory.opened.queue")
    end = resolved["links"][place // 2]["reverse" if place % 2 else "forward"]
    end["record_packets"] = True
    experiment = dumbbell.Experiment.from_resolved(resolved)
    run = dumbbell.simulate(experiment)
    t_ns = np.array(seen.page.evaluate(f"[...{STACKED}.t_s]")) * 1e9
    queue = experiment.queue_names[place]

    def passed(flow: str, event: str) -> np.ndarray:
        own = run.column("packets", "t_ns", queue=queue, event=event, flow=flow)
        return np.searchsorted(own, np.round(t_ns), side="right")

    others = levels.pop("others")  # pings
    assert max(others) <= 1
    assert set(levels) == {"cubic", "bbr"}
    for name, pkts in levels.items():
        assert (passed(name, "enqueue") - passed(name, "dequeue")).tolist() == pkts, name


def test_what_the_path_holds_is_drawn(opener: Opener) -> None:
    seen = opener()
    held = seen.page.evaluate("laboratory.held")
    # 20 Mbit/s and 30 ms are 50 packets of 1500 bytes.
    assert held == {"limit": 1000, "line": 50, "all": 1050}
    seen.after(typed("qdisc", "bfifo limit 150000"))
    assert seen.page.evaluate("Number.isNaN(laboratory.held.limit) && laboratory.held.line === 50")


def test_the_strip_says_what_senders_do(opener: Opener) -> None:
    seen = opener()
    seen.choose("bbr-against-cubic")
    senders = seen.page.evaluate(f"{NOW}.series.senders")
    assert [each["name"] for each in senders] == ["cubic", "bbr"]
    startup, probe_bw = 5, 7
    assert {startup, probe_bw} <= set(senders[1]["stretches"]["activity"])
    said = seen.page.get_attribute("canvas[data-figure=states]", "aria-label") or ""
    assert said.startswith("What senders do: cubic: ") and "bbr: probe bandwidth" in said
    # On the clock of the window above it.
    spans = seen.page.evaluate(
        "['cwnd', 'states'].map(each => {"
        " const { x, width } = laboratory.canvases[each].getBoundingClientRect();"
        " return [x, width]; })"
    )
    assert spans[0] == spans[1]
    seen.choose("mm1")
    assert seen.page.locator("#states").is_hidden()


def test_the_tail_is_drawn_on_a_logarithmic_axis(opener: Opener) -> None:
    seen = opener()
    picture = "laboratory.canvases.cdf.toDataURL()"
    before = seen.page.evaluate(picture)
    seen.page.check("#tail")
    assert seen.page.evaluate(picture) != before
    seen.page.uncheck("#tail")
    assert seen.page.evaluate(picture) == before


_LOOKED = """() => {
  window.looked = null;
  const look = () => {
    const { replications, now, isReplicating } = laboratory;
    return [Object.keys(replications).length, now.stacked === undefined, isReplicating];
  };
  let { done } = laboratory;
  Object.defineProperty(laboratory, "done", {
    configurable: true,
    get: () => done,
    set: (to) => {
      Object.defineProperty(laboratory, "done", { value: to, writable: true });
      let first;
      queueMicrotask(() => { first = look(); });
      setTimeout(() => { window.looked = [first, look()]; }, 200);
    },
  });
  ACT;
}"""
"""Does something, and looks at the page when the run that follows has ended and 0.2 s later.

The replications of that run begin by a timer of 0.4 s, which is set at its end, too: timers fire
in order of their due times, so on no machine have those begun when the page is looked at.
"""


def test_nothing_of_the_run_before_comes_to_the_next(opener: Opener) -> None:
    seen = opener()
    seen.until("Number(document.getElementById('replications').textContent) >= 2")
    for share in (0.3, 0.35, 0.4):
        # The replications of the run before are going on.
        seen.until("laboratory.isReplicating")
        seen.page.evaluate(_LOOKED.replace("ACT", moved("rate", share)))
        assert seen.until("window.looked") == [[0, True, False]] * 2
    levels = _levels(seen)
    assert np.sum(list(levels.values()), axis=0).tolist() == _system_pkts(seen)
