"""Waveform's bufferbloat test, in the layout of its public readers."""

from __future__ import annotations

import numpy as np
import pytest
from log_samples import WAVEFORM, sample

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import LogText, WaveformLog, log_of_text
from dumbbell.metrics.logs import log_numbers, log_series


def read(text: LogText) -> WaveformLog:
    log = log_of_text(text)
    assert isinstance(log, WaveformLog)
    return log


def test_rates_are_the_tests_own_and_round_trips_those_of_its_samples() -> None:
    log = read(sample("waveform"))
    assert (log.grade, str(log.unknown)) == ("C", "")
    assert {(each.of, each.name): each.value for each in log_numbers(log)} == pytest.approx(
        {
            ("unloaded", "rtt_mean_ms"): 21.0,
            ("unloaded", "rtt_min_ms"): 20.0,
            ("unloaded", "rtt_p50_ms"): 20.5,
            ("unloaded", "rtt_max_ms"): 22.5,
            ("download", "throughput_mbps"): 92.5,
            ("download", "rtt_mean_ms"): 81.0,
            ("download", "rtt_min_ms"): 80.25,
            ("download", "rtt_p50_ms"): 81.0,
            ("download", "rtt_max_ms"): 81.75,
            ("download", "rtt_increase_mean_ms"): 60.0,
            ("upload", "throughput_mbps"): 18.25,
            ("upload", "rtt_mean_ms"): 25.0,
            ("upload", "rtt_min_ms"): 25.0,
            ("upload", "rtt_max_ms"): 25.0,
            ("upload", "rtt_increase_mean_ms"): 4.0,
        }
    )
    shown = {each.of: each.values.tolist() for each in log_series(log)}
    assert shown["download"] == [80.25, 81.75]
    assert not any(each.is_timed for each in log_series(log))


def test_many_samples_have_percentiles() -> None:
    rows = "\n".join(str(value) for value in np.linspace(10, 110, 101))
    log = read(LogText("it", WAVEFORM.replace("80.25\n81.75", rows)))
    found = {each.name: each.value for each in log_numbers(log) if each.of == "download"}
    assert (found["rtt_p50_ms"], found["rtt_p95_ms"]) == pytest.approx((60.0, 105.0))


@pytest.mark.parametrize("wrong", ["-4", "0", "nan", "1e99", "fast"])
def test_what_is_no_round_trip_is_counted_and_named(wrong: str) -> None:
    log = read(LogText("it", WAVEFORM.replace("81.75", wrong)))
    assert (log.unknown.count, log.unknown.text) == (1, wrong)
    (download,) = (each for each in log_series(log) if each.of == "download")
    assert download.values.tolist() == [80.25]


def test_a_section_of_another_name_ends_the_round_trips() -> None:
    log = read(LogText("it", WAVEFORM + "====== NOTES ======\n77\n"))
    assert (log.unknown.count, log.unknown.text) == (1, "77")


def test_a_title_alone_is_refused() -> None:
    with pytest.raises(UnreadableError, match="nothing that Waveform's test measured"):
        log_of_text(LogText("it", WAVEFORM.splitlines()[0]))
