"""``python -m dumbbell.compare.quantities_page`` prints docs/quantities.md."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.compare.measures import MeasureSubject, measures_of

_HEAD = """\
# Quantities

<!-- Printed by `python -m dumbbell.compare.quantities_page`. -->

The numbers that a run is reduced to, by the paths that [claims](claims-of-your-own.md),
[sweeps](sweeps.md), figures and `--json` share. In Python:

    from dumbbell.compare import summary_of
    summary_of(run)["flow[upload].goodput_bps"]

Behind each is a [metric](metrics.md), which has its definition.

The rows of CCPerf's tables (their names end in a layer, as `_l4`) need a `sample_interval`, and
`record_packets` at both ends of the link at the sender; without them a run has no such numbers.
"""
_WHAT = {
    MeasureSubject.NETWORK: "Of the whole network: `network.METRIC`.",
    MeasureSubject.FLOWS: "Of all flows that a flow with a `count` has become, together: "
    "`flows[NAME].METRIC`. A flow alone is a group of one, by its own name, and so is one with "
    "`count = 1`.",
    MeasureSubject.FLOW: "Of one flow: `flow[NAME].METRIC`; with a `count`, `flow[NAME-3].METRIC`.",
    MeasureSubject.PROBE: "Of a probe: `probe[NAME].METRIC`.",
    MeasureSubject.PROGRAM: "Of a [program](programs.md) of the machine, on the kernel: "
    "`program[NAME].METRIC`; which kinds have it stands beside it.",
    MeasureSubject.QUEUE: "Of the queue in front of a link: `queue[A->B].METRIC`.",
}


def quantities_markdown() -> str:
    """The page as Markdown, made from the measures."""
    return "\n".join([_HEAD, *(line for of in MeasureSubject for line in _part(of))])


def _part(of: MeasureSubject) -> Iterator[str]:
    yield f"## `{of.value}`\n\n{_WHAT[of]}\n"
    yield "| name | what it is | unit | metric |"
    yield "| --- | --- | --- | --- |"
    for each in measures_of(of):
        only = ""
        if each.of_transfers:
            only = "; of flows that send transfers"
        elif each.of_recorded:
            only = "; of runs with samples and recorded packets"
        elif each.of_kinds:
            only = f"; of {', '.join(sorted(each.of_kinds))}"
        yield f"| `{each.name}` | {each.words}{only} | {each.unit} | `{each.metric}` |"
    yield ""


if __name__ == "__main__":
    print(quantities_markdown(), end="")
