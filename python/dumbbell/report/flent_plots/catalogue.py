"""The plots of each test, by Flent's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile
from dumbbell.report.flent_plots import distributions as spread
from dumbbell.report.flent_plots import over_time as over
from dumbbell.report.flent_plots.series import LATENCY, RATE, Drawer, DrawnPlot, Files, no_data
from dumbbell.spec.refusal import nearest


def plot_names(file: FlentFile) -> list[str]:
    """Return the plots available for a data file, the default of its test first."""
    test = file.text("NAME")
    names = list(_OF_TEST.get(test, _ANY_TEST))
    if any("tcp_cwnd" in sample for samples in file.raw_values.values() for sample in samples[:4]):
        names += (*_OF_SOCKETS, *_OF_TEST_AND_SOCKETS.get(test, ()))
    if any(name.startswith("qdisc_stats_") for name in file.raw_values):
        names += _OF_QUEUES
    return names


def plots_of(test: str) -> list[str]:
    """Return the plots available for files of this test, the default first."""
    own = _OF_TEST.get(test, _ANY_TEST)
    return [*own, *_OF_SOCKETS, *_OF_TEST_AND_SOCKETS.get(test, ()), *_OF_QUEUES]


def check_plot(test: str, name: str) -> None:
    """Refuse a plot that no file of a test can have.

    Raises:
        SpecError: There is none of this name.
    """
    _check(test, name, plots_of(test))


def _check(test: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        allowed = f"a plot of {test}: {', '.join(names)}"
        if name.endswith("combine") or "_combine_" in name or name.startswith("qq_"):
            allowed += "; of several files each of these has all, one over the other"
        raise SpecError("plot", name, allowed, nearest(name, names))


def draw_plot(of: FlentFile | Files, name: str) -> DrawnPlot:
    """Draw one plot of a data file, or of several over one another.

    Args:
        of: The data; several files by the name of their series in the plot.
        name: One of `plot_names` of a file.

    Raises:
        SpecError: The test has no such plot, or no file has data for it.
    """
    files = {"": of} if isinstance(of, FlentFile) else of
    tests = list(dict.fromkeys(file.text("NAME") for file in files.values()))
    names = list(dict.fromkeys(each for file in files.values() for each in plot_names(file)))
    if name not in names and any(name in plots_of(test) for test in tests):
        raise no_data(name)
    _check(" and ".join(tests), name, names)
    return _DRAWERS[name](files)


_DRAWERS: Mapping[str, Drawer] = {
    "all": over.all_panels(scaled=False),
    "all_scaled": over.all_panels(scaled=True),
    "all_scaled_delivery": over.panels(
        (over.downloads, f"Download ({RATE})", "download", True),
        (over.delivery_up, f"Delivery ({RATE})", "TCP's rate of delivery", False),
        (over.pings, LATENCY, "latency", True),
    ),
    "totals": over.timed(over.totals, y=RATE, what="Bandwidth and latency"),
    "totals_scaled": over.timed(over.totals, y=RATE, what="Bandwidth and latency", scaled=True),
    "totals_5s": over.timed(over.bandwidth_of_5s, y=RATE, what="Bandwidth, means of 5 s"),
    "totals_bandwidth": over.timed(over.bandwidth, y=RATE, what="Bandwidth"),
    "bandwidth": over.timed(over.bandwidth, y=RATE, what="Bandwidth"),
    "totals_with_tcp_rtt": over.timed(
        over.totals, over.tcp_rtts_right, y=RATE, what="Bandwidth, ping and TCP's round trips"
    ),
    "download": over.timed(over.downloads, y=RATE, what="Download"),
    "download_scaled": over.timed(over.downloads, y=RATE, what="Download", scaled=True),
    "upload": over.timed(over.uploads, y=RATE, what="Upload"),
    "upload_scaled": over.timed(over.uploads, y=RATE, what="Upload", scaled=True),
    "upload_with_ping": over.timed(
        over.uploads_alone, over.pings_right, y=RATE, what="Upload and latency"
    ),
    "upload_with_ping_and_tcp_rtt": over.timed(
        over.uploads_alone,
        over.pings_right,
        over.tcp_rtts_right,
        y=RATE,
        what="Upload, ping and TCP's round trips",
    ),
    "ping": over.timed(over.pings, y=LATENCY, what="Latency"),
    "ping_scaled": over.timed(over.pings, y=LATENCY, what="Latency", scaled=True),
    "ping_smooth": over.timed(over.pings_smoothed, y=LATENCY, what="Latency and its mean"),
    "ping_cdf": spread.cdf(),
    "icmp_cdf": spread.cdf(" ICMP"),
    "box_totals": spread.box(spread.of_totals, "Totals"),
    "bar_totals": spread.bar(spread.of_totals, "Totals"),
    "box_download": spread.box(spread.of_kind("TCP download"), "Download"),
    "box_upload": spread.box(spread.of_kind("TCP upload"), "Upload"),
    "upload_box": spread.box(spread.of_kind("TCP upload", cut=True), "Upload"),
    "box_ping": spread.box(spread.of_kind("Ping (ms)"), "Latency"),
    "bar_fairness": spread.bar(spread.of_fairness, "Fairness", "Jain's index"),
    "ellipsis": spread.ellipsis("TCP upload sum", "Upload"),
    "ellipsis_down": spread.ellipsis("TCP download sum", "Download"),
    "ellipsis_sum": spread.ellipsis("TCP totals", "Upload and download"),
    "tcp_cwnd": over.timed(over.raw("tcp_cwnd", "TCP"), y="Packets", what="Congestion windows"),
    "tcp_rtt": over.timed(
        over.raw("tcp_rtt", "TCP"), y="Round trip (ms)", what="TCP's smoothed round-trip times"
    ),
    "tcp_rtt_cdf": spread.rtt_cdf,
    "tcp_pacing": over.timed(
        over.pacing, over.delivery, y=RATE, what="TCP's rates of pacing and of delivery"
    ),
    "tcp_delivery_rate": over.timed(
        over.delivery_up, y=RATE, what="TCP's rate of delivery, uploads"
    ),
    "tcp_delivery_with_ping": over.timed(
        over.delivery, over.pings_right, y=RATE, what="TCP's rate of delivery, and ping"
    ),
    "tcp_delivery_with_rtt": over.timed(
        over.delivery,
        over.pings_right,
        over.tcp_rtts_right,
        y=RATE,
        what="TCP's rate of delivery, ping and TCP's round trips",
    ),
    "backlog": over.timed(
        over.raw("backlog_bytes", "qdisc_stats_"), y="Backlog (bytes)", what="Queue backlog"
    ),
    "drops": over.drops,
    "delay": over.timed(
        over.raw("delay", "qdisc_stats_"), y="Queue delay (ms)", what="Queue delay, as tc prints it"
    ),
}
_BOTH = (
    "all_scaled", "all", "totals", "totals_scaled", "download", "download_scaled", "upload",
    "upload_scaled", "ping", "ping_scaled", "ping_cdf", "icmp_cdf", "box_totals", "box_download",
    "box_upload", "box_ping",
)  # fmt: skip
_RRUL = (*_BOTH, "totals_bandwidth", "ellipsis", "ellipsis_down", "ellipsis_sum")
_ONE = ("totals", "bandwidth", "ping_cdf", "box_totals", "bar_totals")
_N = ("ping", "ping_smooth", "ping_cdf", "box_totals")
_ANY_TEST = ("totals",)
_OF_SOCKETS = ("tcp_cwnd", "tcp_rtt", "tcp_rtt_cdf", "tcp_pacing")
_OF_QUEUES = ("backlog", "drops", "delay")
_OF_TEST: Mapping[str, tuple[str, ...]] = {
    "rrul": _RRUL,
    "rrul_be": (*_RRUL, "bar_totals"),
    "rrul_be_nflows": (*_RRUL, "bar_totals"),
    "cubic_bbr": _BOTH,
    "rtt_fair": (*(name for name in _BOTH if name != "icmp_cdf"), "bar_fairness"),
    "tcp_1up": _ONE,
    "tcp_1down": _ONE,
    "tcp_nup": ("totals", "upload", "upload_scaled", "upload_box", "upload_with_ping", *_N),
    "tcp_ndown": ("totals", "download", "download_scaled", *_N),
    "tcp_bidirectional": ("totals", "ping", "ping_smooth", "ping_cdf", "box_totals"),
    "tcp_2up_delay": ("totals", "totals_5s"),
    "tcp_2up_square": ("totals", "totals_5s"),
    "bursts": ("ping", "ping_cdf", "icmp_cdf", "box_ping"),
    "udp_flood": ("totals", "ping", "ping_cdf"),
    "ping": ("ping", "ping_cdf"),
}
"""The first plot is the default."""
_OF_TEST_AND_SOCKETS: Mapping[str, tuple[str, ...]] = {
    "rrul_be": ("tcp_delivery_rate", "tcp_delivery_with_rtt", "all_scaled_delivery"),
    "tcp_1up": ("totals_with_tcp_rtt", "tcp_delivery_with_rtt"),
    "tcp_nup": (
        "upload_with_ping_and_tcp_rtt", "tcp_delivery_with_ping", "tcp_delivery_with_rtt",
    ),
}  # fmt: skip
