"""Links: two directions, each with its queue, rate, delay and loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dumbbell import units
from dumbbell.spec.base import SpecModel
from dumbbell.spec.fields import (
    INFINITE,
    NO_GRO,
    NO_POLICER,
    Flag,
    Gro,
    LossEvery,
    Mtu,
    Name,
    Overhead,
    Police,
    Probability,
    Qdisc,
    Rate,
    Time,
    gro_ns,
    overhead_bytes,
    rate_bps,
    size_bytes,
    time_ns,
)
from dumbbell.spec.refusal import Refused

DEFAULT_QDISC = "pfifo limit 1000"


class Change(SpecModel):
    """New values of a link from an instant on; what is left out stays as it was."""

    at: Time = Field(description="From when on, counted from the run's start.")
    rate: Rate | None = Field(default=None, description="New rate.")
    delay: Time | None = Field(
        default=None, description="New delay, of packets that leave the queue from then on."
    )
    loss: Probability | None = Field(default=None, description="New probability of loss.")

    def resolved(self) -> dict[str, Any]:
        """The change for the resolved description."""
        return {
            "at_ns": time_ns(self.at),
            "rate_bps": None if self.rate is None else rate_bps(self.rate),
            "delay_ns": None if self.delay is None else time_ns(self.delay),
            "loss": self.loss,
        }


def _in_order(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Refuses changes that go back in time or change nothing."""
    for index, change in enumerate(changes):
        if change.model_fields_set <= {"at"}:
            raise Refused("nothing", "a new rate, delay or loss", path=f"[{index}]")
        if index and time_ns(change.at) < time_ns(changes[index - 1].at):
            allowed = f"a time at or after {changes[index - 1].at}, that of the change before it"
            raise Refused(change.at, allowed, path=f"[{index}].at")
    return tuple(changes)


_Changes = Annotated[Sequence[Change], AfterValidator(_in_order)]


_NO_GSO = {
    "gso": "tso and gro: Linux's TCP hands several segments down at once also where a device's gso "
    "is off; `gso_max_segs` in a flow's `tcp` says how many"
}


class LinkEnd(SpecModel):
    """What one direction of a link has otherwise than the link as a whole."""

    meant_by = _NO_GSO

    rate: Rate | None = Field(default=None, description="As the link's `rate`.")
    delay: Time | None = Field(default=None, description="As the link's `delay`.")
    mtu: Mtu | None = Field(default=None, description="As the link's `mtu`.")
    overhead: Overhead | None = Field(default=None, description="As the link's `overhead`.")
    loss: Probability | None = Field(default=None, description="As the link's `loss`.")
    loss_every: LossEvery | None = Field(default=None, description="As the link's `loss_every`.")
    police: Police | None = Field(default=None, description="As the link's `police`.")
    qdisc: Qdisc | None = Field(default=None, description="As the link's `qdisc`.")
    changes: _Changes | None = Field(default=None, description="As the link's `changes`.")
    record_packets: Flag | None = Field(default=None, description="As the link's `record_packets`.")
    capture: Flag | None = Field(default=None, description="As the link's `capture`.")
    capture_flows: Flag | None = Field(default=None, description="As the link's `capture_flows`.")
    tso: Flag | None = Field(default=None, description="As the link's `tso`.")
    gro: Gro | None = Field(default=None, description="As the link's `gro`.")


class LinkOptions(SpecModel):
    """All of a link but its two hosts."""

    meant_by = _NO_GSO

    rate: Rate = Field(
        default=INFINITE,
        description="Rate of the transmitter behind the queue. `inf`: packets do not wait for a "
        "transmitter, and only a qdisc with a rate of its own holds them back.",
    )
    delay: Time = Field(default="0s", description="Propagation delay, one way, after the queue.")
    mtu: Mtu = Field(default="1500B", description="Largest IP packet; larger ones are fragmented.")
    overhead: Overhead = Field(
        default="ethernet",
        description="Bytes a packet carries here besides its IP size: `ethernet` (14, what Linux "
        "counts), `wire` (38, what an Ethernet cable carries), `ppp` (2), `none` (0), or a size.",
    )
    loss: Probability = Field(
        default=0.0, description="Probability that a packet is lost after the queue."
    )
    loss_every: LossEvery = Field(
        default=0,
        description="Every n-th packet that leaves the queue is lost; 0: none. Only the "
        "simulator can.",
    )
    police: Police = Field(
        default=NO_POLICER,
        description="A policer in front of the queue at each end, as typed after `action` in a "
        "filter of tc: it drops what exceeds a rate, and nothing waits in it. `none`: there is "
        "none.",
    )
    qdisc: Qdisc = Field(
        default=DEFAULT_QDISC,
        description="The queue at each end, as typed after `tc qdisc add dev X root`.",
    )
    changes: _Changes = Field(default=(), description="New values at given times, in order.")
    record_packets: Flag = Field(
        default=False, description="Whether to write every packet to the table `packets`."
    )
    capture: Flag = Field(
        default=False,
        description="Whether to write the headers of every packet before and after the queue to "
        "`capture.pcapng`.",
    )
    capture_flows: Flag = Field(
        default=False,
        description="Whether to write a row a connection to the table `captured_flows`, as seen "
        "at the link's sending end before and after the queue; in the simulator only.",
    )
    tso: Flag = Field(
        default=False,
        description="Whether the device at the sending end sends several segments of TCP as one "
        "packet, as between virtual machines (`ethtool -K DEV tso on`); without it they are cut "
        "there.",
    )
    gro: Gro = Field(
        default=NO_GRO,
        description="Whether the device at the receiving end merges frames of a connection that "
        "follow each other (`ethtool -K DEV gro on`), and for how long it gathers them, counted "
        "from the first: `0s` is what comes in the same instant.",
    )
    forward: LinkEnd = Field(
        default=LinkEnd(), description="What is otherwise in the direction from `a` to `b`."
    )
    reverse: LinkEnd = Field(
        default=LinkEnd(), description="What is otherwise in the direction from `b` to `a`."
    )

    def end(self, direction: LinkEnd) -> dict[str, Any]:
        """One direction for the resolved description: its own values before the link's."""
        values = {
            name: getattr(self, name) if own is None else own
            for name, own in ((name, getattr(direction, name)) for name in LinkEnd.model_fields)
        }
        offloads: dict[str, Any] = {"tso": True} if values["tso"] else {}
        if values["gro"] != NO_GRO:
            offloads["gro_ns"] = gro_ns(values["gro"])
        return {
            "rate_bps": rate_bps(values["rate"]),
            "delay_ns": time_ns(values["delay"]),
            "mtu_bytes": size_bytes(values["mtu"]),
            "overhead_bytes": overhead_bytes(values["overhead"]),
            "loss": values["loss"],
            "loss_every_pkts": values["loss_every"],
            "police": None
            if values["police"] == NO_POLICER
            else units.parse_police(values["police"]),
            "qdisc": units.parse_qdisc(values["qdisc"]),
            "changes": [change.resolved() for change in values["changes"]],
            "record_packets": values["record_packets"],
            "capture": values["capture"],
            "capture_flows": values["capture_flows"],
            **offloads,
        }


class Link(LinkOptions):
    """A link between two hosts."""

    a: Name = Field(description="One host.")
    b: Name = Field(description="The other host.")

    def resolved(self) -> dict[str, Any]:
        """The link for the resolved description."""
        return {
            "a": self.a,
            "b": self.b,
            "forward": self.end(self.forward),
            "reverse": self.end(self.reverse),
        }


def link_between(a: str, b: str, options: LinkOptions) -> Link:
    """A link with these options."""
    given = {name: getattr(options, name) for name in options.model_fields_set}
    return Link(a=a, b=b, **given)
