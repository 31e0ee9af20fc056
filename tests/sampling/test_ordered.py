"""Ordered sweeps in blocks draw what unit by unit sweeps draw, and these draw from the probabilities of Eq. 5."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from boltzflow.machine.machine import Machine, layer_fields
from boltzflow.sampling import ordered
from boltzflow.sampling.ordered import Hold, draw_in_blocks, draw_in_order
from boltzflow.sampling.uniforms import Stream
from deep_oracles import numbers, units_of

CLOSE_CALL = 1e-6
"""Where a uniform is nearer than this to its probability, rounding of a field in float32 may decide."""

KEY = jax.random.key(11)
in_order, in_blocks = jax.jit(draw_in_order), jax.jit(draw_in_blocks)


class Setting:
    """Couplings inside a layer, what else its units hear, the states before the sweep, and what is held."""

    def __init__(self, n_rows: int, n_units: int, dtype: object = jnp.float64, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        upper = np.triu(draw.normal(size=(n_units, n_units)) / np.sqrt(n_units), 1)
        self.couplings = jnp.asarray(upper + upper.T, dtype)
        self.external = jnp.asarray(draw.normal(size=(n_rows, n_units)), dtype)
        self.states = jnp.asarray(draw.integers(0, 2, (n_rows, n_units)), dtype)
        self.stream = Stream(KEY, jnp.asarray(draw.permutation(n_rows) + 5))
        held = jnp.asarray(draw.random((n_rows, n_units)) < 0.3)
        self.hold: Hold = (held, jnp.asarray(draw.integers(0, 2, (n_rows, n_units)), dtype))

    def drawn(self, draw: object, beta: float = 1.0, hold: bool = False) -> np.ndarray:
        held = self.hold if hold else None
        return np.asarray(draw(self.couplings, self.external, self.states, self.stream, beta, held))

    def margins(self, drawn: np.ndarray, beta: float = 1.0) -> np.ndarray:
        """u − p for every unit, p in doubles from the units before it as drawn and those after it as they were."""
        w, before = np.asarray(self.couplings, np.float64), np.asarray(self.states, np.float64)
        z = drawn @ np.triu(w, 1) + before @ np.tril(w, -1) + np.asarray(self.external, np.float64)
        uniforms = self.stream.uniforms(jnp.arange(w.shape[0]))
        return np.asarray(uniforms, np.float64) - oracles.sigmoid(beta * z)


def disagreements(setting: Setting, plain: np.ndarray, other: np.ndarray, beta: float = 1.0) -> tuple[int, float]:
    """In how many rows the two draws differ, and the largest distance of u from p where they first do."""
    rows = np.flatnonzero((plain != other).any(axis=1))
    first = (plain != other)[rows].argmax(axis=1)
    return len(rows), np.abs(setting.margins(plain, beta)[rows, first]).max(initial=0.0)


MANY = (8000, 61)
SHAPES = [(3, 1), (5, 14), (1, 29), (1000, 3), (2501, 31)]
"""One unit, one row, whole blocks and chunks, one more than these, and neither."""


@pytest.mark.parametrize(("n_rows", "n_units"), SHAPES)
def test_in_doubles_blocks_draw_exactly_what_single_units_draw(n_rows, n_units):
    setting = Setting(n_rows, n_units)
    for beta in (1.0, 0.3, 4.0):
        plain, blocked = (setting.drawn(draw, beta) for draw in (in_order, in_blocks))
        np.testing.assert_array_equal(blocked, plain)


@pytest.mark.parametrize(("n_rows", "n_units"), [(1001, 15)])
def test_in_doubles_units_that_are_held_are_held_in_both_forms(n_rows, n_units):
    setting = Setting(n_rows, n_units, seed=1)
    held, values = map(np.asarray, setting.hold)
    plain, blocked, free = (
        setting.drawn(*how) for how in ((in_order, 0.5, True), (in_blocks, 0.5, True), (in_order, 0.5))
    )
    np.testing.assert_array_equal(blocked, plain)
    np.testing.assert_array_equal(plain[held], values[held])
    assert (plain != free)[~held].any()


@pytest.mark.parametrize(("block", "rows"), [(1, 1), (3, 7), (50, 23)])
def test_the_sizes_of_blocks_and_chunks_change_nothing(monkeypatch, block, rows):
    setting = Setting(23, 10)
    plain = setting.drawn(in_order)
    monkeypatch.setattr(ordered, "BLOCK", block)
    monkeypatch.setattr(ordered, "ROWS", rows)
    np.testing.assert_array_equal(setting.drawn(jax.jit(lambda *given: draw_in_blocks(*given))), plain)


@pytest.mark.parametrize(("beta", "hold"), [(1.0, False), (0.5, True)])
def test_in_single_precision_draws_differ_only_where_a_uniform_is_within_a_millionth_of_its_probability(beta, hold):
    setting = Setting(*MANY, jnp.float32)
    plain, blocked = (setting.drawn(draw, beta, hold) for draw in (in_order, in_blocks))
    n_rows, distance = disagreements(setting, plain, blocked, beta)
    assert distance <= CLOSE_CALL
    assert n_rows < 10, "488,000 draws, each within reach with a chance of 2e-6: ten are a matter of 1 in 10⁷"


def test_a_draw_that_was_decided_by_rounding_is_no_disagreement_and_any_other_is():
    """The check itself: one row is changed where u is nearest to p, then another where it is not."""
    setting = Setting(*MANY, jnp.float32)
    plain = setting.drawn(in_order)
    margins = np.abs(setting.margins(plain))
    nearest, far = np.unravel_index(margins.argmin(), margins.shape), (17, 3)
    for place, allowed in ((nearest, True), (far, False)):
        other = plain.copy()
        other[place] = 1 - other[place]
        n_rows, distance = disagreements(setting, plain, other)
        assert (n_rows, distance <= CLOSE_CALL) == (1, allowed)


def forgotten_inside(couplings: jax.Array, *rest: object) -> jax.Array:
    """Units of a block do not hear each other's new states, nor their old ones."""
    block = jnp.arange(couplings.shape[0]) // ordered.BLOCK
    return in_blocks(jnp.where(block[:, None] == block[None], 0.0, couplings), *rest)


def forgotten_between(couplings: jax.Array, *rest: object) -> jax.Array:
    block = jnp.arange(couplings.shape[0]) // ordered.BLOCK
    return in_blocks(jnp.where(block[:, None] == block[None], couplings, 0.0), *rest)


def from_the_end(couplings: jax.Array, external: jax.Array, states: jax.Array, *rest: object) -> jax.Array:
    return in_blocks(couplings[::-1, ::-1], external[:, ::-1], states[:, ::-1], *rest)[:, ::-1]


def next_rows_uniforms(
    couplings: jax.Array, external: jax.Array, states: jax.Array, stream: Stream, *rest
) -> jax.Array:
    return in_blocks(couplings, external, states, Stream(stream.key, stream.examples + 1), *rest)


def a_little_hotter(
    couplings: jax.Array, external: jax.Array, states: jax.Array, stream: Stream, beta, hold
) -> jax.Array:
    return in_blocks(couplings, external, states, stream, 0.999 * beta, hold)


@pytest.mark.parametrize(
    "bug", [forgotten_inside, forgotten_between, from_the_end, next_rows_uniforms, a_little_hotter]
)
def test_a_blocked_sweep_with_a_planted_bug_is_caught(bug):
    setting = Setting(*MANY, jnp.float32)
    n_rows, distance = disagreements(setting, setting.drawn(in_order), setting.drawn(bug))
    assert n_rows > 10
    assert distance > CLOSE_CALL


class Given(Stream):
    """Uniforms as they were written down."""

    table: jax.Array

    def uniforms(self, units: jax.Array) -> jax.Array:
        return self.table[:, units]


LATERAL = [
    ("lateral_3_3", 0),
    ("lateral_3_3", 1),
    ("deep_2_2_2_lateral", 1),
    ("deep_2_2_2_lateral", 2),
    ("visible_6", 0),
]


def conditionals(machine: Machine, layer: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """p_j of Eq. 5 on the way from one state to another: units before j are new, all others old."""
    own, w = list(units_of(machine.layout, layer)), oracles.couplings(machine)
    p, now = np.zeros((len(starts), len(own))), starts.copy()
    for j, unit in enumerate(own):
        p[:, j] = oracles.sigmoid(now @ w[:, unit] + oracles.biases(machine)[unit])
        now[:, unit] = ends[:, unit]
    return p


def starts_and_ends(machine: Machine, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Every state, with each thing that can become of a layer."""
    states, own = oracles.bits(machine.layout.n_units), list(units_of(machine.layout, layer))
    starts = np.repeat(states, 2 ** len(own), axis=0)
    ends = starts.copy()
    ends[:, own] = np.tile(oracles.bits(len(own)), (len(states), 1))
    return starts, ends


@pytest.mark.parametrize(("machine", "layer"), LATERAL, indirect=["machine"])
def test_each_unit_is_lit_exactly_where_its_uniform_is_below_the_probability_of_the_ordered_sweep(machine, layer):
    """From every state to every state, with uniforms a hair on the right side of each probability."""
    starts, ends = starts_and_ends(machine, layer)
    p, own = conditionals(machine, layer, starts, ends), list(units_of(machine.layout, layer))
    table = jnp.asarray(np.where(ends[:, own] == 1, p - 1e-12, p + 1e-12))
    states = oracles.layers(machine.layout, starts)
    external = layer_fields(machine, states, layer, silent=frozenset({layer}))
    within = jnp.asarray(oracles.couplings(machine)[np.ix_(own, own)])
    drawn = draw_in_order(within, external, states[layer], Given(KEY, jnp.arange(len(starts)), table))
    np.testing.assert_array_equal(drawn, ends[:, own])


@pytest.mark.parametrize(("machine", "layer"), LATERAL, indirect=["machine"])
def test_a_sweep_by_these_probabilities_leaves_the_law_given_all_other_layers_alone(machine, layer):
    starts, ends = starts_and_ends(machine, layer)
    p, own = conditionals(machine, layer, starts, ends), list(units_of(machine.layout, layer))
    chance = np.prod(np.where(ends[:, own] == 1, p, 1 - p), axis=1)
    law = oracles.law(machine)
    moved = np.bincount(numbers(ends), chance * law[numbers(starts)], minlength=len(law))
    oracles.close(moved, law)
