"""What is true of probability flow beyond the paper's text, each on enumerated machines (docs/theory.md)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import oracles
from boltzflow import flow
from boltzflow.learning.rules.pseudolikelihood import negative_log_pseudolikelihood
from boltzflow.machine.machine import Machine, free_energy
from oracles import close, every_state, whole

FULLY_VISIBLE = ["one_unit", "two_coupled", "visible_6", "visible_graph"]
WITH_HIDDEN = ["rbm_3_2", "deep_2_2_2", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph", "zero_weights"]

fully_visible = pytest.mark.parametrize("machine", FULLY_VISIBLE, indirect=True)
with_hidden = pytest.mark.parametrize("machine", WITH_HIDDEN, indirect=True)

flip_rates, flow_gradient = jax.jit(flow.flip_rates), jax.jit(flow.flow_gradient)


def mean_flow(machine: Machine, law: np.ndarray) -> jax.Array:
    return jnp.dot(law, flow.probability_flow(machine, every_state(machine)))


@jax.jit
def hidden_flow(machine: Machine, law: np.ndarray) -> jax.Array:
    """The flow of the hidden units alone."""
    rates = flow.flip_rates(machine, every_state(machine))
    return jnp.dot(law, jnp.sum(jnp.concatenate(rates[1:], axis=1), axis=1))


def visible_flow(machine: Machine, law: np.ndarray) -> jax.Array:
    """The flow of the visible units alone."""
    return jnp.dot(law, jnp.sum(flow.flip_rates(machine, every_state(machine))[0], axis=1))


slope_of_hidden_flow, slope_of_visible_flow = jax.jit(jax.grad(hidden_flow)), jax.jit(jax.grad(visible_flow))


def data_law(machine: Machine, support: np.ndarray | None = None) -> np.ndarray:
    """p̃⁰ over the visible states, of no machine."""
    return oracles.random_law(2**machine.layout.n_visible, seed=1, support=support)


def completed(machine: Machine, data: np.ndarray, q: np.ndarray | None = None) -> np.ndarray:
    """q(h | x) p̃⁰(x) over all states; q is the exact E-step unless given."""
    q = oracles.given_visible(machine, oracles.law(machine)) if q is None else q
    return (data[:, None] * q).ravel()


def any_completion(machine: Machine) -> np.ndarray:
    """q(h | x) that has nothing to do with the machine."""
    return oracles.given_visible(machine, oracles.random_law(2**machine.layout.n_units, seed=2))


def gradient_at(machine: Machine, law: np.ndarray) -> Machine:
    return flow_gradient(machine, every_state(machine), law)


def free_energies(machine: Machine) -> np.ndarray:
    """F(x) by enumeration."""
    return -np.log(np.exp(-oracles.energies(machine)).reshape(2**machine.layout.n_visible, -1).sum(axis=1))


def zero(found: Machine) -> None:
    for leaf in jax.tree.leaves(found):
        close(leaf, 0.0)


def every_visible(machine: Machine) -> jax.Array:
    return jnp.asarray(oracles.bits(machine.layout.n_visible))


# Fact 1: the flow is a composite exponential loss.


def test_flow_is_the_exponential_loss_of_predicting_each_unit_from_its_field(machine):
    signs = 2 * oracles.bits(machine.layout.n_units) - 1
    margins = signs * oracles.fields(machine)
    close(whole(flip_rates(machine, every_state(machine))).sum(axis=1), np.exp(-margins / 2).sum(axis=1))


@fully_visible
def test_pseudolikelihood_is_the_same_sum_with_the_logistic_loss(machine):
    """The loss log(1 + e^−m) in place of e^{−m/2}, of the same margins: log(1 + δ²) in place of δ."""
    rates = whole(flip_rates(machine, every_state(machine)))
    found = jax.jit(negative_log_pseudolikelihood)(machine, every_state(machine))
    close(found, np.log1p(rates**2).sum(axis=1))


@pytest.mark.parametrize("machine", ["visible_6", "rbm_3_2", "deep_2_2_2_lateral", "masked_graph"], indirect=True)
def test_flow_of_given_states_is_convex(machine):
    law = oracles.random_law(2**machine.layout.n_units, seed=3)
    flat, unflatten = ravel_pytree(machine)
    curvature = np.linalg.eigvalsh(jax.jit(jax.hessian(lambda at: mean_flow(unflatten(at), law)))(flat))
    assert curvature.min() >= -1e-12 * curvature.max()


@fully_visible
def test_a_unit_that_never_changes_has_no_finite_minimiser(machine):
    """Where every example has the unit on, the flow falls with its bias wherever the parameters are."""
    law = oracles.bits(machine.layout.n_units)[:, 0] / 2 ** (machine.layout.n_units - 1)
    for seed in range(5):
        assert gradient_at(oracles.perturbed(machine, 3.0, seed), law).biases[0][0] < 0


@fully_visible
def test_flow_into_states_without_data_is_blind_where_all_states_are_data_and_the_whole_flow_is_not(machine):
    """Under the exact law D_KL/ε vanishes for ε → 0 at the truth and at any other machine; K is least at the truth."""
    law, other = oracles.law(machine), oracles.perturbed(machine, 0.5, seed=4)
    for candidate in (machine, other):
        close(oracles.initial_slope(oracles.one_flip_generator(candidate), law), 0.0)
    zero(gradient_at(machine, law))
    flow_here, flow_there = (law @ whole(flip_rates(at, every_state(at))).sum(axis=1) for at in (machine, other))
    assert flow_here < flow_there


# Fact 2: untied, the flow falls apart into one convex problem per unit, and static data do not teach direction.


def network(n_units: int, seed: int) -> np.ndarray:
    """Untied couplings w_ij ≠ w_ji from i to j, none from a unit to itself, and one bias a unit, in one vector."""
    draw = np.random.default_rng(seed)
    couplings = draw.normal(size=(n_units, n_units)) * (1 - np.eye(n_units))
    return np.concatenate([couplings.ravel(), 0.5 * draw.normal(size=n_units)])


def network_fields(flat: jax.Array | np.ndarray, n_units: int) -> jax.Array:
    """z_j = Σ_{i≠j} w_ij y_i + b_j for every state."""
    couplings = jnp.reshape(flat[: n_units**2], (n_units, n_units)) * (1 - jnp.eye(n_units))
    return oracles.bits(n_units) @ couplings + flat[n_units**2 :]


def loss_of_next_state(flat: jax.Array, pairs: np.ndarray) -> jax.Array:
    """Σ_{y', y} p(y', y) Σ_j exp((½ − y'_j) z_j(y)): with y' = y the untied flow, else the same loss of what comes next."""
    n_units = int(np.log2(len(pairs)))
    half_flips = 0.5 - oracles.bits(n_units)
    losses = jnp.exp(half_flips[:, None, :] * network_fields(flat, n_units)).sum(axis=2)
    return jnp.sum(pairs * losses)


def untied_flow(flat: jax.Array, law: np.ndarray) -> jax.Array:
    return loss_of_next_state(flat, jnp.diag(law))


def law_of_flips(flat: np.ndarray, n_units: int) -> np.ndarray:
    """Where a network comes to rest whose units flip one at a time, at the rates exp(α_j z_j)."""
    rates = np.zeros((2**n_units, 2**n_units))
    delta = np.exp((0.5 - oracles.bits(n_units)) * np.asarray(network_fields(flat, n_units)))
    for unit in range(n_units):
        rates[oracles.flipped(n_units, unit), np.arange(2**n_units)] = delta[:, unit]
    return oracles.stationary(rates - np.diag(rates.sum(axis=0)))


def kernel_of_all_at_once(flat: np.ndarray, n_units: int) -> np.ndarray:
    """p(y' | y) = Π_j p(y'_j | y) of a network whose units are all drawn anew at each tick, on with chance σ(z_j(y))."""
    on = oracles.sigmoid(np.asarray(network_fields(flat, n_units)))
    states = oracles.bits(n_units)
    return np.prod(np.where(states[:, None, :] == 1, on, 1 - on), axis=2)


def law_of_all_at_once(flat: np.ndarray, n_units: int) -> np.ndarray:
    return oracles.stationary(kernel_of_all_at_once(flat, n_units) - np.eye(2**n_units))


def test_untied_flow_is_one_convex_problem_per_unit():
    curvature = np.asarray(jax.jit(jax.hessian(untied_flow))(network(4, seed=5), oracles.random_law(2**4, seed=6)))
    listener = np.concatenate([np.tile(np.arange(4), 4), np.arange(4)])
    np.testing.assert_array_equal(curvature[listener[:, None] != listener], 0.0)
    values = np.linalg.eigvalsh(curvature)
    assert values.min() >= -1e-12 * values.max()


def test_untied_flow_has_the_gradient_of_the_asymmetric_rule():
    """∂K/∂w_ij = ⟨y_i α_j δ_j⟩."""
    flat, law, states = network(4, seed=5), oracles.random_law(2**4, seed=6), oracles.bits(4)
    alpha = 0.5 - states
    errors = law[:, None] * alpha * np.exp(alpha * np.asarray(network_fields(flat, 4)))
    expected = np.concatenate([((states.T @ errors) * (1 - np.eye(4))).ravel(), errors.sum(axis=0)])
    close(jax.jit(jax.grad(untied_flow))(flat, law), expected)


@pytest.mark.parametrize("machine", ["two_coupled", "visible_6", "visible_graph"], indirect=True)
def test_untied_flow_of_a_machines_law_is_least_at_that_machine(machine):
    """Symmetry, and zeros where nothing is wired, come out although nothing ties or forbids them."""
    n_units, law = machine.layout.n_units, oracles.law(machine)
    found = oracles.minimise_vector(lambda flat: untied_flow(flat, law), np.zeros(n_units**2 + n_units))
    close(found, np.concatenate([oracles.couplings(machine).ravel(), oracles.biases(machine)]))


@pytest.mark.parametrize("law", [law_of_flips, law_of_all_at_once])
def test_static_data_of_an_asymmetric_network_do_not_give_it_back(law):
    truth = network(4, seed=7)
    static = law(truth, 4)
    found = oracles.minimise_vector(lambda flat: untied_flow(flat, static), np.zeros_like(truth))
    assert np.abs(found - truth).max() > 0.3


def test_the_state_to_come_given_the_state_now_gives_an_asymmetric_network_back():
    truth = network(4, seed=7)
    pairs = kernel_of_all_at_once(truth, 4) * law_of_all_at_once(truth, 4)
    found = oracles.minimise_vector(lambda flat: loss_of_next_state(flat, pairs), np.zeros_like(truth))
    close(found, truth)


# Fact 3: under the exact E-step the expected update of hidden units is zero.


@with_hidden
def test_exact_e_step_leaves_hidden_units_nothing_to_learn(machine):
    """⟨α_j δ_j⟩ = 0 and ⟨y_i α_j δ_j⟩ = 0 for hidden j and any i ≠ j, wired to it or not."""
    n_units, n_visible = machine.layout.n_units, machine.layout.n_visible
    law, states = completed(machine, data_law(machine)), oracles.bits(n_units)
    errors = law[:, None] * (0.5 - states) * whole(flip_rates(machine, every_state(machine)))
    from_others = (states.T @ errors) * (1 - np.eye(n_units))
    close(errors.sum(axis=0)[n_visible:], 0.0)
    close(from_others[:, n_visible:], 0.0)


@with_hidden
def test_under_the_exact_e_step_the_gradient_is_that_of_the_visible_half(machine):
    law = completed(machine, data_law(machine))
    expected = slope_of_visible_flow(machine, law)
    for found, leaf in zip(jax.tree.leaves(gradient_at(machine, law)), jax.tree.leaves(expected), strict=True):
        close(found, leaf)


@with_hidden
def test_flow_of_hidden_units_is_not_zero_but_least_at_the_parameters_that_drew_them(machine):
    law = completed(machine, data_law(machine))
    assert hidden_flow(machine, law) > 0.1
    zero(slope_of_hidden_flow(machine, law))
    for seed in range(5):
        assert hidden_flow(oracles.perturbed(machine, 0.3, seed), law) > hidden_flow(machine, law)


# Fact 4: the visible half is the flow of the free energy times an overlap.


@with_hidden
def test_visible_half_is_the_free_energy_flow_times_the_overlap_of_hidden_laws(machine):
    """E_q[δ_j] = exp(½ (F(x) − F(xʲ))) Σ_h √(p(h|x) p(h|xʲ))."""
    n_visible, free = machine.layout.n_visible, free_energies(machine)
    q = oracles.given_visible(machine, oracles.law(machine))
    rates = whole(flip_rates(machine, every_state(machine)))[:, :n_visible]
    expected = np.sum(q[:, :, None] * rates.reshape(*q.shape, n_visible), axis=1)
    for unit in range(n_visible):
        other = oracles.flipped(n_visible, unit)
        overlap = np.sum(np.sqrt(q * q[other]), axis=1)
        assert overlap.max() <= 1 + 1e-12
        close(expected[:, unit], np.exp(0.5 * (free - free[other])) * overlap)


@with_hidden
@pytest.mark.parametrize("completion", [None, any_completion], ids=["exact E-step", "any E-step"])
def test_first_order_of_the_papers_objective_is_the_visible_half_alone(machine, completion):
    """lim L^(ε)/ε: every hidden neighbour of (x, h) is in the support of q, so no probability is lost to it."""
    data = data_law(machine, oracles.even_parity(machine.layout.n_visible))
    law = completed(machine, data, completion and completion(machine))
    visible_rates = whole(flip_rates(machine, every_state(machine)))[:, : machine.layout.n_visible]
    close(oracles.initial_slope(oracles.one_flip_generator(machine), law), law @ visible_rates.sum(axis=1))


# Fact 5: the free-energy flow of an RBM is a product over its hidden units.


@pytest.mark.parametrize("machine", ["rbm_3_2", "zero_weights"], indirect=True)
def test_free_energy_flow_of_an_rbm_is_a_product_over_hidden_units(machine):
    """exp(½ (F(x) − F(xʲ))) = (e^{d_j b_j} Π_h (1 + s_h (e^{d_j w_jh} − 1)))^½, d = 1 − 2x, s = σ(xW + c)."""
    n_visible, free = machine.layout.n_visible, np.asarray(free_energy(machine, every_visible(machine)))
    w, b = oracles.couplings(machine)[:n_visible, n_visible:], oracles.biases(machine)
    x = oracles.bits(n_visible)
    s = oracles.sigmoid(x @ w + b[n_visible:])
    for unit in range(n_visible):
        d = 1 - 2 * x[:, unit]
        product = np.exp(d * b[unit]) * np.prod(1 + s * np.expm1(d[:, None] * w[unit]), axis=1)
        close(np.exp(0.5 * (free - free[oracles.flipped(n_visible, unit)])), np.sqrt(product))


# Fact 6: in a joint deep machine the exact E-step teaches nothing to couplings between hidden units.


@pytest.mark.parametrize("machine", ["deep_2_2_2", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph"], indirect=True)
def test_exact_e_step_teaches_nothing_to_couplings_between_hidden_units(machine):
    gradient = gradient_at(machine, completed(machine, data_law(machine)))
    for wiring, array in zip(machine.layout.wirings, gradient.couplings, strict=True):
        if 0 not in wiring.layers:
            close(array, 0.0)
        else:
            assert np.abs(array).max() > 1e-3


@pytest.mark.parametrize("machine", ["deep_2_2_2"], indirect=True)
def test_feed_forward_e_step_teaches_something_to_couplings_between_hidden_units(machine):
    gradient = gradient_at(machine, completed(machine, data_law(machine), oracles.feed_forward(machine)))
    assert np.abs(gradient.couplings[1]).max() > 1e-2


# The three divergences of Eq. 3, and the bound that follows.

AFTER = pytest.mark.parametrize("time", [0.01, 0.3, 3.0])
COMPLETIONS = pytest.mark.parametrize("completion", [None, any_completion], ids=["exact E-step", "any E-step"])


@pytest.mark.parametrize("machine", [name for name in WITH_HIDDEN if name != "zero_weights"], indirect=True)
@AFTER
@COMPLETIONS
def test_objective_is_the_divergence_of_hidden_units_plus_that_of_visible_ones(machine, completion, time):
    """L^(t) = E_x[D_KL(q(h|x) ‖ p^t(h|x))] + D_KL(p̃⁰ ‖ p̃^t) [Eq. 3], and so L^(t) bounds D_KL(p̃⁰ ‖ p̃^t)."""
    data = data_law(machine)
    start = completed(machine, data, completion and completion(machine))
    later = oracles.evolved(oracles.one_flip_generator(machine), start, time)
    q, p = oracles.given_visible(machine, start), oracles.given_visible(machine, later)
    of_hidden = sum(data[x] * oracles.kl(q[x], p[x]) for x in range(len(data)))
    of_visible = oracles.kl(data, later.reshape(len(data), -1).sum(axis=1))
    close(oracles.kl(start, later), of_hidden + of_visible)
    assert min(of_hidden, of_visible) > 0


@with_hidden
def test_bound_is_tight_under_the_exact_e_step_when_the_chain_has_come_to_rest(machine):
    data = data_law(machine)
    start = completed(machine, data)
    later = oracles.evolved(oracles.one_flip_generator(machine), start, 200.0)
    of_visible = oracles.kl(data, oracles.law(machine).reshape(len(data), -1).sum(axis=1))
    close(oracles.kl(start, later), of_visible)
