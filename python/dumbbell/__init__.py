"""A laboratory for queues and congestion control at a bottleneck link."""
