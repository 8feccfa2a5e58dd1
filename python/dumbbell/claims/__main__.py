"""``python -m dumbbell.claims`` prints the page of rules."""

from dumbbell.claims.page_of_rules import rules_markdown

print(rules_markdown(), end="")
