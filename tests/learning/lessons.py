"""What the tests of learning share: rules with their options, the machines that they serve, and rows to learn from."""

from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import DTypeLike, PyTree

from boltzflow.errors import InputError
from boltzflow.learning.contract import Examples, Rule, RuleState, Step
from boltzflow.learning.rules import CD, MPF, PCD, VPF, Pseudolikelihood
from boltzflow.machine.stack import Model, Stack, as_stack
from machines import MACHINES

KEY = jax.random.key(3)

RULES: Mapping[str, Rule] = {
    "vpf": VPF(),
    "vpf per batch": VPF(e_step="batch"),
    "vpf two completions": VPF(completions=2),
    "vpf cold and swept": VPF(temperature=0.5, sweeps=2),
    "vpf by gibbs": VPF(method="gibbs", sweeps=2),
    "vpf carried": VPF(method="gibbs", carry=True),
    "vpf by mean field": VPF(method="mean-field", sweeps=3),
    "cd": CD(),
    "cd-3": CD(steps=3),
    "pcd": PCD(n_chains=5),
    "mpf": MPF(),
    "pseudolikelihood": Pseudolikelihood(),
}


def serves(rule: Rule, model: Model) -> bool:
    """The rule takes the model's layout."""
    try:
        rule.check(model.layout)
    except InputError:
        return False
    return True


PAIRS = [(name, kind) for name in RULES for kind in MACHINES if serves(RULES[name], MACHINES[kind]())]
"""Every rule with every machine that it serves."""

A_MACHINE_EACH = [
    ("vpf", "rbm_3_2"),
    ("vpf per batch", "rbm_3_2"),
    ("vpf two completions", "rbm_3_2"),
    ("vpf cold and swept", "lateral_3_3"),
    ("vpf by gibbs", "rbm_3_2"),
    ("vpf carried", "rbm_3_2"),
    ("vpf by mean field", "rbm_3_2"),
    ("cd", "rbm_3_2"),
    ("cd-3", "two_coupled"),
    ("pcd", "rbm_3_2"),
    ("mpf", "visible_graph"),
    ("pseudolikelihood", "visible_6"),
]
"""Every rule once, where a compiled program for every pair would take too long."""


def as_examples(visible: np.ndarray, weights: np.ndarray | None = None) -> Examples:
    """Rows of bits, weighted equally unless told otherwise."""
    places = jnp.arange(len(visible))
    weights = np.full(len(visible), 1 / len(visible)) if weights is None else weights
    return Examples(jnp.asarray(visible, bool), places, places, jnp.asarray(weights), len(visible))


def coin_rows(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    """Rows of coin flips."""
    return np.random.default_rng(seed).integers(0, 2, (n_rows, n_columns)).astype(float)


def some_examples(model: Model) -> Examples:
    """Six rows of coin flips with uneven weights, of the model's type."""
    weights = np.arange(1, 7, dtype=model.dtype) / 21
    return as_examples(coin_rows(6, model.layout.n_visible), weights.astype(model.dtype))


def small_stack(dtype: DTypeLike = jnp.float64) -> Stack:
    """Two pairs over 2-2-2, with couplings inside both hidden layers."""
    stack = as_stack(MACHINES["deep_2_2_2_lateral"]())
    return jax.tree.map(lambda leaf: leaf.astype(dtype), stack)


def picked(data: Examples, places: np.ndarray) -> Examples:
    """Some rows of the examples, in the order named."""
    return jax.tree.map(lambda leaf: leaf[places], data)


@partial(jax.jit, static_argnums=0)
def begun(rule: Rule, model: Model, data: Examples, key: jax.Array) -> RuleState:
    """The rule's state at the begin of the first epoch."""
    return rule.begin_epoch(model, rule.init(model, data, key=key), data, key=key)


@partial(jax.jit, static_argnums=0)
def updated(rule: Rule, model: Model, rule_state: RuleState, batch: Examples, key: jax.Array) -> Step:
    """One update, compiled."""
    return rule.update(model, rule_state, batch, key=key)


def bytes_of(tree: PyTree) -> list[bytes]:
    """All numbers of a pytree, bit by bit."""
    leaves = (jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in _leaves(tree))
    return [np.asarray(leaf).tobytes() for leaf in leaves]


def _leaves(tree: PyTree) -> list[jax.Array]:
    return jax.tree.leaves(jax.tree.map(jnp.asarray, tree))


def all_close(found: PyTree, expected: PyTree) -> None:
    """Two pytrees are equal up to rounding in doubles."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for leaf, other in zip(_leaves(found), _leaves(expected), strict=True):
        np.testing.assert_allclose(leaf, other, rtol=1e-10, atol=1e-12)
