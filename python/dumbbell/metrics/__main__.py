"""``python -m dumbbell.metrics`` prints the page of metrics."""

from dumbbell.metrics import metrics_markdown

print(metrics_markdown(), end="")
