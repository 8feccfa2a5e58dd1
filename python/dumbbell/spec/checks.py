"""Checks of an experiment as a whole: names, hosts, routes and times that must fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dumbbell.spec import observed
from dumbbell.spec.fields import time_ns
from dumbbell.spec.flows import FIRST_PORT, Flow
from dumbbell.spec.refusal import Refused, nearest, one_of
from dumbbell.spec.topology import MOST_LINKS

if TYPE_CHECKING:
    from dumbbell.spec.experiment import Experiment
    from dumbbell.spec.flows import Ping
    from dumbbell.spec.links import Link


def check(experiment: Experiment) -> None:
    """Refuse the first inconsistency.

    Raises:
        Refused: With its path from the experiment's root.
    """
    _check_where(experiment)
    _check_window(experiment)
    _check_hosts_and_links(experiment)
    _check_names(experiment)
    _check_ports(experiment)
    observed.check_names(experiment)
    part_of = experiment.topology.connected()
    for path, sender in _senders(experiment):
        _check_ends(path, sender, part_of)
        _check_times(path, sender, experiment.duration)
    if experiment.programs:
        from dumbbell.spec import program_checks

        program_checks.check(experiment, part_of)


def _check_where(experiment: Experiment) -> None:
    if experiment.shape is not None:
        for key in ("home", "hosts", "links"):
            if getattr(experiment, key):
                allowed = "a home" if key == "home" else "hosts and links"
                raise Refused(key, f"either a shape, or {allowed}", path=key)
    elif experiment.home is not None:
        if experiment.hosts:
            allowed = "no such list beside a home: its hosts, and those that links name"
            raise Refused("hosts", allowed, path="hosts")
    elif not experiment.hosts and not experiment.links:
        raise Refused("nothing", "links between hosts, a shape, or a home", path="links")
    if len(experiment.links) > MOST_LINKS:
        raise Refused(f"{len(experiment.links)} links", f"at most {MOST_LINKS}", path="links")


def _check_window(experiment: Experiment) -> None:
    if time_ns(experiment.warm_up) >= time_ns(experiment.duration):
        allowed = f"less than the duration, {experiment.duration}"
        raise Refused(experiment.warm_up, allowed, path="warm_up")


def _check_hosts_and_links(experiment: Experiment) -> None:
    _check_unique(((f"hosts[{i}]", name) for i, name in enumerate(experiment.hosts)), "host")
    known = dict.fromkeys(experiment.topology.hosts)
    for index, link in enumerate(experiment.links):
        _check_link(f"links[{index}]", link, known)


def _check_link(path: str, link: Link, known: Mapping[str, object]) -> None:
    for key, host in (("a", link.a), ("b", link.b)):
        _check_host(f"{path}.{key}", host, known)
    if link.a == link.b:
        raise Refused(link.b, "another host than `a`", path=f"{path}.b")


def _check_host(path: str, host: str, known: Mapping[str, object]) -> None:
    if host not in known:
        allowed = f"a host: {one_of(list(known))}"
        raise Refused(host, allowed, nearest(host, known), path=path)


def _check_names(experiment: Experiment) -> None:
    # In front, so that the name which the file gives is refused.
    of_home: list[Flow | Ping] = []
    if experiment.home is not None:
        of_home = [*experiment.home.flows(), *experiment.home.probes()]
    named = [
        ("home.uses", name)
        for sender in of_home
        for name in (sender.names if isinstance(sender, Flow) else (sender.name,))
    ]
    named += [
        (f"{path}.name", name)
        for path, sender in _senders(experiment)
        for name in (sender.names if isinstance(sender, Flow) else (sender.name,))
    ]
    named += [(f"programs[{i}].name", each.name) for i, each in enumerate(experiment.programs)]
    _check_unique(named, "flow, probe or program" if experiment.programs else "flow or probe")


def _check_ports(experiment: Experiment) -> None:
    """Refuses two flows at one port of a host, over one transport."""
    if all(flow.port is None for flow in experiment.all_flows):
        return
    seen: dict[tuple[str, str, int], str] = {}
    number = FIRST_PORT
    for index, flow in enumerate(experiment.all_flows):
        default = range(number, number + len(flow.names))
        number = default.stop
        for name, port in zip(flow.names, flow.ports or default, strict=True):
            other = seen.setdefault((flow.to, flow.carried_by, port), name)
            if other != name:
                allowed = f"a port of {flow.to} that no other flow has ({other} has {port})"
                is_own = index < len(experiment.flows)
                path = f"flows[{index}].port" if is_own else "home.uses"
                raise Refused(port, allowed, path=path)


def _check_unique(named: Iterable[tuple[str, str]], what: str) -> None:
    seen: dict[str, str] = {}
    for path, name in named:
        if name in seen:
            raise Refused(name, f"a name no other {what} has ({seen[name]} has it)", path=path)
        seen[name] = path


def _senders(experiment: Experiment) -> list[tuple[str, Flow | Ping]]:
    flows = [(f"flows[{index}]", flow) for index, flow in enumerate(experiment.flows)]
    probes = [(f"probes[{index}]", probe) for index, probe in enumerate(experiment.probes)]
    return [*flows, *probes]


def _check_ends(path: str, sender: Flow | Ping, part_of: Mapping[str, str]) -> None:
    _check_host(f"{path}.from", sender.from_, part_of)
    _check_host(f"{path}.to", sender.to, part_of)
    if sender.from_ == sender.to:
        raise Refused(sender.to, "another host than `from`", path=f"{path}.to")
    if part_of[sender.from_] != part_of[sender.to]:
        reached = [host for host in part_of if part_of[host] == part_of[sender.from_]]
        reached.remove(sender.from_)
        others = one_of(reached) if reached else "there is none"
        allowed = f"a host that links lead to from {sender.from_}: {others}"
        raise Refused(sender.to, allowed, nearest(sender.to, reached), path=f"{path}.to")


def _check_times(path: str, sender: Flow | Ping, duration: str) -> None:
    if time_ns(sender.start) >= time_ns(duration):
        allowed = f"a time before the end of the run, {duration}"
        raise Refused(sender.start, allowed, path=f"{path}.start")
    stop = getattr(sender, "stop", None)
    if stop is not None and time_ns(stop) <= time_ns(sender.start):
        raise Refused(stop, f"a time after the start, {sender.start}", path=f"{path}.stop")
