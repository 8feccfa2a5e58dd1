"""ndt7's events, summaries and archive: public layouts with numbers of our own."""

from __future__ import annotations

import pytest
from log_samples import NDT7_EVENTS, NDT7_SUMMARY, sample

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import LogText, Ndt7Log, log_of_text
from dumbbell.metrics.logs import log_numbers, log_series


def read(text: LogText) -> Ndt7Log:
    log = log_of_text(text)
    assert isinstance(log, Ndt7Log)
    assert str(log.unknown) == ""
    return log


def numbers(log: Ndt7Log) -> dict[tuple[str, str], float]:
    return {(each.of, each.name): each.value for each in log_numbers(log)}


def test_events_say_it_by_their_last_measurements() -> None:
    log = read(sample("ndt7-events"))
    assert numbers(log) == pytest.approx(
        {
            ("download", "goodput_mbps"): 44.0,  # 11 MB in 2 s, by the client
            ("download", "rtt_min_ms"): 5.9,
            ("download", "retransmitted_percent"): 0.25,
            ("upload", "goodput_mbps"): 8.0,  # 2 MB in 2 s, that came to the server
            ("upload", "rtt_min_ms"): 6.486,
        }
    )
    rates = {each.of: each.values.tolist() for each in log_series(log) if "mbps" in each.name}
    assert rates["download, client"] == pytest.approx([48.0])


def test_what_the_summary_says_stands() -> None:
    alone = read(sample("ndt7-summary"))
    assert alone.host == "ndt.example.net"
    assert numbers(alone) == {
        ("download", "goodput_mbps"): 45.25,
        ("download", "rtt_min_ms"): 5.949,
        ("download", "retransmitted_percent"): 0.25,
        ("upload", "goodput_mbps"): 40.5,
        ("upload", "rtt_min_ms"): 6.486,
    }
    both = read(LogText("it", NDT7_EVENTS + NDT7_SUMMARY))
    assert numbers(both) == numbers(alone)
    assert len(both.tables["measurements"]) == 6


def test_a_summary_of_clients_before_0_5() -> None:
    text = """\
{"ServerFQDN":"ndt.example.net","ServerIP":"192.0.2.1","ClientIP":"192.0.2.7","DownloadUUID":"x",
"Download":{"Value":45.5,"Unit":"Mbit/s"},"Upload":{"Value":40.5,"Unit":"Mbit/s"},
"DownloadRetrans":{"Value":0.5,"Unit":"%"},"MinRTT":{"Value":5.5,"Unit":"ms"}}"""
    assert numbers(read(LogText("it", text))) == {
        ("download", "goodput_mbps"): 45.5,
        ("download", "rtt_min_ms"): 5.5,
        ("download", "retransmitted_percent"): 0.5,
        ("upload", "goodput_mbps"): 40.5,
    }


def test_an_archived_download_is_what_was_acknowledged() -> None:
    log = read(sample("ndt7-archived"))
    assert numbers(log) == pytest.approx(
        {
            ("download", "goodput_mbps"): 44.0,
            ("download", "rtt_min_ms"): 5.9,
            ("download", "retransmitted_percent"): 0.25,
        }
    )


def test_errors_and_nothing() -> None:
    error = '{"Key":"error","Value":{"Test":"download","Failure":"no server"}}\n'
    assert read(LogText("it", error)).problems == ("ndt7 says: no server",)
    with pytest.raises(UnreadableError, match="nothing that ndt7 measured"):
        log_of_text(LogText("it", '{"Key":"starting","Value":{"Test":"download"}}\n'))
