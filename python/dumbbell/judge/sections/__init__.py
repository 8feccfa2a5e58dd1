"""The sections of a dossier, one file each, in the order of RFC 9743."""

from dumbbell.judge.section import Section
from dumbbell.judge.sections.app_limited import APP_LIMITED
from dumbbell.judge.sections.bufferbloat import BUFFERBLOAT
from dumbbell.judge.sections.collapse import COLLAPSE
from dumbbell.judge.sections.ecn import ECN
from dumbbell.judge.sections.existing import EXISTING
from dumbbell.judge.sections.fairness import FAIRNESS
from dumbbell.judge.sections.high_delay import HIGH_DELAY
from dumbbell.judge.sections.jitter import JITTER
from dumbbell.judge.sections.known import KNOWN
from dumbbell.judge.sections.loss import LOSS
from dumbbell.judge.sections.queues import QUEUES
from dumbbell.judge.sections.real_time import REAL_TIME
from dumbbell.judge.sections.reordering import REORDERING
from dumbbell.judge.sections.shaped import SHAPED
from dumbbell.judge.sections.short_flows import SHORT_FLOWS
from dumbbell.judge.sections.slow import SLOW
from dumbbell.judge.sections.sudden import SUDDEN
from dumbbell.judge.sections.tail_drop import TAIL_DROP
from dumbbell.judge.sections.transient import TRANSIENT
from dumbbell.judge.sections.varying_delay import VARYING_DELAY
from dumbbell.judge.sections.varying_rate import VARYING_RATE
from dumbbell.judge.sections.wireless import WIRELESS

SECTIONS: tuple[Section, ...] = (
    COLLAPSE,
    BUFFERBLOAT,
    LOSS,
    FAIRNESS,
    SHORT_FLOWS,
    APP_LIMITED,
    EXISTING,
    REAL_TIME,
    TAIL_DROP,
    SHAPED,
    WIRELESS,
    VARYING_RATE,
    QUEUES,
    ECN,
    VARYING_DELAY,
    JITTER,
    SLOW,
    HIGH_DELAY,
    REORDERING,
    TRANSIENT,
    SUDDEN,
    KNOWN,
)

__all__ = ["SECTIONS"]
