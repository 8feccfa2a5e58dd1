"""Output of ITGDec 2.8.1 for two flows on loopback, 100 and 50 packets per second."""

from __future__ import annotations

import pytest
from log_samples import FOLDER

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import ItgLog, LogText, log_of_text, read_log
from dumbbell.metrics.logs import log_numbers, log_series


def numbers(name: str, text: str) -> dict[tuple[str, str], float]:
    log = log_of_text(LogText(name, text))
    assert isinstance(log, ItgLog)
    assert str(log.unknown) == ""
    return {(each.of, each.name): each.value for each in log_numbers(log)}


def test_bitrates_of_flows() -> None:
    log = read_log(FOLDER / "itgdec-bitrate.txt")
    steps = log.tables["flow_steps"]
    assert steps["flow"].tolist() == [1, 2] * 3
    assert steps["ends"][0] == "127.0.0.1-127.0.0.1"
    assert steps["bitrate_bps"].tolist()[:2] == [184_000, 52_800]
    found = {(each.of, each.name): each.value for each in log_numbers(log)}
    assert found[("flow 1", "bitrate_mean_mbps")] == pytest.approx((184 + 196 + 196) / 3000)
    assert [each.of for each in log_series(log)] == ["flow 1", "flow 2"]


def test_delays_and_jitter_without_their_sum() -> None:
    """ITGDec adds the flows' mean delays to 0.000886 s, which is no flow's."""
    text = (FOLDER / "itgdec-delay.txt").read_text()
    assert "0.000174 0.000712 0.000886" in text
    found = numbers("delay.dat", text)
    assert set(found) == {(f"flow {n}", "delay_of_steps_mean_ms") for n in (1, 2)}
    assert found[("flow 1", "delay_of_steps_mean_ms")] == pytest.approx((174 + 36 + 38) / 3e3)
    jitter = numbers("my-jitter", (FOLDER / "itgdec-jitter.txt").read_text())
    assert jitter[("flow 2", "jitter_of_steps_mean_ms")] == pytest.approx((719 + 28 + 20) / 3e3)


def test_lost_packets_are_summed() -> None:
    text = (FOLDER / "itgdec-delay.txt").read_text().replace("0.000712", "7.000000")
    found = numbers("packetloss.dat", text)
    assert found[("flow 2", "dropped_pkts")] == pytest.approx(7, abs=1e-3)


@pytest.mark.parametrize("name", ["flows.dat", "delay-and-jitter.dat"])
def test_a_name_that_does_not_say_what_it_is(name: str) -> None:
    text = (FOLDER / "itgdec-delay.txt").read_text()
    with pytest.raises(UnreadableError, match="the name has to: one of delay, jitter, bitrate"):
        log_of_text(LogText(name, text))
