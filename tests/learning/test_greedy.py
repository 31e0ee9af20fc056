"""Greedy training is training the pairs one after the other, each on hidden states drawn from the one below."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lessons import bytes_of, coin_rows

import boltzflow as bf
from boltzflow.errors import InputError
from boltzflow.learning import greedy
from boltzflow.learning.completions import complete
from boltzflow.learning.greedy import bits_of, draw_hidden, train_greedy
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack
from boltzflow.sampling.uniforms import Purpose, stream
from chance import assert_same_distribution, assert_same_mean, count_states, exact_draws
from deep_oracles import completed, types_unchecked
from machines import MACHINES

SMALL = {"epochs": 2, "batch_size": 5, "learning_rate": 0.05, "seed": 3}
ROWS = coin_rows(20, 3)
RULES = {
    "vpf": {"lateral": True, "sweeps": 2},
    "cd": {"lateral": False, "sweeps": 1},
    "pcd": {"lateral": False, "sweeps": 1, "rule_options": {"n_chains": 5}},
}


def built(*, lateral: bool = False) -> Stack:
    return bf.stack(3, 3, 3, lateral=lateral, dtype=jnp.float64)


def drawn(pair: Machine, visible: np.ndarray, n_sweeps: int, seed: int, number: int) -> np.ndarray:
    """Hidden states of all rows at once, with the random numbers of the rows."""
    key = jax.random.fold_in(jax.random.key(seed), number)
    draws = stream(key, Purpose.COMPLETE, jnp.arange(len(visible)))
    return np.asarray(complete(pair, jnp.asarray(visible, float), draws, n_sweeps=n_sweeps)[1]) == 1


@pytest.mark.parametrize("rule", RULES)
def test_pairs_are_trained_one_after_the_other_each_on_swept_draws_from_the_one_below(rule):
    options = {"rule": rule, **SMALL, **RULES[rule]}
    of, n_sweeps = built(lateral=options.pop("lateral")), options.pop("sweeps")
    first = bf.train(of.pairs[0], ROWS, **options)
    second = bf.train(of.pairs[1], drawn(first.model, ROWS, n_sweeps, 3, 0), **options)
    run, again = (train_greedy(of, ROWS, sweeps=n_sweeps, **options) for _ in range(2))
    assert bytes_of(run.model) == bytes_of((first.model, second.model)) == bytes_of(again.model)
    assert [each.history[-1].value for each in run.runs] == [each.history[-1].value for each in (first, second)]


def test_hidden_states_follow_algorithm_1():
    """Two sweeps after the draw; none would be caught."""
    pair, visible = MACHINES["lateral_3_3"](), np.full(8, 1 / 8)
    rows = exact_draws(visible, 50_000)
    counts = count_states(np.column_stack([rows, draw_hidden(pair, rows == 1, 2, seed=0, number=0)]))
    assert_same_distribution(counts, completed(pair, visible, n_sweeps=2))
    with pytest.raises(AssertionError):
        assert_same_distribution(counts, completed(pair, visible, n_sweeps=0))


def test_hidden_states_of_a_row_are_the_same_in_whichever_parts_rows_are_drawn(monkeypatch):
    pair = MACHINES["lateral_3_3"]()
    whole = draw_hidden(pair, ROWS == 1, 1, seed=5, number=1)
    monkeypatch.setattr(greedy, "_MOST_ROWS", 7)
    np.testing.assert_array_equal(draw_hidden(pair, ROWS == 1, 1, seed=5, number=1), whole)
    assert (draw_hidden(pair, ROWS == 1, 1, seed=5, number=0) != whole).any()


def test_grey_data_are_binarised_once_as_asked():
    grey = np.random.default_rng(0).uniform(size=(20, 3))
    cut, bits = (train_greedy(built(), rows, rule="cd", binarise=0.3, **SMALL) for rows in (grey, grey > 0.3))
    assert bytes_of(cut.model) == bytes_of(bits.model)


def test_grey_data_that_are_drawn_each_epoch_are_drawn_once_for_the_pair_above():
    """Rows of 0.4 are lit in four tenths of all bits; cut at a half they would be dark."""
    values = np.full((2000, 3), 0.4, np.float32)
    bits = bits_of(values, seed=1)
    assert_same_mean(bits, 0.4)
    np.testing.assert_array_equal(bits_of(bits, seed=1), bits)
    told = {"rule": "vpf", "binarise": "draw", **SMALL}
    first = bf.train(built().pairs[0], values[:20], **told)
    above = draw_hidden(first.model, bits_of(values[:20], seed=3), 1, 3, 0)
    run = train_greedy(built(), values[:20], **told)
    assert bytes_of(run.model.pairs[1]) == bytes_of(bf.train(built().pairs[1], above, **told).model)


def test_the_pair_above_learns_from_completions_as_cold_and_as_swept_as_the_rule_makes_them():
    options = {"rule": "vpf", "rule_options": {"temperature": 0.5, "sweeps": 3}, **SMALL}
    of = built(lateral=True)
    first = bf.train(of.pairs[0], ROWS, **options)
    above = draw_hidden(first.model, ROWS == 1, 3, 3, 0, 2.0)
    run = train_greedy(of, ROWS, **options)
    assert bytes_of(run.model.pairs[1]) == bytes_of(bf.train(of.pairs[1], above, **options).model)
    assert (above != draw_hidden(first.model, ROWS == 1, 1, 3, 0)).any()


def test_a_greedy_run_says_which_pair_it_is_at_and_keeps_the_run_of_each():
    told = []
    run = train_greedy(built(), ROWS, rule="cd", on_pair=told.append, **SMALL)
    assert told == [0, 1]
    assert bytes_of([each.model for each in run.runs]) == bytes_of(run.model.pairs)
    lines = repr(run).splitlines()
    assert lines[0] == "GreedyRun(Stack(3-3-3 (stack of 2 pairs), 18 couplings, float64))"
    assert [line.strip().partition(": Run(cd, 2 epochs")[0] for line in lines if "Run(cd" in line] == [
        "pair 0",
        "pair 1",
    ]


REFUSED = {
    "no sweep": ({"sweeps": 0}, "sweeps must be a whole number, 1 or more; got 0"),
    "a negative seed": ({"seed": -1}, "seed must be a whole number from 0 to 2**32 − 1; got -1"),
    "a rule for visible units": ({"rule": "mpf"}, "rule 'mpf' is for fully visible machines"),
    "an unknown setting": ({"epoch": 3}, "unknown setting 'epoch': did you mean 'epochs'?"),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_trained_greedily_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        train_greedy(built(), ROWS, **options)
    assert "\n" not in str(refusal.value)


def test_a_joint_machine_has_no_pairs_to_train():
    with types_unchecked(), pytest.raises(InputError, match="as_stack"):
        train_greedy(bf.deep(3, 3, 3), ROWS, **SMALL)
