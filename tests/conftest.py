"""Doubles wherever a test asks for them, no silent promotion of types, shapes checked, the one list of machines as a fixture."""

import jax
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_disable_most_optimizations", True)  # most of the time goes into compiling
install_import_hook("boltzflow", "shapes.check")

import pytest

from boltzflow.machine.machine import Machine
from machines import MACHINES


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> Machine:
    """Every machine of the list, one after the other."""
    return MACHINES[request.param]()
