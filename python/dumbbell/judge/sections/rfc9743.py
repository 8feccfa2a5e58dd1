"""RFC 9743 as the suite of a dossier."""

from __future__ import annotations

from dumbbell.judge.sections.not_covered import NOT_COVERED
from dumbbell.judge.suite import ReferenceKind, Suite

RFC_9743 = Suite(
    id="rfc9743",
    name="RFC 9743",
    references=ReferenceKind.NUMBER,
    cited="RFC 9743 section {}",
    question="May I deploy {}, and where not?",
    league_question="How do {} congestion controllers compare?",
    no_verdict="This is no verdict by RFC 9743, which is no check-list",
    caution="RFC 9743 calls its criteria no exhaustive check-list and gives no thresholds, so "
    "nothing here says that a controller meets it.",
    source="RFC 9743 (BCP 133), Specifying New Congestion Control Algorithms, March 2025",
    source_url="https://www.rfc-editor.org/rfc/rfc9743.html",
    network="Most have a line of 20 Mbit/s and a round trip of 40 ms. {controller} is alone there, "
    "beside its own kind, or beside {rivals}.",
    drawn="the line of most sections",
    not_judged=NOT_COVERED,
)
