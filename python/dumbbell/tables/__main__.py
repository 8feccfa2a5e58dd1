"""``python -m dumbbell.tables`` prints the page of tables."""

from dumbbell.tables.docs import tables_markdown

print(tables_markdown(), end="")
