"""The page's live figure: the number of users grows, and another buffer size becomes better."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.report import (
    ControlKind,
    Form,
    LiveArm,
    LiveBet,
    LiveControl,
    LiveCurve,
    LiveHero,
    LiveStop,
)
from dumbbell.report.live import Value
from dumbbell.spec import Experiment
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Point, Stack

DURATION_S = 30.0
"""Duration of a run in the page, which takes a browser a second or less; the source's runs took 150
s. Network and users are those of the study."""
USERS_PER_HOST = (13, 18, 26, 36, 52, 73, 104)
"""From the study's light load to twice its heavy load, by factors of about 1.4."""
RUNS = 5
"""Runs that differ only in their random numbers."""
IDS: Mapping[Buffer, str] = {"small": "small", "large": "large"}
LEAST_KBPS, MOST_KBPS = 5, 20_000
"""Ends of the axis of throughputs."""


def _experiment(buffer: Buffer, seed: int) -> Experiment:
    """Return the experiment with one user per source node, representing all users of that node."""
    flows = [
        flow
        for host in arms.tree(published.SOURCES).sources
        for flow in arms.users(host, Point(), 1)
    ]
    return arms.network(
        flows, arms.BUFFERS[buffer], hosts=published.SOURCES, seed=seed, duration_s=DURATION_S
    )


def _of_every_user(key: str, value: Value) -> dict[str, Value]:
    return {f"flows[user-{host}].{key}": value for host in arms.tree(published.SOURCES).sources}


def _users_stop(users: int) -> LiveStop:
    loads = {count: load for load, count in arms.USERS_PER_HOST.items()}
    words = f"{users}, in all {users * published.SOURCES}"
    return LiveStop(
        value=users,
        words=words + (f" ({loads[users]} load)" if users in loads else ""),
        changes=_of_every_user("count", users),
    )


def _stack_stop(stack: Stack, value: float, words: str) -> LiveStop:
    (host, *_) = arms.tree(published.SOURCES).sources
    experiment = arms.network(
        arms.users(host, Point(stack=stack), 1),
        published.SMALL_PACKETS,
        hosts=published.SOURCES,
        seed=1,
        duration_s=DURATION_S,
    )
    return LiveStop(
        value=value,
        words=words,
        changes=_of_every_user("tcp", experiment.resolved()["flows"][0]["tcp"]),
    )


def _printed(stack: float, levels: published.ClosedLoopLevels) -> list[LiveCurve]:
    """Return printed shares at every number of users: the source does not give the number."""
    shares = {
        "large flows": levels.large_better_with_large,
        "small flows": levels.small_better_with_large,
    }
    return [
        LiveCurve(
            label=f"{size}, as printed: {100 * share:g} %",
            x=[USERS_PER_HOST[0], USERS_PER_HOST[-1]],
            y=[100 * share, 100 * share],
            when={"tcp": stack},
            is_published=True,
        )
        for size, share in shares.items()
        if share is not None
    ]


def hero(seed: int) -> LiveHero:
    """The live figure.

    Args:
        seed: Seed of the study.
    """
    return LiveHero(
        form=Form.CROWD,
        watch="Users on 18 nodes fetch, think and fetch again, through one link of 50 Mbit/s. The "
        "same users come to a buffer of 18 packets and to one of 500: for how many flows is the "
        f"large one better? (A run here is of {DURATION_S:g} s, the study's of "
        f"{published.DURATION_S:g} s.)",
        arms=[
            LiveArm(
                id=IDS[buffer],
                label=f"{packets} packets",
                variants=[_experiment(buffer, seed)],
                queues=[[arms.BOTTLENECK]],
            )
            for buffer, packets in arms.BUFFERS.items()
        ],
        controls=[
            LiveControl(
                id="users",
                label="Users on each node",
                stops=[_users_stop(users) for users in USERS_PER_HOST],
            ),
            LiveControl(
                id="run",
                label="Other random numbers",
                stops=[
                    LiveStop(value=at, words=f"run {at} of {RUNS}", changes={"seed": seed + at - 1})
                    for at in range(1, RUNS + 1)
                ],
            ),
            LiveControl(
                id="tcp",
                label="TCP of the paper's simulator",
                kind=ControlKind.SWITCH,
                stops=[
                    _stack_stop("testbed", 0, "no, Linux's"),
                    _stack_stop("ns-2", 1, "yes, ns-2's"),
                ],
            ),
        ],
        curves=[
            *_printed(0, published.CLOSED_LOOP["testbed"]),
            *_printed(1, published.CLOSED_LOOP["paper"]),
        ],
        bet=LiveBet(
            question="With 13 users on each node every large flow, of more than 100 kB, gets more "
            "from the buffer of 500 packets. With 104 users on each, eight times as many: what "
            "share of the large flows does?",
            settings={"users": USERS_PER_HOST.index(104), "run": 0, "tcp": 0},
            arm=IDS["large"],
            number="large_more",
            least=0,
            most=100,
            start=60,
            unit="%",
            lesson="With few users the large buffer spares them losses. In a crowd both buffers "
            "drop more than a quarter of all packets and both keep the link busy: what is left of "
            "the large one is its wait. How many flows still gain from it differs much by run.",
        ),
        options={
            "large_bytes": published.LARGE_BYTES,
            "least_kbps": LEAST_KBPS,
            "most_kbps": MOST_KBPS,
        },
    )
