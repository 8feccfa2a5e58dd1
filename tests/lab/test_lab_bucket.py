"""The token bucket under the slow motion: the level of the run's own tokens, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from lab_page import Opened, Opener, typed
from token_levels import NS_PER_S, replay

import dumbbell
from browsing import barriers, outside

pytestmark = pytest.mark.browser

_SEEN = """() => {
  const { bucket } = laboratory, { seen, from_ns, until_ns } = bucket;
  return { ...seen, from_ns, until_ns, t_s: [...seen.t_s], bytes: [...seen.bytes],
    dropped_s: [...seen.dropped_s] };
}"""


def _check(seen: Opened, queue: str) -> Mapping[str, Any]:
    """What is drawn is what a second count of the same packets gives."""
    found: Mapping[str, Any] = seen.page.evaluate(_SEEN)
    experiment = dumbbell.Experiment.from_toml(seen.toml())
    resolved = experiment.resolved()
    place = experiment.queue_names.index(queue)
    end = resolved["links"][place // 2]["reverse" if place % 2 else "forward"]
    end["record_packets"] = True
    run = dumbbell.simulate(dumbbell.Experiment.from_resolved(resolved))
    counted = replay(run, queue)
    own = end["police"] or end["qdisc"]
    assert found["burst_bytes"] == own["burst_bytes"]

    def in_bytes(tokens_ns: float) -> float:
        return float(tokens_ns * own["rate_bps"] / 8 / NS_PER_S)

    left = dict(zip(counted.t_ns, counted.left_ns, strict=True))
    for t_s, level in zip(found["t_s"], found["bytes"], strict=True):
        t_ns = round(t_s * NS_PER_S)
        # At an instant at which packets take tokens the line has a step from before to after.
        before = max(counted.before(t_ns - 1), left.get(t_ns, 0))
        after = left.get(t_ns, counted.before(t_ns))
        assert in_bytes(after) - 2 <= level <= in_bytes(before) + 2, t_ns
        assert 0 <= level <= own["burst_bytes"] + 1
    drops = run.column("packets", "t_ns", queue=queue, event="drop", reason="policed")
    inside = (drops >= found["from_ns"]) & (drops <= found["until_ns"])
    assert found["dropped_s"] == pytest.approx(
        (drops[inside] / NS_PER_S).tolist() if end["police"] else []
    )
    return found


def _looked(seen: Opened) -> None:
    seen.until(
        "laboratory.bucket.seen && laboratory.stage.packets"
        " && laboratory.bucket.from_ns === laboratory.stage.packets.from_ns"
    )


def _at(seen: Opened, share: float) -> None:
    """Moves to another moment, and waits for its packets."""
    seen.page.evaluate(
        "share => { laboratory.stage.packets = null; const moment ="
        " document.getElementById('moment'); moment.value = String(1000 * share);"
        " moment.dispatchEvent(new Event('input', { bubbles: true })); }",
        share,
    )
    seen.until("laboratory.stage.packets !== null")


@pytest.mark.slow
def test_a_policer_has_its_bucket_and_a_shaper_too(opener: Opener) -> None:
    seen = opener()
    seen.choose("policing")
    _looked(seen)
    _check(seen, "router->receiver")
    # Late in the run all tokens that were taken before count.
    _at(seen, 0.7)
    policed = _check(seen, "router->receiver")
    assert policed["isPolicer"] and policed["dropped_s"]
    assert min(policed["bytes"]) < policed["packet_bytes"]
    label = str(seen.page.get_attribute("#bucket", "aria-label"))
    assert f"{len(policed['dropped_s'])} packets dropped for want of tokens" in label
    assert "at times too few for a packet" in label
    seen.after(typed("police", "none"))
    seen.after(typed("qdisc", "tbf rate 10mbit burst 20kb latency 50ms"))
    seen.until("laboratory.bucket.seen && !laboratory.bucket.seen.isPolicer")
    _at(seen, 0.5)
    shaped = _check(seen, "router->receiver")
    # One that waits leaves as soon as there are tokens: it takes all of them.
    assert min(shaped["bytes"]) < 1
    assert barriers(seen.page) == []
    seen.after(typed("qdisc", "pfifo limit 100"))
    seen.until("document.getElementById('tokens').hidden")
    assert seen.messages == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_the_bucket_is_on_the_page_and_under_nothing(opener: Opener, width: int) -> None:
    seen = opener(width=width)
    assert not seen.page.is_visible("#bucket")
    seen.choose("policing")
    _looked(seen)
    seen.page.locator("#bucket").scroll_into_view_if_needed()
    hit = seen.page.evaluate(
        "() => { const { left, top, width, height } = document.getElementById('bucket')"
        ".getBoundingClientRect();"
        " return document.elementFromPoint(left + width / 2, top + height / 2).id; }"
    )
    assert hit == "bucket"
    assert outside(seen.page, width) == []
    # It is drawn again with each frame, and says how many tokens there are.
    words = seen.page.evaluate(
        """() => {
          const { stage, bucket } = laboratory, pen = bucket.canvas.getContext("2d");
          const { fillText } = pen, words = [];
          stage.play(false);
          pen.fillText = (text) => words.push(text);
          stage.draw();
          pen.fillText = fillText;
          return words;
        }"""
    )
    assert "burst 20.48 kB" in words
    assert any(each.endswith(" kB") and not each.startswith("burst") for each in words)
