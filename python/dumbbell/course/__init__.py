"""A class's congestion controllers, each run apart and marked by a teacher's claims.

`description` reads what the teacher wrote, `submissions` what the students handed in, `marking`
runs and marks all of it, and `writing` makes the pages and the CSV (docs/course-marking.md).
"""
