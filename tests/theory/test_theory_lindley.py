"""Formulas against simulation that shares nothing with them: Lindley's recursion.

Seeds are fixed, never picked; a mean must lie within four standard errors over runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from lindley import Floats, finite_buffer, score, waits

from dumbbell.theory import (
    MD1,
    MG1,
    MM1,
    MM1K,
    MXG1,
    constant_service,
    discrete_service,
    gamma_service,
    independent_batches,
    itgsend_service,
    single_packets,
    superpose,
)

RUNS, PACKETS, WARM_UP = 40, 30_000, 5_000


def simulate(lam: float, services: Floats, seed: int) -> Floats:
    gaps = np.random.default_rng(seed).exponential(1 / lam, services.shape)
    return waits(gaps, services)[:, WARM_UP:]


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.85])
def test_mm1(rho: float) -> None:
    services = np.random.default_rng(1).exponential(1.0, (RUNS, PACKETS))
    queue = MM1(rho, 1.0)
    waited = simulate(rho, services, 2)
    spent = waited + services[:, WARM_UP:]
    assert abs(score(waited.mean(axis=1), queue.W)) < 4
    assert abs(score(spent.mean(axis=1), queue.T)) < 4
    assert abs(score((waited == 0).mean(axis=1), 1 - rho)) < 4
    for q in (0.25, 0.5, 0.95):
        below = (spent <= queue.T_quantile(q)).mean(axis=1)
        assert abs(score(below, q)) < 4


@pytest.mark.parametrize("rho", [0.5, 0.85])
def test_md1(rho: float) -> None:
    queue = MD1(rho, 1.0)
    waited = simulate(rho, np.ones((RUNS, PACKETS)), 3)
    assert abs(score(waited.mean(axis=1), queue.W)) < 4
    assert abs(score(((waited - queue.W) ** 2).mean(axis=1), queue.W_variance)) < 4
    for t in (0.4, 1.0, 2.3, 6.0):
        assert abs(score((waited <= t).mean(axis=1), queue.W_cdf(t))) < 4


def test_mg1_of_several_service_laws() -> None:
    rng = np.random.default_rng(4)
    times, weights = np.array([0.1, 0.6, 2.5]), np.array([0.5, 0.3, 0.2])
    cases = [
        (gamma_service(1.0, 0.4), rng.gamma(2.5, 0.4, (RUNS, PACKETS))),
        (discrete_service(times, weights), rng.choice(times, (RUNS, PACKETS), p=weights)),
    ]
    for law, services in cases:
        queue = MG1.of(0.75 / law.mean_s, law)
        waited = simulate(queue.lam, services, 5)
        spent = waited + services[:, WARM_UP:]
        assert abs(score(waited.mean(axis=1), queue.W)) < 4
        assert abs(score(((waited - queue.W) ** 2).mean(axis=1), queue.W_variance)) < 4
        for q in (0.3, 0.6, 0.97):
            assert abs(score((waited <= queue.W_quantile(q)).mean(axis=1), q)) < 4
            below = (spent <= queue.T_quantile(q) * (1 + 1e-9)).mean(axis=1)
            assert abs(score(below, queue.T_cdf(queue.T_quantile(q) * (1 + 1e-9)))) < 4


@pytest.mark.parametrize(("lam", "K"), [(0.8, 4), (1.0, 10), (1.6, 6)])
def test_mm1k(lam: float, K: int) -> None:
    rng = np.random.default_rng(6)
    queue = MM1K(lam, 1.0, K)
    runs = [finite_buffer(rng, lam, 1.0, K, 15_000) for _ in range(15)]
    assert abs(score(np.array([loss for loss, _ in runs]), queue.loss)) < 4
    spent = [each[500:] for _, each in runs]
    assert abs(score(np.array([each.mean() for each in spent]), queue.T)) < 4
    for q in (0.25, 0.9):
        t = queue.T_quantile(q)
        assert abs(score(np.array([(each <= t).mean() for each in spent]), q)) < 4


def fragments_of(payload: Floats) -> list[list[float]]:
    """Wire bytes of each fragment, the long way: header by header."""
    result = []
    for n in payload.astype(int).tolist():
        body, packets = n + 8, []
        if body <= 1480:
            packets.append(14.0 + 20 + body)
        else:
            while body > 0:
                carried = min(1480, body)
                packets.append(14.0 + 20 + carried)
                body -= carried
        result.append(packets)
    return result


def test_itgsend_datagrams_arrive_as_batches() -> None:
    rng = np.random.default_rng(7)
    rate, lam, runs, datagrams = 1e6, 180.0, 24, 12_000
    law = itgsend_service(rate, 512.0)
    queue = MXG1(lam, law.batch)
    per_run: dict[str, list[float]] = {name: [] for name in ("first", "W", "T", "median", "p95")}
    median, p95 = queue.T_quantile([0.5, 0.95])
    for _ in range(runs):
        payload = np.clip(np.floor(rng.exponential(512.0, datagrams)), 20, 64_000)
        packets = [np.array(sizes) * 8 / rate for sizes in fragments_of(payload)]
        totals = np.array([[each.sum() for each in packets]])
        found = waits(rng.exponential(1 / lam, totals.shape), totals)[0]
        ends = [w + np.cumsum(each) for w, each in zip(found, packets, strict=True)][1_000:]
        own = np.concatenate(packets[1_000:])
        spent = np.concatenate(ends)
        per_run["first"].append(float(found[1_000:].mean()))
        per_run["T"].append(float(spent.mean()))
        per_run["W"].append(float((spent - own).mean()))
        per_run["median"].append(float((spent <= median).mean()))
        per_run["p95"].append(float((spent <= p95).mean()))
    assert abs(score(np.array(per_run["first"]), queue.workload)) < 4
    assert abs(score(np.array(per_run["W"]), queue.W)) < 4
    assert abs(score(np.array(per_run["T"]), queue.T)) < 4
    assert abs(score(np.array(per_run["median"]), 0.5)) < 4
    assert abs(score(np.array(per_run["p95"]), 0.95)) < 4
    # The plain approximation is not merely different: the simulation refutes it.
    assert score(np.array(per_run["W"]), queue.plain.W) > 4


def test_batches_of_two_streams_superposed() -> None:
    rng = np.random.default_rng(8)
    pairs = independent_batches(constant_service(1.0), [2], [1.0])
    singles = single_packets(constant_service(0.5))
    lam, batch = superpose([(0.2, pairs), (0.4, singles)])
    queue = MXG1(lam, batch)
    assert queue.rho == pytest.approx(0.6)
    is_pair = rng.random((RUNS, PACKETS)) < 1 / 3
    work = np.where(is_pair, 2.0, 0.5)
    found = simulate(lam, work, 9)
    pair = is_pair[:, WARM_UP:]
    # Each batch's packets: the second of a pair also waits for the first.
    mean_wait = (found * np.where(pair, 2, 1) + pair).sum(axis=1) / np.where(pair, 2, 1).sum(axis=1)
    assert abs(score(found.mean(axis=1), queue.workload)) < 4
    assert abs(score(mean_wait, queue.W)) < 4
