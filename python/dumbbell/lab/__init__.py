"""The laboratory: one page with the simulator inside, which answers while a slider moves.

`write_laboratory` writes it, with the experiments of `presets` and perhaps one of a file.
"""

from dumbbell.lab.experiments import LabExperiment, bottleneck_of
from dumbbell.lab.page_file import page_text, write_laboratory
from dumbbell.lab.presets import presets

__all__ = ["LabExperiment", "bottleneck_of", "page_text", "presets", "write_laboratory"]
