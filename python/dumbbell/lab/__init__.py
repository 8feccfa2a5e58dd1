"""The laboratory: a page that contains the simulator and reruns it while a slider moves.

`write_laboratory` writes it, with the experiments of `presets` and optionally one from a file;
`write_live` writes the bundle that runs the live figures of studies' pages.
"""

from dumbbell.lab.experiments import LabExperiment, bottleneck_of
from dumbbell.lab.links import state_hash
from dumbbell.lab.live_file import LIVE, live_text, write_live
from dumbbell.lab.modules import has_module
from dumbbell.lab.page_file import page_text, write_laboratory
from dumbbell.lab.presets import presets
from dumbbell.lab.story_file import STORY, story_opening, write_story
from dumbbell.lab.task import Task

__all__ = [
    "LIVE",
    "STORY",
    "LabExperiment",
    "Task",
    "bottleneck_of",
    "has_module",
    "live_text",
    "page_text",
    "presets",
    "state_hash",
    "story_opening",
    "write_laboratory",
    "write_live",
    "write_story",
]
