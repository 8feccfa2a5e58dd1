"""The claims of the study, each with its rule, and how they are judged.

Margins are fixed here, before anything runs: 2 % of theory for the ideal source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell import theory
from dumbbell.claims.legacy import (
    Claim,
    Judged,
    Kind,
    Verdict,
    judge_ordering,
    judge_published_number,
    judge_theory_equals,
    rule_text,
)
from dumbbell.stats import (
    Estimate,
    cdf_difference_band,
    comparison_range,
    prediction_quantiles,
    ratio_interval,
    replications_for_prediction,
    student_interval,
)
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.ensembles import Floats, PingEnsemble
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS, Fit
from dumbbell.studies.statistical_multiplexing.kernel import Shaper, through_token_bucket

RELATIVE_MARGIN = 0.02
"""Of theory: twice the half-width the replications aim at."""

MM1_SOURCE = f"Queueing theory; {published.TEXTBOOK}"


def multiplexing(streams: int) -> theory.Multiplexing:
    """Theory for so many streams of 110 packets/s and 500 kbit/s each."""
    per_stream_mu = published.STREAM_RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    lam, mu = published.PACKETS_PER_SECOND * streams, per_stream_mu * streams
    return theory.tdm(lam, mu, streams)


def _theory_claim(name: str, statement: str, value: float, unit: str) -> Claim:
    return Claim(
        id=name,
        statement=statement,
        source=MM1_SOURCE,
        kind=Kind.THEORY_EQUALS,
        theory=value,
        margin=RELATIVE_MARGIN * value,
        unit=unit,
    )


@dataclass(frozen=True, slots=True)
class IdealMeans:
    """What theory speaks of, each with its interval.

    Attributes:
        sm_ms: Mean time in the system of SM, milliseconds.
        tdm_ms: Of TDM.
        factor: TDM's over SM's.
        number: Mean number in a queue of TDM over that in SM's.
    """

    sm_ms: Estimate
    tdm_ms: Estimate
    factor: Estimate
    number: Estimate

    @classmethod
    def of(cls, values: Mapping[str, Floats]) -> IdealMeans:
        """From a value a replication: ``T_SM``, ``T_TDM`` (s), ``N_SM``, ``N_TDM`` (a queue)."""
        return cls(
            student_interval(1e3 * values["T_SM"]),
            student_interval(1e3 * values["T_TDM"]),
            ratio_interval(values["T_TDM"], values["T_SM"]),
            ratio_interval(values["N_TDM"], values["N_SM"]),
        )


def judge_ideal(streams: int, means: IdealMeans, backend: str, note: str = "") -> list[Judged]:
    """Mean delays, the factor m, and equal numbers in every queue.

    Args:
        streams: Number of streams m.
        means: What was measured.
        backend: Where it was measured.
        note: To stand beside each verdict.
    """
    law, m = multiplexing(streams), streams
    sm = _theory_claim(
        f"ideal-t-sm-m{m}",
        f"With m = {m} streams in one queue the mean time in the system is 1/(mu - lambda)",
        1e3 * law.T_sm,
        "ms",
    )
    tdm = _theory_claim(
        f"ideal-t-tdm-m{m}",
        f"With m = {m} streams in queues of their own it is m/(mu - lambda)",
        1e3 * law.T_tdm,
        "ms",
    )
    factor = _theory_claim(
        f"ideal-factor-m{m}", f"Separate queues are slower by the factor m = {m}", law.factor, "1"
    )
    number = _theory_claim(
        f"ideal-equal-n-m{m}",
        f"A queue holds equally many packets on average either way (m = {m}): ratio 1",
        1.0,
        "1",
    )
    pairs = ((sm, means.sm_ms), (tdm, means.tdm_ms), (factor, means.factor), (number, means.number))
    return [
        judge_theory_equals(claim, estimate, backend=backend, note=note)
        for claim, estimate in pairs
    ]


def judge_as_published(
    ensemble: PingEnsemble, label: str, where: str, backend: str, note: str = ""
) -> list[Judged]:
    """The printed quartiles, maxima and mean ratio, and the order of the two CDFs.

    Args:
        ensemble: Runs as published: from empty, first 200 s, two senders pooled.
        label: Beginning of the claims' ids, such as ``nominal``.
        where: Completes the sentences, such as ``at the nominal load``.
        backend: Where it was measured.
        note: To stand beside each verdict.
    """
    judged = []
    rule = rule_text(Kind.PUBLISHED_NUMBER, None, "ms", 0.95)
    few = ensemble.n_replications < replications_for_prediction()
    if few:
        rule += " With fewer than 39 runs the interval is Student's, of the logarithms."
    for arm in published.ARMS:
        for name, prediction in ensemble.predictions(arm).items():
            what = "maximum" if name == "max" else f"{name[1:]}th percentile"
            claim = Claim(
                id=f"{label}-{arm.lower()}-{name}",
                statement=f"The {what} of the {arm} round-trip times, {where}",
                source=published.SOURCE,
                kind=Kind.PUBLISHED_NUMBER,
                published=published.RTT_MS[arm][name],
                unit="ms",
                rule=f"{rule} Host jitter of {HOST_JITTER_MS:g} ms is part of the prediction.",
            )
            judged.append(judge_published_number(claim, prediction, backend=backend, note=note))
    ratio = Claim(
        id=f"{label}-mean-ratio",
        statement=f"Mean delay of SM over that of TDM (printed as 0.546 %), {where}",
        source=published.SOURCE,
        kind=Kind.PUBLISHED_NUMBER,
        published=published.MEAN_RATIO,
        unit="1",
        rule=rule if few else "",
    )
    judged.append(
        judge_published_number(ratio, ensemble.predicted_mean_ratio(), backend=backend, note=note)
    )
    judged.append(_judge_order(ensemble, label, where, backend))
    return judged


def _judge_order(ensemble: PingEnsemble, label: str, where: str, backend: str) -> Judged:
    claim = Claim(
        id=f"{label}-sm-left-of-tdm",
        statement=f"SM's delay CDF lies left of TDM's everywhere above the base RTT, {where}",
        source=published.SOURCE,
        kind=Kind.ORDERING,
        unit="1",
    )
    sm, tdm = ensemble.rtt_ms["SM"], ensemble.rtt_ms["TDM"]
    at = comparison_range(sm, tdm, between=(0.05, 0.95), points=100)
    band = cdf_difference_band(sm, tdm, at)
    return judge_ordering(
        claim,
        band,
        backend=backend,
        note="F_SM - F_TDM from the 5th to the 95th percentile of all pings",
    )


def judge_fit(fit: Fit, n_replications: int, backend: str) -> Judged:
    """Whether the load that was asked for explains the published quartiles."""
    claim = Claim(
        id="load-as-asked",
        statement="The published quartiles come from the 110 packets/s asked of each sender",
        source=published.SOURCE,
        kind=Kind.FREE_PARAMETERS,
        published=published.PACKETS_PER_SECOND,
        unit="packets/s",
        rule=(
            "Load and base RTT fitted together to the six published quartiles: reproduced when "
            "the 95 % profile interval of the load contains what was asked for."
        ),
    )
    load, base = fit.load_pps, fit.base_rtt_ms
    inside = load.low <= published.PACKETS_PER_SECOND <= load.high
    edge = "; the interval ends where the search ended" if load.at_edge else ""
    return Judged(
        claim=claim,
        backend=backend,
        measured=load.value,
        low=load.low,
        high=load.high,
        n_replications=n_replications,
        verdict=Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED,
        note=(
            f"base RTT {base.value:.2f} ms ({base.low:.2f} to {base.high:.2f}); "
            f"goodness of fit: chi-square {fit.distance:.1f} with {fit.freedom} degrees of "
            f"freedom, p = {fit.p_value:.2g}{edge}"
        ),
    )


def judge_kernel(ensemble: PingEnsemble, shaper: Shaper, backend: str) -> list[Judged]:
    """Mean RTTs that a real kernel gave for the same traffic behind a token bucket."""
    judged = []
    for arm in published.ARMS:
        rate = published.STREAM_RATE_BPS * (2 if arm == "SM" else 1)
        means = np.array(
            [
                float(through_token_bucket(rtt, shaper.burst_bytes, rate).mean())
                for rtt in ensemble.rtt_ms[arm]
            ]
        )
        prediction = prediction_quantiles(means)
        for number, measured in enumerate(shaper.mean_rtt_ms[arm], start=1):
            claim = Claim(
                id=f"kernel-{shaper.name.replace(' ', '-')}-{arm.lower()}-run{number}",
                statement=(
                    f"Mean {arm} round-trip time of run {number} on a real kernel, "
                    f"{shaper.name} of {shaper.burst_bytes} bytes"
                ),
                source="Measured on Linux 6.18 with D-ITG 2.8.1: " + shaper.lines,
                kind=Kind.PUBLISHED_NUMBER,
                published=measured,
                unit="ms",
            )
            judged.append(judge_published_number(claim, prediction, backend=backend))
    return judged
