"""The share of BBR against loss-based flows: the steady-state model of Ware and others."""

from __future__ import annotations

from dumbbell.theory.errors import TheoryError, positive

PROBE_RTT_EVERY_S = 10.0
PROBE_RTT_LEAST_S = 0.2
"""Time for which BBR limits its window to four packets in ProbeRTT."""
PROBE_RTT_PACKETS = 4


def bbr_share(bbr_flows: int, buffer_packets: float, rate_pps: float, rtt_s: float) -> float:
    """Share of the link capacity that all BBR flows (version 1) get together, from 0 to 1.

    The steady-state model of Ware, Mukerjee, Seshan and Sherry, "Modeling BBR's interactions with
    loss-based congestion control", IMC 2019. The text of the paper was not available: the
    derivation follows its first author's article (CMU CSD blog, 26 August 2024); the formulas and
    their numbers (9, 11) follow published code of others. Neither was compared with the paper.

    In ProbeBW BBR takes capacity from the other flows until its packets in flight reach its cap,
    twice the estimated rate times the estimated round-trip time. In ProbeRTT it has four packets
    per flow in flight, so it measures the queue of the other flows. Their share is

        p = 1/2 - 1/(2 X) - 4 N / q

    of the queue (9), with X = q/(c l); if p is negative, BBR has the whole queue. Each probe first
    drains BBR's part of the queue and takes q/c + 0.2 s + l of every ten seconds (11):

        share = (1 - p) (1 - (q/c + 0.2 + l) / 10)

    Assumptions: greedy flows with equal round-trip times and packet sizes, which start and probe at
    the same times; a full queue, so that a flow's share of the queue is its share of the link. The
    number and the controller of the other flows do not matter.

    Args:
        bbr_flows: N, whole, at least 1.
        buffer_packets: q, positive.
        rate_pps: c, packets/s, positive.
        rtt_s: l, round-trip time without a queue, s, positive.

    Raises:
        TheoryError: A parameter is outside its range, or a probe takes all of the ten seconds.
    """
    if bbr_flows < 1 or bbr_flows != int(bbr_flows):
        raise TheoryError(f"bbr_flows is {bbr_flows}; a whole number of flows, at least 1")
    q = positive(buffer_packets, "buffer_packets", "packets")
    c = positive(rate_pps, "rate_pps", "packets/s")
    rtt = positive(rtt_s, "rtt_s", "s")
    others = max(0.0, 0.5 - c * rtt / (2.0 * q) - PROBE_RTT_PACKETS * bbr_flows / q)
    probing = (q / c + PROBE_RTT_LEAST_S + rtt) / PROBE_RTT_EVERY_S
    if probing >= 1.0:
        raise TheoryError(f"the queue drains for {q / c:g} s; less than 9.8 s less the round trip")
    return (1.0 - others) * (1.0 - probing)
