"""Flent's tests by name, as experiments of dumbbell.

>>> from dumbbell.spec import flent
>>> test = flent.flent_test("rrul", length_s=10)
>>> experiment = test.experiment(flent.Network(rate="100mbit", qdisc="pie target 20ms"))
>>> len(experiment.flows), len(experiment.probes), experiment.duration
(8, 4, '20s')

Names, marks and times are facts of Flent 2.1.1 (its manual and the metadata of its data files).
"""

from dumbbell.spec.flent.catalogue import DEFAULT_HOST, TEST_NAMES, flent_test
from dumbbell.spec.flent.definition import Computed, FlentTest, Probe, Stream
from dumbbell.spec.flent.network import CLIENT, GATEWAY, ROUTER, Network, check_host
from dumbbell.spec.flent.parameters import dscp_of_marking

__all__ = [
    "CLIENT",
    "DEFAULT_HOST",
    "GATEWAY",
    "ROUTER",
    "TEST_NAMES",
    "Computed",
    "FlentTest",
    "Network",
    "Probe",
    "Stream",
    "check_host",
    "dscp_of_marking",
    "flent_test",
]
