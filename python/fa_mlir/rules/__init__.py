"""Rules of torch's operations in score functions and masks: what each is of values of a region."""

from . import arithmetic, comparisons, functions, tables
from .registry import evaluate

__all__ = ["arithmetic", "comparisons", "evaluate", "functions", "tables"]
