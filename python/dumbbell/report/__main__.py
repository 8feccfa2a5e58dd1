"""``python -m dumbbell.report`` prints the glossary."""

from dumbbell.report.glossary import glossary_markdown

print(glossary_markdown(), end="")
