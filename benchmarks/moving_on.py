"""Milliseconds that work in the background goes on after its reader has moved on, for what each page computes there.

    python -m benchmarks.moving_on [--moves 14]

Each move asks for something new, waits a little longer than the one before, and gives it up; what is timed is from
there to the end of the last piece of work. Pages that are not named compute nothing in the background. "prefetch" is
what draws the pictures at the next places of epsilon's slider, on new records each time.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import dpcore
from dpcore import Axis, Budget, Experiment, Problem
from dpcore.audit.all_versions import TrialsQuestion
from dpcore.figures.perturbation import RULE_NAMES
from dpcore.studies.decide.compare_mechanisms import CompareQuestion
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSizeQuestion
from dpcore.studies.decide.loss_curve import Setting
from dpcore.studies.decide.sample_size import SampleSizeQuestion
from dpcore.studies.geometry.excess_by_n import ExcessQuestion
from dpcore.studies.multiclass.curves import AccuracyQuestion, Records
from dpcore.studies.multiclass.one_vs_rest import LearnerKey
from pages.background.jobs import Job, Question, join
from pages.background.tables import TableQuestion
from pages.server import prefetch, preload_imports
from tests.page_driver import SCRIPTS, open_app
from tests.pages.test_links import settled

N, MOST_RUNS, DELTA = 10_000, 10**6, 1e-6
WATCHER, PAUSE_SECONDS, FIRST_SECONDS = "benchmark", 0.001, 6.0
PERTURBATIONS = ("output_gaussian", "objective_gaussian", "noisy_gd", "output_gamma", "objective_gamma")
RULES = tuple(dpcore.make_mechanism("noisy_gd", rule=rule) for rule in RULE_NAMES)
LAMBDAS = Axis("lam", tuple(float(lam) for lam in np.geomspace(1e-4, 1.0, 13)))
EPSILONS = Axis("epsilon", (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0))
LEARNERS: tuple[LearnerKey, ...] = ("ellipsoids", "split", "split_answer")


def _table(**asked: Any) -> Callable[[int], Question]:
    return lambda seed: TableQuestion(Experiment(Problem("synthetic", n=N, seed=seed), **asked))


def _attack(mechanism: str) -> Callable[[int], Question]:
    return lambda seed: TrialsQuestion(mechanism, Budget(1.0, DELTA), MOST_RUNS, seed)


def _setting(seed: int) -> Setting:
    return Setting(Problem("synthetic", n=N, seed=seed), "objective_gaussian")


def _classes(seed: int) -> Question:
    records = Records("gaussian_classes", 2_000, seed, d=2)
    return AccuracyQuestion("classes", (2, 3, 4, 5, 6, 8, 10), records, 1.0, DELTA, learners=LEARNERS)


# What is asked, by seed.
QUESTIONS: dict[str, Callable[[int], Question]] = {
    "perturbation": _table(mechanisms=PERTURBATIONS, repetitions=50),
    "perturbation, bounds": _table(mechanisms=RULES, sweep=EPSILONS, repetitions=20),
    "perturbation, valley of lambda": _table(mechanisms=PERTURBATIONS, epsilon=1.0, sweep=LAMBDAS, repetitions=20),
    "multiclass": _classes,
    "audit, objective perturbation": _attack("objective_gaussian"),
    "audit, noisy SGD": _attack("noisy_sgd"),
    "geometry against n": lambda seed: ExcessQuestion(1.5, 64, 1.0, 1e-6, seed),
    "decide, budget": _setting,
    "decide, equivalent sample size": lambda seed: EquivalentSampleSizeQuestion(_setting(seed)),
    "decide, sample size needed": lambda seed: SampleSizeQuestion(_setting(seed), 1.0, 1.0),
    "decide, all mechanisms": lambda seed: CompareQuestion(Problem("synthetic", n=N, seed=seed), 1.0),
}


# Pages whose curves are others at each epsilon, and what chooses their view.
AHEAD: dict[str, dict[str, str]] = {
    "dimension": {},
    "sparsity": {},
    "sparsity, n": {"against": "n"},
    "sparsity, simplex": {"tab": "simplex"},
    "sparsity, streaming": {"tab": "streaming"},
    "geometry": {},
    "multiclass": {},
    "audit": {},
}


def wait(work: Job, seconds: float) -> None:
    """As a page does that asks again and again."""
    deadline = time.perf_counter() + seconds
    while not work.finished and time.perf_counter() < deadline:
        work.watch(WATCHER)
        time.sleep(PAUSE_SECONDS)


def give_up(work: Job) -> float:
    """Leave, and wait for the end; returns the milliseconds."""
    started = time.perf_counter()
    work.leave(WATCHER)
    while not work.finished:
        time.sleep(PAUSE_SECONDS)
    return 1e3 * (time.perf_counter() - started)


def measured(question: Callable[[int], Question], moves: int) -> list[float]:
    """One for each move that met work that was not done yet."""
    first = join(question(moves), WATCHER)
    wait(first, FIRST_SECONDS)  # kernels are loaded
    give_up(first)
    took = []
    for seed in range(moves):
        work = join(question(seed), WATCHER)
        wait(work, 0.05 + 0.05 * seed)
        if not work.finished:
            took.append(give_up(work))
    return took


def measured_ahead(view: str, moves: int) -> list[float]:
    """One for each reader who left while pictures were drawn."""
    page, took = view.split(",")[0], []
    with ThreadPoolExecutor(1) as pool:
        for seed in range(moves):
            app = settled(open_app(SCRIPTS[page], seed=seed, **AHEAD[view]))
            (pictures,) = app.session_state[prefetch.OFFERS].values()
            drawing = pool.submit(pictures.some)
            time.sleep(0.01 + 0.03 * seed)
            if not drawing.done():
                started = time.perf_counter()
                pictures.given_up = True
                drawing.result()
                took.append(1e3 * (time.perf_counter() - started))
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moves", type=int, default=14)
    words = parser.parse_args()
    preload_imports.start()  # as the server does, whose garbage collector need not look through all that is imported
    preload_imports.wait()
    print("| work | moves | p50 ms | max ms |\n|---|---|---|---|")
    jobs = {name: partial(measured, question) for name, question in QUESTIONS.items()}
    jobs |= {f"prefetch: {view}": partial(measured_ahead, view) for view in AHEAD}
    for name, job in jobs.items():
        took = job(words.moves)
        numbers = f"{np.median(took):.0f} | {max(took):.0f}" if took else "done before | "
        print(f"| {name} | {len(took)} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
