"""Machines in one line: the layout each builder promises, where its numbers start, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import boltzflow as bf
from boltzflow.errors import InputError
from boltzflow.machine.builders import random_machine, zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.wiring import Dense, Lateral
from machines import MACHINES


def test_visible_couples_every_pair_and_starts_at_zero():
    machine = bf.visible(5)
    assert machine.layout == Layout((5,), (Lateral(0, 5),))
    assert machine.layout.n_couplings == 10
    assert not any(leaf.any() for leaf in jax.tree.leaves(machine))


def test_rbm_couples_visible_to_hidden_and_nothing_else():
    assert bf.rbm(4, 3).layout == Layout((4, 3), (Dense(0, 1, (4, 3)),))


@pytest.mark.parametrize(
    ("lateral", "inside"),
    [(False, []), (True, [1, 2]), ([True, False], [1]), ([False, True], [2]), ((False, False), [])],
)
def test_deep_couples_neighbouring_layers_and_the_hidden_layers_named(lateral, inside):
    widths = (4, 3, 2)
    between = (Dense(0, 1, (4, 3)), Dense(1, 2, (3, 2)))
    expected = Layout(widths, (*between, *(Lateral(k, widths[k]) for k in inside)))
    assert bf.deep(*widths, lateral=lateral).layout == expected


def test_deep_with_one_hidden_layer_is_an_rbm():
    one, other = bf.deep(4, 3, seed=4), bf.rbm(4, 3, seed=4)
    assert one.layout == other.layout
    np.testing.assert_array_equal(one.couplings[0], other.couplings[0])


@pytest.mark.parametrize("build", [bf.visible, lambda n, **kw: bf.rbm(n, n, **kw), lambda n, **kw: bf.deep(n, n, **kw)])
def test_numbers_are_singles_unless_doubles_are_asked_for(build):
    assert build(3).dtype == jnp.float32
    assert {leaf.dtype for leaf in jax.tree.leaves(build(3, dtype=jnp.float64))} == {np.dtype("float64")}


@pytest.mark.parametrize("build", [bf.visible, lambda n: bf.rbm(n, n), lambda n: bf.deep(n, n, lateral=True)])
def test_numpy_counts_give_the_same_layout_in_plain_integers(build):
    assert repr(build(np.int64(3)).layout) == repr(build(3).layout)


def test_same_seed_same_machine_and_another_seed_another():
    one, same, other = (bf.deep(4, 3, 2, lateral=True, seed=seed) for seed in (1, 1, 2))
    for a, b, c in zip(one.couplings, same.couplings, other.couplings, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()


def test_biases_start_at_zero_and_lateral_blocks_hold_nothing_on_or_below_the_diagonal():
    machine = bf.deep(4, 3, 2, lateral=True)
    assert not any(bias.any() for bias in machine.biases)
    for weights in machine.couplings[2:]:
        np.testing.assert_array_equal(np.tril(weights), 0.0)


def test_scale_multiplies_couplings_and_bias_scale_biases():
    layout = bf.deep(4, 3, 2, lateral=True).layout
    one, scaled = random_machine(layout, bias_scale=1.0), random_machine(layout, scale=2.0, bias_scale=4.0)
    for a, b in zip((*scaled.couplings, *scaled.biases), (*one.couplings, *one.biases), strict=True):
        np.testing.assert_array_equal(a, np.asarray(b) * np.float32(2.0 if a.ndim == 2 else 4.0))


@pytest.mark.parametrize(
    ("layout", "pick", "variance"),
    [
        (Layout((300, 200), (Dense(0, 1, (300, 200)),)), lambda machine: machine.couplings[0], 1 / (300 * 200)),
        (Layout((300,), (Lateral(0, 300),)), lambda m: m.couplings[0][np.triu_indices(300, 1)], 1 / 300**2),
        (Layout((30_000,), ()), lambda machine: machine.biases[0], 1.0),
    ],
    ids=["dense", "lateral", "biases"],
)
def test_random_numbers_are_normal_with_the_promised_variance(layout, pick, variance):
    """Allowed false alarms: 1e-6 for the sum of squares, χ² distributed; an error of 10 % in the scale is found."""
    drawn = np.asarray(pick(random_machine(layout, bias_scale=1.0, seed=5, dtype=jnp.float64))).ravel()

    def chance(values: np.ndarray) -> float:
        below = scipy.stats.chi2.cdf(np.sum(values**2) / variance, values.size)
        return 2 * min(below, 1 - below)

    assert chance(drawn) > 1e-6 > max(chance(1.1 * drawn), chance(0.9 * drawn))


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_zero_machine_has_the_layout_and_zeros(make):
    layout = make().layout
    machine = zero_machine(layout)
    assert machine.layout == layout
    assert not any(np.any(np.asarray(leaf)) for leaf in jax.tree.leaves(machine))


REFUSED = {
    "no unit": (lambda: bf.visible(0), "n_visible must be a whole number, 1 or more; got 0"),
    "negative": (lambda: bf.rbm(-3, 2), "n_visible must be a whole number, 1 or more; got -3"),
    "no hidden unit": (lambda: bf.rbm(3, 0), "n_hidden must be a whole number, 1 or more; got 0"),
    "fraction": (lambda: bf.rbm(3, 2.5), r"n_hidden must be a whole number, 1 or more; got 2\.5"),
    "text": (lambda: bf.rbm("3", 2), "n_visible must be a whole number, 1 or more; got '3'"),
    "truth": (lambda: bf.visible(True), "n_visible must be a whole number, 1 or more; got True"),
    "nothing": (lambda: bf.visible(None), "n_visible must be a whole number, 1 or more; got None"),
    "zero width": (lambda: bf.deep(4, 0, 2), "width of layer 1 must be a whole number, 1 or more; got 0"),
    "negative width": (lambda: bf.deep(4, 3, -2), "width of layer 2 must be a whole number, 1 or more; got -2"),
    "fractional width": (lambda: bf.deep(1.5, 2), r"width of layer 0 must be a whole number, 1 or more; got 1\.5"),
    "one width": (lambda: bf.deep(4), r"visible and at least one hidden layer; got widths \(4,\)"),
    "no width": (lambda: bf.deep(), r"visible and at least one hidden layer; got widths \(\)"),
    "widths as a list": (lambda: bf.deep([4, 3]), r"visible and at least one hidden layer; got widths \(\[4, 3\],\)"),
    "too few lateral": (lambda: bf.deep(4, 3, 2, lateral=[True]), "lateral names 1 .*there are 2 hidden"),
    "too many lateral": (lambda: bf.deep(4, 3, lateral=[True] * 2), "lateral names 2 .*there are 1 hidden"),
    "lateral no sequence": (lambda: bf.deep(4, 3, lateral=1), "lateral is True, False or one of them .*got 1"),
    "lateral in words": (lambda: bf.deep(4, 3, 2, lateral="no"), "lateral is True, False or one of them .*got 'no'"),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_no_builder_can_build_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
