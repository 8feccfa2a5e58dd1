"""Terms of the field: explained at their first use on a page, and all in docs/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from markupsafe import Markup

from dumbbell.printable import printable


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means.

    Attributes:
        word: As it stands in a text; found as a whole word, in the case it is written in here.
        meaning: A sentence or two, without a full stop at the end of the last.
        forms: Other spellings that mean the same, such as a plural.
    """

    word: str
    meaning: str
    forms: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """A regular expression that finds it."""
        longest_first = sorted((self.word, *self.forms), key=len, reverse=True)
        return r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])"


TERMS: tuple[Term, ...] = (
    Term("token bucket", "a counter of bytes that fills at a constant rate up to its burst; a "
         "packet passes when there are tokens for it, and takes them", ("bucket",)),
    Term("burst", "how many bytes a token bucket holds when it is full: what passes at once after "
         "a pause"),
    Term("policer", "drops what comes without a token, where a shaper makes it wait"),
    Term("shaper", "makes packets wait in a queue until there are tokens for them"),
    Term("slow start", "how TCP begins: it doubles its window each round trip until something is "
         "lost"),
    Term("window", "how much a sender may have under way before it is acknowledged (cwnd)"),
    Term("segments", "TCP's packets", ("segment",)),
    Term("round-trip time", "from sending a packet to hearing that it arrived (RTT)",
         ("Round-trip times", "round-trip times", "RTT", "round trip")),
    Term("bandwidth-delay product", "rate times round-trip time: what is under way when the line "
         "is full and no queue is"),
    Term("buffer", "room for packets that wait for the line", ("buffers",)),
    Term("utilization", "share of the line's rate that is used"),
    Term("load", "what arrives over what the line can send; above 1 the queue grows", ("rho",)),
    Term("m/µ", "the queue's size over the line's rate", ("m/mu",)),
    Term("CDF", "cumulative distribution function: at each value the share of the sample at or "
         "below it", ("CDFs",)),
    Term("percentile", "the value that a given number of a hundred stay below", ("percentiles",)),
    Term("quartiles", "the values that a quarter, a half and three quarters stay below"),
    Term("prediction interval", "where one more run would fall, with the probability stated"),
    Term("multiplexing gain", "how many times faster packets get through when streams share one "
         "queue of the whole rate"),
    Term("SM", "statistical multiplexing: one queue for all, at the whole rate"),
    Term("TDM", "time division: each stream has a queue of its own, at its share of the rate"),
    Term("M/G/1", "a queue with Poisson arrivals and one server, service times of any kind"),
    Term("M/M/1", "a queue with Poisson arrivals, exponential service times and one server"),
    Term("D/D/1", "a queue with constant gaps and constant service times"),
    Term("D-ITG", "a generator of traffic; its sender is the program ITGSend"),
    Term("PIE", "a queue discipline that drops some packets at random, the more the longer they "
         "wait (RFC 8033)"),
    Term("target", "the delay that PIE steers its queue to"),
    Term("tupdate", "how often PIE sets its probability of dropping anew"),
    Term("rrul", "Flent's test of a line in use: four uploads, four downloads and pings at once"),
    Term("fq_codel", "a discipline that gives every flow a queue of its own and drops from those "
         "whose packets wait too long (RFC 8290)"),
    Term("CUBIC", "Linux's default congestion control (RFC 9438)"),
    Term("NewReno", "the classic congestion control: half the window at a loss (RFC 6582)"),
    Term("BBR", "a congestion control that estimates the line's rate and keeps the queue short"),
    Term("persistent flows", "flows that never run out of data"),
    Term("mice", "flows of a few packets"),
    Term("closed loop", "users who wait for a transfer to end, think, and ask for the next",
         ("closed loops", "closed-loop")),
    Term("jitter", "random differences between runs that are otherwise alike"),
    Term("Linux kernel in virtual time", "a real kernel whose clock is driven by the simulator, so "
         "that a run is exact and repeatable"),
    Term("HZ", "how many times a second the kernel's timer ticks"),
)  # fmt: skip

# Words of tables, documentation and code that studies' pages do not explain.
FURTHER_TERMS: tuple[Term, ...] = (
    Term("AQM", "active queue management: a discipline that drops or marks packets before its "
         "buffer is full (RFC 7567)"),
    Term("backlog", "packets or bytes that a qdisc holds, as `tc -s qdisc` shows them; without the "
         "packet in transmission"),
    Term("cwnd", "the congestion window, in packets: how much congestion control lets a sender "
         "have in flight (RFC 5681)"),
    Term("deferred enqueue", "arrivals from one link of known times enter the next queue just "
         "before it sends, not by an event each"),
    Term("delayed acknowledgement", "a receiver waits for a second segment or a timer before it "
         "acknowledges (RFC 1122, section 4.2.3.2)"),
    Term("ECN", "explicit congestion notification: a queue marks packets in place of dropping "
         "them (RFC 3168)"),
    Term("goodput", "payload delivered in order to the application over time; what is "
         "retransmitted counts once"),
    Term("GRO, GSO, TSO", "a host's device or kernel merges segments on arrival (GRO), or sends a "
         "burst of them as one packet and cuts it late (GSO, in hardware TSO)"),
    Term("head-of-line blocking", "data that has arrived waits because something before it is "
         "missing"),
    Term("header prediction", "a short path through TCP for the next expected segment "
         "(Jacobson 1990)"),
    Term("merge", "arrivals of several links are put in order by time before they enter the link "
         "they share"),
    Term("pacing", "a sender spreads its segments over the round trip in place of sending bursts"),
    Term("pass-through", "a link on which no queue can form: packets leave in the instant they "
         "come"),
    Term("prefetch", "memory that the next packets need is asked for before it is used"),
    Term("qdisc", "a queue discipline: which packet waits, leaves next or is dropped (tc(8))"),
    Term("replication", "one run of an experiment with random streams of its own"),
    Term("self-clocking", "acknowledgements return at the rate of the bottleneck, and each lets "
         "new data out"),
    Term("sojourn time", "how long a packet is in a queue, from its arrival to its departure "
         "(RFC 8289)"),
    Term("ssthresh", "the window at which slow start ends (RFC 5681)"),
    Term("standing queue", "a queue that does not empty within a round trip and adds delay without "
         "adding throughput (RFC 8289)"),
    Term("TSQ", "TCP small queues: Linux limits how much of a connection may wait in its own "
         "host's queue"),
    Term("wait", "a packet's sojourn time less its own transmission time"),
)  # fmt: skip


def glossary_markdown() -> str:
    """The page ``docs/glossary.md``: every term with its meaning, by alphabet.

    Returns:
        Markdown, with a newline at its end.
    """
    lines = [
        "# Glossary",
        "",
        "Words of pages, tables and code. Printed by `python -m dumbbell.report`.",
        "",
        "| word | meaning |",
        "| --- | --- |",
    ]
    terms = sorted((*TERMS, *FURTHER_TERMS), key=lambda term: term.word.casefold())
    lines += [f"| {term.word} | {term.meaning} |" for term in terms]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Explainer:
    """Marks terms where a page first uses them, in the order in which the page is written.

    Attributes:
        terms: Those that have not been used yet.
    """

    terms: list[Term] = field(default_factory=lambda: list(TERMS))

    def marked(self, text: str) -> tuple[Markup, list[Markup]]:
        """A text as HTML with the terms it is the first to use marked, and their notes."""
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
        """Begin, end and term; two terms never share a character."""
        taken: list[tuple[int, int]] = []
        for term in list(self.terms):
            found = re.search(term.pattern, text)
            if found and not any(a < found.end() and found.start() < b for a, b in taken):
                taken.append(found.span())
                self.terms.remove(term)
                yield *found.span(), term
