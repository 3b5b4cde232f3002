"""Faults put in on purpose, to show that the grid finds them."""

import dataclasses

import numpy as np


def without_mask(function):
    return dataclasses.replace(function, mask=[], unused=function.captures_of("mask"))


def without_score(function):
    return dataclasses.replace(function, score=[], unused=function.captures_of("score"))


def perturb_output(problem, results):
    """The error of a rounding mode or an expansion that is a little too coarse."""
    factor = 1 + 4 * problem.output_bound
    results[0][...] = (results[0].astype(np.float64) * factor).astype(results[0].dtype)


def perturb_lse(problem, results):
    if len(results) > 1:
        results[1][...] += 4 * problem.lse_bound


def lose_an_element(problem, results):
    """An element that was never written."""
    if results[0].size:
        results[0].flat[results[0].size // 2] = np.nan


# Applied to the function that is compiled, not to the reference.
OF_FUNCTIONS = {"mask": without_mask, "score": without_score}
# Applied to what compiled code returned.
OF_RESULTS = {"output": perturb_output, "lse": perturb_lse, "poison": lose_an_element}
