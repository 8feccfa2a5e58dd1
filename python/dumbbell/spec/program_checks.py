"""Checks of the programs of an experiment against its hosts, links, times and each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dumbbell import units
from dumbbell.spec.fields import time_ns
from dumbbell.spec.programs import MOST_PROGRAMS, FlentProgram, TcpdumpProgram
from dumbbell.spec.programs.base import BetweenHosts, Program
from dumbbell.spec.programs.flent import IRTT, TESTS
from dumbbell.spec.refusal import Refused, nearest, one_of

if TYPE_CHECKING:
    from dumbbell.spec.experiment import Experiment


def check(experiment: Experiment, part_of: Mapping[str, str]) -> None:
    """Refuses the first program that does not fit.

    Args:
        experiment: With its programs.
        part_of: Host to one host of its part of the network.

    Raises:
        Refused: With its path from the experiment's root.
    """
    programs: Sequence[Program] = experiment.programs
    if len(programs) > MOST_PROGRAMS:
        raise Refused(f"{len(programs)} programs", f"at most {MOST_PROGRAMS}", path="programs")
    for index, program in enumerate(programs):
        path = f"programs[{index}]"
        _check_hosts(path, program, part_of)
        _check_times(path, program, experiment.duration)
        _check_reference(path, program, programs)
        if isinstance(program, TcpdumpProgram):
            _check_neighbor(path, program, experiment)
        if isinstance(program, FlentProgram):
            _check_servers(path, program, experiment)


def _check_hosts(path: str, program: Program, part_of: Mapping[str, str]) -> None:
    for key, host in program.ends().items():
        if host not in part_of:
            allowed = f"a host: {one_of(list(part_of))}"
            raise Refused(host, allowed, nearest(host, part_of), path=f"{path}.{key}")
    if isinstance(program, BetweenHosts):
        if program.from_ == program.to:
            raise Refused(program.to, "another host than `from`", path=f"{path}.to")
        if part_of[program.from_] != part_of[program.to]:
            allowed = f"a host that links lead to from {program.from_}"
            raise Refused(program.to, allowed, path=f"{path}.to")


def _check_times(path: str, program: Program, duration: str) -> None:
    left_ns = time_ns(duration) - time_ns(program.start)
    if left_ns <= 0:
        allowed = f"a time before the end of the run, {duration}"
        raise Refused(program.start, allowed, path=f"{path}.start")
    length_ns = program.length_ns()
    if length_ns is not None and length_ns > left_ns:
        raise Refused(
            units.format_time(length_ns),
            f"no longer than is left of the run from its start, {units.format_time(left_ns)}",
            path=path,
            reason=f"{program.name} would outlast the run",
        )


def _check_reference(path: str, program: Program, programs: Sequence[Program]) -> None:
    wanted = program.refers_to()
    if wanted is None:
        return
    known = [each.name for each in programs if isinstance(each, TcpdumpProgram)]
    if wanted not in known:
        allowed = (
            f"the name of a tcpdump: {one_of(known)}"
            if known
            else "a tcpdump's name; there is none"
        )
        raise Refused(wanted, allowed, nearest(wanted, known), path=f"{path}.of")


def _check_servers(path: str, program: FlentProgram, experiment: Experiment) -> None:
    """Flent's irtt asks at irtt's own port, where the server of a probe would be, too."""
    if IRTT not in TESTS[program.test].tools:
        return
    for probe in experiment.all_probes:
        if probe.kind == IRTT.name and probe.to == program.to:
            allowed = f"a host to which no probe of kind irtt goes, as {probe.name} does"
            raise Refused(program.to, allowed, path=f"{path}.to")


def _check_neighbor(path: str, program: TcpdumpProgram, experiment: Experiment) -> None:
    beside = [each.peer for each in experiment.interfaces if each.host == program.host]
    if program.neighbor not in beside:
        allowed = (
            f"a neighbour of {program.host}: {one_of(beside)}" if beside else "a host with links"
        )
        raise Refused(
            program.neighbor, allowed, nearest(program.neighbor, beside), path=f"{path}.neighbor"
        )
