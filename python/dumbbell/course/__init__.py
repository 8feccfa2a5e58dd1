"""Run a class's congestion controllers in isolation, and mark them by a teacher's claims.

`description` reads the teacher's course file, `submissions` the students' files; `marking` runs and
marks them; `writing` makes the pages and the CSV (docs/course-marking.md).
"""
