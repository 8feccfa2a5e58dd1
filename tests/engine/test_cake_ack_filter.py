"""Cake's filter of acknowledgements drops them, whether or not packets are recorded."""

from __future__ import annotations

import pytest

from dumbbell import simulate
from dumbbell.metrics import goodput_bps
from dumbbell.spec import Experiment


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_download_is_faster_behind_a_slow_uplink_that_filters(is_recorded: bool) -> None:
    """400 kbit/s carry the acknowledgements of some 19 Mbit/s, and with the filter those of all."""
    goodputs_mbps = {}
    for words in ("no-ack-filter", "ack-filter", "ack-filter-aggressive"):
        up = {"qdisc": f"cake bandwidth 400kbit {words}", "record_packets": is_recorded}
        down = {"rate": "30mbit", "qdisc": "fq_codel"}
        described = Experiment.model_validate(
            {
                "duration": "10s",
                "warm_up": "3s",
                "links": [
                    {"a": "server", "b": "provider", "delay": "10ms"},
                    {"a": "provider", "b": "home", "delay": "5ms", "forward": down, "reverse": up},
                ],
                "flows": [
                    {
                        "name": "download",
                        "from": "server",
                        "to": "home",
                        "source": {"kind": "greedy"},
                    }
                ],
            }
        )
        goodputs_mbps[words] = float(goodput_bps(simulate(described), "download")) / 1e6
    assert goodputs_mbps["no-ack-filter"] < 20
    assert goodputs_mbps["ack-filter"] > 26
    assert goodputs_mbps["ack-filter-aggressive"] > 26
