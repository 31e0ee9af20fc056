"""Seconds an epoch of 50,000 MNIST digits for the stack 784-196-196-64, plain and lateral, and the speed of ordered sweeps.

    python benchmarks/deep.py [--data-dir DIR] [--repeats 5]

Compiling is left out. Without MNIST, noise of the same shape is used. Run it on an idle machine.
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from epochs import data

import boltzflow as bf
from boltzflow.sampling.ordered import draw_in_blocks, draw_in_order
from boltzflow.sampling.uniforms import Purpose, stream

WIDTHS = (784, 196, 196, 64)
ROWS, UNITS = 50_000, 196


def report(label, seconds, unit="s"):
    print(
        f"{label:<34} {statistics.median(seconds):8.3f} {unit} ({min(seconds):.3f} to {max(seconds):.3f})", flush=True
    )


def seconds_of_epochs(rows, repeats, *, lateral):
    order = "authors" if lateral else "algorithm-1"
    run = bf.train(
        bf.stack(*WIDTHS, lateral=lateral), rows, rule="vpf", rule_options={"order": order}, epochs=repeats + 1
    )
    return [record.seconds for record in run.history[1:]]


def seconds_of_sweeps(sweep, repeats):
    """One ordered sweep over 196 coupled units of 50,000 states."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.normal(0, 0.3, (UNITS, UNITS)), 1)
    couplings = jnp.asarray(upper + upper.T, jnp.float32)
    external = jnp.asarray(rng.normal(size=(ROWS, UNITS)), jnp.float32)
    states = jnp.asarray(rng.random((ROWS, UNITS)) < 0.3, jnp.float32)
    draws = stream(jax.random.key(0), Purpose.COMPLETE, jnp.arange(ROWS))
    compiled = jax.jit(sweep)
    compiled(couplings, external, states, draws).block_until_ready()
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        compiled(couplings, external, states, draws).block_until_ready()
        found.append(time.perf_counter() - began)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the MNIST files; else BOLTZFLOW_DATA")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = data(options.data_dir)
    report("epoch, plain stack", seconds_of_epochs(rows, options.repeats, lateral=False))
    report("epoch, lateral stack", seconds_of_epochs(rows, options.repeats, lateral=True))
    for label, sweep in (("in order", draw_in_order), ("in blocks", draw_in_blocks)):
        seconds = seconds_of_sweeps(sweep, options.repeats)
        report(f"sweep {label}", seconds)
        rates = [ROWS * UNITS / each / 1e6 for each in seconds]
        report(f"sweep {label}, unit updates", rates, "million a second")


if __name__ == "__main__":
    main()
