"""Stacks: two-layer machines over the same layers, built, taken apart, and turned into joint machines and back."""

import re
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack, StackLayout, as_deep, as_stack, parts, stack, with_parts
from boltzflow.machine.wiring import Dense, Lateral
from deep_oracles import shared_biases, types_unchecked
from machines import MACHINES

LAYERED = [name for name in MACHINES if not MACHINES[name]().layout.fully_visible]
ONE_HIDDEN = [name for name in LAYERED if len(MACHINES[name]().layout.widths) == 2]


def same(first: object, second: object) -> bool:
    """Equal in structure, which holds the layouts, and bit for bit in numbers."""
    leaves, others = jax.tree.leaves(first), jax.tree.leaves(second)
    return jax.tree.structure(first) == jax.tree.structure(second) and all(map(np.array_equal, leaves, others))


@pytest.mark.parametrize(
    ("lateral", "inside"),
    [(False, (0, 0, 0)), (True, (1, 1, 1)), ((True, False, True), (1, 0, 1)), ([False, True, False], (0, 1, 0))],
)
def test_a_stack_has_a_pair_for_each_two_neighbouring_layers_and_couplings_inside_the_upper_ones_asked_for(
    lateral, inside
):
    of, widths = stack(5, 4, 3, 2, lateral=lateral), (5, 4, 3, 2)
    for k, pair in enumerate(of.pairs):
        within = (Lateral(1, widths[k + 1]),) if inside[k] else ()
        assert pair.layout == Layout(widths[k : k + 2], (Dense(0, 1, widths[k : k + 2]), *within))
    assert of.layout.widths == widths


def test_the_layout_of_a_stack_counts_all_its_pairs():
    layout = stack(5, 4, 3, lateral=(False, True)).layout
    assert (layout.n_visible, layout.n_hidden, layout.n_couplings) == (5, 7, 20 + 12 + 3)
    assert not layout.fully_visible
    assert str(layout) == "5-4-3 (stack of 2 pairs, lateral 2)"
    assert repr(stack(5, 4, 3)) == "Stack(5-4-3 (stack of 2 pairs), 32 couplings, float32)"


def test_a_stack_has_two_bias_vectors_for_each_layer_between_two_pairs():
    shapes = [bias.shape for pair in stack(5, 4, 3).pairs for bias in pair.biases]
    assert shapes == [(5,), (4,), (4,), (3,)]


def test_the_same_seed_gives_the_same_stack_and_no_two_pairs_the_same_couplings():
    once, twice, other = (stack(3, 3, 3, seed=seed) for seed in (0, 0, 1))
    assert same(once, twice)
    assert not same(once, other)
    assert not np.array_equal(once.pairs[0].couplings[0], once.pairs[1].couplings[0])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_a_stack_has_the_type_asked_for(dtype):
    of = stack(3, 2, 2, lateral=True, dtype=dtype)
    assert {leaf.dtype for leaf in jax.tree.leaves(of)} == {of.dtype} == {jnp.dtype(dtype)}


def test_a_machine_is_a_stack_of_itself_alone_and_models_are_put_together_as_they_were_taken_apart(machine):
    assert parts(machine) == (machine,)
    for model in (machine, stack(3, 2, 2)):
        assert same(with_parts(model, parts(model)), model)


@pytest.mark.parametrize("machine", ONE_HIDDEN, indirect=True)
def test_with_one_hidden_layer_a_stack_is_the_machine_and_the_machine_is_the_stack(machine):
    of = as_stack(machine)
    assert same(of.pairs, (machine,))
    assert same(as_deep(of), machine)


@pytest.mark.parametrize("machine", LAYERED, indirect=True)
def test_a_machine_that_was_cut_into_pairs_and_joined_again_has_the_energy_it_had(machine):
    oracles.close(oracles.energies(as_deep(as_stack(machine))), oracles.energies(machine))


@pytest.mark.parametrize("machine", ["deep_2_2_2", "deep_2_2_2_lateral"], indirect=True)
def test_each_pair_has_the_biases_of_its_layers_and_the_couplings_inside_the_upper_one(machine):
    w = oracles.couplings(machine)
    for k, pair in enumerate(as_stack(machine).pairs):
        expected = w[2 * k : 2 * k + 4, 2 * k : 2 * k + 4].copy()
        expected[:2, :2] = 0
        oracles.close(oracles.couplings(pair), expected)
        oracles.close(oracles.biases(pair), oracles.biases(machine)[2 * k : 2 * k + 4])


def test_couplings_inside_the_visible_layer_stay_with_the_first_pair():
    inside = (Lateral(0, 2), Dense(0, 1, (2, 2)), Dense(1, 2, (2, 2)))
    layout = Layout((2, 2, 2), inside)
    machine = Machine(layout, (jnp.ones((2, 2)),) * 3, (jnp.zeros(2),) * 3)
    assert [pair.layout.wirings for pair in as_stack(machine).pairs] == [inside[:2], (Dense(0, 1, (2, 2)),)]


@pytest.mark.parametrize("lateral", [False, True])
def test_a_joined_stack_keeps_all_couplings_and_has_the_mean_of_two_biases_where_there_are_two(lateral):
    of = oracles.perturbed(stack(3, 2, 2, 1, lateral=lateral, dtype=jnp.float64), 1.0, seed=0)
    joined = as_deep(of)
    assert joined.layout.widths == (3, 2, 2, 1)
    assert {frozenset({k, k + 1}) for k in range(3)} <= {wiring.layers for wiring in joined.layout.wirings}
    assert same(joined.couplings, tuple(weights for pair in of.pairs for weights in pair.couplings))
    assert same((joined.biases[0], joined.biases[-1]), (of.pairs[0].biases[0], of.pairs[-1].biases[-1]))
    for found, expected in zip(joined.biases[1:-1], shared_biases(of), strict=True):
        oracles.close(found, expected)


def test_a_stack_that_was_joined_and_cut_again_has_its_couplings_and_the_joint_biases():
    of = oracles.perturbed(stack(3, 2, 2, lateral=(True, False), dtype=jnp.float64), 1.0, seed=0)
    again = as_stack(as_deep(of))
    assert again.layout == of.layout
    assert same([pair.couplings for pair in again.pairs], [pair.couplings for pair in of.pairs])
    assert same(again.pairs[0].biases[1], again.pairs[1].biases[0])
    assert same(as_deep(again), as_deep(of))


def test_names_of_units_go_along_into_pairs_and_back():
    named = bf.graph([("a", "h"), ("b", "h"), ("b", "i")], visible=["a", "b"])
    assert as_stack(named).pairs[0].layout.labels == named.layout.labels == as_deep(as_stack(named)).layout.labels


def skipping() -> Machine:
    wirings = (Dense(0, 1, (2, 2)), Dense(0, 2, (2, 2)), Dense(1, 2, (2, 2)))
    return Machine(Layout((2, 2, 2), wirings), (jnp.ones((2, 2)),) * 3, (jnp.zeros(2),) * 3)


REFUSED = {
    "no layer": (lambda: stack(), "needs a visible and at least one hidden layer; got widths ()"),
    "one layer": (lambda: stack(5), "needs a visible and at least one hidden layer; got widths (5,)"),
    "one layer, joint": (lambda: bf.deep(5), "needs a visible and at least one hidden layer; got widths (5,)"),
    "nothing visible": (lambda: stack(0, 3), "the width of layer 0 must be a whole number, 1 or more; got 0"),
    "nothing hidden": (lambda: stack(5, 3, 0), "the width of layer 2 must be a whole number, 1 or more; got 0"),
    "half a unit": (lambda: stack(5, 2.5), "the width of layer 1 must be a whole number, 1 or more; got 2.5"),
    "a width below zero": (lambda: bf.deep(5, -1), "the width of layer 1 must be a whole number, 1 or more; got -1"),
    "a word too few": (lambda: stack(5, 4, 3, lateral=[True]), "lateral names 1 layers, but there are 2 hidden ones"),
    "a word too many": (lambda: stack(5, 4, lateral=[True] * 2), "lateral names 2 layers, but there are 1 hidden ones"),
    "lateral by number": (lambda: stack(5, 4, 3, lateral=1), "lateral"),
    "lateral by words": (lambda: stack(5, 4, 3, lateral=["y", "n"]), "lateral"),
    "no pairs": (lambda: Stack(()), "a stack needs at least one pair of layers; got none"),
    "no layouts": (lambda: StackLayout(()), "a stack needs at least one pair of layers; got none"),
    "a pair of one layer": (
        lambda: Stack((bf.visible(3),)),
        "pair 0 of a stack joins two layers; it has 1: 3 (lateral 0)",
    ),
    "a pair of three layers": (
        lambda: Stack((bf.rbm(5, 4), bf.deep(4, 3, 2))),
        "pair 1 of a stack joins two layers; it has 3: 4-3-2 (dense 0–1, dense 1–2)",
    ),
    "widths that do not chain": (
        lambda: Stack((bf.rbm(5, 4), bf.rbm(3, 2))),
        "pairs 0 and 1 of a stack share a layer, but its width is 4 in one and 3 in the other",
    ),
    "no machines": (lambda: Stack((None,)), "the pairs of a stack are machines; pair 0 is a NoneType"),
    "a run to cut": (
        lambda: as_stack(types.SimpleNamespace(model=bf.rbm(3, 2))),
        "got SimpleNamespace; use its .model",
    ),
    "a run to join": (
        lambda: as_deep(types.SimpleNamespace(model=bf.rbm(3, 2))),
        "got SimpleNamespace; use its .model",
    ),
    "numbers of two types": (
        lambda: Stack((bf.rbm(5, 4), bf.rbm(4, 3, dtype="float64"))),
        "the pairs of a stack hold numbers of one type; got float32, float64",
    ),
    "nothing hidden to cut": (lambda: as_stack(bf.visible(3)), "a stack needs at least one pair of layers; got none"),
    "layers skipped": (
        lambda: as_stack(skipping()),
        "only neighbouring layers of a stack are coupled; the layout is 2-2-2",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_stack_is_refused_in_one_sentence(make, sentence):
    with types_unchecked(), pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        make()
    assert "\n" not in str(refusal.value)


def test_couplings_inside_a_shared_layer_in_both_pairs_cannot_be_joined():
    both = Stack((bf.deep(3, 3, lateral=True, dtype=jnp.float64), MACHINES["lateral_3_3"]()))
    with pytest.raises(InputError, match=re.escape("two wirings join layers [1]")):
        as_deep(both)


OTHER_KIND = {
    "a stack is cut already": (as_stack, stack(3, 2)),
    "a machine is joined already": (as_deep, bf.rbm(3, 2)),
    "a stack has no law to sample": (bf.sample, stack(3, 2)),
    "nor one to fill gaps by": (lambda model: bf.impute(model, np.zeros((1, 3))), stack(3, 2)),
}


@pytest.mark.parametrize(("call", "model"), OTHER_KIND.values(), ids=OTHER_KIND)
def test_a_model_of_the_other_kind_is_refused_in_one_sentence(call, model):
    with types_unchecked(), pytest.raises(InputError, match="stack") as refusal:
        call(model)
    assert "\n" not in str(refusal.value)


def test_a_list_of_pairs_is_as_good_as_a_tuple():
    pairs = [bf.rbm(3, 2), bf.rbm(2, 2)]
    assert jax.tree.structure(Stack(pairs)) == jax.tree.structure(Stack(tuple(pairs)))
