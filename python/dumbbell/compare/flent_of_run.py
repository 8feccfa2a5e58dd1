"""Export any run as a Flent data file, for ``flent-gui``.

Flent selects plots by the name of the test. A run is exported as ``tcp_ndown`` (any number of
downloads, and ping), which has one series per flow: flow k of the description is ``TCP
download::k``, whatever its receiver and protocol, and the first probe is the ping. Further probes
keep their names. The note in the file maps flows to series.
"""

from __future__ import annotations

import math

from dumbbell.errors import SpecError
from dumbbell.formats.flent import flent_bytes, flent_file
from dumbbell.spec import Resolved
from dumbbell.spec.flent import FlentTest, Probe, Stream
from dumbbell.spec.flent.definition import Computed
from dumbbell.tables import Run

NS_PER_S = 1e9


def flent_of_run(run: Run) -> bytes:
    """The file (``.flent.gz``) of a run with samples.

    Raises:
        SpecError: It has no samples, or no flow.
    """
    described = Resolved(run.spec or {})
    names = run.flow_names
    if not names:
        raise SpecError("--to", "flent", "an experiment with a flow")
    step_ns = described.sample_interval_ns
    if not step_ns:
        raise SpecError("--to", "flent", "an experiment with a sample_interval")
    total_s = described.duration_ns / NS_PER_S
    first = described.flows[0]
    series = [f"TCP download::{number}" for number in range(1, len(names) + 1)]
    streams = [
        Stream(
            series=each,
            flow=name,
            upload=False,
            host=first.from_,
            start_s=0.0,
            length_s=total_s,
        )
        for each, name in zip(series, names, strict=True)
    ]
    probes = [
        Probe(
            series="Ping (ms) ICMP" if number == 0 else f"Ping (ms)::{name}",
            probe=name,
            kind="ping",
            host=first.from_,
            length_s=total_s,
        )
        for number, name in enumerate(run.probe_names)
    ]
    test = FlentTest(
        name="tcp_ndown",
        title="A run of an experiment",
        hosts=(first.from_,),
        client=first.to,
        length_s=math.ceil(total_s),
        delay_s=0,
        step_s=step_ns / NS_PER_S,
        total_s=total_s,
        streams=tuple(streams),
        probes=tuple(probes),
        computed=(
            Computed(series="TCP download avg", how="average", of=tuple(series)),
            Computed(series="TCP download sum", how="sum", of=tuple(series)),
        ),
        parameters={"download_streams": str(len(names))},
    )
    note = ", ".join(f"{number} = {name}" for number, name in enumerate(names, start=1))
    return flent_bytes(flent_file(run, test, title=described.name, note=note[:1000]))
