"""Random numbers as a function of (key, example, unit), never of batch layout or mesh.

Each uniform is the Threefry-2x32 hash (20 rounds, Salmon et al. 2011, the function behind JAX's own default generator) of
the counter (example, unit) under a key. Written as plain arithmetic, XLA fuses it into the comparison that uses it, so
no uniform ever reaches memory: docs/decisions/0005-random-numbers.md has the measurement.
"""

from enum import IntEnum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_ROUNDS = 20
_RESOLUTION = 23
"""Midpoints of 2²³ equal cells are exact in float32 and lie strictly inside (0, 1)."""


class Purpose(IntEnum):
    """What a key is for. A stream of random numbers is found by seed, epoch and purpose."""

    SHUFFLE = 0
    BINARISE = 1
    COMPLETE = 2
    CHAINS = 3
    UPDATE = 4
    MONITOR = 5
    START = 6


def threefry(
    key: Key[Array, ""], high: UInt32[Array, "*shape"], low: UInt32[Array, "*shape"]
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Threefry-2x32-20: two words of the counter to two random words, under the 64 bits of the key [ours]."""
    first, second = jax.random.key_data(key)
    schedule = (first, second, first ^ second ^ jnp.uint32(_PARITY))
    high, low = high + schedule[0], low + schedule[1]
    for turn in range(_ROUNDS):
        high = high + low
        low = high ^ _rotate(low, _ROTATIONS[turn // 4 % 2][turn % 4])
        if turn % 4 == 3:
            injection = turn // 4 + 1
            high = high + schedule[injection % 3]
            low = low + schedule[(injection + 1) % 3] + jnp.uint32(injection)
    return high, low


def _rotate(word: UInt32[Array, "*shape"], by: int) -> UInt32[Array, "*shape"]:
    return (word << jnp.uint32(by)) | (word >> jnp.uint32(32 - by))


class Stream(eqx.Module):
    """The random numbers of a batch of examples, under one key."""

    key: Key[Array, ""]
    examples: Int[Array, " batch"]

    def fold(self, number: int | Int[Array, ""]) -> "Stream":
        """A stream of its own for each number."""
        return Stream(jax.random.fold_in(self.key, number), self.examples)

    def uniforms(self, units: Int[Array, " units"]) -> Float[Array, "batch units"]:
        """u(key, example, unit) ∈ (0, 1), one for each pair, in float32 [ours]."""
        shape = (self.examples.shape[0], units.shape[0])
        high = jnp.broadcast_to(self.examples.astype(jnp.uint32)[:, None], shape)
        low = jnp.broadcast_to(units.astype(jnp.uint32)[None, :], shape)
        bits, _ = threefry(self.key, high, low)
        cell = (bits >> jnp.uint32(32 - _RESOLUTION)).astype(jnp.float32)
        return (cell + 0.5) * jnp.float32(2.0**-_RESOLUTION)

    def draw(
        self, probabilities: Float[Array, "batch units"], units: Int[Array, " units"] | None = None
    ) -> Float[Array, "batch units"]:
        """y = 1 where u < p: the one line that draws, everywhere [ours]."""
        u = self.uniforms(jnp.arange(probabilities.shape[1]) if units is None else units)
        return (u.astype(probabilities.dtype) < probabilities).astype(probabilities.dtype)


def stream(key: Key[Array, ""], purpose: Purpose, examples: Int[Array, " batch"]) -> Stream:
    """The random numbers that examples use for one purpose."""
    return Stream(jax.random.fold_in(key, int(purpose)), examples)
