"""Layouts: what is wired to what, in numbers and in words, and what cannot be."""

import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.wiring import Dense, Edges, Lateral
from machines import MACHINES


def inside(layout: Layout, layer: int) -> slice:
    """Where the units of a layer stand among all."""
    return slice(layout.offsets[layer], layout.offsets[layer] + layout.widths[layer])


def test_counts_add_up(machine):
    layout = machine.layout
    assert layout.n_units == layout.n_visible + layout.n_hidden == len(oracles.biases(machine))
    assert layout.n_visible == machine.biases[0].size
    assert layout.n_couplings == oracles.is_wired(layout).sum() / 2
    assert layout.fully_visible == (layout.n_hidden == 0)


def test_offsets_say_where_each_layer_begins(machine):
    ends = [start + width for start, width in zip(machine.layout.offsets, machine.layout.widths, strict=True)]
    assert [0, *ends] == [*machine.layout.offsets, machine.layout.n_units]


def test_a_layer_is_coupled_inside_if_two_of_its_units_are(machine):
    wired = oracles.is_wired(machine.layout)
    for layer in range(len(machine.layout.widths)):
        units = inside(machine.layout, layer)
        assert machine.layout.coupled_inside(layer) == wired[units, units].any()


def test_hidden_units_are_independent_if_no_two_of_them_are_coupled(machine):
    n_visible = machine.layout.n_visible
    assert machine.layout.hidden_independent == (not oracles.is_wired(machine.layout)[n_visible:, n_visible:].any())


def test_wirings_of_a_layer_are_those_that_end_in_it():
    between, above, within = Dense(0, 1, (3, 2)), Dense(1, 2, (2, 2)), Lateral(1, 2)
    layout = Layout((3, 2, 2), (between, above, within))
    assert layout.wirings_of(0) == ((0, between),)
    assert layout.wirings_of(1) == ((0, between), (1, above), (2, within))
    assert layout.wirings_of(1, frozenset({0, 1})) == ((1, above),)
    assert layout.wirings_of(2, frozenset({1})) == ()


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_equal_layouts_are_equal_and_hash_equal(make):
    assert make().layout == make().layout
    assert hash(make().layout) == hash(make().layout)


def test_layouts_that_differ_in_widths_wirings_or_labels_are_not_equal():
    dense = Dense(0, 1, (2, 2))
    layouts = [
        Layout((2, 2), ()),
        Layout((2, 2), (dense,)),
        Layout((2, 2), (dense, Lateral(1, 2))),
        Layout((2, 2), (dense,), (("a", "b"), ("c", "d"))),
        Layout((2, 3), ()),
    ]
    assert len(set(layouts)) == len(layouts)


def test_a_layout_in_words_names_widths_and_wirings():
    edges = Edges(0, 0, (3, 3), np.array([0]), np.array([1]))
    assert str(Layout((3, 2), (Dense(0, 1, (3, 2)), Lateral(1, 2), edges))) == "3-2 (dense 0–1, lateral 1, edges 0)"
    assert str(Layout((4,), ())) == "4 (no couplings)"


def test_a_unit_in_words_names_its_layer_its_kind_and_the_users_name():
    assert bf.rbm(3, 2).layout.name_of(1, 0) == "unit 0 of layer 1 (hidden)"
    named = bf.graph([("a", "b"), ("b", "c")], visible=["c"]).layout
    assert named.name_of(0, 0) == "unit 0 ('c') of layer 0 (visible)"


IMPOSSIBLE = {
    "no layer": (lambda: Layout((), ()), "at least one layer, the visible one; got none"),
    "empty layer": (lambda: Layout((3, 0), ()), "layer 1 must be a whole number, 1 or more; got 0"),
    "negative width": (lambda: Layout((-2,), ()), "layer 0 must be a whole number, 1 or more; got -2"),
    "half a unit": (lambda: Layout((2.5,), ()), r"layer 0 must be a whole number, 1 or more; got 2\.5"),
    "no such layer": (lambda: Layout((3, 2), (Dense(0, 2, (3, 2)),)), r"joins layers \[0, 2\], .* layers 0 to 1"),
    "layer below the first": (lambda: Layout((3,), (Lateral(-1, 3),)), r"joins layers \[-1\], .* layers 0 to 0"),
    "other widths": (lambda: Layout((3, 2), (Dense(0, 1, (2, 3)),)), r"for widths \(2, 3\), .* widths \(3, 2\)"),
    "other lateral width": (lambda: Layout((3,), (Lateral(0, 4),)), r"for widths \(4, 4\), .* widths \(3, 3\)"),
    "two wirings for one pair of layers": (
        lambda: Layout((3, 2), (Dense(0, 1, (3, 2)), Edges(0, 1, (3, 2), np.array([0]), np.array([1])))),
        r"two wirings join layers \[0, 1\]; put all their pairs into one",
    ),
    "too few labels": (lambda: Layout((2,), (), (("a",),)), r"labels .*\(2,\); got \(1,\)"),
}


@pytest.mark.parametrize(("make", "sentence"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_layout_that_cannot_be_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_an_array_type_follows_the_machine_not_the_layout():
    layout = bf.rbm(3, 2).layout
    assert bf.rbm(3, 2, dtype=jnp.float64).layout == layout
