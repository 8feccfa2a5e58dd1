"""What BBR gets beside flows that fill the queue: the steady-state model of Ware and others."""

from __future__ import annotations

from dumbbell.theory.errors import TheoryError, positive

PROBE_RTT_EVERY_S = 10.0
PROBE_RTT_LEAST_S = 0.2
"""Time that BBR keeps to four packets, once its other packets have left the queue."""
PROBE_RTT_PACKETS = 4


def bbr_share(bbr_flows: int, buffer_packets: float, rate_pps: float, rtt_s: float) -> float:
    """Share of the link that all BBR flows (version 1) get together, from 0 to 1.

    The steady-state model of Ware, Mukerjee, Seshan and Sherry, "Modeling BBR's interactions with
    loss-based congestion control", IMC 2019. The paper's own text was not at hand: the reasoning is
    that of its first author's article (CMU CSD blog, 26 August 2024), the formulas and their
    numbers (9, 11) are those of code that others published to compute the model. Neither was
    compared with the paper.

    In ProbeBW BBR pushes others out until it meets its cap, twice its estimate of the rate times
    that of the round-trip time. While it probes for the latter it keeps to four packets a flow, so
    it sees the queue of the others: what they hold is

        p = 1/2 - 1/(2 X) - 4 N / q

    of the queue (9), with X = q/(c l), and all of it is BBR's where that is negative. Each probe
    empties its part of the queue first and costs q/c + 0.2 s + l of every ten seconds (11):

        share = (1 - p) (1 - (q/c + 0.2 + l) / 10)

    Assumed: greedy flows of one round-trip time and one packet size, that start and probe
    together; a queue that is full, so that a flow's share of it is its share of the link. The
    number of the other flows, and which controller they have, do not matter.

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
