"""Quantities: what Linux's tc would read, and what goes there and back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import units


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("512B", 512), ("10kb", 10 * 1024), ("1kbit", 128), ("1mbit", 131_072), ("2mb", 2 << 20)],
)
def test_sizes_are_those_of_tc(text: str, size_bytes: int) -> None:
    assert units.parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [("1mbit", 10**6), ("1kbps", 8000), ("6.55mbit", 6_550_000), ("1kibit", 1024), ("9bit", 9)],
)
def test_rates_are_those_of_tc(text: str, rate_bps: int) -> None:
    assert units.parse_rate_bps(text) == rate_bps


@pytest.mark.parametrize(
    "parse", [units.parse_size_bytes, units.parse_rate_bps, units.parse_time_ns]
)
@pytest.mark.parametrize("text", ["5", "", "ms", "nan", "inf", "-1s", "five", "1e999s", "1x"])
def test_whole_quantities_need_a_number_and_a_unit(parse, text: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        parse(text)
    assert caught.value.value == text
    assert caught.value.allowed


@given(st.integers(0, 2**53))
def test_sizes_and_times_go_there_and_back(number: int) -> None:
    assert units.parse_size_bytes(units.format_size(number)) == number
    assert units.parse_time_ns(units.format_time(number)) == number


@given(st.integers(1, 4 * 10**12))
def test_rates_go_there_and_back(rate_bps: int) -> None:
    assert units.parse_rate_bps(units.format_rate(rate_bps)) == rate_bps


finite = st.floats(1e-9, 1e9, allow_nan=False)


@given(finite)
def test_real_quantities_go_there_and_back_to_the_last_bit(value: float) -> None:
    assert units.parse_real_time_s(units.format_real_time(value)) == value
    assert units.parse_real_size_bytes(units.format_real_size(value)) == value
    assert units.parse_packet_rate_pps(units.format_packet_rate(value)) == value


@given(st.integers(0, 10**12), st.sampled_from(["s", "ms", "us", "ns"]))
def test_the_real_parser_takes_units_as_the_whole_one_does(number: int, unit: str) -> None:
    whole_ns = units.parse_time_ns(f"{number % 10**6}{unit}")
    assert units.parse_real_time_s(f"{number % 10**6}{unit}") == whole_ns / 1e9


@pytest.mark.parametrize("text", ["5", "", "1e999s", "nans", "s", "1/2s", "1" * 500 + "s"])
def test_real_quantities_refuse_the_same(text: str) -> None:
    with pytest.raises(units.UnitError):
        units.parse_real_time_s(text)


@pytest.mark.parametrize(
    ("text", "rate_pps"), [("110pps", 110.0), ("1.5kpps", 1500.0), ("1Mpps", 1e6), (".5 pps", 0.5)]
)
def test_rates_of_packets(text: str, rate_pps: float) -> None:
    assert units.parse_packet_rate_pps(text) == rate_pps


@pytest.mark.parametrize("text", ["110", "0pps", "-1pps", "infpps", "110 packets", "1e999pps", ""])
def test_rates_of_packets_that_are_none(text: str) -> None:
    with pytest.raises(units.UnitError) as caught:
        units.parse_packet_rate_pps(text)
    assert caught.value.value == text
    assert "pps" in caught.value.allowed
    assert caught.value.hint == ("110pps" if text == "110" else None)


def test_numbers_without_end_are_not_written() -> None:
    with pytest.raises(ValueError, match="inf"):
        units.format_real_time(math.inf)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("pfifo", {"kind": "pfifo", "limit_packets": 1000}),
        ("bfifo limit 50kb", {"kind": "bfifo", "limit_bytes": 51_200}),
    ],
)
def test_disciplines_go_there_and_back(text: str, parameters: dict) -> None:
    assert units.parse_qdisc(text) == parameters
    assert units.parse_qdisc(units.render_qdisc(parameters)) == parameters


def test_an_unknown_discipline_names_the_nearest() -> None:
    with pytest.raises(units.QdiscError) as caught:
        units.parse_qdisc("pfiffo limit 3")
    assert caught.value.hint == "pfifo"
