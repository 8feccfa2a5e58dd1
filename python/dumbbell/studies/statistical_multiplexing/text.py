"""Texts of the page, and files in the source's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dumbbell.claims import Judged, Verdict, facts_of, views_of
from dumbbell.claims.rules import Agreement, CountedAs, Explained, Ordering
from dumbbell.formats import ping_text, pingtimes_csv, pingtimes_file_name
from dumbbell.report import Advice, Answer
from dumbbell.stats import Estimate
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.claims import giving_all
from dumbbell.studies.statistical_multiplexing.fit import QuartileFit
from dumbbell.studies.statistical_multiplexing.senders import Sender
from dumbbell.tables import Array, Run

PLACES = {"sim": "in the simulator", "kernel": "on the Linux kernel"}


DONE = (
    "Two streams of packets share a router: either both go through one queue at the whole rate "
    "(SM), or each has a queue of its own at half of it (TDM). First the streams come from an "
    "ideal source, for which theory is exact. Then the published run is done again, with the "
    "traffic of D-ITG and with pings, and compared with the milliseconds that were printed. As "
    "those do not follow from the load that was typed, senders that send less are looked for, "
    "slower ones or such as oversleep, and the run is done once more with each."
)


def answer(judged: Sequence[Judged], gains: Mapping[str, Mapping[int, Estimate]]) -> Answer:
    """State the multiplexing gain, if it was measured."""
    two = gain_of(2, gains)
    if two is None:
        decided = next(iter(_order(judged)), "")
        return Answer(decided or "Which of the two is faster these runs do not decide.")
    return Answer(
        f"One fast queue is {two.value:.2f} times as fast as two slow ones.",
        measured="The time that packets of two streams take with a slow queue for each, over the "
        "time with one fast queue for both, on the same line at the same load (95 % interval "
        f"{two.low:.2f} to {two.high:.2f}; theory says 2).",
        so="let streams share one queue at the whole rate, unless one must be protected from the "
        "others."
        if two.low > 1
        else "",
    )


def gain_of(streams: int, gains: Mapping[str, Mapping[int, Estimate]]) -> Estimate | None:
    """Return the multiplexing gain of `streams` streams on the first backend that has it."""
    return next((found[streams] for found in gains.values() if streams in found), None)


def advice(gains: Mapping[str, Mapping[int, Estimate]]) -> list[Advice]:
    """Recommend a setting, if the gain is clearly above one."""
    streams = max((m for found in gains.values() for m in found), default=0)
    gain = gain_of(streams, gains)
    if gain is None or not gain.low > 1:
        return []
    return [
        Advice(
            wish=f"{streams} streams share a line, and their packets are to get through soon",
            setting="One queue for all of them at the whole rate, no fixed share for each",
            because=f"With a share for each packets took {gain.value:.2f} times as long at the "
            f"same load (95 % interval {gain.low:.2f} to {gain.high:.2f}). A fixed share protects "
            "a stream from the others; this is its price.",
            figure="gain-against-streams",
        )
    ]


def summary(
    judged: Sequence[Judged],
    gains: Mapping[str, Mapping[int, Estimate]],
    fits: Mapping[Sender, QuartileFit],
    tried: Mapping[Sender, Iterable[float]],
) -> str:
    """Summarize the verdicts in a paragraph: the main result first, then counts of facts.

    Args:
        judged: Verdicts.
        gains: Multiplexing gain by backend and number of streams.
        fits: Fits of the senders.
        tried: The same senders, each with the values of its number that were run.
    """
    sentences = []
    two = gain_of(2, gains)
    if two is not None:
        sentences.append(
            f"Two slow queues are {two.value:.2f} times slower than one fast queue "
            f"(95 % interval {two.low:.2f} to {two.high:.2f}; theory says 2)."
        )
    sentences += _order(judged)
    if fits:
        sentences += _explained(judged, fits, tried)
    return " ".join([*sentences, *_theory_held(judged), *_agreement(judged)])


def _explained(
    judged: Sequence[Judged],
    fits: Mapping[Sender, QuartileFit],
    tried: Mapping[Sender, Iterable[float]],
) -> list[str]:
    """State which senders give the printed quartiles and which do not, a sentence each."""
    sentences = [
        "The printed milliseconds do not follow from the printed parameters: with headers, "
        "fragments and pings on the wire, 110 packets/s load the link to 0.986, where delays are "
        "some twenty times those printed."
    ]
    for one in judged:
        if not isinstance(one.claim.rule, Explained):
            continue
        if one.verdict in (Verdict.EXPLAINED_AT, Verdict.NOT_EXPLAINED):
            giving = giving_all(one, tried)
            best_first = sorted(fits, key=lambda sender: sender not in giving)
            sentences += [
                _about_sender(sender, fits[sender], gives_all=sender in giving)
                for sender in best_first
            ]
        else:
            sentences.append(
                "Whether one kind of sender gives all six printed numbers these runs do not decide."
            )
    return sentences


REJECTED = 0.05
"""A fit is rejected if its chi-square would be exceeded with a lower probability."""


def _about_sender(sender: Sender, fit: QuartileFit, *, gives_all: bool) -> str:
    """State whether a sender gives the printed quartiles by the joint rule, with its fit."""
    who = sender.subject(_interval(sender, fit))
    who = f"{who[0].upper()}{who[1:]}"
    p_value = f"p = {fit.p_value:.2g}, the share of such runs that would fit worse"
    is_rejected = fit.p_value < REJECTED
    if gives_all:
        but = ", although their best fit is rejected" if is_rejected else ""
        return f"{who} give all six printed numbers in one run{but} ({p_value})."
    but = "" if is_rejected else ", although their best fit is not rejected"
    return f"{who} do not give all six{but} ({p_value})."


def _interval(sender: Sender, fit: QuartileFit) -> str:
    found = fit.of_sender
    return f"{found.value:.3g} {sender.unit} ({found.low:.3g} to {found.high:.3g})"


def _order(judged: Sequence[Judged]) -> list[str]:
    verdicts = {one.verdict for one in judged if isinstance(one.claim.rule, Ordering)}
    if not verdicts:
        return []
    if verdicts == {Verdict.REPRODUCED}:
        return ["The source's conclusion holds: SM's delays lie left of TDM's."]
    if Verdict.NOT_REPRODUCED in verdicts:
        return ["The source's conclusion, SM's delays left of TDM's, does not hold everywhere."]
    return ["The source's conclusion, SM's delays left of TDM's, could not be shown everywhere."]


def _theory_held(judged: Sequence[Judged]) -> list[str]:
    facts = [each for each in facts_of(views_of(judged)) if each.standing is CountedAs.THEORY]
    backends = list(dict.fromkeys(fact.rows[0].backend for fact in facts))
    sentences = []
    for backend in backends:
        verdicts = [fact.verdict for fact in facts if fact.rows[0].backend == backend]
        right, open_ = (verdicts.count(each) for each in (Verdict.REPRODUCED, Verdict.INCONCLUSIVE))
        where = "" if backends == ["sim"] else f" {PLACES[backend]}"
        wrong = verdicts.count(Verdict.NOT_REPRODUCED)
        more = f"; {wrong} do not" if wrong else ""
        more += f"; {open_} would take more runs to decide" if open_ else ""
        sentences.append(
            f"{right} of {len(verdicts)} facts of queueing theory hold for an ideal "
            f"source{where}{more}."
        )
    return sentences


def _agreement(judged: Sequence[Judged]) -> list[str]:
    agree = [one for one in judged if isinstance(one.claim.rule, Agreement)]
    if not agree:
        return []
    if all(one.verdict is Verdict.REPRODUCED for one in agree):
        ends = [end for one in agree for end in (one.found.low, one.found.high) if end is not None]
        farthest = max(map(abs, ends))
        return [
            "Given the same arrivals, the Linux kernel's queues and the simulator's keep packets "
            f"equally long: the mean delays differ by at most {1e3 * farthest:.2g} µs."
        ]
    wrong = sum(one.verdict is Verdict.NOT_REPRODUCED for one in agree)
    if wrong:
        return [
            "Given the same arrivals, the Linux kernel and the simulator differ by more than the "
            f"margin in {wrong} of {len(agree)} comparisons."
        ]
    return [
        "Given the same arrivals, the Linux kernel and the simulator could not be shown to agree "
        "everywhere."
    ]


READINGS = (
    'The text prints "0.546 % of the mean delay"; it is read as the ratio 0.546. "N times '
    "the service rate\" is read as Little's law, T = N/lambda. N is per queue: TDM's total "
    "is m N.",
    "The nominal load is 0.90 by the printed arithmetic (220 packets/s of 512 bytes over "
    "1 Mbit/s) and 0.986 on the wire: 42 bytes of headers, IP fragments above 1472 bytes of "
    "payload, and ten pings a second.",
    "The thin theory lines are M/G/1 with batches (Pollaczek-Khinchine; a datagram's "
    "fragments arrive together), stationary, pings counted as Poisson. A run as published "
    "starts empty and lasts 200 s, which at that load is far from stationary.",
    "Two terminals are not started in one instant: each ping starts up to 200 ms late, "
    "uniformly. Nothing else differs between replications but the random traffic.",
    "The measured kernel shaped by a token bucket; our queue has none, so its bucket's head "
    "start is taken off every round-trip time: max(0, S - burst/rate).",
)
"""Interpretations of the source, and limitations."""


def about_fit(sender: Sender, fit: QuartileFit) -> str:
    """State the fitted parameters, and the quartiles at the fit."""
    predicted = ", ".join(
        f"{each.arm} {each.name} {ms:.1f}"
        for each, ms in zip(published.QUARTILES, fit.predicted_ms, strict=True)
    )
    base = fit.base_rtt_ms
    return (
        f"Senders of {sender.parameter} {_interval(sender, fit)} and a base RTT of "
        f"{base.value:.2f} ms ({base.low:.2f} to {base.high:.2f}): two free parameters and six "
        f"quartiles, which at the best fit are about {predicted} ms. They chose the two and so "
        "are no claims there; the maxima and the ratio of the means are."
    )


ABOUT_CAUSES = (
    "A fit is not a cause. Senders that oversleep keep the random gaps that were asked for and add "
    "the same to each, which makes arrivals more even than a Poisson process of that rate: that is "
    "what can tell them from slower ones. A recent kernel oversleeps by some 0.1 ms; whether a "
    "virtual machine of 2016 did by more the source does not say."
)
"""Limits of the fits: what they do not explain."""


def about_no_fit(replications: int | None) -> str:
    """State why there is no fit."""
    return (
        f"With {replications} replications there is no fit of senders and base RTT: it takes more "
        "runs than the six quartiles have covariances to be estimated from."
    )


def about_kernel(
    packets: float, streams: Sequence[int], ideal_runs: int, runs: int, *, fitted: bool
) -> list[str]:
    """State what was run on the kernel, and why fewer runs.

    Args:
        packets: Packets of a replication with the ideal source.
        streams: Numbers of streams with the ideal source.
        ideal_runs: Replications of each.
        runs: Replications as published.
        fitted: Whether a load was fitted.
    """
    notes = [
        "On the kernel a packet takes about 80 microseconds of CPU (sockets, three hosts and two "
        f"devices on one core), so less is run there: {ideal_runs} replications of {packets:g} "
        f"packets with the ideal source for m = {', '.join(map(str, streams))}, and {runs} runs as "
        "published of 200 s, the time in which there were pings. Both backends are given the same "
        "arrivals, so their difference is known far better than either; theory is tested on the "
        "kernel with the simulator as control variate: the simulator's mean over many "
        "replications plus the difference in those run on both.",
        "The ideal source's packets and links are eight times as large on the kernel: no time "
        "changes, and the 42 bytes that a real frame has at least hardly matter.",
    ]
    if not fitted:
        notes.append(
            "The fit of the load takes thousands of runs and is made in the simulator: "
            "`--backend sim,kernel` does it and runs the kernel at the load it finds."
        )
    return notes


def fit_facts(fits: Mapping[Sender, QuartileFit]) -> dict[str, dict[str, float]] | None:
    """Return the facts of the fits for ``meta.json``, by the name of the fitted parameter."""
    if not fits:
        return None
    return {
        sender.parameter: {
            sender.argument: sender.per_unit * fit.of_sender.value,
            "base_rtt_ms": fit.base_rtt_ms.value,
            "p_value": fit.p_value,
        }
        for sender, fit in fits.items()
    }


def run_tables(runs: Mapping[str, Run]) -> dict[str, Mapping[str, Array]]:
    """Return the runs' tables, without those that were not requested."""
    return {
        f"nominal-{arm}-{name}": run.named_columns(name)
        for arm, run in runs.items()
        for name, columns in run.tables.items()
        if len(next(iter(columns.values())))
    }


def ping_files(runs: Mapping[str, Run]) -> dict[str, str]:
    """Return ping's output in each terminal, and the output of the source's awk line.

    ``pingtimes-SENDER-TYPE.txt`` is the text and ``.csv`` the lines ``SENDER,TYPE,seq,rtt``;
    ``pingtimes-all.csv`` is the input of the source's R lines.
    """
    texts, tables = {}, {}
    for arm, run in runs.items():
        for sender in ("1", "2"):
            name, probe = pingtimes_file_name(sender, arm), f"ping-{sender}"
            tables[name] = pingtimes_csv(run, probe, sender=sender, kind=arm)
            texts[name.removesuffix(".csv") + ".txt"] = ping_text(run, probe)
    return texts | tables | ({"pingtimes-all.csv": "".join(tables.values())} if runs else {})
