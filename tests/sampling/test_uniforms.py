"""Random numbers are a function of key, example and unit, and nothing in them tells keys, examples and units apart."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

from boltzflow.sampling.uniforms import Purpose, Stream, stream, threefry
from chance import assert_same_distribution, count_cells, even

KEY = jax.random.key(7)
N, UNITS = 4096, 16
EXAMPLES = np.arange(N)


@jax.jit
def _uniforms(draws: Stream) -> jax.Array:
    return draws.uniforms(jnp.arange(UNITS))


def uniforms(draws: Stream | None = None) -> np.ndarray:
    return np.asarray(_uniforms(Stream(KEY, jnp.asarray(EXAMPLES)) if draws is None else draws))


def words(first: int, n: int) -> jax.Array:
    return jnp.arange(first, first + n, dtype=jnp.uint32)


@pytest.mark.parametrize(
    ("key", "counter", "published"),
    [
        ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_values_published_with_it(key, counter, published):
    wrapped = jax.random.wrap_key_data(jnp.array(key, jnp.uint32))
    high, low = threefry(wrapped, *(jnp.array([word], jnp.uint32) for word in counter))
    assert (int(high[0]), int(low[0])) == published


@pytest.mark.parametrize("seed", [0, 1, 2**31 + 5])
@pytest.mark.parametrize("first", [0, 2**32 - 500])
def test_threefry_equals_that_of_jax_on_the_same_counters(seed, first):
    key, high, low = jax.random.key(seed), words(first, 500), words(12_345, 500)
    theirs = threefry_2x32(jax.random.key_data(key), jnp.concatenate([high, low]))
    np.testing.assert_array_equal(jnp.concatenate(threefry(key, high, low)), theirs)


def test_the_bits_that_jax_draws_are_the_two_words_of_threefry_added_without_carry():
    with jax.threefry_partitionable(True):
        theirs = jax.random.bits(KEY, (500,), jnp.uint32)
    first, second = threefry(KEY, jnp.zeros(500, jnp.uint32), words(0, 500))
    np.testing.assert_array_equal(first ^ second, theirs)


def test_uniforms_are_midpoints_of_2_to_the_23_cells_named_by_the_first_word():
    first, _ = threefry(KEY, jnp.full(500, 3, jnp.uint32), words(0, 500))
    midpoints = (np.asarray(first) // 2**9 + 0.5) / 2**23
    np.testing.assert_array_equal(Stream(KEY, jnp.array([3])).uniforms(jnp.arange(500))[0], midpoints)


@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_the_lowest_and_the_highest_word_give_numbers_strictly_inside_the_unit_interval(monkeypatch, word):
    monkeypatch.setattr("boltzflow.sampling.uniforms.threefry", lambda key, high, low: (jnp.full_like(high, word), low))
    u = Stream(KEY, jnp.arange(1)).uniforms(jnp.arange(1))
    assert u.dtype == jnp.float32
    assert 0 < float(u[0, 0]) < 1


@pytest.mark.parametrize(
    ("examples", "units"),
    [
        ([N - 1, 2, 9, 4, 4], [6, 1, 2, 2]),
        ([7], [*range(UNITS)]),
        ([*range(N - 1, -1, -1)], [*range(UNITS - 1, -1, -1)]),
    ],
    ids=["some, repeated", "one example", "all, backwards"],
)
def test_any_examples_and_units_in_any_order_get_the_same_numbers(examples, units):
    chosen = Stream(KEY, jnp.array(examples)).uniforms(jnp.array(units))
    np.testing.assert_array_equal(chosen, uniforms()[np.ix_(examples, units)])


@pytest.mark.parametrize("number", [0, 1, 77])
def test_a_fold_known_only_when_it_runs_gives_the_same_numbers(number):
    draws = Stream(KEY, jnp.arange(5))
    traced = jax.jit(lambda k: draws.fold(k).uniforms(jnp.arange(UNITS)))(jnp.asarray(number))
    np.testing.assert_array_equal(traced, draws.fold(number).uniforms(jnp.arange(UNITS)))


@pytest.mark.parametrize("units", [None, [4, 1]])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_a_draw_is_one_where_the_uniform_lies_below_the_probability(units, dtype):
    draws, probabilities = Stream(KEY, jnp.arange(500)), jnp.full((500, 2), 0.3, dtype)
    drawn = draws.draw(probabilities, None if units is None else jnp.array(units))
    assert drawn.dtype == dtype
    np.testing.assert_array_equal(drawn, uniforms()[:500, [0, 1] if units is None else units] < 0.3)


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_what_is_certain_is_drawn_for_certain(certain):
    assert (Stream(KEY, jnp.asarray(EXAMPLES)).draw(jnp.full((N, UNITS), certain)) == certain).all()


NEIGHBOURS = {
    "units": lambda u: (u[:, 0::2], u[:, 1::2]),
    "examples": lambda u: (u[0::2], u[1::2]),
    "both": lambda u: (u[0::2, 0::2], u[1::2, 1::2]),
}

BUGS = {
    "all units share a number": ("units", lambda u: np.repeat(u[:, :1], UNITS, axis=1)),
    "all examples share a number": ("examples", lambda u: np.repeat(u[:1], N, axis=0)),
    "example and unit are added up": ("both", lambda u: u[np.add.outer(EXAMPLES, -np.arange(UNITS)) % N, 0]),
    "one example in ten repeats a number": ("units", lambda u: np.where(EXAMPLES[:, None] % 10 == 0, u[:, :1], u)),
    "numbers are not uniform": ("units", lambda u: u**1.1),
}


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_numbers_are_uniform_and_those_of_neighbours_are_independent(neighbours):
    assert_same_distribution(count_cells(*NEIGHBOURS[neighbours](uniforms())), even(64))


@pytest.mark.parametrize("bug", BUGS)
def test_numbers_with_a_planted_bug_are_caught(bug):
    neighbours, spoil = BUGS[bug]
    with pytest.raises(AssertionError):
        assert_same_distribution(count_cells(*NEIGHBOURS[neighbours](spoil(uniforms()))), even(64))


def _streams() -> dict[str, Stream]:
    plain = Stream(KEY, jnp.asarray(EXAMPLES))
    return {
        **{purpose.name: stream(KEY, purpose, plain.examples) for purpose in Purpose},
        **{f"fold {number}": plain.fold(number).fold(0) for number in (0, 1, 1000)},
        "folds in another order": plain.fold(0).fold(1),
        "another key": Stream(jax.random.key(8), plain.examples),
    }


@pytest.fixture(scope="module")
def numbers_of() -> dict[str, np.ndarray]:
    return {name: uniforms(draws) for name, draws in _streams().items()}


@pytest.mark.parametrize(("one", "other"), [*combinations(_streams(), 2)])
def test_purposes_folds_and_keys_have_independent_numbers(numbers_of, one, other):
    assert_same_distribution(count_cells(numbers_of[one], numbers_of[other]), even(64))


def test_two_names_for_one_stream_would_be_caught():
    u = uniforms()
    with pytest.raises(AssertionError):
        assert_same_distribution(count_cells(u, u), even(64))
