"""Runs the schedules that are not attention on a GPU against float64.

    python3 test/Integration/GPU/other_schedules.py FOLDER

The folder holds what fa-compile wrote of sm_90a_matmul and sm_90a_rms_norm. Outputs
are poisoned and lie in the middle of larger memory, so that a store past an end
shows; inputs have NaN behind their ends. Prints one line a check and `N passed, N
failed` last; fails if a check does.
"""

import sys

import torch

import fa_mlir

BOUND = 6e-3
POISON = 7.0
EPSILON = 1e-5
SIZES = [
    (1, 8, 8), (8, 1024, 64), (128, 256, 64), (129, 264, 72), (200, 264, 136), (1000, 520, 264), (2048, 2048, 2048),
    (4100, 4104, 1032), (8200, 264, 8), (64, 20000, 520),
]
ROWS = [1, 3, 4, 5, 8, 21, 1000, 1055, 1057, 16383]

results = {"pass": 0, "FAIL": 0}


def record(name, passed, detail=""):
    outcome = "pass" if passed else "FAIL"
    results[outcome] += 1
    print(f"{outcome}  {name}  {detail}", flush=True)


def framed(rows, columns, fill, margin=8):
    """A matrix in the middle of a larger one, all of which has one value."""
    whole = torch.full((rows + 2 * margin, columns + 2 * margin), fill, device="cuda", dtype=torch.bfloat16)
    return whole, whole[margin:margin + rows, margin:margin + columns]


def random_inside(rows, columns):
    """Random numbers with NaN around them."""
    _, inside = framed(rows, columns, float("nan"))
    inside.copy_(torch.randn(rows, columns, device="cuda"))
    return inside


def compare(name, whole, inside, expected):
    error = ((inside.double() - expected).norm() / expected.norm()).item()
    record(name, error < BOUND, f"relative error {error:.2e}")
    touched = (whole != POISON).sum().item() - (inside != POISON).sum().item()
    record(f"{name}, outside", touched == 0, f"{touched} elements written outside")


def rerun(name, launch, inside):
    """Two more launches give the same bits."""
    first = inside.clone()
    for _ in range(2):
        inside.fill_(POISON)
        launch()
        record(f"{name}, again", torch.equal(first, inside))


def check_matmul(kernel, m, n, k):
    a, b = random_inside(m, k), random_inside(n, k)
    whole, c = framed(m, n, POISON)

    def launch():
        kernel(a, b, c=c)

    launch()
    name = f"matmul {m} x {n} x {k}"
    compare(name, whole, c, a.double() @ b.double().T)
    rerun(name, launch, c)


def check_norm(kernel, rows, columns=4096):
    x = random_inside(rows, columns)
    weight = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
    whole, y = framed(rows, columns, POISON)

    def launch():
        kernel(x, weight, y=y, epsilon=EPSILON)

    launch()
    name = f"rms_norm {rows} x {columns}"
    scale = (x.double().square().mean(1, keepdim=True) + EPSILON).rsqrt()
    compare(name, whole, y, x.double() * scale * weight.double())
    rerun(name, launch, y)


def check_zero_rows(kernel):
    """A row of zeros stays zero."""
    x = torch.zeros(9, 4096, device="cuda", dtype=torch.bfloat16)
    y = kernel(x, torch.randn(4096, device="cuda", dtype=torch.bfloat16), y=torch.full_like(x, POISON), epsilon=EPSILON)
    record("rms_norm of zeros", not y.any().item())


def main():
    folder, = sys.argv[1:]
    torch.manual_seed(0)
    matmul, norm = (fa_mlir.load(f"{folder}/sm_90a_{name}.json") for name in ("matmul", "rms_norm"))
    for sizes in SIZES:
        check_matmul(matmul, *sizes)
    for rows in ROWS:
        check_norm(norm, rows)
    check_zero_rows(norm)
    print(f"{results['pass']} passed, {results['FAIL']} failed")
    return 1 if results["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
