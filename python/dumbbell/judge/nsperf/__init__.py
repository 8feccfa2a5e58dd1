"""Google's BBR suite, nsperf: one file per test, with its settings."""

from dumbbell.judge.nsperf.bufferbloat import BUFFERBLOAT
from dumbbell.judge.nsperf.coexist import COEXIST
from dumbbell.judge.nsperf.ecn_bulk import ECN_BULK
from dumbbell.judge.nsperf.random_loss import RANDOM_LOSS
from dumbbell.judge.nsperf.shallow import SHALLOW
from dumbbell.judge.section import Section

SECTIONS: tuple[Section, ...] = (COEXIST, RANDOM_LOSS, SHALLOW, BUFFERBLOAT, ECN_BULK)

__all__ = ["SECTIONS"]
