"""What each rule is good for: reconstruction of MNIST digits by machines trained alike, beside the trivial fills.

    python benchmarks/rules.py [--data-dir DIR] [--seeds 3] [--rules vpf cd …] [--test] [--out FILE.json]

Digits 1–50,000 train, 50,001–60,000 judge (with --test: the test set). A region is missing, known pixels are held, 20 sweeps,
L1 against the grey original. 30 epochs each, Adam, batch 40; every rule with the paper's decay and without. A quarter of an
hour on two cores.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import boltzflow as bf
from boltzflow.measure.reconstruction import SIDES, region, side_errors, trivial_fills

RBM_RULES = ("vpf", "cd", "cd-10", "pcd")
VISIBLE_RULES = ("mpf", "pseudolikelihood")
DECAYS = (0.01, 0.0)


def measured(rule: str, decay: float, seed: int, train: np.ndarray, judged: np.ndarray) -> dict:
    machine = bf.rbm(784, 196, seed=seed) if rule in RBM_RULES else bf.visible(784)
    began = time.perf_counter()
    run = bf.train(machine, train, rule=rule, decay=decay, seed=seed, epochs=30)
    seconds = time.perf_counter() - began
    errors = side_errors(run.model, (28, 28), train, judged)
    found = {side.side: round(side.machine, 2) for side in errors}
    return {"rule": rule, "decay": decay, "seed": seed, "seconds": round(seconds, 1), **found}


def summary(rows: list[dict]) -> str:
    """Mean over seeds, and half the range, in one line."""
    cells = []
    for side in SIDES:
        values = np.array([row[side] for row in rows])
        cells.append(f"{values.mean():6.2f} ± {(values.max() - values.min()) / 2:.2f}")
    seconds = np.mean([row["seconds"] for row in rows])
    return f"{rows[0]['rule']:<18} {rows[0]['decay']:<6g} {'  '.join(cells)}  {seconds:6.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the MNIST files; else BOLTZFLOW_DATA")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rules", nargs="+", default=[*RBM_RULES, *VISIBLE_RULES], help="only these")
    parser.add_argument("--test", action="store_true", help="judge on the test set")
    parser.add_argument("--out", type=Path, help="where to write all numbers as JSON")
    options = parser.parse_args()
    digits = bf.data.mnist(options.data_dir)
    train, judged = digits.train[:50_000], digits.test if options.test else digits.train[50_000:]
    print(f"{'rule':<18} {'decay':<6} {'  '.join(f'{side:>13}' for side in SIDES)}")
    fills = [trivial_fills(train, judged, region((28, 28), side)) for side in SIDES]
    for name in ("black", "median", "floor"):
        print(f"{name:<25} {'  '.join(f'{getattr(fill, name):6.2f}       ' for fill in fills)}")
    everything = []
    for rule in options.rules:
        for decay in DECAYS:
            rows = [measured(rule, decay, seed, train, judged) for seed in range(options.seeds)]
            print(summary(rows), flush=True)
            everything += rows
    if options.out:
        options.out.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
