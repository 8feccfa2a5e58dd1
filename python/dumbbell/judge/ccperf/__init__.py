"""CCPerf's benchmark: one file per scenario, with its metrics as tables."""

from dumbbell.judge.ccperf.policing import POLICING
from dumbbell.judge.ccperf.responsiveness import PULSE_WAVE, STEP
from dumbbell.judge.ccperf.rtt import RTT
from dumbbell.judge.ccperf.single_flow import SINGLE_FLOW
from dumbbell.judge.ccperf.start_time import START_TIME
from dumbbell.judge.ccperf.synchronous import SYNCHRONOUS
from dumbbell.judge.section import Section

SECTIONS: tuple[Section, ...] = (
    SINGLE_FLOW,
    SYNCHRONOUS,
    START_TIME,
    RTT,
    STEP,
    PULSE_WAVE,
    POLICING,
)

__all__ = ["SECTIONS"]
