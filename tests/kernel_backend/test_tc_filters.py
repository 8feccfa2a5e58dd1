"""Random filters: the guest's ``tc`` and its kernel take what we take, and it means the same.

As ``test_tc_strings.py`` for disciplines: what they take and we do not is refused with a typed
reason; what we take is shown the same from the lines that we write for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

import pytest
from tc_filter_strings import MOST_LINES, filter_cases
from tc_in_guest import ask_tc_of_filters

from dumbbell import units

FEW, MANY, AT_ONCE = 200, 5000, 1250
_LEFT_OUT = re.compile(
    r'"(fh|key_ht|bkt)":"[^"]*",?|"(order|handle|chain)":\d+,?|"not_in_hw":true,?|"parent":"1:",?'
)
"""What follows from the order in which filters were added, and not what they match."""
_PREFIX = re.compile(r'(?<=_ip":")[\d.]+/\d+')
_TOS = re.compile(r'"ip_tos":(\d+),"ip_tos_mask":"(\w+)"')
_CLASS = re.compile(r'((?:flowid|classid)(?:":"| ))1?:')
_KEY = re.compile(r'"match":{"value":"(\w+)","mask":"(\w+)","offmask":"","off":(-?\d+)},?')


def _ours(case: Sequence[str]) -> list[str] | units.QdiscError:
    """The lines that we write for a case, what follows ``filter add``."""
    typed = [f"filter add {line}" for line in case]
    try:
        config = units.parse_qdisc("\n".join(["qdisc add root handle 1: prio bands 4", *typed]))
    except units.QdiscError as error:
        return error
    return [
        line.removeprefix("filter add dev d0 ")
        for line in units.qdisc_lines(config, device="d0")[1:]
    ]


def _shown(answer: str) -> list[str]:
    """What each filter is, in the order in which they are asked.

    iproute2 6.1 prints JSON of filters that is none (u32 repeats a key, fw has no quotes), so text
    it stays.
    """
    found = []
    for text in answer.strip("[]\n").split('{"parent"'):
        # Without options it is the line of the priority itself; a hash table of u32 has no match.
        if '"options"' not in text or "ht_divisor" in text:
            continue
        words = _LEFT_OUT.sub("", _CLASS.sub(r"\1:", '{"parent"' + text)).strip(",")
        # The kernel looks at no more of an address, or of a TOS byte, than its mask has.
        entry = _PREFIX.sub(lambda found: str(ip_network(found[0], strict=False)), words)
        entry = _TOS.sub(lambda found: f"{int(found[1]) & int(found[2], 16)}/{found[2]}", entry)
        keys: dict[int, tuple[int, int]] = {}
        for value, mask, offset in _KEY.findall(entry):
            old = keys.get(int(offset), (0, 0))
            keys[int(offset)] = (old[0] | int(value, 16), old[1] | int(mask, 16))
        looked_at = sorted((at, *pair) for at, pair in keys.items() if pair[1])
        found.append(f"{_KEY.sub('', entry)} {looked_at}")
    # Those of flower are shown in the order in which they were added, and asked mask by mask.
    return sorted(found) if "flower" in answer else found


def _compare(kernel: Path, cases: Sequence[Sequence[str]], folder: Path) -> int:
    """How many were taken by both; every difference is a failure."""
    ours = [_ours(case) for case in cases]
    written = [each for each in ours if not isinstance(each, units.QdiscError)]
    answers = ask_tc_of_filters(kernel, [*cases, *written], folder, most=MOST_LINES)
    rendered = iter(answers[len(cases) :])
    wrong = []
    for case, lines, theirs in zip(cases, ours, answers, strict=False):
        typed = " ; ".join(case)
        if isinstance(lines, units.QdiscError):
            if theirs.is_taken and lines.reason is None:
                wrong.append(f"{typed}: only tc takes it; here: {lines}")
            continue
        again = next(rendered)
        if not theirs.is_taken:
            wrong.append(f"{typed}: only we take it; tc: {theirs.error}")
        elif not again.is_taken or _shown(theirs.shown) != _shown(again.shown):
            mine = again.error or _shown(again.shown)
            wrong.append(f"{typed}: shown as {_shown(theirs.shown)}\n  {lines}: as {mine}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(cases)}", *wrong[:40]])
    return len(written)


@pytest.mark.kernel
def test_two_hundred_cases(kernel: Path, tmp_path: Path) -> None:
    assert _compare(kernel, filter_cases(FEW, seed=1), tmp_path) > FEW // 5


@pytest.mark.kernel
@pytest.mark.long
def test_five_thousand_cases(kernel: Path, tmp_path: Path) -> None:
    cases = filter_cases(MANY, seed=2)
    taken = 0
    for first in range(0, MANY, AT_ONCE):
        folder = tmp_path / str(first)
        folder.mkdir()
        taken += _compare(kernel, cases[first : first + AT_ONCE], folder)
    assert taken > MANY // 5
