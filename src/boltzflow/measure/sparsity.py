"""How sparse the couplings between two layers are: the share of them that counts, and their size."""

import numpy as np
from jaxtyping import Float

from boltzflow.errors import InputError

Couplings = Float[np.ndarray, "n_visible n_hidden"]


def weight_sparsity(couplings: Couplings) -> float:
    """ρ = 1/(|x| |h|) Σ_j (Σ_i w_ij²)² / Σ_i w_ij⁴, roughly the share of couplings that are not near zero [§RBM: ρ].

    Each hidden unit j counts its couplings: k equal ones among zeros count as k, and none where all are zero.

    >>> weight_sparsity(np.array([[3.0, 1.0], [0.0, 1.0]]))
    0.75
    """
    largest = np.abs(_checked(couplings)).max(axis=0)
    squares = (couplings[:, largest > 0] / largest[largest > 0]) ** 2
    counts = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
    return float(counts.sum() / couplings.size)


def squared_weight(couplings: Couplings) -> float:
    """w² = 1/|h| Σ_ij w_ij², a hidden unit's share of the squares [§RBM: w²]."""
    return float((_checked(couplings) ** 2).sum() / couplings.shape[1])


def _checked(couplings: Couplings) -> Couplings:
    if couplings.ndim != 2 or not couplings.size:
        raise InputError(f"couplings are a table, a row for each visible unit; got shape {couplings.shape}.")
    if (strange := np.argwhere(~np.isfinite(couplings))).size:
        raise InputError(f"the coupling in row {strange[0, 0]}, column {strange[0, 1]} is not finite.")
    return couplings.astype(np.float64)
