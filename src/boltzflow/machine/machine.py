"""A machine: a layout, its couplings and its biases; energy, local fields and free energy. No randomness here."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.wiring import States, Units


class Machine(eqx.Module):
    """A Boltzmann machine p(y) ∝ exp(−Energy(y)) over binary units, as a pytree whose leaves are its parameters."""

    layout: Layout = eqx.field(static=True)
    couplings: tuple[Float[Array, "..."], ...]
    """One array per wiring of the layout."""
    biases: tuple[Float[Array, " _"], ...]
    """One array per layer."""

    def __check_init__(self) -> None:
        expected = [*(w.weight_shape for w in self.layout.wirings), *((width,) for width in self.layout.widths)]
        came = [jnp.shape(leaf) for leaf in (*self.couplings, *self.biases)]
        if came != expected:
            raise InputError(
                f"the layout {self.layout} asks for couplings and biases of shapes {expected}; got {came}."
            )

    @property
    def dtype(self) -> jnp.dtype:
        return self.biases[0].dtype

    def __repr__(self) -> str:
        return f"Machine({self.layout}, {self.layout.n_couplings} couplings, {self.dtype})"


def layer_fields(
    machine: Machine, states: States, layer: int, units: Units = None, silent: frozenset[int] = frozenset()
) -> Float[Array, "batch _"]:
    """z_i = Σ_j w_ij y_j + b_i for the units i of one layer; units j of silent layers are not heard [§VMPF: z]."""
    bias = machine.biases[layer] if units is None else machine.biases[layer][units]
    fields = jnp.broadcast_to(bias, (states[0].shape[0], bias.shape[0]))
    for k, wiring in machine.layout.wirings_of(layer, silent):
        fields = fields + wiring.fields(machine.couplings[k], states, layer, units)
    return fields


def local_fields(machine: Machine, states: States) -> States:
    """z_i = Σ_j w_ij y_j + b_i, all that unit i hears of the others [§VMPF: z]."""
    return tuple(layer_fields(machine, states, layer) for layer in range(len(states)))


def energy(machine: Machine, states: States) -> Float[Array, " batch"]:
    """Energy(y) = −Σ_{i<j} w_ij y_i y_j − Σ_i b_i y_i = −½ Σ_i y_i (z_i + b_i): each coupling is in two fields [§BM: Energy]."""
    fields = local_fields(machine, states)
    terms = (y * (z + b) for y, z, b in zip(states, fields, machine.biases, strict=True))
    return -0.5 * sum((jnp.sum(term, axis=1) for term in terms), jnp.zeros(states[0].shape[0], machine.dtype))


def visible_part(machine: Machine) -> Machine:
    """The visible units alone with the couplings among them: p(x | h = 0)."""
    kept = [k for k, wiring in enumerate(machine.layout.wirings) if wiring.layers == {0}]
    layout = Layout(
        machine.layout.widths[:1], tuple(machine.layout.wirings[k] for k in kept), machine.layout.labels[:1]
    )
    return Machine(layout, tuple(machine.couplings[k] for k in kept), machine.biases[:1])


def hidden_fields(machine: Machine, visible: Float[Array, "batch n_visible"]) -> tuple[Float[Array, "batch _"], ...]:
    """z_h of all hidden units given the visible units, where no two hidden units are coupled [§RBM: p(h|x)]."""
    silent = frozenset(machine.layout.hidden_layers)
    return tuple(layer_fields(machine, (visible,), layer, silent=silent) for layer in machine.layout.hidden_layers)


def free_energy(machine: Machine, visible: Float[Array, "batch n_visible"]) -> Float[Array, " batch"]:
    """F(x) = −log Σ_h exp(−Energy(x, h)) = Energy(x, 0) − Σ_h log(1 + exp z_h), for independent hidden units [ours]."""
    check_hidden_independent(machine.layout, "the free energy")
    softened = (jnp.sum(jax.nn.softplus(z), axis=1) for z in hidden_fields(machine, visible))
    return energy(visible_part(machine), (visible,)) - sum(softened, jnp.zeros(visible.shape[0], machine.dtype))


def check_hidden_independent(layout: Layout, what: str) -> None:
    """Refuse what has a closed form only where no two hidden units are coupled."""
    if not layout.hidden_independent:
        raise InputError(
            f"{what} has a closed form only where no two hidden units are coupled; the layout is {layout}. "
            "Up to 20 units it can be enumerated."
        )
