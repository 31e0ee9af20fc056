"""Variational probability flow for a restricted Boltzmann machine, in NumPy and nothing else.

Reads from top to bottom: the energy's local fields, the E-step, the flow and its two local gradients, one epoch.
Run it: it learns bars and stripes and prints how the flow falls.
"""

import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def e_step(w, c, x, uniforms):
    """h ~ p(h | x): one draw for every example, with the machine as it is now."""
    return (uniforms < sigmoid(x @ w + c)).astype(float)


def flow_and_gradient(w, b, c, x, h):
    """K = Σ_j δ_j averaged over the examples, and ∂K/∂w, ∂K/∂b, ∂K/∂c, where δ_j = exp(α_j z_j) and α_j = ½ − y_j."""
    alpha_x, alpha_h = 0.5 - x, 0.5 - h
    delta_x, delta_h = np.exp(alpha_x * (h @ w.T + b)), np.exp(alpha_h * (x @ w + c))
    error_x, error_h = alpha_x * delta_x, alpha_h * delta_h
    n = len(x)
    flow = (delta_x.sum() + delta_h.sum()) / n
    return flow, (error_x.T @ h + x.T @ error_h) / n, error_x.mean(axis=0), error_h.mean(axis=0)


def epoch(w, b, c, x, uniforms, learning_rate=0.05, decay=0.01, batch_size=40):
    """The E-step for all the data, then the M-step batch by batch; the mean flow of the batches and the new parameters."""
    h = e_step(w, c, x, uniforms)
    flows = []
    for start in range(0, len(x), batch_size):
        batch = slice(start, start + batch_size)
        flow, dw, db, dc = flow_and_gradient(w, b, c, x[batch], h[batch])
        w, b, c = w - learning_rate * (dw + decay * w), b - learning_rate * db, c - learning_rate * dc
        flows.append(flow)
    return np.mean(flows), w, b, c


def bars_and_stripes(side, n, rng):
    """Pictures whose rows are all alike, or whose columns are."""
    lines = rng.integers(0, 2, (n, side, 1)) * np.ones((n, side, side))
    upright = rng.integers(0, 2, n).astype(bool)
    lines[upright] = lines[upright].transpose(0, 2, 1)
    return lines.reshape(n, side * side)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = bars_and_stripes(4, 2000, rng)
    w, b, c = rng.normal(0, 0.1, (16, 24)), np.zeros(16), np.full(24, -1.0)
    for k in range(1, 101):
        flow, w, b, c = epoch(w, b, c, x, rng.random((len(x), 24)))
        if k in (1, 2, 5, 10, 20, 50, 100):
            print(f"epoch {k:3d}   probability flow {flow:.3f}")
