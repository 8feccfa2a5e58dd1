"""Queueing theory for comparison with measurements, in SI units (s, packets, packets/s).

:class:`MM1`, :class:`MD1`, :class:`MG1` and :class:`MM1K` share one interface (:class:`QueueLaw`):
rho, L, Lq, T, W, p_n, N_cdf, T_cdf, W_cdf, T_quantile, W_quantile. :class:`MXG1` has the delays of
batch arrivals, :func:`itgsend_service` the packet sizes of D-ITG, :class:`DD1` the fluid model of
overload, :class:`ByteLimited` an overloaded token bucket, :func:`tdm` the multiplexing gain,
:func:`reno_mean_window` and :func:`cubic_mean_window` the windows of TCP under periodic loss,
:func:`pftk_rate_pps` the rate of Reno with timeouts, :func:`bandwidth_delay_packets` and
:func:`many_flows_packets` buffer sizes, and :func:`bbr_share` the share of BBR against loss-based
flows.
"""

from dumbbell.theory.batches import (
    MXG1,
    BatchLaw,
    independent_batches,
    single_packets,
    superpose,
)
from dumbbell.theory.bbr_share import bbr_share
from dumbbell.theory.buffer import bandwidth_delay_packets, many_flows_packets
from dumbbell.theory.byte_limit import ByteLimited
from dumbbell.theory.dd1 import DD1
from dumbbell.theory.errors import TheoryError, UnstableError
from dumbbell.theory.itgsend import ItgsendService, itgsend_service
from dumbbell.theory.law import DelayLaw, QueueLaw
from dumbbell.theory.md1 import MD1
from dumbbell.theory.mg1 import MG1
from dumbbell.theory.mm1 import MM1
from dumbbell.theory.mm1k import MM1K
from dumbbell.theory.multiplexing import Multiplexing, rtt_ratio, tdm
from dumbbell.theory.response import cubic_mean_window, pftk_rate_pps, reno_mean_window
from dumbbell.theory.service import (
    Service,
    constant_service,
    discrete_service,
    exponential_service,
    gamma_service,
    mixture,
    service_from_moments,
)

__all__ = [
    "DD1",
    "MD1",
    "MG1",
    "MM1",
    "MM1K",
    "MXG1",
    "BatchLaw",
    "ByteLimited",
    "DelayLaw",
    "ItgsendService",
    "Multiplexing",
    "QueueLaw",
    "Service",
    "TheoryError",
    "UnstableError",
    "bandwidth_delay_packets",
    "bbr_share",
    "constant_service",
    "cubic_mean_window",
    "discrete_service",
    "exponential_service",
    "gamma_service",
    "independent_batches",
    "itgsend_service",
    "many_flows_packets",
    "mixture",
    "pftk_rate_pps",
    "reno_mean_window",
    "rtt_ratio",
    "service_from_moments",
    "single_packets",
    "superpose",
    "tdm",
]
