"""``story.html``: a call that competes with downloads, in seven steps, each a run in the page.

Without JavaScript, or without the simulator's module, it shows pictures and answers of runs made
when the page was written.
"""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from dumbbell.folders import replace_file
from dumbbell.lab import modules
from dumbbell.lab.page_file import WORKER
from dumbbell.lab.story_pictures import picture
from dumbbell.lab.story_runs import GAME, QUEUE, Bottleneck, Setting, StoryRun, told
from dumbbell.report import Opening
from dumbbell.report.palette import style_sheet
from dumbbell.spec import Experiment

STORY = "story.html"
"""Name of the page, beside the index of studies."""
TITLE = "Your call is behind 1,000 packets"
_SOURCES = modules.FOLDER / "story"
SCRIPT = (
    *(
        modules.FOLDER / f"{name}.js"
        for name in (
            "page/words",
            "page/intervals",
            "page/plot",
            "live/chart",
            "page/state",
            "page/unpacked",
            "page/orders",
            "page/score",
        )
    ),
    *(_SOURCES / f"{name}.js" for name in ("scenes", "funnel", "tank", "duel", "story")),
)
"""Modules of the page, in dependency order."""


@dataclass(frozen=True, slots=True)
class _Step:
    """Static content of a step of the page.

    Attributes:
        setting: Setting of the run in its picture.
        seen: Description of the picture.
        study: The study with the evidence.
    """

    setting: Setting
    seen: str
    study: str


_STEPS: Mapping[str, _Step] = {
    "fill": _Step(
        Setting(),
        "A queue full of a download's packets, few of the call's between",
        "queue-size-delay",
    ),
    "bet": _Step(Setting(), "The full queue, and the call's wait", "queue-size-delay"),
    "wall": _Step(Setting(limit_pkts=100), "A short queue", "buffer-sizing"),
    "more": _Step(
        Setting(32, limit_pkts=100), "A short queue, full of 32 downloads", "buffer-sizing"
    ),
    "lanes": _Step(Setting(32, Bottleneck.LANES), "A lane for each of 33 flows", "pie-rrul"),
    "policer": _Step(
        Setting(1, Bottleneck.POLICER), "A bucket of tokens and no queue", "traffic-policing"
    ),
}


def _answer(step: str, of: StoryRun) -> str:
    wait = "under 1 ms" if of.mean_wait_ms < 1 else f"{of.mean_wait_ms:.0f} ms"
    share = f"{of.download_bps / 20e6:.0%}".replace("%", " %")
    lost = f" and loses {100 * of.lost_share:.1f} % of its packets"
    answers = {
        "fill": "A download starts, the queue fills, and the call is dead: each of its packets "
        f"waits {wait} on average.",
        "bet": f"Up to {of.longest_wait_ms:.0f} ms: 1,000 packets of 1,500 bytes are 12 Mbit, and "
        "the link sends 20 a second.",
        "wall": f"Behind 100 packets your call waits {wait}, and the download has {share} of the "
        "link.",
        "more": f"With 32 downloads, behind 100 packets, it waits {wait}{lost}.",
        "lanes": f"Beside 32 downloads your call waits {wait}; they get {share} of the link.",
        "policer": f"Your call waits {wait}. The download pays: it gets {share} of the rate.",
    }
    return answers[step]


def _how(study: str, studies: Collection[str]) -> str:
    if study not in studies:
        return ""
    return f'<a href="{study}/index.html">How do we know?</a>'


def _described(experiment: Experiment) -> dict[str, object]:
    return {"resolved": experiment.resolved(), "queue": experiment.queue_names.index(QUEUE)}


def _script_json(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def story_text(studies: Collection[str] = ()) -> str:
    """Return the page.

    Args:
        studies: Studies whose pages are in the same folder, linked from the page.
    """
    runs: dict[Setting, StoryRun] = {}
    parts: dict[str, str] = {}
    for name, step in _STEPS.items():
        if step.setting not in runs:
            runs[step.setting] = told(step.setting)
        run = runs[step.setting]
        parts[f"still_{name}"] = picture(run, step.seen)
        # The picture is for readers without JavaScript; other readers first predict the delay.
        parts[f"answer_{name}"] = html.escape(_answer(name, run))
        parts[f"how_{name}"] = _how(step.study, studies)
    has_module = modules.has_module()
    return Template((_SOURCES / "page.html").read_text(encoding="utf-8")).substitute(
        parts,
        style=style_sheet() + (_SOURCES / "style.css").read_text(encoding="utf-8"),
        answer_duel="A full link without a queue has 100 points.",
        how_duel="",
        told=_script_json({"call": _described(Setting().experiment()), "game": _described(GAME)}),
        module=modules.packed_module() if has_module else "",
        worker=modules.joined(WORKER),
        script=modules.joined(SCRIPT),
    )


def story_opening() -> Opening:
    """Return the index's first entry, if the story is in the same folder."""
    run = told(Setting())
    return Opening(
        address=STORY,
        title=TITLE,
        question="Somebody starts a download. What happens to your call?",
        answer=_answer("fill", run),
        invitation="Push it yourself: seven steps",
        drawing=picture(run, _STEPS["fill"].seen),
    )


def write_story(folder: Path, studies: Collection[str] = ()) -> Path:
    """Write the page atomically, by a temporary file.

    Args:
        folder: Folder of the page.
        studies: Studies whose pages are in neighbouring folders.

    Returns:
        Path of the page.

    Raises:
        OSError: It cannot be written.
    """
    place = folder / STORY
    replace_file(place, story_text(studies))
    return place
