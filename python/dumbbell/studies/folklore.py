"""Common rules of thumb: each as one number of a run, compared with the rule's value."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import Any

from dumbbell import metrics, theory
from dumbbell.claims import Ratio, Verdict
from dumbbell.claims.glyphs import Origin, Side
from dumbbell.claims.rules import Supremum
from dumbbell.spec import Experiment
from dumbbell.studies.one_line import FAR, PING, QUEUE, greedy, one_line
from dumbbell.studies.short import Found, Points, ShortStudy, Trial, of_neighbours
from dumbbell.tables import Run

PACKET, SEGMENT = 1514, 1448
"""Bytes of a full packet in a queue, and of its payload."""
RATE_BPS = 10e6
BDP = round(theory.bandwidth_delay_packets(RATE_BPS, 0.04, PACKET))
"""BDP in packets of 10 Mbit/s and 40 ms: the default line and path."""
WINDOW = theory.bandwidth_delay_packets(RATE_BPS, 0.1, PACKET)
"""Window in packets that fills the policed path of 100 ms."""
MODEM_BYTES = 128 * 1024
LOSSES = (0.0005, 0.002, 0.004, 0.016, 0.064)
RUNS = {True: 10, False: 40}
"""Replications of each arm; the runs of quick are the first runs of full."""
goodput = partial(metrics.goodput_bps, flow="flow")
utilization = partial(metrics.utilization_bits, queue=QUEUE)


def share_of_rate(run: Run) -> float:
    """Return the flow's goodput relative to full packets at 10 Mbit/s."""
    return metrics.goodput_bps(run, "flow") / (RATE_BPS * SEGMENT / PACKET)


def passed_share(run: Run) -> float:
    """Return the share of packets that the queue did not drop."""
    return 1 - metrics.loss_ratio(run, QUEUE)


def near_to_far(run: Run) -> float:
    """Return the goodput of the near flow over that of the far flow."""
    return metrics.goodput_bps(run, "near") / metrics.goodput_bps(run, FAR)


def ping_wait_ms(run: Run, base_ms: float) -> float:
    """Return the 95th percentile of the pings' delay above the base round-trip time."""
    return float(metrics.ping_rtt_quantiles_ms(run, [0.95], probes=[PING])[0]) - base_ms


def longest_ms(run: Run) -> float:
    """Return the longest sojourn time of a packet at the line."""
    return 1e3 * metrics.max_sojourn_s(run, QUEUE)


def beside_formula(found: Found) -> Points:
    """Return rates relative to the formula with timeouts, by loss probability."""
    rates = [8 * SEGMENT * theory.pftk_rate_pps(p, 0.1, 0.1 + 0.2) for p in LOSSES]
    each = zip(found.arms, rates, strict=True)
    return {arm: Ratio(found.values(arm), [rate] * found.n) for arm, rate in each}


def policed(seed: int, packets: float) -> Experiment:
    """Run Reno through a policer of 10 Mbit/s, on a path of 100 ms."""
    police = f"police rate 10mbit burst {packets * PACKET:.0f}b drop"
    return one_line(greedy("reno"), seed=seed, rtt_ms=100, police=police)


def trials(seed: int, runs: int) -> list[Trial]:
    """Return ten rules, some with two parts, and the experiments of each."""
    line = partial(one_line, seed=seed, rate="10mbit", qdisc=f"pfifo limit {BDP}")
    wide = partial(one_line, seed=seed, rate="100mbit", qdisc="pfifo limit 10000", rtt_ms=100)
    trial = partial(Trial, runs=runs)
    lossy = {p: wide(greedy("reno"), loss=p, length_s=320) for p in LOSSES}
    buffers = {"half a BDP": BDP // 2, "one BDP": BDP, "two BDP": 2 * BDP}
    unequal = {
        (words, name): line(
            greedy(name, "near"), greedy(name, FAR, from_=FAR),
            rtt_ms=20, far_rtt_ms=80, length_s=220, qdisc=f"pfifo limit {limit}",
        )
        for words, limit in buffers.items() for name in ("cubic", "reno")
    }  # fmt: skip
    return [
        trial(
            id="buffer", label="1 BDP for Reno", source="Villamizar and Song, CCR 24(5), 1994",
            statement="A buffer of one bandwidth-delay product lets one Reno flow fill the link",
            said=1, margin=0.01, number=utilization, arms={"Reno, one BDP": line(greedy("reno"))},
            words="Half of the window is what the path holds: the queue just does not run empty",
        ),
        trial(
            id="buffer-many", label="BDP/√n", source="Appenzeller et al., SIGCOMM 2004",
            statement="For n flows a buffer of BDP/sqrt(n) fills the link",
            said=1, margin=0.02, number=utilization, varied="flows",
            grid="4, 16 and 36 Reno flows of one round-trip time",
            arms={f"{n} flows": one_line(
                greedy("reno", count=n), seed=seed, rate="40mbit", rtt_ms=100, length_s=80,
                qdisc=f"pfifo limit {theory.many_flows_packets(40e6, 0.1, PACKET, n):.0f}",
            ) for n in (4, 16, 36)},
            words="It takes flows that are out of step; of these several lose at the same time",
        ),
        trial(
            id="cubic", label="0.43 BDP for CUBIC", source="RFC 9438 section 4.6: 0.3/0.7",
            statement="CUBIC fills the link from 0.43 of a bandwidth-delay product",
            said=1, margin=0.01, number=utilization,
            arms={"CUBIC, 0.43 BDP": line(greedy("cubic"), qdisc=f"pfifo limit {0.43 * BDP:.0f}")},
            words="Who gives up less at a loss needs less in store",
        ),
        trial(
            id="loss", label="1/√p", source="Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997",
            statement="Reno's rate goes as 1/sqrt(p): four times the losses, half the rate",
            said=0.5, margin=0.05, number=goodput, points=of_neighbours, varied="losses",
            grid="losses of 0.05, 0.4 and 1.6 %, and four times that",
            arms={f"{100 * p:g} %{more}": lossy[round(n * p, 4)] for p in (0.0005, 0.004, 0.016)
                  for n, more in ((1, ""), (4, " times 4"))},
            words="It holds where losses are repaired without timeouts, up to one in a hundred",
        ),
        trial(
            id="loss-timeouts", label="PFTK", source="Padhye et al., SIGCOMM 1998, equation 30",
            statement="With timeouts counted (PFTK) the formula gives the rate within 25 %",
            said=1, margin=0.25, number=goodput, points=beside_formula, varied="losses",
            grid="losses from 0.05 to 6.4 %", arms={f"{100 * p:g} %": lossy[p] for p in LOSSES},
            words="With b = 1, as Linux counts bytes, and T0 = 300 ms",
        ),
        trial(
            id="rtt", label="Reno, unequal RTTs", source="Lakshman and Madhow, ToN 5(3), 1997",
            statement="Reno shares inversely to round-trip times at least: 20 ms get four times "
            "what 80 ms get", said=4, number=near_to_far, varied="buffer",
            grid="buffers of a half, one and two BDP",
            arms={f"{words}, reno": unequal[words, "reno"] for words in buffers},
            words="The queue is part of both round trips: the more of it, the more alike they are",
        ),
        trial(
            id="rtt-cubic", label="CUBIC, unequal RTTs", source="Ha, Rhee and Xu, OSR 42(5), 2008",
            statement="CUBIC is fairer to the longer path than Reno", said=1, number=near_to_far,
            points=of_neighbours, varied="buffer", grid="buffers of a half, one and two BDP",
            arms={f"{words}, {name}": each for (words, name), each in unequal.items()},
            words="CUBIC's window grows by the clock, not by round trips",
        ),
        trial(
            id="acks", label="delayed ACKs", source="Mathis et al., CCR 27(3), 1997, section 2",
            statement="Delayed acknowledgements halve Reno's growth: 1/sqrt(2) of the rate is left",
            said=math.sqrt(0.5), margin=0.05, number=goodput, points=of_neighbours,
            varied="TCP", grid="TCP as Linux has it, and as RFC 5681 has it", is_for_kernel=False,
            arms={f"{profile}{more}": wide(
                greedy("reno", profile=profile, delayed_ack=delayed), loss_every=400, rtt_ms=40,
            ) for profile in ("linux-6.1", "rfc")
              for delayed, more in ((False, ""), (True, ", delayed"))},
            words="Linux counts acknowledged segments and not acknowledgements",
        ),
        trial(
            id="fq-codel", label="fq_codel", source="RFC 8290 section 5.2.2: the target, 5 ms",
            statement="fq_codel needs no tuning: 95 % of pings wait less than 5 ms", unit="ms",
            said=5, side=Side.AT_MOST, number=partial(ping_wait_ms, base_ms=20.0), varied="line",
            grid="lines of 1, 4 and 20 Mbit/s under four uploads",
            arms={f"{rate} Mbit/s": one_line(
                greedy("cubic", count=4), seed=seed, rtt_ms=20, rate=f"{rate}mbit", qdisc="fq_codel"
            ) for rate in (1, 4, 20)},
            words="At 1 Mbit/s a packet takes 12 ms, and once begun no queue can call it back",
        ),
        trial(
            id="policer", label="policer, 1 BDP", source="Cisco: 1.5 s x rate, 1.5 s being an RTT",
            statement="A policer's burst of one bandwidth-delay product gives TCP the rate",
            said=1, margin=0.05, number=share_of_rate, arms={"one BDP": policed(seed, WINDOW)},
            words="Nothing queues: what the window lacks after a loss is lost for good",
        ),
        trial(
            id="policer-w2", label="policer, W²/18", source="dumbbell's course, answers of lab 3",
            statement="A policer's burst of W²/18 packets gives Reno the rate, W filling the path",
            said=1, margin=0.05, number=share_of_rate,
            arms={"burst of W²/18": policed(seed, WINDOW**2 / 18)},
            words="Tokens saved while the window is low pay for the time when it is high",
        ),
        trial(
            id="bbr", label="BBR at 1.5 BDP", source="After Hock, Bless and Zitterbart, ICNP 2017",
            statement="BBR loses nothing from a buffer of 1.5 bandwidth-delay products on",
            said=1, margin=0.005, number=passed_share, varied="flows", grid="one and four flows",
            arms={f"{n} flows": line(greedy("bbr", count=n), qdisc=f"pfifo limit {1.5 * BDP:.0f}")
                  for n in (1, 4)},
            words="One flow keeps to twice the path; several overestimate what they get",
        ),
        trial(
            id="tbf", label="tbf, small bucket", source="tc-tbf(8): 10 Mbit/s need 10 kB",
            statement="With a bucket of 1.6 kB tbf gives TCP less than 95 % of 10 Mbit/s",
            said=0.95, side=Side.AT_MOST, number=share_of_rate,
            arms={"bucket of 1600 B": one_line(
                greedy("cubic"), seed=seed, qdisc="tbf rate 10mbit burst 1600b limit 50000")},
            words="The manual speaks of a clock of 100 ticks a second; timers are finer now",
        ),
        trial(
            id="upload", label="ping under upload", source="Gettys and Nichols, Queue 9(11), 2011",
            statement="Behind a full upload on ADSL a ping waits the buffer over the rate",
            unit="ms", said=8e-3 * MODEM_BYTES, number=longest_ms, rule=Supremum(
                bound=8e-3 * (MODEM_BYTES + PACKET), packet=8e-3 * PACKET, unit="ms",
                origin=Origin.PUBLISHED),
            arms={"1 Mbit/s, 128 kB": one_line(
                greedy("cubic"), seed=seed, rate="1mbit", rtt_ms=20, length_s=200,
                qdisc=f"bfifo limit {MODEM_BYTES}")},
            words="128 kB at 1 Mbit/s are a second",
        ),
    ]  # fmt: skip


class Folklore(ShortStudy):
    """The study; see the module."""

    id = "folklore"
    title = "Do the rules hold that everybody repeats?"
    summary = "Rules of thumb for buffers, TCP, policers and queues, each tried on one line."
    source = "each claim has its own"
    agrees_within = 0.05
    done = (
        "Each rule is made a number of a run, and what it says of it. Flows of Linux's TCP share "
        "a line of 10 Mbit/s and 40 ms where nothing else is said, with ten small packets a second "
        "that make no two runs alike."
    )
    labels = (
        "BDP is the bandwidth-delay product, W the packets that fill the path, p the share of "
        "packets lost and n the number of flows. Reno, CUBIC and BBR control how much TCP sends; "
        "PFTK is a formula for Reno's rate. With delayed ACKs the receiver acknowledges every "
        "second packet. A policer and tbf hold traffic to a rate, the one without a queue, the "
        "other with one; fq_codel has a queue for each flow."
    )
    notes = (
        "No source describes these networks: they are small and quick to run. A rule that is said "
        "of any network is tried on several. tbf has exact timers, as in Linux since 2009.",
    )

    def tried(self) -> list[Trial]:
        """See `ShortStudy`."""
        return trials(self.options.seed, RUNS[self.options.quick])

    def said(self) -> dict[str, Any]:
        """See `ShortStudy`."""
        verdicts = Counter(each.verdict for each in self.judged)
        held, all_ = verdicts[Verdict.REPRODUCED], len(self.judged)
        hold = "holds as it is" if held == 1 else "hold as they are"
        return {
            "summary": f"{held} of {all_} rules {hold} said.",
            "answer": f"Of {all_} rules that everybody repeats, {held} {hold} said.",
            "measured": f"{all_} rules, {self.runs_per_network} runs of each network; "
            + ", ".join(f"{verdict.value}: {n}" for verdict, n in verdicts.items()) + ".",
            "so": "Ask of a rule for which network it was made.",
        }  # fmt: skip


STUDY = Folklore
