"""Why the stack: one joint deep machine starves above its first hidden layer, whatever completes it. Shown on MNIST digits.

    python benchmarks/joint_or_stack.py [--data-dir DIR] [--epochs 20] [--rows 50000]

For 784-196-196-64 it prints Σ w² of each pair of layers, per unit of the upper one, and the Parzen score of pictures generated
by Algorithm 2 (σ = 0.2, 10,000 centres; judged on digits 50,001–60,000). Some five minutes on two cores.
"""

import argparse

import numpy as np

import boltzflow as bf
from boltzflow.measure.parzen import parzen_score

WIDTHS = (784, 196, 196, 64)
JOINT = {
    "joint, feed-forward": {},
    "joint, gibbs from 0, 5 sweeps": {"method": "gibbs", "sweeps": 5},
    "joint, gibbs carried on, 1 sweep": {"method": "gibbs", "carry": True},
    "joint, mean field, 10 steps": {"method": "mean-field", "sweeps": 10},
}


def squared_couplings(model):
    """Σ w² per upper unit, from the data upwards."""
    of = model if isinstance(model, bf.Stack) else bf.as_stack(model)
    return [float(np.sum(np.asarray(pair.couplings[0]) ** 2) / pair.layout.widths[1]) for pair in of.pairs]


def report(label, model, runs, rows, judged):
    pictures = bf.generate(model, 10_000, prior="mean", data=rows, r=5)
    score = parzen_score(pictures, judged)
    couplings = "  ".join(f"{value:7.2f}" for value in squared_couplings(model))
    seconds = sum(np.median([record.seconds for record in run.history]) for run in runs)
    print(f"{label:<34} {couplings}  {score.mean:7.1f} ± {score.error:.1f}  {seconds:6.2f} s/epoch", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the MNIST files; else BOLTZFLOW_DATA")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    digits = bf.data.mnist(options.data_dir)
    rows, judged = digits.train[: options.rows], digits.train[50_000:]
    print(f"{'Σ w² per upper unit, layers':<34} {'0–1':>7}  {'1–2':>7}  {'2–3':>7}  {'Parzen':>13}")
    run = bf.train(bf.stack(*WIDTHS), rows, rule="vpf", epochs=options.epochs)
    report("stack, all pairs at once", run.model, [run], rows, judged)
    greedy = bf.train_greedy(bf.stack(*WIDTHS), rows, epochs=options.epochs)
    report("stack, pair after pair", greedy.model, greedy.runs, rows, judged)
    for label, choices in JOINT.items():
        run = bf.train(bf.deep(*WIDTHS), rows, rule="vpf", rule_options=choices, epochs=options.epochs)
        report(label, run.model, [run], rows, judged)


if __name__ == "__main__":
    main()
