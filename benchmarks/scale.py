"""Data at scale: private models of sparse records with millions of columns, each in a new process.

    python -m benchmarks.scale [--rows 100000] [--columns 20000000] [--nonzeros 100] [--uniform] [--only output ...]
    python -m benchmarks.scale --table [--only output ...]

Records are those of `dpcore.data.synthetic.sparse_records`; --uniform fills more of the columns.

output: Gaussian output perturbation; objective: Gaussian objective perturbation; both logistic loss. frank_wolfe:
private LASSO, squared loss on the L1 ball of 100, T = 100. Each by `dpcore.solve`, epsilon = 1, delta = 1e-6, the
automatic lam, after one release from a small table that loads the compiled code. Seconds are the median of --rounds
releases, each from records that nothing was computed of before. The peak is what the operating system counts as
resident (ru_maxrss) in the whole process, records included. Reached is how far private and non-private models get on
the records: accuracy, or R^2 of private LASSO, of which there is no non-private model here. The gradient is that of J
at the non-private model, computed afterwards from the records alone, beside the one that the privacy proof asks for.

--table: the same for a grid of rows, columns and non-zeros; then two fits of CPU seconds with standard errors, by least
squares: of their logarithms, seconds ~ rows^a columns^b non-zeros^c, and of relative errors, seconds = a + b columns
+ c non-zeros. non-zeros are those of the whole table.
"""

import argparse
import itertools
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.processes import in_new_process, peak
from benchmarks.runner import timed
from dpcore import Data, solve
from dpcore.core.blas import one_blas_thread
from dpcore.core.losses import get_loss
from dpcore.data.synthetic import sparse_records
from dpcore.experiments.metrics import accuracy, r_squared

ROWS, COLUMNS, NONZEROS = 100_000, 20_000_000, 100
GRID = (10_000, 31_623, 100_000), (200_000, 2_000_000, 20_000_000), (10, 32, 100)
MECHANISMS = {"output": "output_gaussian", "objective": "objective_gaussian", "frank_wolfe": "frank_wolfe_polytope"}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SIZE, T = 100.0, 100  # the automatic T is at least Gamma / h = 800, and its noise leaves nothing to learn


def released(name: str, data: Data, nonzeros: int) -> Any:
    """One release, repeatable, of the records with labels as the mechanism wants them."""
    how: dict[str, Any] = dict(BUDGET, seed=0)
    if name == "frank_wolfe":
        # No entry is larger, whatever the records are; the bound on a row's length would ask for more noise.
        how.update(R=1.0 / nonzeros**0.5, radius=SIZE, T=T)
    return solve(MECHANISMS[name], data.X, labels(name, data), **how)


def labels(name: str, data: Data) -> np.ndarray:
    return data.y if name == "frank_wolfe" else np.where(data.y > 0.0, 1.0, -1.0)


def one(name: str, rows: int, columns: int, nonzeros: int, *, uniform: bool, rounds: int) -> dict[str, Any]:
    """Cost and accuracy of one mechanism, in this process."""
    one_blas_thread()
    released(name, sparse_records(2_000, 4_000, 10), 10)
    data = sparse_records(rows, columns, nonzeros, uniform=uniform)
    made, seconds, most = peak(), [], 0
    for _ in range(rounds):
        *taken, found = timed(lambda: released(name, data, nonzeros))
        seconds.append(taken)
        most = most or peak()
    cpu, wall = (statistics.median(column) for column in zip(*seconds, strict=True))
    entries = int(data.X.nnz) if isinstance(data.X, csr_array) else data.X.size
    facts: dict[str, Any] = {
        "mechanism": name, "rows": rows, "columns": columns, "nonzeros": entries, "cpu": cpu, "wall": wall,
        "made": made / 1e9, "peak": most / 1e9, "filled": data.nonempty[1].stored, "steps": found.plan.steps,
    }  # fmt: skip
    theta, plan, records = found.theta, found.plan, Data(data.X, labels(name, data))
    if name == "frank_wolfe":
        return facts | {"reached": r_squared(theta, records), "plain": None, "gradient": None, "asked": None}
    prepared, lam = plan.mechanism.prepare(plan, records), float(plan.spec.lam)
    slopes = get_loss("logistic").derivative(records.X @ prepared.theta, records.y)
    gradient = float(np.linalg.norm(slopes @ records.X / rows + lam * prepared.theta))
    plain = accuracy(prepared.theta, records)
    return facts | {"reached": accuracy(theta, records), "plain": plain, "gradient": gradient, "asked": lam * plan.tol}


def exponents(cells: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, float]:
    """Exponents of rows, columns and non-zeros [3], their standard errors [3], and the rms error of the logarithms."""
    sizes = np.log([[cell[key] for key in ("rows", "columns", "nonzeros")] for cell in cells])
    fitted, errors, left = _fit(np.column_stack([np.ones(len(cells)), sizes]), np.log([cell["cpu"] for cell in cells]))
    return fitted[1:], errors[1:], left


def measured_costs(cells: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, float]:
    """Seconds for a release itself, a million columns and a million non-zeros [3], standard errors [3], and relative
    error of the fit, root mean square."""
    sizes = np.array([[1.0, cell["columns"] / 1e6, cell["nonzeros"] / 1e6] for cell in cells])
    return _fit(sizes / np.array([[cell["cpu"]] for cell in cells]), np.ones(len(cells)))


def _fit(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    fitted = np.linalg.lstsq(X, y, rcond=None)[0]
    variance = float(np.sum((y - X @ fitted) ** 2)) / (len(y) - X.shape[1])
    return fitted, np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X))), variance**0.5


def show_runs(cells: Sequence[dict[str, Any]]) -> None:
    heads = "mechanism", "rows", "columns", "filled", "non-zeros", "CPU s", "wall s", "peak GB (records)", "reached"
    print(f"| {' | '.join(heads)} | gradient |\n{'|---' * 10}|")
    for cell in cells:
        sizes = " | ".join(f"{cell[key]:,}" for key in ("rows", "columns", "filled", "nonzeros"))
        costs = f"{cell['cpu']:.2f} | {cell['wall']:.2f} | {cell['peak']:.2f} ({cell['made']:.2f})"
        reached, gradient = f"R^2 {cell['reached']:.3f}, T = {cell['steps'] + 1}", ""
        if cell["plain"] is not None:
            reached = f"{cell['reached']:.1%} ({cell['plain']:.1%} without noise)"
            gradient = f"{cell['gradient']:.1e} (<= {cell['asked']:.1e})"
        print(f"| {cell['mechanism']} | {sizes} | {costs} | {reached} | {gradient} |", flush=True)


def show_table(names: Sequence[str], *, uniform: bool, rounds: int) -> None:
    sizes = list(itertools.product(*GRID))
    how = {"uniform": uniform, "rounds": rounds}
    cells = {(name, *size): in_new_process(one, name, *size, **how) for size in sizes for name in names}
    print(f"CPU seconds of {', '.join(names)}; peak GB at {GRID[1][-1]:,} columns\n")
    print(f"| rows | a row | {' | '.join(f'{columns:,} columns' for columns in GRID[1])} | peak |")
    print("|---" * (3 + len(GRID[1])) + "|")
    for rows, nonzeros in itertools.product(GRID[0], GRID[2]):
        seconds = [[f"{cells[name, rows, p, nonzeros]['cpu']:.2f}" for name in names] for p in GRID[1]]
        peaks = ", ".join(f"{cells[name, rows, GRID[1][-1], nonzeros]['peak']:.1f}" for name in names)
        print(f"| {rows:,} | {nonzeros} | {' | '.join(map(', '.join, seconds))} | {peaks} |")
    heads = {
        exponents: "exponent of rows | of columns | of non-zeros | logarithms off by",
        measured_costs: "a release (s) | a million columns (s) | a million non-zeros (s) | relative error",
    }
    for fit, head in heads.items():
        print(f"\n| mechanism | {head} |\n{'|---' * 5}|")
        for name in names:
            fitted, errors, left = fit([cell for key, cell in cells.items() if key[0] == name])
            said = " | ".join(f"{value:.3f} +- {error:.3f}" for value, error in zip(fitted, errors, strict=True))
            print(f"| {name} | {said} | {left:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--nonzeros", type=int, default=NONZEROS, help="drawn a row")
    parser.add_argument("--rounds", type=int, default=3, help="the median counts")
    parser.add_argument("--uniform", action="store_true", help="all columns alike")
    parser.add_argument("--only", nargs="+", choices=list(MECHANISMS), default=list(MECHANISMS))
    parser.add_argument("--table", action="store_true", help="a grid of sizes, and the exponents")
    given = parser.parse_args()
    sizes, how = (given.rows, given.columns, given.nonzeros), {"uniform": given.uniform, "rounds": given.rounds}
    if given.table:
        show_table(given.only, **how)
    else:
        show_runs([in_new_process(one, name, *sizes, **how) for name in given.only])


if __name__ == "__main__":
    main()
