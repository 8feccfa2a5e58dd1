"""A congestion controller's dossier: evidence from runs, by the sections of RFC 9743 (BCP 133).

A section (`dumbbell.judge.sections`) has a question, one experiment's file with claims, and a list
of what it does not cover. `dossier` runs the files by the rules of `dumbbell.compare.checking`;
`page` makes the report; `folder` writes everything that is needed to repeat it on another machine.
RFC 9743 section 5 gives no thresholds and states that its criteria are not an exhaustive
check-list. The thresholds are ours and fixed in the files before anything runs; no result here
states that a controller complies with the RFC.
"""
