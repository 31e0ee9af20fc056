"""What holds for every test of learning."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def types_unchecked() -> Iterator[None]:
    """To hear what the package itself says of a wrong type, before the checks of the tests speak."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
