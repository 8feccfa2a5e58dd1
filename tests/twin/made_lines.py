"""Lines whose twin is known: measurements that the simulator makes, as data files of Flent's."""

from __future__ import annotations

from pathlib import Path

from dumbbell import simulate
from dumbbell.formats.flent import flent_file, write_flent
from dumbbell.spec.flent import Network, flent_test

UP, DOWN = "tcp_nup", "tcp_ndown"
_STREAMS = {UP: "upload_streams", DOWN: "download_streams"}


def measured(
    folder: Path, test: str, network: Network, *, flows: int = 2, length_s: int = 16, seed: int = 7
) -> Path:
    """A data file of a test in a network, as somebody would have it."""
    asked = flent_test(test, length_s=length_s, delay_s=2, parameters={_STREAMS[test]: str(flows)})
    file = flent_file(simulate(asked.experiment(network, seed=seed)), asked)
    path = folder / f"{test}.flent.gz"
    # What says the truth is left out: a twin has no use for it.
    file.metadata["DUMBBELL"].clear()  # type: ignore[index,unused-ignore]
    write_flent(file, path)
    return path
