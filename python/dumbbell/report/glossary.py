"""Terms of the field: explained at first use on a page, and listed in docs/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from markupsafe import Markup

from dumbbell.printable import printable


@dataclass(frozen=True, slots=True)
class Term:
    """A term and its definition.

    Attributes:
        word: The term; matched as a whole word, case-sensitively.
        meaning: A sentence or two, without a full stop at the end of the last.
        forms: Other spellings that mean the same, such as a plural.
    """

    word: str
    meaning: str
    forms: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """Return a regular expression that matches it."""
        longest_first = sorted((self.word, *self.forms), key=len, reverse=True)
        return r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])"


TERMS: tuple[Term, ...] = (
    Term("token bucket", "a counter of bytes that fills at a constant rate up to its burst; a "
         "packet passes if there are enough tokens for it, and consumes them", ("bucket",)),
    Term("burst", "the depth of a token bucket, bytes: the data that pass at once after a pause"),
    Term("policer", "drops packets that exceed a rate, where a shaper delays them"),
    Term("shaper", "delays packets that exceed a rate in a queue until there are tokens for them"),
    Term("slow start", "the start of TCP: the window doubles each round trip until a packet is "
         "lost"),
    Term("window", "the amount of unacknowledged data that a sender may have in flight (cwnd)"),
    Term("segments", "TCP's packets", ("segment",)),
    Term("round-trip time", "time from sending a packet to receiving its acknowledgement or "
         "answer (RTT)", ("Round-trip times", "round-trip times", "RTT", "round trip")),
    Term("bandwidth-delay product", "rate times round-trip time: the data in flight when the link "
         "is busy and its queue is empty", ("BDP",)),
    Term("buffer", "memory for packets that wait for the link", ("buffers",)),
    Term("utilization", "share of the link's capacity that is used"),
    Term("load", "arrival rate over the link's rate; above 1 the queue grows", ("rho",)),
    Term("m/µ", "the buffer size over the link's rate", ("m/mu",)),
    Term("CDF", "cumulative distribution function: the share of values at or below each value",
         ("CDFs",)),
    Term("percentile", "the value below which a given percentage of the values lie",
         ("percentiles",)),
    Term("quartiles", "the 25th, 50th and 75th percentiles"),
    Term("prediction interval", "the range that contains the result of one more run with the "
         "stated probability"),
    Term("multiplexing gain", "the factor by which delay is shorter when streams share one queue "
         "of the full rate"),
    Term("SM", "statistical multiplexing: one queue for all streams, at the full rate"),
    Term("TDM", "time division multiplexing: each stream has its own queue, at its share of the "
         "rate"),
    Term("M/G/1", "a queue with Poisson arrivals, one server and any distribution of service times",
         ),
    Term("M/M/1", "a queue with Poisson arrivals, exponential service times and one server"),
    Term("D/D/1", "a queue with constant gaps and constant service times"),
    Term("D-ITG", "a traffic generator; its sender is the program ITGSend"),
    Term("PIE", "a queue discipline that drops packets at random, with a probability that grows "
         "with the queueing delay (RFC 8033)"),
    Term("target", "the queueing delay to which PIE controls its queue"),
    Term("tupdate", "the interval at which PIE updates its drop probability"),
    Term("rrul", "Flent's test of realtime response under load: four uploads, four downloads and "
         "pings at once"),
    Term("fq_codel", "a discipline with a queue for every flow, which drops packets of queues "
         "whose delay is too long (RFC 8290)"),
    Term("CUBIC", "Linux's default congestion control (RFC 9438)"),
    Term("NewReno", "the classic congestion control: it halves the window at a loss (RFC 6582)"),
    Term("BBR", "a congestion control that estimates the bottleneck's rate and keeps the queue "
         "short"),
    Term("persistent flows", "flows that always have data to send"),
    Term("mice", "flows of a few packets"),
    Term("closed loop", "users who wait for a transfer to end, think, and request the next",
         ("closed loops", "closed-loop")),
    Term("jitter", "random differences of timing between otherwise equal runs"),
    Term("Linux kernel in virtual time", "the real Linux kernel with a simulated clock, so that a "
         "run is exact and repeatable"),
    Term("HZ", "the frequency of the kernel's timer tick"),
)  # fmt: skip

# Terms of tables, documentation and code that studies' pages do not explain.
FURTHER_TERMS: tuple[Term, ...] = (
    Term("AQM", "active queue management: a discipline that drops or marks packets before its "
         "buffer is full (RFC 7567)"),
    Term("backlog", "packets or bytes in a qdisc, as shown by `tc -s qdisc`; without the packet "
         "in transmission"),
    Term("cwnd", "the congestion window, in packets: the limit of congestion control on data in "
         "flight (RFC 5681)"),
    Term("deferred enqueue", "arrivals from a link with known departure times are enqueued just "
         "before the next transmission, without an event for each"),
    Term("delayed acknowledgement", "a receiver waits for a second segment or a timer before it "
         "acknowledges (RFC 1122, section 4.2.3.2)"),
    Term("ECN", "explicit congestion notification: a queue marks packets instead of dropping them "
         "(RFC 3168)"),
    Term("goodput", "payload delivered in order to the application over time; retransmitted data "
         "count once"),
    Term("GRO, GSO, TSO", "a host's device or kernel merges segments on arrival (GRO), or handles "
         "a burst of them as one packet and segments it late (GSO, in hardware TSO)"),
    Term("head-of-line blocking", "received data wait because earlier data are missing"),
    Term("header prediction", "a fast path through TCP for the next expected segment (Jacobson "
         "1990)"),
    Term("merge", "arrivals from several links are sorted by time before they enter their common "
         "link"),
    Term("pacing", "a sender spreads its segments over the round trip instead of sending bursts"),
    Term("pass-through", "a link on which no queue can form: packets depart at the instant of "
         "their arrival"),
    Term("prefetch", "loading memory that the next packets need into the cache in advance"),
    Term("qdisc", "a queue discipline: decides which packet waits, is sent next or is dropped "
         "(tc(8))"),
    Term("replication", "one run of an experiment with its own random streams"),
    Term("self-clocking", "acknowledgements return at the rate of the bottleneck, and each allows "
         "new data to be sent"),
    Term("sojourn time", "the time of a packet in a queue, from its arrival to its departure (RFC "
         "8289)"),
    Term("ssthresh", "the window at which slow start ends (RFC 5681)"),
    Term("standing queue", "a queue that does not empty within a round trip and adds delay "
         "without adding throughput (RFC 8289)"),
    Term("TSQ", "TCP small queues: Linux limits the data of a connection in the queue of its own "
         "host"),
    Term("wait", "a packet's sojourn time less its own transmission time"),
)  # fmt: skip


def glossary_markdown() -> str:
    """Return the page ``docs/glossary.md``: every term with its definition, in alphabetical order.

    Returns:
        Markdown, with a newline at its end.
    """
    lines = [
        "# Glossary",
        "",
        "Terms of pages, tables and code. Generated by `python -m dumbbell.report`.",
        "",
        "| term | meaning |",
        "| --- | --- |",
    ]
    terms = sorted((*TERMS, *FURTHER_TERMS), key=lambda term: term.word.casefold())
    lines += [f"| {term.word} | {term.meaning} |" for term in terms]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Explainer:
    """Marks terms where a page first uses them, in the order in which the page is written.

    Attributes:
        terms: Terms not used so far.
    """

    terms: list[Term] = field(default_factory=lambda: list(TERMS))

    def marked(self, text: str) -> tuple[Markup, list[Markup]]:
        """Return a text as HTML, with terms used for the first time marked, and their notes."""
        shown = printable(text, lines=True)
        first = sorted(self._first_uses(shown), key=lambda use: use[0])
        made, notes, end = Markup(""), [], 0
        for begin, stop, term in first:
            made += shown[end:begin]
            made += Markup("<dfn>{}</dfn>").format(shown[begin:stop])
            notes.append(
                Markup('<span class="term" role="note"><b>{}</b>: {}.</span>').format(
                    shown[begin:stop], term.meaning
                )
            )
            end = stop
        return made + shown[end:], notes

    def _first_uses(self, text: str) -> Iterable[tuple[int, int, Term]]:
        """Return begin, end and term of each first use; matches do not overlap."""
        taken: list[tuple[int, int]] = []
        for term in list(self.terms):
            found = re.search(term.pattern, text)
            if found and not any(a < found.end() and found.start() < b for a, b in taken):
                taken.append(found.span())
                self.terms.remove(term)
                yield *found.span(), term
