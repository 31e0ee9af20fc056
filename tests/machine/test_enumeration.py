"""Small machines exactly: partition function, laws, generator and kernels, against brute force on every machine."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.enumeration import (
    all_states,
    block_kernel,
    generator,
    hamming_distances,
    log_partition,
    marginals,
    one_flip,
    probabilities,
    sweep_kernel,
    visible_probabilities,
)
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from oracles import close

TEMPERATURES = pytest.mark.parametrize("inverse_temperature", [1.0, 0.4])
CONNECTIVITIES = {"one flip": lambda d: d == 1, "pairs of flips": lambda d: d == 2, "all flips": lambda d: d >= 1}
CONNECTED = pytest.mark.parametrize("connectivity", CONNECTIVITIES)

Blocks = list[tuple[int, np.ndarray | None]]


@jax.jit
def laws(machine: Machine, inverse_temperature: float) -> dict[str, jax.Array]:
    return {
        "log_partition": log_partition(machine, inverse_temperature),
        "probabilities": probabilities(machine, inverse_temperature),
        "visible_probabilities": visible_probabilities(machine, inverse_temperature),
        "marginals": jnp.concatenate(marginals(machine, inverse_temperature)),
    }


def connected(machine: Machine, connectivity: str) -> np.ndarray:
    return CONNECTIVITIES[connectivity](oracles.distances(machine.layout.n_units))


@jax.jit
def generators(machine: Machine) -> dict[str, jax.Array]:
    return {name: generator(machine, connected(machine, name)) for name in CONNECTIVITIES}


@partial(jax.jit, static_argnames="blocks")
def kernels(machine: Machine, blocks: Callable[[Layout], Blocks], inverse_temperature: float) -> list[jax.Array]:
    """The kernel of each block, and that of one after the other."""
    chosen = blocks(machine.layout)
    each = [block_kernel(machine, layer, units, inverse_temperature) for layer, units in chosen]
    return [*each, sweep_kernel(machine, chosen, inverse_temperature)]


def layer_blocks(layout: Layout) -> Blocks:
    """All units, layer by layer; the last unit of each layer on its own, so that blocks inside layers are seen too."""
    last = [(layer, np.array([width - 1])) for layer, width in enumerate(layout.widths)]
    return [*((layer, None) for layer in range(len(layout.widths))), *last]


def unit_blocks(layout: Layout) -> Blocks:
    """Every unit on its own."""
    return [(layer, np.array([unit])) for layer, width in enumerate(layout.widths) for unit in range(width)]


def outside(layout: Layout, layer: int, units: np.ndarray | None) -> np.ndarray:
    """All states without the units of a block."""
    columns = np.arange(layout.widths[layer]) if units is None else units
    return np.delete(oracles.bits(layout.n_units), layout.offsets[layer] + columns, axis=1)


def test_states_are_counted_in_binary_with_the_first_visible_unit_highest(machine):
    np.testing.assert_array_equal(oracles.whole(all_states(machine.layout)), oracles.bits(machine.layout.n_units))


@TEMPERATURES
def test_log_partition(machine, inverse_temperature):
    close(laws(machine, inverse_temperature)["log_partition"], oracles.log_partition(machine, inverse_temperature))


@TEMPERATURES
def test_probabilities(machine, inverse_temperature):
    close(laws(machine, inverse_temperature)["probabilities"], oracles.law(machine, inverse_temperature))


@TEMPERATURES
def test_visible_probabilities_sum_the_hidden_units_out(machine, inverse_temperature):
    joint = oracles.law(machine, inverse_temperature).reshape(2**machine.layout.n_visible, -1)
    close(laws(machine, inverse_temperature)["visible_probabilities"], joint.sum(axis=1))


@TEMPERATURES
def test_marginals_are_the_chances_of_each_unit_to_be_on(machine, inverse_temperature):
    expected = oracles.law(machine, inverse_temperature) @ oracles.bits(machine.layout.n_units)
    close(laws(machine, inverse_temperature)["marginals"], expected)


@pytest.mark.parametrize("machine", ["masked_graph"], indirect=True)
def test_temperature_is_one_unless_told_otherwise(machine):
    expected = laws(machine, 1.0)
    close(log_partition(machine), expected["log_partition"])
    close(probabilities(machine), expected["probabilities"])
    close(visible_probabilities(machine), expected["visible_probabilities"])
    close(np.concatenate(marginals(machine)), expected["marginals"])


def test_distances_between_states_count_bits_that_differ():
    np.testing.assert_array_equal(hamming_distances(5), oracles.distances(5))
    np.testing.assert_array_equal(one_flip(5), oracles.distances(5) == 1)


@CONNECTED
def test_generator_entry_by_entry(machine, connectivity):
    close(generators(machine)[connectivity], oracles.generator(machine, connected(machine, connectivity)))


@pytest.mark.parametrize("machine", ["rbm_3_2", "visible_graph"], indirect=True)
def test_generator_flips_one_unit_unless_told_otherwise(machine):
    close(generator(machine), oracles.one_flip_generator(machine))


@pytest.mark.parametrize("machine", ["rbm_3_2", "visible_graph"], indirect=True)
def test_generator_makes_nothing_of_a_state_connected_to_itself(machine):
    distances = oracles.distances(machine.layout.n_units)
    close(generator(machine, distances >= 0), generator(machine, distances >= 1))


@CONNECTED
def test_generator_keeps_probability_in_detailed_balance_with_the_law(machine, connectivity):
    rates = np.asarray(generators(machine)[connectivity])
    flow = rates * oracles.law(machine)
    close(flow, flow.T)
    close(rates.sum(axis=0), 0.0)
    close(flow.sum(axis=1), 0.0)


def test_the_law_is_the_only_one_that_single_flips_leave_alone(machine):
    close(oracles.stationary(np.asarray(generators(machine)["one flip"])), oracles.law(machine))


@TEMPERATURES
def test_block_kernel_draws_a_block_from_its_law_given_the_rest(machine, inverse_temperature):
    law, found = oracles.law(machine, inverse_temperature), kernels(machine, layer_blocks, inverse_temperature)
    for kernel, (layer, units) in zip(found[:-1], layer_blocks(machine.layout), strict=True):
        rest = outside(machine.layout, layer, units)
        agree = (rest[:, None] == rest).all(axis=2)
        expected = np.where(agree, law[:, None], 0.0) / (agree @ law)
        close(kernel, expected)


@TEMPERATURES
def test_kernel_of_one_unit_has_odds_of_the_energy_difference(machine, inverse_temperature):
    n_units, energies = machine.layout.n_units, oracles.energies(machine)
    states = np.arange(2**n_units)
    for unit, kernel in enumerate(map(np.asarray, kernels(machine, unit_blocks, inverse_temperature)[:-1])):
        other = oracles.flipped(n_units, unit)
        odds = np.exp(inverse_temperature * (energies - energies[other]))
        close(kernel[other, states] / kernel[states, states], odds)


@TEMPERATURES
@pytest.mark.parametrize("blocks", [layer_blocks, unit_blocks])
def test_sweep_leaves_the_law_alone_and_loses_no_probability(machine, blocks, inverse_temperature):
    kernel = np.asarray(kernels(machine, blocks, inverse_temperature)[-1])
    law = oracles.law(machine, inverse_temperature)
    close(kernel @ law, law)
    close(kernel.sum(axis=0), 1.0)
    assert kernel.min() >= 0


def test_sweep_over_every_unit_has_no_other_law(machine):
    kernel = np.asarray(kernels(machine, unit_blocks, 1.0)[-1])
    assert scipy.linalg.null_space(kernel - np.eye(len(kernel))).shape[1] == 1


@pytest.mark.parametrize("machine", ["rbm_3_2", "visible_6"], indirect=True)
def test_sweep_updates_the_first_block_first(machine):
    *each, swept = map(np.asarray, kernels(machine, unit_blocks, 1.0))
    close(swept, np.linalg.multi_dot(each[::-1]))
    assert np.abs(swept - np.linalg.multi_dot(each)).max() > 1e-3


@pytest.mark.parametrize(
    "function",
    [lambda machine: all_states(machine.layout), log_partition, probabilities, visible_probabilities, marginals],
    ids=["all_states", "log_partition", "probabilities", "visible_probabilities", "marginals"],
)
def test_states_of_21_units_are_refused(function):
    with pytest.raises(InputError, match=r"the states of 21 units cannot .*2\^21 states; the limit is 20 units\.$"):
        function(bf.rbm(14, 7))


@pytest.mark.parametrize(
    "function",
    [
        lambda machine: one_flip(machine.layout.n_units),
        generator,
        lambda machine: block_kernel(machine, 0),
        lambda machine: sweep_kernel(machine, [(0, None), (1, None)]),
        lambda machine: sweep_kernel(machine, []),
    ],
    ids=["one_flip", "generator", "block_kernel", "sweep_kernel", "empty sweep_kernel"],
)
def test_matrices_over_pairs_of_states_are_refused_above_12_units(function):
    with pytest.raises(InputError, match=r"of 13 units cannot .*2\^13 states; the limit is 12 units\.$"):
        function(bf.rbm(10, 3))


NONSENSE = {
    "connectivity of other states": (lambda m: generator(m, one_flip(2)), r"connected .*\(8, 8\); got shape \(4, 4\)"),
    "one-way connectivity": (lambda m: generator(m, np.triu(np.ones((8, 8), bool), 1)), r"connected .*symmetric"),
    "no such layer": (lambda m: block_kernel(m, 2), r"layer .*0 to 1; got 2"),
    "no such unit": (lambda m: block_kernel(m, 0, np.array([0, 2])), r"layer 0 has 2 units.*got 2"),
    "unit before the first": (lambda m: block_kernel(m, 1, np.array([-1])), r"layer 1 has 1 unit.*got -1"),
}


@pytest.mark.parametrize(("call", "sentence"), NONSENSE.values(), ids=NONSENSE)
def test_what_no_matrix_over_states_can_mean_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(bf.rbm(2, 1))


def test_enumeration_is_exact_where_exponentials_of_the_energies_would_overflow():
    machine = bf.graph([(0, 1)], couplings=[-3000.0], biases=[1000.0, 1001.0], dtype=jnp.float64)
    close(log_partition(machine), 1001.0 + np.log1p(np.exp(-1.0)))
