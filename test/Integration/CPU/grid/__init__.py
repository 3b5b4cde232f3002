"""The numeric grid: sampled attention problems, their compiled functions and
an independent reference."""
