"""A congestion controller's dossier: what runs say of it, by the sections of RFC 9743 (BCP 133).

A section (`dumbbell.judge.sections`) has a question, one experiment's file with its claims, and
what it cannot say. `dossier` runs the files by the rules of `dumbbell.compare.checking`; `page`
makes a report of what came of it; `folder` writes it with all that lets another machine run it
again. RFC 9743 section 5 gives no thresholds and calls its criteria no exhaustive check-list: the
thresholds are ours, stand in the files before anything runs, and nothing here says that a
controller meets the RFC.
"""
