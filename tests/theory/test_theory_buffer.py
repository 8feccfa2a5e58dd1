"""How large a buffer should be."""

from __future__ import annotations

import pytest

from dumbbell.theory import TheoryError, bandwidth_delay_packets, many_flows_packets


def test_the_examples_of_the_paper() -> None:
    # Appenzeller et al., SIGCOMM 2004, section 1: 10 Gbit/s and 250 ms are 2.5 Gbit; with 50,000
    # flows about 10 Mbit do.
    bits = 8 * 1500 * bandwidth_delay_packets(10e9, 0.25, 1500)
    assert bits == pytest.approx(2.5e9)
    assert 8 * 1500 * many_flows_packets(10e9, 0.25, 1500, 50_000) == pytest.approx(
        11.2e6, rel=0.01
    )


def test_one_flow_needs_the_whole_product() -> None:
    setting = 50e6, 0.121, 1514
    assert many_flows_packets(*setting, 1) == bandwidth_delay_packets(*setting)
    assert many_flows_packets(*setting, 772) == pytest.approx(18, abs=0.1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(TheoryError, match="flows"):
        many_flows_packets(1e6, 0.1, 1500, 0)
    with pytest.raises(TheoryError, match="rtt_s"):
        bandwidth_delay_packets(1e6, -1, 1500)
