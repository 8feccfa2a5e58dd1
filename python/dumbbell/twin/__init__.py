"""A twin of a real line: the simulator fitted to measurements, and validated.

`read_measurements` reads files into scenes, `estimate` fits the line and compares it with data not
used in the fit, and `twin_text` writes it as an experiment.
"""

from dumbbell.twin.estimating import estimate
from dumbbell.twin.experiment_text import twin_text
from dumbbell.twin.line import DisciplineClass, Line, LineEnd, QueueModel
from dumbbell.twin.reading import Measurements, read_measurements
from dumbbell.twin.result import Parameter, Trust, Twin
from dumbbell.twin.scene import Scene, Way

__all__ = [
    "DisciplineClass",
    "Line",
    "LineEnd",
    "Measurements",
    "Parameter",
    "QueueModel",
    "Scene",
    "Trust",
    "Twin",
    "Way",
    "estimate",
    "read_measurements",
    "twin_text",
]
