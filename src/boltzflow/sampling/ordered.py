"""Units of a densely coupled layer drawn one by one in a fixed order: plainly, and in blocks that do the same much faster.

Given what units hear from other layers (`external`), unit j is drawn from p_j = σ(β (Σ_{k≠j} w_kj y_k + external_j)), where
units before j have their new values already. A block of units needs one matrix product for what it hears from all others,
and then only the few couplings inside it, unit by unit. Both forms use the same uniforms; draws differ only where rounding
of a field decides.
"""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from boltzflow.sampling.uniforms import Stream

Hold: TypeAlias = tuple[Bool[Array, "rows n"], Float[Array, "rows n"]] | None
"""Which units of each row are held, and at what values."""

BLOCK = 14
"""Units drawn between two matrix products."""

ROWS = 1000
"""Rows that go through a sweep together: their states stay in the cache."""


def draw_in_order(
    couplings: Float[Array, "n n"],
    external: Float[Array, "rows n"],
    states: Float[Array, "rows n"],
    stream: Stream,
    inverse_temperature: float | Float[Array, ""] = 1.0,
    hold: Hold = None,
) -> Float[Array, "rows n"]:
    """One sweep, unit by unit: p_j = σ(β (Σ_{k≠j} w_kj y_k + external_j)) [Eq. 5]."""
    uniforms = stream.uniforms(jnp.arange(states.shape[1])).astype(states.dtype)

    def draw_unit(j: Int[Array, ""], y: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
        fields = y @ couplings[:, j] + external[:, j]
        new = (uniforms[:, j] < jax.nn.sigmoid(inverse_temperature * fields)).astype(y.dtype)
        return y.at[:, j].set(_held(new, hold, j))

    return jax.lax.fori_loop(0, states.shape[1], draw_unit, states)


def _held(new: Float[Array, " rows"], hold: Hold, j: Int[Array, ""]) -> Float[Array, " rows"]:
    return new if hold is None else jnp.where(hold[0][:, j], hold[1][:, j], new)


def draw_in_blocks(
    couplings: Float[Array, "n n"],
    external: Float[Array, "rows n"],
    states: Float[Array, "rows n"],
    stream: Stream,
    inverse_temperature: float | Float[Array, ""] = 1.0,
    hold: Hold = None,
) -> Float[Array, "rows n"]:
    """The same sweep as `draw_in_order`, block by block and a thousand rows at a time [Eq. 5]."""
    n_rows, n_units = states.shape
    block = min(BLOCK, n_units)
    rows = min(ROWS, n_rows)
    couplings = _pad(_pad(couplings, 0, block), 1, block)

    def sweep(chunk: tuple[Array, Array, Array, Hold]) -> Array:
        own, ids, heard, held = chunk
        turned = None if held is None else (held[0].T, held[1].T)
        return _sweep_blocks(couplings, heard.T, own.T, Stream(stream.key, ids), inverse_temperature, turned, block).T

    units = _in_chunks(lambda part: _pad(part, 1, block), rows)
    held = None if hold is None else (units(hold[0]), units(hold[1]))
    ids = _in_chunks(lambda part: part, rows)(stream.examples)
    drawn = jax.lax.map(sweep, (units(states), ids, units(external), held))
    return drawn.reshape(-1, drawn.shape[-1])[:n_rows, :n_units]


def _sweep_blocks(
    couplings: Float[Array, "n n"],
    external: Float[Array, "n rows"],
    states: Float[Array, "n rows"],
    stream: Stream,
    inverse_temperature: float | Float[Array, ""],
    hold: tuple[Bool[Array, "n rows"], Float[Array, "n rows"]] | None,
    block: int,
) -> Float[Array, "n rows"]:
    """One sweep over units in rows, so that a unit's values lie side by side."""

    def draw_block(b: Int[Array, ""], y: Float[Array, "n rows"]) -> Float[Array, "n rows"]:
        first = b * block

        def own(table: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(table, first, block, 0)

        listening = own(couplings)
        inside = jax.lax.dynamic_slice_in_dim(listening, first, block, 1)
        uniforms = stream.uniforms(first + jnp.arange(block)).T.astype(y.dtype)
        fields, old = listening @ y + own(external), own(y)
        held = None if hold is None else (own(hold[0]), own(hold[1]))

        def draw_unit(j: Int[Array, ""], carry: tuple[Array, Array]) -> tuple[Array, Array]:
            z, drawn = carry
            new = (uniforms[j] < jax.nn.sigmoid(inverse_temperature * z[j])).astype(y.dtype)
            new = new if held is None else jnp.where(held[0][j], held[1][j], new)
            return z + inside[:, j][:, None] * (new - drawn[j]), drawn.at[j].set(new)

        _, drawn = jax.lax.fori_loop(0, block, draw_unit, (fields, old))
        return jax.lax.dynamic_update_slice_in_dim(y, drawn, first, 0)

    return jax.lax.fori_loop(0, states.shape[0] // block, draw_block, states)


def _pad(table: Array, axis: int, multiple: int) -> Array:
    """Zeros at the end of an axis, up to a multiple: units that nobody hears, rows that nobody reads."""
    missing = -table.shape[axis] % multiple
    widths = [(0, missing if k == axis else 0) for k in range(table.ndim)]
    return jnp.pad(table, widths) if missing else table


def _in_chunks(prepare: Callable[[Array], Array], rows: int) -> Callable[[Array], Array]:
    """Rows in chunks, the last one filled up."""

    def cut(table: Array) -> Array:
        padded = _pad(prepare(table), 0, rows)
        return padded.reshape(-1, rows, *padded.shape[1:])

    return cut
