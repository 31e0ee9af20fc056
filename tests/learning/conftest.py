"""What holds for every test of learning."""

from collections.abc import Iterator

import jax
import jaxtyping
import pytest


@pytest.fixture(autouse=True)
def compiled_quickly() -> Iterator[None]:
    """Without optimisation, which a few rows would not repay."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def types_unchecked() -> Iterator[None]:
    """To hear what the package itself says of a wrong type, before the checks of the tests speak."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
