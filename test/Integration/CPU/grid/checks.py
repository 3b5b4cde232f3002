"""What has to hold for the results of a problem."""

import functools

import ml_dtypes
import numpy as np

from .layout import valid_rows

# The two float64 sides differ by the order of their sums only.
REFERENCE_BOUND = 1e-12


def relative_error(actual, expected, rounding=0.0):
    """Norm of the difference over the norm of the reference where both are finite;
    the absolute norm where that is zero. Each element may be off by `rounding` more."""
    finite = np.isfinite(expected)
    difference = np.linalg.norm(actual[finite] - expected[finite])
    difference = max(difference - rounding * np.sqrt(np.count_nonzero(finite)), 0.0)
    norm = np.linalg.norm(expected[finite])
    return difference / norm if norm > 0 else difference


def relative_error_of(dtype, rounded=1):
    """The relative error of results of a type, of which one side is rounded, or both. Below the smallest normal number
    that errs by half the spacing of subnormal numbers."""
    spacing = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    return functools.partial(relative_error, rounding=rounded * spacing / 2)


def absolute_error(actual, expected):
    finite = np.isfinite(expected)
    return np.max(np.abs(actual[finite] - expected[finite]), initial=0.0)


def same_pattern(actual, expected):
    """NaN, inf and -inf are at the same places."""
    return bool(np.all(np.isnan(actual) == np.isnan(expected))
                and np.all(np.isposinf(actual) == np.isposinf(expected))
                and np.all(np.isneginf(actual) == np.isneginf(expected)))


def compare(name, actual, expected, error, bound):
    """Complaints about one result, and its error over the bound."""
    if not same_pattern(actual, expected):
        wrong = np.count_nonzero(np.isfinite(actual) != np.isfinite(expected))
        return [f"{name}: {wrong} elements are finite on one side only"], np.inf
    value = error(actual, expected)
    if not value <= bound:
        return [f"{name}: error {value:.3e}, allowed {bound:.0e}"], value / bound
    return [], value / bound


def check_evaluator(reference, oracle):
    """Compares the evaluator with numpy. Returns complaints."""
    complaints = []
    for name, error, evaluated, expected in zip(
            ["o", "lse"], [relative_error, absolute_error], reference, oracle):
        complaints += compare(f"{name} of the evaluator against numpy", evaluated,
                              expected, error, REFERENCE_BOUND)[0]
    return complaints


def check(problem, results, reference):
    """Compares compiled results with the evaluator's. Returns complaints and the
    worst error over its bound."""
    function = problem.function
    names = ["o", "lse"]
    orders = [function.dims[3], "bhs"]
    errors = [relative_error_of(results[0].dtype), absolute_error]
    bounds = [problem.output_bound, problem.lse_bound]
    initial = [problem.initial_output, problem.initial_lse]
    complaints, worst = [], 0.0
    for name, dims, error, bound, actual, expected, before in zip(
            names, orders, errors, bounds, results, reference, initial):
        valid = valid_rows(problem, actual, dims)
        if not np.array_equal(actual[~valid], before[~valid]):
            complaints.append(f"{name}: rows past a query length were changed")
        found, ratio = compare(name, actual.astype(np.float64)[valid],
                               expected[valid], error, bound)
        complaints += found
        worst = max(worst, ratio)
    return complaints, worst


def check_against(problem, results, others):
    """Compares results of two compilers. Either may be off by its bound."""
    function = problem.function
    bounds = [problem.output_bound, problem.lse_bound]
    complaints = []
    for name, dims, error, bound, actual, other in zip(
            ["o", "lse"], [function.dims[3], "bhs"], [relative_error_of(results[0].dtype, rounded=2), absolute_error],
            bounds, results, others):
        valid = valid_rows(problem, actual, dims)
        complaints += compare(f"{name} against the CPU", actual.astype(np.float64)[valid],
                              other.astype(np.float64)[valid], error, 2 * bound)[0]
    return complaints
