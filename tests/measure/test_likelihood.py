"""Likelihoods equal enumeration where they are exact; annealing is right on average, forwards and back, kernel by kernel."""

import re
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.builders import random_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.measure import annealing, likelihood, partition
from boltzflow.measure.annealing import Annealing, Path, annealed_layers, path_to, tempered
from boltzflow.measure.likelihood import gap_warning, log_unnormalised, mean_field_bound
from boltzflow.measure.summing import kept_layers, log_summed_out, other_layers
from boltzflow.sampling.sweeps import Block, update_block
from boltzflow.sampling.uniforms import Stream
from chance import assert_same_distribution, count_states
from deep_oracles import types_unchecked
from kernels import kernel_of
from machines import MACHINES

COUPLED_HIDDEN = ["deep_2_2_2", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph"]
SEVERAL_BLOCKS = ["visible_6", "lateral_3_3", "visible_graph", "masked_graph"]
"""Machines whose kept layers are drawn in several blocks, or unit by unit."""


def data_of(machine: Machine) -> np.ndarray:
    """Some rows, unlike what the machine would draw."""
    return np.random.default_rng(0).random((9, machine.layout.n_visible)) < 0.3


def visible_law(machine: Machine) -> np.ndarray:
    return oracles.law(machine).reshape(2**machine.layout.n_visible, -1).sum(axis=1)


def rbm_784(n_hidden: int) -> Machine:
    layout = bf.rbm(784, n_hidden).layout
    return random_machine(layout, scale=0.1 * float(np.sqrt(784 * n_hidden)), bias_scale=0.5, seed=0)


def stiff_rbm() -> Machine:
    """Couplings so strong that a wrong order of drawing shows."""
    machine = MACHINES["rbm_3_2"]()
    return Machine(machine.layout, tuple(4 * w for w in machine.couplings), machine.biases)


# What is kept and what is summed out


def apart(layout: Layout, rest: tuple[int, ...]) -> bool:
    return not any(wiring.layers <= set(rest) for wiring in layout.wirings)


def test_no_two_units_that_are_summed_out_are_coupled_and_no_fewer_could_be_kept(machine):
    layout = machine.layout
    rest = other_layers(layout, kept_layers(layout))
    layers = range(len(layout.widths))
    others = [some for n in range(len(layers) + 1) for some in combinations(layers, n) if apart(layout, some)]
    assert rest in others
    assert sum(layout.widths[k] for k in rest) == max(sum(layout.widths[k] for k in some) for some in others)


def test_chains_of_a_machine_with_independent_hidden_units_live_on_the_visible_ones():
    assert annealed_layers(bf.rbm(3, 5).layout) == annealed_layers(bf.rbm(5, 3).layout) == (0,)
    assert annealed_layers(bf.deep(5, 3, 4).layout) == (1,)
    assert kept_layers(bf.rbm(5, 3).layout) == (1,)
    assert kept_layers(bf.deep(5, 3, 4, lateral=(True, False)).layout) == (1,)
    assert kept_layers(bf.deep(5, 3, 4, 6).layout, (0,)) == (0, 2)


@pytest.mark.parametrize("choose", [kept_layers, annealed_layers])
def test_summed_out_is_the_sum_over_the_other_units(machine, choose):
    layout, kept = machine.layout, choose(machine.layout)
    states = oracles.bits(layout.n_units)
    found = log_summed_out(machine, oracles.layers(layout, states), kept)
    columns = [layout.offsets[k] + unit for k in kept for unit in range(layout.widths[k])]
    same = (states[:, None, columns] == states[None, :, columns]).all(axis=2)
    np.testing.assert_allclose(found, np.log(same @ np.exp(-oracles.energies(machine))), rtol=1e-10, atol=1e-10)


# What is exact


def test_log_z_is_that_of_enumeration(machine):
    found = bf.log_partition(machine)
    assert found.method == "exact"
    assert found.low == found.value == found.high
    np.testing.assert_allclose(found.value, oracles.log_partition(machine), rtol=1e-12)


def test_states_are_enumerated_in_parts_as_they_are_together(monkeypatch):
    machine = MACHINES["visible_6"]()
    monkeypatch.setattr("boltzflow.measure.summing._ROWS", 8)
    np.testing.assert_allclose(bf.log_partition(machine).value, oracles.log_partition(machine), rtol=1e-12)


def test_log_p_is_that_of_enumeration(machine, monkeypatch):
    x = oracles.bits(machine.layout.n_visible)
    monkeypatch.setattr(likelihood, "_NUMBERS", 100)
    expected = np.log(visible_law(machine))
    np.testing.assert_allclose(log_unnormalised(machine, x) - oracles.log_partition(machine), expected, rtol=1e-10)
    found = bf.log_likelihood(machine, x)
    np.testing.assert_allclose(found.mean, expected.mean(), rtol=1e-10)
    np.testing.assert_allclose(found.error, expected.std(ddof=1) / np.sqrt(len(x)), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose([found.low, found.high], found.mean + found.error * np.array([-1.96, 1.96]))
    assert found.kind == found.method == "exact"
    assert found.warning is None


def test_mean_field_lies_below_and_is_exact_for_independent_hidden_units(machine):
    x = oracles.bits(machine.layout.n_visible)
    exact, bound = log_unnormalised(machine, x), np.asarray(mean_field_bound(machine, jnp.asarray(x)))
    assert (bound <= exact + 1e-12).all()
    assert machine.layout.hidden_independent == np.allclose(bound, exact, rtol=0, atol=1e-12)


# The path


def mixed(path: Path, beta: float) -> Machine:
    """base + β (machine − base), parameter by parameter."""
    machine = path.machine
    couplings = tuple(beta * w for w in machine.couplings)
    biases = tuple((1 - beta) * b0[0] + beta * b for b, b0 in zip(machine.biases, path.base, strict=True))
    return Machine(machine.layout, couplings, biases)


@pytest.mark.parametrize(("old", "new"), [(0.0, 1.0), (0.5, 0.5001)])
def test_a_rise_is_the_difference_of_two_machines_on_the_path(machine, old, new):
    path = path_to(machine, data_of(machine))
    states = oracles.every_state(machine)
    low, high = (log_summed_out(mixed(path, beta), states, path.kept) for beta in (old, new))
    found = annealing.log_rise(path, states, jnp.asarray(old), jnp.asarray(new))
    np.testing.assert_allclose(found, high - low, rtol=1e-9, atol=1e-12)


def test_a_rise_of_softplus_keeps_its_digits_however_small_or_large():
    u, d = np.meshgrid(np.array([-90, -3, 0, 3, 90.0]), np.array([-200, -1, -1e-6, 0, 1e-6, 1, 200.0]))
    wide = u.astype(np.longdouble)
    plain = np.logaddexp(0, wide + d) - np.logaddexp(0, wide)
    expected = np.where(abs(d) < 2, np.log1p(np.expm1(np.clip(d, -2, 2)) / (1 + np.exp(-wide))), plain)
    found = annealing.softplus_rise(jnp.asarray(u), jnp.asarray(d))
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-10, atol=0)


def test_twenty_thousand_steps_in_single_precision_lose_nothing():
    """With all units summed out every chain has the same weight, so what is left is rounding."""
    layout = Layout((300,), ())
    machine = random_machine(layout, bias_scale=4.0, seed=0)
    base = (random_machine(layout, bias_scale=4.0, seed=1).biases[0][None, :],)
    draws = Stream(jax.random.key(0), jnp.arange(2))
    (found, _) = annealing.log_weights(Path(machine, base, ()), Annealing(20_000).betas(jnp.dtype("float32")), draws)
    exact, start = (np.logaddexp(0, np.asarray(b, np.float64)).sum() for b in (machine.biases[0], base[0]))
    np.testing.assert_allclose(found, exact - start, rtol=0, atol=2e-5 * max(exact, start) / 10)


# Chains, as products of kernels


def in_single_file(machine: Machine, plan: tuple[Block, ...]) -> list[Block]:
    """Units drawn in order as blocks of their own."""
    found: list[Block] = []
    for block in plan:
        units = range(machine.layout.widths[block.layer])
        alone = [Block(block.layer, (unit,)) for unit in (reversed(units) if block.backwards else units)]
        found += alone if block.in_order else [block]
    return found


def kernels_along(path: Path, plan: tuple[Block, ...], n_temperatures: int) -> list[np.ndarray]:
    betas = np.linspace(0, 1, n_temperatures + 1)[1:]
    blocks = in_single_file(path.machine, plan)
    return [kernel_of(tempered(path, jnp.asarray(beta)), blocks, beta) for beta in betas]


def densities_along(path: Path, n_temperatures: int) -> np.ndarray:
    states = oracles.every_state(path.machine)
    betas = np.linspace(0, 1, n_temperatures + 1)
    return np.exp([np.asarray(log_summed_out(mixed(path, beta), states, path.kept)) for beta in betas])


def base_law(path: Path) -> np.ndarray:
    return oracles.law(mixed(path, 0.0))


def log_base(path: Path) -> float:
    return oracles.log_partition(mixed(path, 0.0))


def mean_weight(path: Path, plan: tuple[Block, ...], n_temperatures: int = 3) -> float:
    """E w over forward chains, exactly."""
    f, v = densities_along(path, n_temperatures), base_law(path)
    for k, kernel in enumerate(kernels_along(path, plan, n_temperatures), start=1):
        v = kernel @ (v * f[k] / f[k - 1])
    return v.sum()


def annealed_law(path: Path, n_temperatures: int = 3) -> np.ndarray:
    """The law of all units at the end of a forward chain, the layers summed out drawn once more."""
    v = base_law(path)
    for kernel in kernels_along(path, annealing.forward_plan(path), n_temperatures):
        v = kernel @ v
    return kernel_of(path.machine, [Block(layer) for layer in path.rest]) @ v


def mean_reverse(path: Path, plan: tuple[Block, ...], n_temperatures: int = 3) -> np.ndarray:
    """E p̂(s) over backward chains from every state, exactly."""
    f, v = densities_along(path, n_temperatures), np.ones(2**path.machine.layout.n_units)
    for k, kernel in enumerate(kernels_along(path, plan, n_temperatures), start=1):
        v = kernel.T @ (v * f[k - 1] / f[k])
    return f[-1] * v / np.exp(log_base(path))


def of_kept(path: Path, law: np.ndarray) -> np.ndarray:
    """For every state the probability of its units in the layers kept."""
    layout, states = path.machine.layout, oracles.bits(path.machine.layout.n_units)
    columns = [layout.offsets[k] + unit for k in path.kept for unit in range(layout.widths[k])]
    return (states[:, None, columns] == states[None, :, columns]).all(axis=2) @ law


def test_the_mean_weight_is_the_ratio_of_partition_functions_with_three_temperatures_already(machine):
    path = path_to(machine, data_of(machine))
    expected = np.exp(oracles.log_partition(machine) - log_base(path))
    np.testing.assert_allclose(mean_weight(path, annealing.forward_plan(path)), expected, rtol=1e-9)


def test_it_would_not_be_if_the_kept_layers_were_drawn_first():
    path = path_to(stiff_rbm(), None)
    expected = np.exp(oracles.log_partition(path.machine) - log_base(path))
    assert abs(mean_weight(path, annealing.forward_plan(path)[::-1]) / expected - 1) > 0.02


def test_the_mean_of_backward_chains_is_the_chance_that_a_forward_chain_ends_there(machine):
    path = path_to(machine, data_of(machine))
    found = mean_reverse(path, annealing.backward_plan(path))
    np.testing.assert_allclose(found, of_kept(path, annealed_law(path)), rtol=1e-9)


@pytest.mark.parametrize("name", SEVERAL_BLOCKS)
def test_it_would_not_be_if_units_were_drawn_in_the_same_order_both_ways(name):
    path = path_to(MACHINES[name](), None)
    found = mean_reverse(path, annealing.forward_plan(path))
    assert np.abs(found / of_kept(path, annealed_law(path)) - 1).max() > 0.005


# Chains, as they are drawn

N = 100_000
DRAWS = Stream(jax.random.key(3), jnp.arange(N))


def drawn_in_order(machine: Machine, backwards: bool) -> np.ndarray:
    n = machine.layout.n_visible
    rows = np.tile(oracles.bits(n)[5], (N, 1))
    block = Block(0, in_order=True, backwards=backwards)
    return count_states(
        np.asarray(jax.jit(update_block, static_argnums=2)(machine, (jnp.asarray(rows),), block, DRAWS)[0])
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_units_are_drawn_from_the_first_to_the_last_or_back(backwards):
    machine = MACHINES["visible_6"]()
    forth, back = (
        kernel_of(machine, in_single_file(machine, (Block(0, in_order=True, backwards=turned),)))[:, 5]
        for turned in (False, True)
    )
    counts = drawn_in_order(machine, backwards)
    assert_same_distribution(counts, back if backwards else forth)
    with pytest.raises(AssertionError, match="χ²"):
        assert_same_distribution(counts, forth if backwards else back)


def assert_same_means(values: np.ndarray, expected: np.ndarray) -> None:
    """Six standard errors: 2e-9 for normal means. What is averaged is bounded, so thousands of it make one, even far out."""
    off = np.abs(values.mean(axis=1) - expected) / (values.std(axis=1) / np.sqrt(values.shape[1]) + 1e-12)
    assert off.max() < 6, f"a mean is {off.max():.1f} standard errors off"


def assert_mean_weight(path: Path, log_weights: np.ndarray) -> None:
    expected = np.exp(oracles.log_partition(path.machine) - log_base(path))
    assert_same_means(np.exp(log_weights)[None, :], np.array([expected]))


def test_weights_of_two_temperatures_are_right_on_average(monkeypatch):
    path, betas = path_to(stiff_rbm(), None), jnp.asarray([0.0, 0.5, 1.0])
    assert_mean_weight(path, np.asarray(annealing.log_weights(path, betas, DRAWS)))
    plan = annealing.forward_plan
    monkeypatch.setattr(annealing, "forward_plan", lambda path: plan(path)[::-1])
    wrong = jax.jit(lambda *args: annealing.log_weights.__wrapped__(*args))(path, betas, DRAWS)
    with pytest.raises(AssertionError, match="standard errors off"):
        assert_mean_weight(path, np.asarray(wrong))


def reverse_means(machine: Machine, n_temperatures: int, function=annealing.log_reverse_visible) -> np.ndarray:
    """Mean of p̂(x) over many backward chains from every visible state."""
    x = np.repeat(oracles.bits(machine.layout.n_visible), N // 2 // 2**machine.layout.n_visible, axis=0)
    path = path_to(machine, None)
    draws = Stream(jax.random.key(4), jnp.arange(len(x)))
    found = function(path, Annealing(n_temperatures).betas(machine.dtype), jnp.asarray(x), draws)
    return np.exp(np.asarray(found)).reshape(2**machine.layout.n_visible, -1)


@pytest.mark.parametrize("name", ["two_coupled", "rbm_3_2", "deep_2_2_2", "deep_2_2_2_lateral", "masked_graph"])
def test_backward_chains_are_right_on_average(name, monkeypatch):
    machine = MACHINES[name]()
    expected = annealed_law(path_to(machine, None)).reshape(2**machine.layout.n_visible, -1).sum(axis=1)
    values = reverse_means(machine, 3)
    np.testing.assert_allclose(values.mean(axis=1).sum(), 1.0, atol=0.02)
    assert_same_means(values, expected)
    monkeypatch.setattr(annealing, "backward_plan", lambda path: ())
    for inner in (annealing.log_reverse, annealing.log_reverse_visible):
        monkeypatch.setattr(annealing, inner.__wrapped__.__name__, jax.jit(lambda *a, f=inner.__wrapped__: f(*a)))
    with pytest.raises(AssertionError, match="standard errors off"):
        assert_same_means(reverse_means(machine, 3, annealing.log_reverse_visible), expected)


# The public functions


def test_annealing_finds_log_z(machine):
    """Log-weights vary by 0.1 or less at this length, their mean over 200 chains by 0.007."""
    found = bf.log_partition(machine, method="ais", data=data_of(machine), n_temperatures=1000, n_chains=200, seed=1)
    np.testing.assert_allclose(found.value, oracles.log_partition(machine), rtol=0, atol=0.04)
    assert found.low <= found.value <= found.high
    assert found.effective_samples > 150
    assert found.warning is None


def test_forward_and_reverse_enclose_the_truth_on_a_machine_of_784_by_16_units():
    machine = rbm_784(16)
    x = np.random.default_rng(0).random((20, 784)) < 0.5
    exact = bf.log_likelihood(machine, x)
    found = bf.log_likelihood(machine, x, method="ais", n_temperatures=500, n_chains=50, reverse_rows=20)
    assert (found.method, exact.method) == ("ais", "exact")
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=1.0)
    assert found.reverse.mean - 0.5 < exact.mean < found.reverse.mean + 3.0
    assert found.low < exact.mean < found.high


def test_the_same_seed_gives_the_same_estimate_and_another_seed_another():
    machine, x = MACHINES["lateral_3_3"](), oracles.bits(3)
    options = {"method": "ais", "n_temperatures": 5, "n_chains": 20, "reverse_rows": 4}
    first, again, other = (bf.log_likelihood(machine, x, **options, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.mean != other.mean
    assert first.reverse.mean != other.reverse.mean


def test_the_interval_of_log_z_widens_that_of_the_likelihood():
    machine, x = MACHINES["visible_6"](), oracles.bits(6)
    found = bf.log_likelihood(machine, x, method="ais", n_temperatures=5, n_chains=20)
    log_z = found.log_partition
    assert log_z.low < log_z.value < log_z.high
    np.testing.assert_allclose(found.low, found.mean - 1.96 * found.error - (log_z.high - log_z.value))
    np.testing.assert_allclose(found.high, found.mean + 1.96 * found.error + (log_z.value - log_z.low))


def test_one_row_has_no_error_and_its_interval_is_that_of_log_z():
    found = bf.log_likelihood(MACHINES["rbm_3_2"](), np.ones((1, 3)))
    assert np.isnan(found.error)
    assert found.low == found.mean == found.high


def test_grey_data_become_bits_by_a_threshold_or_a_draw():
    machine, grey = MACHINES["rbm_3_2"](), np.full((4000, 3), 0.7)
    lit = bf.log_likelihood(machine, np.ones((1, 3))).mean
    np.testing.assert_allclose(bf.log_likelihood(machine, grey).mean, lit)
    expected = np.prod(np.where(oracles.bits(3) == 1, 0.7, 0.3), axis=1) @ np.log(visible_law(machine))
    np.testing.assert_allclose(bf.log_likelihood(machine, grey, binarise="draw").mean, expected, atol=0.1)


@pytest.mark.parametrize(
    ("machine", "method", "begins"),
    [
        (bf.rbm(6, 3), "exact", "exact"),
        (bf.rbm(6, 3), "ais", "optimistic: annealing underestimates log Z"),
        (bf.deep(6, 13, 2, lateral=True), "exact", "a lower bound: mean field underestimates"),
        (bf.deep(6, 13, 2, lateral=True), "ais", "no bound: mean field underestimates log p*(x) and annealing log Z"),
        (bf.deep(6, 13, 2), "ais", "optimistic"),
    ],
)
def test_it_is_said_what_kind_of_number_it_is(machine, method, begins):
    found = bf.log_likelihood(machine, np.eye(6), method=method, n_temperatures=3, n_chains=10)
    assert found.kind.startswith(begins)
    assert begins in str(found)


def test_bfloat16_is_judged_in_single_precision():
    machine = bf.rbm(4, 3, dtype=jnp.bfloat16)
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), machine)
    assert bf.log_likelihood(machine, np.eye(4)).mean == bf.log_likelihood(wide, np.eye(4)).mean


# Warnings


def test_even_weights_count_as_many_and_one_large_weight_as_one():
    even = partition.from_weights(np.full(40, 700.0), 1.0, 0)
    assert (even.value, even.low, even.high) == pytest.approx((701.0,) * 3)
    assert even.effective_samples == pytest.approx(40)
    assert even.warning is None
    alone = partition.from_weights(np.r_[100.0, np.zeros(39)], 0.0, 0)
    assert alone.value == pytest.approx(100 - np.log(40))
    assert alone.effective_samples == pytest.approx(1)
    assert "the weights of 40 chains are worth 1.0 even ones" in alone.warning


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    chance = np.random.default_rng(0)
    found = [partition.from_weights(chance.normal(0, 0.5, 100) - 0.125, 0.0, seed) for seed in range(100)]
    assert 85 <= sum(each.low < 0 < each.high for each in found) <= 99


def test_estimates_that_disagree_are_pointed_out():
    forward = np.linspace(-110, -70, 50)
    assert gap_warning(forward, forward - 1.9) is None
    assert "forward and reverse estimate differ by 2.50 nats (-90.00 and -92.50)" in gap_warning(forward, forward - 2.5)
    assert "differ by -2.50 nats" in gap_warning(forward, forward + 2.5)
    assert gap_warning(forward, forward - 2.5 + np.resize([-30, 30], 50)) is None
    assert gap_warning(forward / 90, forward / 90 - 0.06) is not None


def test_a_machine_that_few_temperatures_cannot_reach_is_pointed_out():
    machine = random_machine(bf.rbm(60, 40).layout, scale=100.0, seed=0)
    found = bf.log_likelihood(machine, np.eye(60), n_temperatures=2, n_chains=50, reverse_rows=60)
    assert found.method == "ais"
    assert "raise n_temperatures" in found.log_partition.warning
    assert found.warning.startswith(found.log_partition.warning)


# Bad input

RBM = bf.rbm(3, 2)
ROWS = np.eye(3)
WRONG = {
    "a stack": (lambda: bf.log_likelihood(bf.stack(3, 2), ROWS), r"a stack has no joint law, so it cannot be given a"),
    "a stack's log Z": (
        lambda: bf.log_partition(bf.stack(3, 2)),
        r"use as_deep to join it to one machine, or one of its",
    ),
    "no machine": (lambda: bf.log_partition(3), r"expected a machine or a stack; got int"),
    "not finite": (
        lambda: bf.log_partition(jax.tree.map(lambda leaf: leaf + jnp.nan, RBM)),
        r"some couplings or biases are not finite, so there is no partition function",
    ),
    "a gap": (
        lambda: bf.log_likelihood(RBM, np.full((2, 3), np.nan)),
        r"a value is missing \(NaN\) in row 0, column 0",
    ),
    "a wrong width": (lambda: bf.log_likelihood(RBM, np.eye(4)), r"has 3 visible units, but the data have 4 columns"),
    "data of a wrong width": (lambda: bf.log_partition(RBM, data=np.eye(4)), r"3 visible units, but the data have 4"),
    "no rows": (lambda: bf.log_likelihood(RBM, np.zeros((0, 3))), r"data are empty"),
    "too large": (
        lambda: bf.log_partition(bf.rbm(30, 26), method="exact"),
        r"30-26 \(dense 0–1\) is a sum over 2\^26 states of 26 units, .* the limit is 25 units\. Choose method='ais'",
    ),
    "a method misspelt": (
        lambda: bf.log_likelihood(RBM, ROWS, method="exakt"),
        r"unknown method 'exakt': did you mean 'exact'\? known are ais, auto, exact",
    ),
    "no temperatures": (
        lambda: bf.log_partition(RBM, n_temperatures=0),
        r"n_temperatures must be a whole number, 1 or",
    ),
    "one chain": (lambda: bf.log_partition(RBM, n_chains=1), r"n_chains must be a whole number, 2 or more; got 1"),
    "a seed below zero": (lambda: bf.log_partition(RBM, seed=-1), r"seed must be a whole number from 0"),
    "rows below zero": (
        lambda: bf.log_likelihood(RBM, ROWS, reverse_rows=-1),
        r"reverse_rows must be a whole number, 0",
    ),
    "grey refused": (lambda: bf.log_likelihood(RBM, ROWS / 2, binarise=None), r"expected 0 or 1; 33\.3% of the values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_answered_in_a_sentence(name):
    call, sentence = WRONG[name]
    with types_unchecked(), pytest.raises(InputError, match=re.compile(sentence)):
        call()
