"""Three kinds of wiring with the same operations, each against the symmetric matrix that it stands for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from boltzflow.errors import InputError
from boltzflow.flow import flow_gradient, probability_flow, untied_gradient
from boltzflow.machine.builders import edges_between, zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, energy, free_energy, local_fields
from boltzflow.machine.wiring import Dense, Edges, Lateral
from oracles import close

WIDTHS = (4, 3)
WIRINGS = {
    "dense": Dense(0, 1, WIDTHS),
    "lateral": Lateral(0, 4),
    "edges between layers": Edges(0, 1, WIDTHS, np.array([0, 0, 2, 3]), np.array([0, 2, 1, 1])),
    "edges inside a layer": Edges(0, 0, (4, 4), np.array([0, 1, 1]), np.array([3, 2, 3])),
    "no edges": Edges(0, 1, WIDTHS, np.array([]), np.array([])),
}


@pytest.fixture(params=WIRINGS)
def wiring(request):
    return WIRINGS[request.param]


def values(seed: int) -> tuple[jnp.ndarray, ...]:
    """Numbers of any size for two layers, five rows."""
    draw = np.random.default_rng(seed).normal(size=(5, sum(WIDTHS)))
    return oracles.layers(Layout(WIDTHS, ()), draw)


def weights_and_matrix(wiring) -> tuple[jnp.ndarray, np.ndarray]:
    weights = jnp.asarray(np.random.default_rng(1).normal(size=wiring.weight_shape))
    return weights, oracles.as_matrix(Layout(WIDTHS, (wiring,)), [weights])


def stored(wiring, matrix: np.ndarray) -> np.ndarray:
    """The entries of a matrix over all units that belong to the wiring, lower unit first."""
    ones = [np.ones(wiring.weight_shape)]
    return np.where(oracles.one_way(Layout(WIDTHS, (wiring,)), ones) == 1, matrix, 0.0)


def placed(wiring, statistics) -> np.ndarray:
    """Statistics of the wiring as a matrix over all units, lower unit first."""
    return oracles.one_way(Layout(WIDTHS, (wiring,)), [statistics])


def columns_of(layer: int) -> slice:
    return slice(0, WIDTHS[0]) if layer == 0 else slice(WIDTHS[0], None)


def test_fields_are_states_times_the_symmetric_matrix(wiring):
    """All units of each layer, and some of them in any order."""
    weights, matrix = weights_and_matrix(wiring)
    choices = [(layer, units) for layer in wiring.layers for units in (None, [0], [2, 0], [0, 1, 2], [])]
    arrays = [(layer, None if units is None else np.array(units, dtype=int)) for layer, units in choices]
    listen = jax.jit(lambda y: [wiring.fields(weights, y, layer, units) for layer, units in arrays])
    for found, (layer, units) in zip(listen(values(2)), choices, strict=True):
        expected = (oracles.whole(values(2)) @ matrix)[:, columns_of(layer)]
        close(found, expected if units is None else expected[:, units])


def test_pair_statistics_sum_first_of_the_lower_unit_times_second_of_the_upper_unit(wiring):
    first, second = values(4), values(5)
    found = wiring.pair_statistics(first, second)
    assert found.shape == wiring.weight_shape
    close(placed(wiring, found), stored(wiring, oracles.whole(first).T @ oracles.whole(second)))


def test_tied_statistics_sum_both_directions(wiring):
    first, second = values(6), values(7)
    product = oracles.whole(first).T @ oracles.whole(second)
    close(placed(wiring, wiring.tied_statistics(first, second)), stored(wiring, product + product.T))


def test_number_of_couplings_counts_the_pairs(wiring):
    assert wiring.n_couplings == oracles.is_wired(Layout(WIDTHS, (wiring,))).sum() / 2


def test_statistics_of_a_lateral_block_leave_diagonal_and_below_at_zero():
    first, second = values(8), values(9)
    for found in (WIRINGS["lateral"].pair_statistics(first, second), WIRINGS["lateral"].tied_statistics(first, second)):
        np.testing.assert_array_equal(np.tril(found), 0.0)


def test_lateral_block_is_symmetric_whatever_lies_below_the_diagonal():
    found = Lateral(0, 4).symmetric(jnp.asarray(np.random.default_rng(10).normal(size=(4, 4))))
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0.0)


@pytest.mark.parametrize("machine", ["visible_6", "deep_2_2_2_lateral", "lateral_3_3"], indirect=True)
def test_nothing_reads_a_lateral_block_on_or_below_its_diagonal(machine):
    spoilt = tuple(
        jnp.asarray(w + 100 * np.tril(np.ones(w.shape))) if isinstance(wiring, Lateral) else w
        for wiring, w in zip(machine.layout.wirings, machine.couplings, strict=True)
    )
    states = oracles.every_state(machine)
    read = jax.jit(lambda m: (energy(m, states), local_fields(m, states), probability_flow(m, states)))
    found = read(Machine(machine.layout, spoilt, machine.biases))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(read(machine)), strict=True):
        np.testing.assert_array_equal(one, other)


def lowest_pair(machine: Machine) -> Machine:
    """The two lowest layers with the couplings between them."""
    layout = Layout(machine.layout.widths[:2], machine.layout.wirings[:1])
    return Machine(layout, machine.couplings[:1], machine.biases[:2])


@pytest.mark.parametrize(
    "function",
    [
        energy,
        local_fields,
        probability_flow,
        lambda machine, states: free_energy(lowest_pair(machine), states[0]),
        lambda machine, states: flow_gradient(machine, states, jnp.ones(2)),
        lambda machine, states: untied_gradient(machine, states, jnp.ones(2)),
    ],
    ids=["energy", "local_fields", "probability_flow", "free_energy", "flow_gradient", "untied_gradient"],
)
def test_nothing_larger_than_one_block_of_couplings_is_ever_computed(function):
    wirings = (Dense(0, 1, (40, 30)), Dense(1, 2, (30, 20)), Lateral(1, 30), Lateral(2, 20))
    machine = zero_machine(Layout((40, 30, 20), wirings), dtype=jnp.float64)
    states = tuple(jnp.zeros((2, width)) for width in machine.layout.widths)
    assert oracles.largest_intermediate(function, machine, states) <= 40 * 30


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("function", [energy, lambda m, y: flow_gradient(m, y, jnp.ones(1))], ids=["energy", "flow"])
def test_work_on_an_edge_list_grows_with_its_edges_alone(lower, function):
    """Twice the edges, twice the largest array; both far below the square of the 400 units."""
    pairs = np.random.default_rng(11).permutation(np.argwhere(np.triu(np.ones((200, 200)), 1)))

    def largest(n_edges: int) -> int:
        widths = (200, 200)
        edges = edges_between(lower, 1, widths, pairs[:n_edges, 0], pairs[:n_edges, 1])
        machine = zero_machine(Layout(widths, (edges,)), dtype=jnp.float64)
        return oracles.largest_intermediate(function, machine, tuple(jnp.zeros((1, width)) for width in widths))

    assert largest(2000) == 2 * largest(1000) <= 4000


def test_equal_edge_lists_are_equal_and_hash_equal():
    one, other = (Edges(0, 1, WIDTHS, np.array([0, 2]), np.array([1, 1])) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    "other",
    [
        Edges(0, 1, WIDTHS, np.array([0, 3]), np.array([1, 1])),
        Edges(0, 1, WIDTHS, np.array([0, 2]), np.array([1, 2])),
        Edges(0, 1, WIDTHS, np.array([0]), np.array([1])),
        Edges(0, 1, (4, 4), np.array([0, 2]), np.array([1, 1])),
        Edges(1, 2, WIDTHS, np.array([0, 2]), np.array([1, 1])),
        Dense(0, 1, WIDTHS),
    ],
)
def test_edge_lists_that_differ_anywhere_are_not_equal(other):
    assert Edges(0, 1, WIDTHS, np.array([0, 2]), np.array([1, 1])) != other


def test_an_edge_list_cannot_be_changed_after_it_was_made():
    rows = np.array([0, 2])
    edges = Edges(0, 1, WIDTHS, rows, np.array([1, 1]))
    rows[0] = 3
    assert edges.rows.tolist() == [0, 2]
    with pytest.raises(ValueError, match="read-only"):
        edges.columns[0] = 2


def test_edges_come_in_one_order_whatever_order_they_are_given_in():
    rows, columns = np.array([3, 0, 2, 1]), np.array([1, 2, 3, 0])
    order = np.array([2, 0, 3, 1])
    one, other = (edges_between(0, 0, (4, 4), rows[k], columns[k]) for k in (slice(None), order))
    assert one == other
    assert (one.rows < one.columns).all()


def edges(lower: int, upper: int, widths: tuple[int, int], rows: list[float], columns: list[float]) -> Edges:
    return Edges(lower, upper, widths, np.array(rows), np.array(columns))


IMPOSSIBLE = {
    "self-loop": (lambda: edges(0, 0, (4, 4), [0, 2], [1, 2]), "unit 2 .*coupled to itself.*no self-couplings"),
    "listed twice": (lambda: edges(0, 1, WIDTHS, [0, 1, 0], [2, 0, 2]), r"\(0, 2\) is listed 2 times.*once"),
    "listed twice inside": (lambda: edges(0, 0, (4, 4), [1, 1], [3, 3]), r"\(1, 3\) is listed 2 times.*once"),
    "listed both ways": (lambda: edges(0, 0, (4, 4), [1, 3], [3, 1]), r"\(3, 1\).* the smaller unit first: \(1, 3\)"),
    "larger unit first": (lambda: edges(0, 0, (4, 4), [0, 3], [1, 1]), r"\(3, 1\).* the smaller unit first: \(1, 3\)"),
    "beyond the layer": (lambda: edges(0, 1, WIDTHS, [0, 4], [1, 1]), r"unit 4 .*4 units"),
    "before the layer": (lambda: edges(0, 1, WIDTHS, [0, 1], [1, -1]), r"unit -1 .*3 units"),
    "unequal lengths": (lambda: edges(0, 1, WIDTHS, [0, 1], [1]), r"2 rows .*1 columns"),
    "not whole": (lambda: edges(0, 1, WIDTHS, [0.5], [1]), "whole numbers"),
    "a layer with itself": (lambda: Dense(0, 0, (4, 4)), r"layer 0 .*itself.*Lateral"),
    "upside down": (lambda: Dense(1, 0, (3, 3)), r"lower.* below .*upper.*1 and 0"),
    "edges upside down": (lambda: edges(1, 0, (3, 3), [0], [1]), "lower.* below .*upper.*1 and 0"),
}


@pytest.mark.parametrize(("make", "sentence"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_wiring_that_no_machine_can_have_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
