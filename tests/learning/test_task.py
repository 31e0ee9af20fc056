"""The data of an epoch: every row once, in whole batches, the same bits and completions however they are cut into chunks."""

from collections import Counter
from collections.abc import Callable

import jax
import numpy as np
import pytest
from lessons import KEY, begun, coin_rows

import oracles
from boltzflow.errors import InputError
from boltzflow.learning import task as task_module
from boltzflow.learning.contract import Examples
from boltzflow.learning.rules import CD, MPF, PCD, VPF
from boltzflow.learning.settings import Settings
from boltzflow.learning.task import Task, chunks, make_task
from chance import assert_same_distribution, count_states
from machines import MACHINES

ROWS = coin_rows(23, 3)
CUTS = pytest.mark.parametrize(("batch_size", "chunk_rows"), [(5, None), (5, 10), (5, 12), (40, 3), (1, 7)])


def rbm_task(rows: object = ROWS, **settings: object) -> Task:
    return make_task(MACHINES["rbm_3_2"](), rows, VPF(), Settings(**settings))


def by_example(task: Task, values_of: Callable[[Examples], jax.Array], key: jax.Array = KEY) -> dict[int, list[float]]:
    """Something of each example, wherever in the epoch it comes."""
    found = {}
    for chunk in chunks(task, key):
        for example, values in zip(chunk.ids.tolist(), np.asarray(values_of(chunk)).tolist(), strict=True):
            assert found.setdefault(example, values) == values
    return found


@CUTS
def test_every_row_comes_once_an_epoch_and_weighs_the_same_within_its_batch(batch_size, chunk_rows):
    task = rbm_task(batch_size=batch_size, chunk_rows=chunk_rows)
    seen: Counter[int] = Counter()
    for chunk in chunks(task, KEY):
        weights = np.asarray(chunk.weights).reshape(-1, task.batch_size)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
        for batch in weights:
            np.testing.assert_allclose(batch[batch > 0], 1 / np.count_nonzero(batch), rtol=1e-12)
        seen.update(chunk.ids[chunk.weights > 0].tolist())
        np.testing.assert_array_equal(chunk.visible, ROWS[chunk.ids] == 1)
        np.testing.assert_array_equal(chunk.rows, np.arange(len(chunk.ids)))
    assert seen == Counter(range(23))


@CUTS
def test_steps_are_counted_as_they_are_taken(batch_size, chunk_rows):
    task = rbm_task(batch_size=batch_size, chunk_rows=chunk_rows)
    assert task.steps_per_epoch == sum(len(chunk.ids) // task.batch_size for chunk in chunks(task, KEY))


def test_rows_come_in_their_own_order_unless_shuffled():
    in_order, shuffled = (
        [k for chunk in chunks(rbm_task(batch_size=5, shuffle=shuffle), KEY) for k in chunk.ids.tolist()][:23]
        for shuffle in (False, True)
    )
    assert in_order == list(range(23))
    assert shuffled != in_order


def test_each_epoch_and_each_seed_has_an_order_of_its_own():
    orders = {tuple(next(chunks(rbm_task(), jax.random.key(seed))).ids.tolist()) for seed in range(20)}
    assert len(orders) == 20


def test_an_example_has_the_same_completions_however_the_data_are_cut():
    machine, rule = MACHINES["rbm_3_2"](), VPF()
    whole, cut = (
        by_example(rbm_task(batch_size=5, chunk_rows=rows), lambda chunk: begun(rule, machine, chunk, KEY)[0])
        for rows in (None, 10)
    )
    assert whole == cut


GREY = np.tile([[0.2, 0.5, 0.9]], (20_000, 1))
LAW = np.array([np.prod(np.where(bits, GREY[0], 1 - GREY[0])) for bits in oracles.bits(3) == 1])


def drawn(key: jax.Array, chunk_rows: int | None = None) -> np.ndarray:
    """The bits of one epoch, in the order of the examples."""
    task = rbm_task(GREY, binarise="draw", batch_size=500, chunk_rows=chunk_rows)
    bits = by_example(task, lambda chunk: chunk.visible, key)
    return np.array([bits[example] for example in range(len(GREY))], float)


def test_grey_values_are_drawn_as_bits_of_their_frequency():
    assert_same_distribution(count_states(drawn(KEY)), LAW)


def test_each_epoch_draws_bits_of_its_own():
    twice = np.concatenate([drawn(KEY), drawn(jax.random.key(4))], axis=1)
    assert_same_distribution(count_states(twice), np.outer(LAW, LAW).ravel())
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(np.tile(drawn(KEY), 2)), np.outer(LAW, LAW).ravel())


def test_an_example_has_the_same_bits_however_the_data_are_cut():
    np.testing.assert_array_equal(drawn(KEY), drawn(KEY, chunk_rows=1500))


def test_epochs_make_the_usual_number_of_steps_unless_they_are_given():
    assert rbm_task(epochs=3).epochs == 3
    assert rbm_task(coin_rows(40 * 50, 3)).epochs == 750
    assert rbm_task().epochs == 1000
    assert rbm_task(coin_rows(40 * 5000, 3)).epochs == 30
    assert make_task(MACHINES["visible_6"](), coin_rows(9, 6), MPF(), Settings(optimiser="lbfgs")).epochs == 500


@pytest.mark.parametrize("rule", [VPF(), CD(), PCD()])
def test_l_bfgs_is_refused_where_no_convex_function_is_descended(rule):
    with pytest.raises(InputError, match=f"needs a rule with one convex objective .*; {rule.name} has none"):
        make_task(MACHINES["rbm_3_2"](), ROWS, rule, Settings(optimiser="lbfgs"))


def test_l_bfgs_has_all_rows_in_one_batch_in_their_own_order():
    task = make_task(MACHINES["visible_6"](), coin_rows(23, 6), MPF(), Settings(optimiser="lbfgs", batch_size=5))
    (rows,) = chunks(task, KEY)
    assert rows.ids.tolist() == list(range(23))
    assert (task.batch_size, task.steps_per_epoch) == (23, 1)


def test_l_bfgs_is_refused_for_more_rows_than_one_program_holds(monkeypatch):
    monkeypatch.setattr(task_module, "MOST_VALUES_IN_CHUNK", 100)
    with pytest.raises(InputError, match="at most 100 values; the data have 138"):
        make_task(MACHINES["visible_6"](), coin_rows(23, 6), MPF(), Settings(optimiser="lbfgs"))


def test_without_a_number_of_rows_chunks_keep_within_the_limit_of_memory(monkeypatch):
    monkeypatch.setattr(task_module, "MOST_VALUES_IN_CHUNK", 30)
    assert {len(chunk.ids) for chunk in chunks(rbm_task(batch_size=5), KEY)} == {10, 5}


NO_DATA = {
    "missing values": ([[0, 1, np.nan]], r"missing \(NaN\) in row 0, column 2"),
    "too large": ([[0, 1, 2]], r"must lie in \[0, 1\]; got 2 in row 0, column 2"),
    "too small": ([[0, -1, 0]], r"must lie in \[0, 1\]; got -1 in row 0, column 1"),
    "too narrow": ([[0, 1]], r"has 3 visible units, but the data have 2 columns"),
    "no rows": (np.zeros((0, 3)), r"data are empty: got shape \(0, 3\)"),
    "one row without a table": ([0, 1, 0], r"got shape \(3,\): reshape one example"),
    "words": ([["a", "b", "c"]], r"data are numbers in \[0, 1\] or booleans"),
}


@pytest.mark.parametrize(("rows", "sentence"), NO_DATA.values(), ids=NO_DATA)
def test_data_that_cannot_be_learned_from_are_refused(rows, sentence):
    with pytest.raises(InputError, match=sentence):
        rbm_task(rows)
