"""Probability flow of a Boltzmann machine and its local gradients: the heart of the paper.

The Markov chain that flips unit j of state y at rate δ_j has the machine's law as its stationary law (docs/theory.md).
Started at the data, probability leaves it at first order in time ε as D_KL(p⁰ ‖ p^ε) = ε K + O(ε²); learning makes K small.

Where ε and λ went: the paper's objective is ε K + λ Σ w² with λ = 1e-4; ε multiplies the flow alone and was 0.01 in what
the authors ran, with λ w as the gradient of the decay. Only the ratio matters to Adam, so here the flow is un-scaled
and `decay` = λ/ε: the update direction is ∂K/∂w + decay · w, with 0.01 as the paper's value. Biases do not decay. The
½ of α comes from the square root in Γ_xy, which splits the energy difference evenly between a flip and its return.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from boltzflow.machine.machine import Machine, local_fields
from boltzflow.machine.wiring import States

PAPER_DECAY = 0.01
"""λ/ε of the paper's runs."""


def half_flips(states: States) -> States:
    """α_i = ½ − y_i: half the change of unit i if it flips [§VMPF: α]."""
    return tuple(0.5 - y for y in states)


def flip_rates(machine: Machine, states: States) -> States:
    """δ_i = exp(α_i z_i), the rate at which unit i flips [§VMPF: δ]."""
    fields = local_fields(machine, states)
    return tuple(jnp.exp(a * z) for a, z in zip(half_flips(states), fields, strict=True))


def probability_flow(machine: Machine, states: States) -> Float[Array, " batch"]:
    """K = Σ_j δ_j for each state: all the probability that leaves it through single flips [§VMPF: K]."""
    return total(flip_rates(machine, states))


def flow_errors(machine: Machine, states: States) -> tuple[Float[Array, " batch"], States]:
    """K = Σ_i δ_i and ∂K/∂z_i = α_i δ_i, from one evaluation of the rates [§VMPF: K]."""
    rates = flip_rates(machine, states)
    return total(rates), tuple(a * d for a, d in zip(half_flips(states), rates, strict=True))


def flow_gradient(machine: Machine, states: States, weights: Float[Array, " batch"]) -> Machine:
    """∂K/∂b_i = α_i δ_i, ∂K/∂w_ij = y_j α_i δ_i + y_i α_j δ_j, weighted over the batch [Eq. 1] [Eq. 2]."""
    _, errors = flow_errors(machine, states)
    return local_gradient(machine, states, weighted(errors, weights))


def local_gradient(machine: Machine, states: States, errors: States) -> Machine:
    """∂/∂b_i = Σ_batch e_i and ∂/∂w_ij = Σ_batch (y_j e_i + y_i e_j), for any loss with e_i = ∂/∂z_i [ours]."""
    couplings = tuple(wiring.tied_statistics(states, errors) for wiring in machine.layout.wirings)
    return Machine(machine.layout, couplings, tuple(jnp.sum(e, axis=0) for e in errors))


def untied_gradient(
    machine: Machine, states: States, weights: Float[Array, " batch"]
) -> tuple[tuple[Float[Array, "..."], ...], tuple[Float[Array, "..."], ...]]:
    """y_i α_j δ_j for i → j, and y_j α_i δ_i for j → i: the two halves of Eq. 2, each for a coupling of its own [Eq. 6].

    Both halves have the shape of the coupling; i is the unit of the lower layer, or the smaller one inside a layer.
    """
    _, errors = flow_errors(machine, states)
    errors = weighted(errors, weights)
    upward = tuple(wiring.pair_statistics(states, errors) for wiring in machine.layout.wirings)
    downward = tuple(wiring.pair_statistics(errors, states) for wiring in machine.layout.wirings)
    return upward, downward


def weighted(values: States, weights: Float[Array, " batch"]) -> States:
    """Each row times its weight; weights that sum to one turn sums over a batch into means."""
    return tuple(weights[:, None] * v for v in values)


def total(values: States) -> Float[Array, " batch"]:
    """The sum over all units, for each row."""
    return jnp.sum(jnp.stack([jnp.sum(v, axis=1) for v in values]), axis=0)
