"""The description of an experiment, for the simulator and the kernel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from dumbbell.errors import SpecError
from dumbbell.spec import checks, observed, toml_file
from dumbbell.spec.fields import Name, time_ns
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.home import Home
from dumbbell.spec.keys import EXPERIMENT, key_fields, key_model, resolved_keys
from dumbbell.spec.links import Link
from dumbbell.spec.native import allowing_native
from dumbbell.spec.notices import PlacedNotice, notices_in, notices_of_filters
from dumbbell.spec.program_list import ALLOWANCE, ProgramList
from dumbbell.spec.questions import parted
from dumbbell.spec.resolved import USUAL_KERNEL, Resolved
from dumbbell.spec.settings import Setting, settings_applied
from dumbbell.spec.shapes import Shape
from dumbbell.spec.topology import Interface, Topology, hosts_of

SCHEMA_VERSION = 1
"""Version of the resolved description."""


Observe = Annotated[
    str | tuple[str, ...],
    BeforeValidator(observed.checked),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [observed.ALL, observed.BOTTLENECK]},
                {"type": "array", "items": {"type": "string"}},
            ],
            "examples": [observed.BOTTLENECK],
            "x-unit": "`all`, `bottleneck` or names",
        }
    ),
]


if TYPE_CHECKING:
    from dumbbell.spec.key_models import ExperimentKeys
else:
    ExperimentKeys = key_model(
        "ExperimentKeys",
        __name__,
        key_fields(
            EXPERIMENT, {"kernel": (None, USUAL_KERNEL), "observe": (Observe, observed.ALL)}
        ),
    )


class Experiment(ExperimentKeys):
    """An experiment: hosts, links with their queues, traffic, and a duration.

    Quantities are text with a unit: ``"200ms"``, ``"1mbit"``, ``"512B"``, ``"110pps"``. The network
    is a ``shape``, a list of ``links``, or a ``home``, to which ``links`` add hosts.

    Raises:
        SpecError: A value is invalid; the message has the path, the value and the allowed values.
    """

    shape: Shape | None = Field(
        default=None, description="A well-known network, instead of `hosts` and `links`."
    )
    home: Home | None = Field(
        default=None,
        description="A home access line with its router, modem and provider, and its traffic: "
        "it adds links, flows and probes to those of the file.",
    )
    hosts: Annotated[Sequence[Name], AfterValidator(tuple)] = Field(
        default=(),
        description="Names of hosts and routers. When left out, they are those that links name.",
        examples=[["sender-1", "router", "receiver-1"]],
        json_schema_extra={"x-unit": "names"},
    )
    links: Annotated[Sequence[Link], AfterValidator(tuple)] = Field(
        default=(), description="Links between hosts, each with both directions."
    )
    flows: Annotated[Sequence[Flow], AfterValidator(tuple)] = Field(
        default=(), description="Traffic over UDP and TCP."
    )
    probes: Annotated[Sequence[Ping], AfterValidator(tuple)] = Field(
        default=(), description="Echo requests."
    )
    programs: ProgramList = Field(
        default=(),
        description="Programs of this machine that run in hosts, on the backend `kernel` only.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        checks.check(self)
        return self

    # --- what follows from it -------------------------------------------------------------

    @property
    def all_links(self) -> tuple[Link, ...]:
        """The links, including those of a shape or a home."""
        if self.shape is not None:
            return tuple(self.shape.links())
        return (*self.links, *(self.home.links() if self.home else ()))

    @property
    def all_flows(self) -> tuple[Flow, ...]:
        """The flows, including those of a home."""
        return (*self.flows, *(self.home.flows() if self.home else ()))

    @property
    def all_probes(self) -> tuple[Ping, ...]:
        """The probes, including those of a home."""
        return (*self.probes, *(self.home.probes() if self.home else ()))

    @cached_property
    def topology(self) -> Topology:
        """Hosts, queues and routes."""
        pairs = tuple((link.a, link.b) for link in self.all_links)
        if self.shape is not None:
            return Topology(tuple(self.shape.hosts()), pairs)
        return Topology(tuple(self.hosts or hosts_of(pairs)), pairs)

    @property
    def queue_names(self) -> list[str]:
        """``a->b`` of each queue, in their order."""
        return self.topology.queue_names

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Each queue's interface, as on a testbed."""
        return self.topology.interfaces

    def route(self, start: str, end: str) -> list[str]:
        """Names of the queues on the path from one host to another.

        Raises:
            SpecError: There is no such host, or no path.
        """
        for key, host in (("from", start), ("to", end)):
            if host not in self.topology.hosts:
                raise SpecError(key, host, f"one of {', '.join(self.topology.hosts)}")
        queues = self.topology.route(start, end)
        if queues is None:
            raise SpecError("to", end, f"a host that links lead to from {start}")
        names = self.queue_names
        return [names[queue] for queue in queues]

    def resolved(self) -> dict[str, Any]:
        """The description with every default filled in and every unit converted.

        The engine reads this form. Names and nesting of keys are those of the description, with a
        suffix for the unit.
        """
        duration_ns = time_ns(self.duration)
        resolved: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            **resolved_keys(self, EXPERIMENT),
            "hosts": [{"name": name} for name in self.topology.hosts],
            "links": [link.resolved() for link in self.all_links],
        }
        network = Resolved(resolved)
        resolved["flows"] = [
            each for flow in self.all_flows for each in flow.resolved(duration_ns, network)
        ]
        resolved["probes"] = [probe.resolved() for probe in self.all_probes]
        names = observed.names(self, Resolved(resolved))
        # Only if given, so that stored descriptions from before this key keep their canonical text.
        if names is not None:
            resolved["observe"] = names
        if self.programs:
            resolved["programs"] = [program.resolved() for program in self.programs]
        return resolved

    @cached_property
    def _resolved_json(self) -> str:
        return canonical_json(self.resolved())

    def resolved_json(self) -> str:
        """`resolved` as canonical text: equal experiments give equal text."""
        return self._resolved_json

    def notices(self) -> tuple[PlacedNotice, ...]:
        """Warnings about values in tc syntax that are easily misunderstood, such as ``10Mbps``.

        Also warnings about filters that match no flow and no probe.
        """
        return (*notices_in(self), *notices_of_filters(self.resolved_json()))

    # --- variations -----------------------------------------------------------------------

    def with_seed(self, seed: int) -> Self:
        """A copy with another seed."""
        return self.with_(seed=seed)

    def with_link(self, a: str, b: str, **changes: Any) -> Self:
        """A copy with other values in the first link between two hosts.

        A shape or a home is replaced by its links.

        Args:
            a: One host of the link; forward and reverse remain those of the link.
            b: The other host.
            **changes: Keys of a link.

        Raises:
            SpecError: There is no such link, or the experiment would be invalid.
        """
        links = list(self.all_links)
        for index, link in enumerate(links):
            if {link.a, link.b} == {a, b}:
                links[index] = link.with_(**changes)
                return self._expanded(links=links)
        pairs = ", ".join(f"{link.a} and {link.b}" for link in links[:20])
        raise SpecError("links", f"{a} and {b}", f"two hosts of one link: {pairs}")

    def with_flow(self, name: str, **changes: Any) -> Self:
        """A copy with other values in one flow.

        Raises:
            SpecError: There is no such flow, or the experiment would be invalid.
        """
        own = self._own(name, self.flows)
        return own.with_(flows=_changed(own.flows, "flows", name, changes))

    def with_probe(self, name: str, **changes: Any) -> Self:
        """A copy with other values in one probe.

        Raises:
            SpecError: There is no such probe, or the experiment would be invalid.
        """
        own = self._own(name, self.probes)
        return own.with_(probes=_changed(own.probes, "probes", name, changes))

    def _own(self, name: str, senders: Sequence[Flow] | Sequence[Ping]) -> Self:
        """Itself, or with a home replaced if the sender of this name is one of the home's."""
        is_own = self.home is None or any(each.name == name for each in senders)
        return self if is_own else self._expanded()

    def _expanded(self, **changes: Any) -> Self:
        """A copy with a shape or a home replaced by its hosts, links, flows and probes."""
        parts = {
            "hosts": self.topology.hosts,
            "links": self.all_links,
            "flows": self.all_flows,
            "probes": self.all_probes,
        }
        return self.with_(shape=None, home=None, **(parts | changes))

    # --- in and out -----------------------------------------------------------------------

    @classmethod
    def from_toml(
        cls,
        source: str | Path,
        settings: Iterable[Setting] = (),
        *,
        allow_programs: bool = False,
        allow_native: bool = False,
    ) -> Self:
        """Read an experiment from a file or from text in TOML.

        Args:
            source: A path, or TOML text, which is recognised by an ``=`` or a line end.
            settings: Values that override or extend those of the file.
            allow_programs: Whether programs of kind ``any`` are allowed, which are arbitrary
                command lines.
            allow_native: Whether its controllers ``file:NAME.c`` may be compiled and loaded, now
                and later: they run with all rights of the user.

        Raises:
            SpecError: It cannot be read, is not TOML, or is not a valid experiment; or the path of
                a setting does not exist.
        """
        data, folder = toml_file.load(source)
        described, _ = parted(data)
        with allowing_native(allow_native):
            return cls.read(settings_applied(described, settings), context(folder, allow_programs))

    @classmethod
    def from_resolved(
        cls, resolved: Mapping[str, Any] | str, *, allow_programs: bool = False
    ) -> Self:
        """The experiment of a resolved description, such as one stored with results.

        Args:
            resolved: The result of `resolved` or `resolved_json`.
            allow_programs: As for `from_toml`.

        Raises:
            SpecError: It is not a resolved description.
        """
        from dumbbell.spec import unresolve

        data: Any = resolved
        if isinstance(resolved, str):
            try:
                data = json.loads(resolved)
            except (ValueError, RecursionError) as error:
                raise SpecError("", "text", f"JSON ({error})") from None
        data = unresolve.with_later_keys(data)
        experiment = cls.read(unresolve.as_written(data), {ALLOWANCE: allow_programs})
        unresolve.check_same(data, experiment.resolved())
        return experiment

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema (2020-12) of an experiment file; ``x-unit`` is the unit of a text."""
        from dumbbell.spec.claim_tables import claim_schemas
        from dumbbell.spec.sweep_tables import sweep_schemas
        from dumbbell.spec.unknown_tables import unknown_schemas

        schema = cls.model_json_schema()
        keys: dict[str, Any] = {}
        tables: dict[str, Any] = {}
        for more_keys, more_tables in (sweep_schemas(), claim_schemas(), unknown_schemas()):
            keys |= more_keys
            tables |= more_tables
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **schema,
            "properties": {**schema["properties"], **keys},
            "$defs": {**schema["$defs"], **tables},
            "title": "dumbbell experiment",
        }


def context(folder: Path, allow_programs: bool) -> dict[str, Any]:
    """The context of `Experiment.read` for a file: the folder of its paths, and its permissions."""
    return {"folder": folder, ALLOWANCE: allow_programs}


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no white space; NaN and infinity are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


_Sender = TypeVar("_Sender", Flow, Ping)


def _changed(
    senders: Sequence[_Sender], key: str, name: str, changes: dict[str, Any]
) -> list[_Sender]:
    names = [sender.name for sender in senders]
    if name not in names:
        raise SpecError(key, name, f"a name of one of them: {', '.join(names) or 'there is none'}")
    return [sender.with_(**changes) if sender.name == name else sender for sender in senders]
