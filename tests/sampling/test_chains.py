"""Chains are looked at when their schedule says, and samples follow the law that so many sweeps lead to."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.sampling.chains import Schedule, hold_visible, random_states, run_chains, visible_probabilities
from boltzflow.sampling.sweeps import Conditions
from boltzflow.sampling.uniforms import Stream
from chance import assert_same_distribution, assert_same_mean, count_cells, count_states, even
from kernels import domino, sweep_kernel
from machines import MACHINES

N = 50_000
NAN = np.nan
SOME = ["visible_6", "deep_2_2_2_lateral", "masked_graph"]


def draws(n_chains: int, seed: int = 0) -> Stream:
    return Stream(jax.random.key(seed), jnp.arange(n_chains))


def visible_law(machine: Machine, joint: np.ndarray) -> np.ndarray:
    return joint.reshape(2**machine.layout.n_visible, -1).sum(axis=1)


def law_after(machine: Machine, n_sweeps: int, beta: float = 1.0) -> np.ndarray:
    """The law of the visible units so many sweeps after coin flips."""
    start = even(2**machine.layout.n_units)
    return visible_law(machine, np.linalg.matrix_power(sweep_kernel(machine, beta), n_sweeps) @ start)


@pytest.mark.parametrize("schedule", [Schedule(3, 2, 3), Schedule(1, 4, 5), Schedule(4, 0, 1)])
def test_states_are_kept_after_the_burn_in_and_then_every_so_many_sweeps(schedule):
    standing = (jnp.zeros((2, 10)).at[:, -1].set(1.0),)
    kept = run_chains(domino(10), standing, draws(2), schedule)[0]
    n_swept = schedule.burn_in + schedule.thin * np.arange(schedule.n_kept)
    assert kept.shape == (schedule.n_kept, 2, 10)
    np.testing.assert_array_equal(kept.sum(axis=2), 1 + np.stack([n_swept, n_swept], axis=1))


def test_every_stretch_of_a_chain_has_random_numbers_of_its_own():
    machine = zero_machine(Layout((2,), ()), dtype=jnp.float64)
    kept = run_chains(machine, (jnp.zeros((N, 2)),), draws(N), Schedule(n_kept=3, burn_in=1, thin=1))[0]
    assert_same_distribution(count_cells(*(kept / 2), n_bins=2), even(8))


def test_a_chain_does_not_depend_on_the_chains_beside_it():
    machine, schedule, chosen = MACHINES["lateral_3_3"](), Schedule(2, 3, 4), jnp.array([17, 3, 4])
    first = random_states(machine.layout, machine.dtype, draws(20))
    alone = run_chains(machine, tuple(y[chosen] for y in first), Stream(draws(20).key, chosen), schedule)
    together = run_chains(machine, first, draws(20), schedule)
    np.testing.assert_array_equal(np.dstack(alone), np.dstack(together)[:, chosen])


def test_free_units_start_from_coin_flips():
    layout = MACHINES["deep_2_2_2"]().layout
    assert_same_distribution(
        count_states(oracles.whole(random_states(layout, jnp.dtype(jnp.float64), draws(N)))), even(64)
    )


def test_held_units_start_where_they_are_held():
    machine = MACHINES["rbm_3_2"]()
    values = np.tile([[1.0, NAN, 0.0], [NAN, 0.0, 1.0]], (50, 1))
    first = random_states(machine.layout, machine.dtype, draws(100), Conditions(clamp=hold_visible(machine, values)))
    known = ~np.isnan(values)
    np.testing.assert_array_equal(np.asarray(first[0])[known], values[known])


def test_visible_probabilities_are_the_conditionals_of_free_units_and_the_values_of_held_ones(machine):
    n_visible = machine.layout.n_visible
    states, z = oracles.every_state(machine), oracles.fields(machine)[:, :n_visible]
    values = np.where(np.arange(n_visible) % 2 == 0, 1.0, NAN) * np.ones((len(z), 1))
    conditions = Conditions(0.5, hold_visible(machine, values))
    expected = np.where(np.isnan(values), oracles.sigmoid(0.5 * z), values)
    np.testing.assert_allclose(visible_probabilities(machine, states, conditions), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "make", [lambda: bf.rbm(5, 2, dtype=jnp.float32), MACHINES["visible_6"]], ids=["single", "double"]
)
def test_samples_are_rows_of_bits_in_the_type_of_the_machine(make):
    machine = make()
    rows = bf.sample(machine, N, burn_in=20)
    assert isinstance(rows, np.ndarray)
    assert rows.dtype == machine.dtype
    assert rows.shape == (N, machine.layout.n_visible)
    assert set(rows.ravel().tolist()) == {0.0, 1.0}


def test_the_seed_decides_every_bit_and_another_seed_gives_other_bits():
    machine = MACHINES["visible_6"]()
    one, same, other = (bf.sample(machine, N, burn_in=20, seed=seed) for seed in (3, 3, 4))
    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()


def test_the_first_samples_are_the_same_however_many_follow():
    machine = MACHINES["visible_6"]()
    np.testing.assert_array_equal(bf.sample(machine, 20, burn_in=20), bf.sample(machine, N, burn_in=20)[:20])


def test_chains_beyond_the_number_of_samples_are_not_started():
    machine = MACHINES["visible_6"]()
    few, many = (bf.sample(machine, 20, n_chains=n_chains, burn_in=20) for n_chains in (20, 50))
    np.testing.assert_array_equal(few, many)


def test_where_chains_do_not_share_the_samples_evenly_the_last_ones_are_left_out():
    machine = MACHINES["visible_6"]()
    seven, nine = (bf.sample(machine, n_samples, n_chains=3, burn_in=2, thin=2) for n_samples in (7, 9))
    np.testing.assert_array_equal(seven, nine[:7])


@pytest.mark.parametrize(("name", "burn_in"), [("visible_6", 0), ("visible_6", 1), *((name, 20) for name in SOME)])
def test_samples_follow_the_law_that_the_sweeps_of_the_burn_in_lead_to(name, burn_in):
    machine = MACHINES[name]()
    counts = count_states(bf.sample(machine, N, burn_in=burn_in))
    assert_same_distribution(counts, law_after(machine, burn_in))


@pytest.mark.parametrize("burn_in", [0, 1])
def test_a_burn_in_that_is_one_sweep_too_short_would_be_caught(burn_in):
    machine = MACHINES["visible_6"]()
    counts = count_states(bf.sample(machine, N, burn_in=burn_in))
    with pytest.raises(AssertionError):
        assert_same_distribution(counts, law_after(machine, burn_in + 1))


@pytest.mark.parametrize("name", SOME)
def test_twenty_sweeps_forget_the_start_on_a_tiny_machine(name):
    machine = MACHINES[name]()
    law = visible_law(machine, oracles.law(machine))
    np.testing.assert_allclose(law_after(machine, 20), law, rtol=1e-10)


@pytest.mark.parametrize("name", SOME)
def test_samples_at_a_temperature_follow_the_law_at_this_temperature_and_no_other(name):
    machine = MACHINES[name]()
    counts = count_states(bf.sample(machine, N, burn_in=20, temperature=2.0))
    assert_same_distribution(counts, visible_law(machine, oracles.law(machine, 0.5)))
    with pytest.raises(AssertionError):
        assert_same_distribution(counts, visible_law(machine, oracles.law(machine)))


def successive_law(machine: Machine, thin: int) -> np.ndarray:
    """The law of a visible state and the one so many sweeps later, after coin flips, for a fully visible machine."""
    kernel = np.linalg.matrix_power(sweep_kernel(machine), thin)
    return (kernel * even(len(kernel))).T.ravel()


@pytest.mark.parametrize("thin", [1, 2])
def test_chains_take_turns_and_their_samples_lie_so_many_sweeps_apart(thin):
    machine = MACHINES["two_coupled"]()
    rows = bf.sample(machine, 2 * N, n_chains=N, burn_in=0, thin=thin)
    pairs = count_states(np.hstack([rows[:N], rows[N:]]))
    assert_same_distribution(pairs, successive_law(machine, thin))
    with pytest.raises(AssertionError):
        assert_same_distribution(pairs, successive_law(machine, 3 - thin))


def given_law(machine: Machine, given: list[float]) -> np.ndarray:
    """The law of the visible units where some are held."""
    known = ~np.isnan(given)
    fits = (oracles.bits(machine.layout.n_visible)[:, known] == np.array(given)[known]).all(axis=1)
    law = np.where(fits, visible_law(machine, oracles.law(machine)), 0.0)
    return law / law.sum()


GIVEN = {
    "visible_6": [1, NAN, NAN, 0, NAN, 1],
    "deep_2_2_2_lateral": [NAN, 0],
    "masked_graph": [1, NAN, 0, NAN],
}


@pytest.mark.parametrize("name", GIVEN)
def test_samples_follow_the_law_given_what_is_held(name):
    machine = MACHINES[name]()
    counts = count_states(bf.sample(machine, N, burn_in=40, given=GIVEN[name]))
    assert_same_distribution(counts, given_law(machine, GIVEN[name]))


@pytest.mark.parametrize("name", GIVEN)
def test_units_held_at_the_other_value_would_be_caught(name):
    machine, known = MACHINES[name](), ~np.isnan(GIVEN[name])
    rows = bf.sample(machine, N, burn_in=40, given=1 - np.array(GIVEN[name]))
    rows[:, known] = np.array(GIVEN[name])[known]
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(rows), given_law(machine, GIVEN[name]))


def test_each_chain_keeps_what_it_was_given_through_all_its_samples():
    given = np.array([[1, NAN, NAN, 0, NAN, NAN], [NAN, 0, 1, NAN, NAN, NAN], [0, 1, 0, 1, 0, 1]])
    rows = bf.sample(MACHINES["visible_6"](), 9, n_chains=3, burn_in=2, given=given)
    known = np.tile(~np.isnan(given), (3, 1))
    np.testing.assert_array_equal(rows[known], np.tile(given, (3, 1))[known])


@pytest.mark.parametrize("given", [[[1, 0, NAN]], [[1, 0, NAN]] * 4])
def test_one_row_that_is_given_is_given_to_every_chain(given):
    machine = MACHINES["rbm_3_2"]()
    rows = bf.sample(machine, 4, burn_in=3, given=given, probabilities=True)
    np.testing.assert_array_equal(rows, bf.sample(machine, 4, burn_in=3, given=[1, 0, NAN], probabilities=True))


def test_bits_that_are_booleans_can_be_given():
    machine = MACHINES["rbm_3_2"]()
    assert bf.sample(machine, 4, burn_in=3, given=[True, False, True]).tolist() == [[1, 0, 1]] * 4


@pytest.mark.parametrize("name", SOME)
def test_probabilities_of_samples_are_conditionals_and_their_mean_is_that_of_the_units(name):
    machine = MACHINES[name]()
    rows = bf.sample(machine, N, burn_in=20, probabilities=True)
    known = oracles.sigmoid(oracles.fields(machine))[:, : machine.layout.n_visible]
    for unit in range(machine.layout.n_visible):
        assert np.abs(rows[:, unit, None] - known[:, unit]).min(axis=1).max() < 1e-12
    marginals = visible_law(machine, oracles.law(machine)) @ oracles.bits(machine.layout.n_visible)
    assert_same_mean(rows, marginals)


def test_probabilities_of_held_units_are_their_values():
    rows = bf.sample(MACHINES["rbm_3_2"](), 4, burn_in=3, given=[0, NAN, 1], probabilities=True)
    np.testing.assert_array_equal(rows[:, [0, 2]], [[0, 1]] * 4)
    assert ((rows[:, 1] > 0) & (rows[:, 1] < 1)).all()


@pytest.mark.parametrize("name", ["n_kept", "burn_in", "thin"])
@pytest.mark.parametrize("value", [-1, 1.5, True, "2", None])
def test_a_schedule_is_made_of_whole_numbers(name, value):
    with pytest.raises(
        bf.InputError, match=rf"^{name} must be a whole number, \d or more; got {re.escape(repr(value))}\.$"
    ):
        Schedule(**{name: value})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number, 1 or more; got 0."),
        ({"n_samples": 2.0}, "n_samples must be a whole number, 1 or more; got 2.0."),
        ({"n_chains": -2}, "n_chains must be a whole number, 1 or more; got -2."),
        ({"burn_in": -1}, "burn_in must be a whole number, 0 or more; got -1."),
        ({"thin": 0}, "thin must be a whole number, 1 or more; got 0."),
        ({"seed": -1}, "seed must be a whole number from 0 to 2**32 − 1; got -1."),
        ({"seed": "one"}, "seed must be a whole number from 0 to 2**32 − 1; got 'one'."),
        ({"temperature": 0}, "temperature must be a number at least 1e-06; got 0."),
        ({"temperature": -1.5}, "temperature must be a number at least 1e-06; got -1.5."),
        ({"temperature": NAN}, "temperature must be a number at least 1e-06; got nan."),
        ({"temperature": float("inf")}, "temperature must be a number at least 1e-06; got inf."),
        ({"temperature": "hot"}, "temperature must be a number at least 1e-06; got 'hot'."),
        ({"given": [0, 1]}, "the machine has 3 visible units, but the data have 2 columns."),
        ({"given": [0, 0.5, 1]}, "units are held at 0 or 1, NaN leaves one free; got 0.5 in row 0, column 1."),
        (
            {"given": [[0, NAN, 1], [1, 0, NAN]]},
            "`given` has 2 rows for 4 chains; give one row, or one for each chain.",
        ),
        ({"given": [0, 1, 2]}, "values must lie in [0, 1]; got 2 in row 0, column 2. Scale the data first"),
        ({"given": []}, "data are empty: got shape (0,), expected at least one row."),
        ({"given": [[0, 1, 0], [1]]}, "data are a table, every row of the same length"),
        ({"given": ["0", "1", "0"]}, "data are numbers in [0, 1] or booleans; got an array of type <U1."),
    ],
)
def test_what_cannot_be_sampled_is_refused_in_a_sentence(wrong, sentence):
    with pytest.raises(bf.InputError, match="^" + re.escape(sentence)):
        bf.sample(MACHINES["rbm_3_2"](), **{"n_samples": 4, "burn_in": 1} | wrong)
