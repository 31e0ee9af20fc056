"""Energy, local fields and free energy, against brute force on every machine of the list."""

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
from boltzflow.machine.machine import (
    Machine,
    energy,
    free_energy,
    hidden_fields,
    layer_fields,
    local_fields,
    visible_part,
)
from boltzflow.machine.wiring import Dense, Edges, Lateral
from machines import MACHINES
from oracles import close, every_state, whole

energies_of, fields_of = jax.jit(energy), jax.jit(local_fields)


def coupled_data_independent_hidden() -> Machine:
    """Couplings among the visible units, none among the hidden ones."""
    layout = Layout((3, 2), (Dense(0, 1, (3, 2)), Lateral(0, 3)))
    return random_machine(layout, scale=2.0, bias_scale=0.5, seed=10, dtype=jnp.float64)


HIDDEN_INDEPENDENT = [
    *(MACHINES[name] for name in ("one_unit", "two_coupled", "visible_6", "rbm_3_2", "visible_graph", "zero_weights")),
    coupled_data_independent_hidden,
]
HIDDEN_COUPLED = [MACHINES[name] for name in ("deep_2_2_2", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph")]


def test_energy_counts_every_coupling_and_every_bias_once(machine):
    close(energies_of(machine, every_state(machine)), oracles.energies(machine))


def test_local_fields_hear_every_coupled_unit_and_the_bias(machine):
    close(whole(fields_of(machine, every_state(machine))), oracles.fields(machine))


def test_a_field_is_the_energy_saved_by_switching_its_unit_on(machine):
    states, n_units = every_state(machine), machine.layout.n_units
    energies, fields = np.asarray(energies_of(machine, states)), whole(fields_of(machine, states))
    for unit in range(n_units):
        on = whole(states)[:, unit] == 1
        close(energies[oracles.flipped(n_units, unit)][on] - energies[on], fields[on, unit])


def test_chosen_units_hear_what_they_hear_in_the_whole_layer(machine):
    chosen = [np.arange(width)[::-2] for width in machine.layout.widths]
    in_part = jax.jit(lambda m, y: [layer_fields(m, y, layer, units) for layer, units in enumerate(chosen)])
    states = every_state(machine)
    for found, fields, units in zip(in_part(machine, states), fields_of(machine, states), chosen, strict=True):
        close(found, np.asarray(fields)[:, units])


def test_a_silent_layer_is_heard_as_if_it_were_all_zeros(machine):
    states, layers = every_state(machine), range(len(machine.layout.widths))
    choices = [frozenset(c) for n in range(len(layers) + 1) for c in combinations(layers, n)]
    listen = jax.jit(lambda m, y: [tuple(layer_fields(m, y, k, silent=silent) for k in layers) for silent in choices])
    for silent, found in zip(choices, listen(machine, states), strict=True):
        muted = tuple(jnp.asarray(np.asarray(y) * (k not in silent)) for k, y in enumerate(states))
        close(whole(found), whole(fields_of(machine, muted)))


@pytest.mark.parametrize("make", HIDDEN_INDEPENDENT)
def test_free_energy_sums_out_the_hidden_units(make):
    machine = make()
    weights = np.exp(-oracles.energies(machine)).reshape(2**machine.layout.n_visible, -1)
    close(free_energy(machine, jnp.asarray(oracles.bits(machine.layout.n_visible))), -np.log(weights.sum(axis=1)))


@pytest.mark.parametrize("make", HIDDEN_COUPLED)
def test_free_energy_is_refused_where_hidden_units_are_coupled(make):
    machine = make()
    with pytest.raises(InputError, match=r"closed form only where no two hidden units.*; the layout is .*enumerated\."):
        free_energy(machine, jnp.zeros((1, machine.layout.n_visible)))


def test_free_energy_stays_finite_where_the_exponential_would_not():
    machine = jax.tree.map(lambda leaf: leaf + 1000.0, bf.rbm(3, 2, dtype=jnp.float64))
    assert np.isfinite(free_energy(machine, jnp.ones((1, 3)))).all()


def test_visible_part_has_the_law_of_the_data_given_that_all_hidden_units_are_off(machine):
    hidden_off = oracles.law(machine).reshape(2**machine.layout.n_visible, -1)[:, 0]
    close(oracles.law(visible_part(machine)), hidden_off / hidden_off.sum())


def test_hidden_fields_are_what_hidden_units_hear_while_all_hidden_units_are_off(machine):
    n_visible, n_hidden = machine.layout.n_visible, machine.layout.n_hidden
    visible = jnp.asarray(oracles.bits(n_visible))
    found = whole((visible, *hidden_fields(machine, visible)))[:, n_visible:]
    close(found, oracles.fields(machine)[:: 2**n_hidden, n_visible:])


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_machines_that_are_built_twice_share_one_compiled_program(make):
    traces = []

    @jax.jit
    def traced(machine, states):
        traces.append(machine.layout)
        return energy(machine, states)

    for _ in range(2):
        traced(make(), every_state(make()))
    assert len(traces) == 1


def test_machines_whose_edges_differ_share_no_compiled_program():
    compiled = jax.jit(energy)
    for rows, columns in (([0, 1], [1, 2]), ([0, 1], [1, 3]), ([0, 0], [1, 3])):
        layout = Layout((4,), (Edges(0, 0, (4, 4), np.array(rows), np.array(columns)),))
        machine = random_machine(layout, seed=11, dtype=jnp.float64)
        close(compiled(machine, every_state(machine)), oracles.energies(machine))


def test_leaves_are_the_parameters_and_nothing_else(machine):
    leaves = jax.tree.leaves(machine)
    assert [leaf.shape for leaf in leaves] == [a.shape for a in (*machine.couplings, *machine.biases)]
    assert {leaf.dtype for leaf in leaves} == {machine.dtype} == {np.dtype("float64")}


def test_a_machine_in_words_tells_layout_number_of_couplings_and_type():
    assert repr(bf.deep(4, 3, 2, lateral=[True, False])) == (
        "Machine(4-3-2 (dense 0–1, dense 1–2, lateral 1), 21 couplings, float32)"
    )


@pytest.mark.parametrize(
    ("couplings", "biases", "came"),
    [
        ([(3, 2)], [3, 2], r"\[\(3, 2\), \(3,\), \(2,\)\]"),
        ([], [3, 2], r"\[\(3,\), \(2,\)\]"),
        ([(2, 3)], [3], r"\[\(2, 3\), \(3,\)\]"),
        ([(2, 3)], [2, 3], r"\[\(2, 3\), \(2,\), \(3,\)\]"),
    ],
)
def test_arrays_that_do_not_fit_the_layout_are_refused(couplings, biases, came):
    expected = r"the layout 3-2 \(dense 0–1\) asks for .* shapes \[\(2, 3\), \(3,\), \(2,\)\]; got "
    with pytest.raises(InputError, match=expected + came):
        Machine(bf.rbm(3, 2).layout, tuple(map(jnp.zeros, couplings)), tuple(map(jnp.zeros, biases)))
