"""What the page says in words, and the files in the source's own format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.claims import Judged, Verdict, facts_of, views_of
from dumbbell.claims.rules import Agreement, Ordering, Standing
from dumbbell.formats import ping_text, pingtimes_csv, pingtimes_file_name
from dumbbell.report import Advice
from dumbbell.stats import Estimate
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.fit import Fit
from dumbbell.tables import Array, Run

PLACES = {"sim": "in the simulator", "kernel": "on the Linux kernel"}


DONE = (
    "Two streams of packets share a router: either both go through one queue at the whole rate "
    "(SM), or each has a queue of its own at half of it (TDM). First the streams come from an "
    "ideal source, for which theory is exact. Then the published run is done again, with the "
    "traffic of D-ITG and with pings, and held against the milliseconds that were printed. As "
    "those do not follow from the load that was typed, the load that explains them is looked for, "
    "and the run is done once more at that load."
)


def answer(judged: Sequence[Judged], gains: Mapping[str, Mapping[int, Estimate]]) -> str:
    """The answer in one sentence."""
    two = gain_of(2, gains)
    if two is not None:
        return (
            f"With a slow queue for each of two streams packets take {two.value:.2f} times as long "
            f"(95 % interval {two.low:.2f} to {two.high:.2f}) as with one fast queue for both, "
            "although the line is the same; theory says 2 times."
        )
    return next(iter(_order(judged)), "Which of the two is faster these runs do not decide.")


def gain_of(streams: int, gains: Mapping[str, Mapping[int, Estimate]]) -> Estimate | None:
    """The multiplexing gain of so many streams on the first backend that has it."""
    return next((found[streams] for found in gains.values() if streams in found), None)


def advice(gains: Mapping[str, Mapping[int, Estimate]]) -> list[Advice]:
    """What to set, where the gain is clearly above one."""
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
    judged: Sequence[Judged], gains: Mapping[str, Mapping[int, Estimate]], fit: Fit | None
) -> str:
    """Who was right, in a paragraph: what a student understands first, then facts counted."""
    sentences = []
    two = gain_of(2, gains)
    if two is not None:
        sentences.append(
            f"Two slow queues are {two.value:.2f} times slower than one fast queue "
            f"(95 % interval {two.low:.2f} to {two.high:.2f}; theory says 2)."
        )
    sentences += _order(judged)
    if fit:
        load = fit.load_pps
        sentences.append(
            "The printed milliseconds do not follow from the printed parameters: with headers, "
            "fragments and pings on the wire, 110 packets/s load the link to 0.986, where delays "
            f"are some twenty times those printed. About {load.value:.0f} packets/s from each "
            f"sender ({load.low:.0f} to {load.high:.0f}) explain the printed quartiles "
            f"{'well' if fit.p_value >= 0.05 else 'best, but not well'} "
            f"(goodness of fit p = {fit.p_value:.2g})."
        )
    return " ".join([*sentences, *_theory_held(judged), *_agreement(judged)])


def _order(judged: Sequence[Judged]) -> list[str]:
    verdicts = {one.verdict for one in judged if isinstance(one.claim.rule, Ordering)}
    if not verdicts:
        return []
    if verdicts == {Verdict.REPRODUCED}:
        return ["The source's conclusion holds: SM's delays lie left of TDM's."]
    return ["The source's conclusion, SM's delays left of TDM's, could not be shown everywhere."]


def _theory_held(judged: Sequence[Judged]) -> list[str]:
    facts = [each for each in facts_of(views_of(judged)) if each.standing is Standing.THEORY]
    backends = list(dict.fromkeys(fact.rows[0].backend for fact in facts))
    sentences = []
    for backend in backends:
        verdicts = [fact.verdict for fact in facts if fact.rows[0].backend == backend]
        right, open_ = (verdicts.count(each) for each in (Verdict.REPRODUCED, Verdict.INCONCLUSIVE))
        where = "" if backends == ["sim"] else f" {PLACES[backend]}"
        more = f"; {open_} would take more runs to decide" if open_ else ""
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
"""How the source is read, and limitations."""


def about_fit(fit: Fit) -> str:
    """What the fit does not say."""
    predicted = ", ".join(
        f"{each.arm} {each.name} {ms:.1f}"
        for each, ms in zip(published.QUARTILES, fit.predicted_ms, strict=True)
    )
    return (
        "The fit has two free parameters and six quartiles; at the best fit they are about "
        f"{predicted} ms. They chose the load and so are no claims at it; the maxima and the ratio "
        "of the means are. It is not the cause: a sender that oversleeps 3.7 ms a packet would do "
        "it, and so would other things."
    )


def about_no_fit(replications: int | None) -> str:
    """Why there is none."""
    return (
        f"With {replications} replications there is no fit of load and base RTT: it takes more "
        "runs than the six quartiles have covariances to be estimated from."
    )


def about_kernel(
    packets: float, streams: Sequence[int], ideal_runs: int, runs: int, *, fitted: bool
) -> list[str]:
    """What was run on the kernel, and why less.

    Args:
        packets: Of a replication with the ideal source.
        streams: Numbers of streams with it.
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


def fit_facts(fit: Fit | None) -> dict[str, float] | None:
    """Of the fit, for ``meta.json``."""
    if fit is None:
        return None
    return {
        "load_pps": fit.load_pps.value,
        "base_rtt_ms": fit.base_rtt_ms.value,
        "p_value": fit.p_value,
    }


def run_tables(runs: Mapping[str, Run]) -> dict[str, Mapping[str, Array]]:
    """The runs' tables, without those that nobody asked to be filled."""
    return {
        f"nominal-{arm}-{name}": run.named_columns(name)
        for arm, run in runs.items()
        for name, columns in run.tables.items()
        if len(next(iter(columns.values())))
    }


def ping_files(runs: Mapping[str, Run]) -> dict[str, str]:
    """What ping printed in each terminal, and what the source's awk line makes of it.

    ``pingtimes-SENDER-TYPE.txt`` is the text and ``.csv`` the lines ``SENDER,TYPE,seq,rtt``;
    ``pingtimes-all.csv`` is what the source's R lines read.
    """
    texts, tables = {}, {}
    for arm, run in runs.items():
        for sender in ("1", "2"):
            name, probe = pingtimes_file_name(sender, arm), f"ping-{sender}"
            tables[name] = pingtimes_csv(run, probe, sender=sender, kind=arm)
            texts[name.removesuffix(".csv") + ".txt"] = ping_text(run, probe)
    return texts | tables | ({"pingtimes-all.csv": "".join(tables.values())} if runs else {})
