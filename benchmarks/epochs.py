"""Seconds an epoch of 50,000 MNIST digits for RBM(196), beside one product of matrices on the same cores.

    python benchmarks/epochs.py [--data-dir DIR] [--repeats 6] [--peers]

Compiling is left out (the first epoch is dropped); the median and the range of the others are printed. Without MNIST, noise of
the same shape is used: the arithmetic does not look at the values. Run it on an idle machine.
"""

import argparse
import json
import platform
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

import boltzflow as bf

RULES = ("vpf", "cd", "cd-10", "pcd")
SHAPE = (50_000, 784, 196)
PRODUCTS = {"vpf": 4, "cd": 5}
"""Matrix products of batch × 784 × 196 in one step: VPF has two for the fields and two for the gradient."""


def data(folder: str | None) -> np.ndarray:
    try:
        return bf.data.mnist(folder).train[: SHAPE[0]] > 0.5
    except bf.InputError as reason:
        print(f"noise instead of MNIST: {reason}")
        return np.random.default_rng(0).random(SHAPE[:2]) < 0.13


def seconds_of_epochs(rule: str, rows: np.ndarray, repeats: int) -> list[float]:
    run = bf.train(bf.rbm(*SHAPE[1:]), rows, rule=rule, epochs=repeats + 1)
    return [record.seconds for record in run.history[1:]]


def seconds_of_peer(rows: np.ndarray, repeats: int) -> list[float]:
    """scikit-learn's BernoulliRBM: PCD-1 with as many chains as a batch has rows."""
    from sklearn.neural_network import BernoulliRBM

    peer = BernoulliRBM(SHAPE[2], learning_rate=0.01, batch_size=40, n_iter=1, random_state=0)
    table, found = rows.astype(np.float32), []
    for _ in range(repeats):
        began = time.perf_counter()
        peer.fit(table)
        found.append(time.perf_counter() - began)
    return found


def gflops_of_product(n: int = 2048) -> float:
    """The machine's own speed at one dense float32 product."""
    a = jnp.ones((n, n), jnp.float32)
    product = jax.jit(jnp.matmul)
    product(a, a).block_until_ready()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        product(a, a).block_until_ready()
        times.append(time.perf_counter() - began)
    return 2 * n**3 / min(times) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the MNIST files; else BOLTZFLOW_DATA")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--peers", action="store_true", help="also scikit-learn's BernoulliRBM")
    options = parser.parse_args()
    rows = data(options.data_dir)
    timings = {rule: seconds_of_epochs(rule, rows, options.repeats) for rule in RULES}
    if options.peers:
        timings["BernoulliRBM (scikit-learn)"] = seconds_of_peer(rows, min(3, options.repeats))
    print(f"{'rule':<28} {'s/epoch':>8} {'least':>8} {'most':>8} {'GFLOP/s':>8}")
    for rule, seconds in timings.items():
        work = 2 * PRODUCTS[rule] * SHAPE[0] * SHAPE[1] * SHAPE[2] / 1e9 if rule in PRODUCTS else None
        middle = statistics.median(seconds)
        rate = f"{work / middle:8.0f}" if work else f"{'':>8}"
        print(f"{rule:<28} {middle:8.3f} {min(seconds):8.3f} {max(seconds):8.3f} {rate}")
    print(f"one 2048³ product: {gflops_of_product():.0f} GFLOP/s")
    versions = {"python": platform.python_version(), "jax": jax.__version__, "device": jax.devices()[0].device_kind}
    print(json.dumps(versions))


if __name__ == "__main__":
    main()
