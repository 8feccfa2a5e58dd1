"""Tokens of a bucket from the packets that took them, in whole nanoseconds as Linux has them.

A second writing of what the page's ``tokens.js`` does, for the tests of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.tables import Run

NS_PER_S = 10**9
TICK_NS = 64


@dataclass(frozen=True, slots=True)
class Bucket:
    """Of a shaper or a policer.

    Attributes:
        factor: A packet costs bytes * factor >> shift nanoseconds.
        shift: See ``factor``.
        depth_ns: What it holds.
        is_policer: Tokens are taken when a packet comes, not when it leaves.
    """

    factor: int
    shift: int
    depth_ns: int
    is_policer: bool

    @classmethod
    def of(cls, end: Mapping[str, Any]) -> Bucket:
        """Of a link's end."""
        own = end["police"] or end["qdisc"]
        bytes_per_s = own["rate_bps"] // 8
        # The factor has 32 bits, unless the rate is above 64 Gbit/s.
        shift = next((s for s in range(35) if (NS_PER_S << s) // bytes_per_s >= 2**31), 34)
        factor = (NS_PER_S << shift) // bytes_per_s
        if end["police"]:
            us = own["burst_bytes"] * 8 * 10**6 // own["rate_bps"]
            return cls(factor, shift, us * 1000 // TICK_NS * TICK_NS, True)
        return cls(factor, shift, own["burst_bytes"] * factor >> shift, False)

    def cost_ns(self, size: int) -> int:
        """Of a packet."""
        return size * self.factor >> self.shift


@dataclass(frozen=True, slots=True)
class Replay:
    """A bucket's run.

    Attributes:
        bucket: Whose.
        t_ns: When packets took tokens.
        sizes: Their bytes on the wire.
        left_ns: What each left.
        spilled_ns: What came to a full bucket.
        end_ns: Length of the run.
    """

    bucket: Bucket
    t_ns: list[int]
    sizes: list[int]
    left_ns: list[int]
    spilled_ns: int
    end_ns: int

    @property
    def dry_s(self) -> float:
        """First departure that leaves less than another such packet needs."""
        rows = zip(self.t_ns, self.sizes, self.left_ns, strict=True)
        cost = self.bucket.cost_ns
        return next((t / NS_PER_S for t, size, left in rows if left < cost(size)), float("nan"))

    @property
    def used(self) -> float:
        """Share of the tokens that were there at the beginning or came."""
        spent = sum(map(self.bucket.cost_ns, self.sizes))
        return spent / (self.bucket.depth_ns + self.end_ns)

    def before(self, t_ns: int) -> int:
        """Tokens at an instant, those of packets that have passed by then taken."""
        place = bisect_right(self.t_ns, t_ns) - 1
        if place < 0:
            return self.bucket.depth_ns
        return min(self.bucket.depth_ns, self.left_ns[place] + t_ns - self.t_ns[place])


def replay(run: Run, queue: str) -> Replay:
    """The bucket of a queue, or of the policer in front of it; its packets are recorded."""
    place = run.queue_names.index(queue)
    assert run.spec is not None
    resolved = run.spec
    end = resolved["links"][place // 2]["reverse" if place % 2 else "forward"]
    bucket = Bucket.of(end)
    of = {"queue": queue, "event": "enqueue" if bucket.is_policer else "dequeue"}
    t_ns, sizes = (run.column("packets", name, **of).tolist() for name in ("t_ns", "bytes"))
    tokens, last_ns, spilled_ns, left_ns = bucket.depth_ns, 0, 0, []
    for now_ns, size in zip(t_ns, sizes, strict=True):
        spilled_ns += max(0, tokens + now_ns - last_ns - bucket.depth_ns)
        tokens = min(bucket.depth_ns, tokens + now_ns - last_ns) - bucket.cost_ns(size)
        last_ns = now_ns
        left_ns.append(tokens)
    spilled_ns += max(0, tokens + resolved["duration_ns"] - last_ns - bucket.depth_ns)
    return Replay(bucket, t_ns, sizes, left_ns, spilled_ns, resolved["duration_ns"])
