"""Arrays to figures: mosaics of pictures, filters, reconstructions, samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boltzflow.machine.stack import Model, parts
from boltzflow.machine.wiring import Dense

GREYS = "gray_r"
SIGNED = "RdBu_r"

Pictures = Float[np.ndarray, "pictures pixels"]


@dataclass(frozen=True)
class Repair:
    """Some pictures with a region missing, and what a machine made of it."""

    side: str
    originals: Pictures
    corrupted: Pictures
    """NaN where pixels are missing."""
    filled: Pictures


def mosaic(
    pictures: Shaped[np.ndarray, "pictures pixels"], shape: tuple[int, int], n_columns: int, gap: float = np.nan
) -> Float[np.ndarray, "height width"]:
    """Pictures side by side in rows of n_columns, one pixel of `gap` between them.

    >>> mosaic(np.ones((2, 4)), (2, 2), n_columns=2, gap=0.0).tolist()
    [[1.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0, 1.0]]
    """
    n_rows = -(-len(pictures) // n_columns)
    height, width = shape
    canvas = np.full((n_rows * (height + 1) - 1, n_columns * (width + 1) - 1), gap)
    for k, picture in enumerate(pictures):
        top, left = k // n_columns * (height + 1), k % n_columns * (width + 1)
        canvas[top : top + height, left : left + width] = picture.reshape(shape)
    return canvas


def filters(model: Model) -> Float[np.ndarray, "hidden pixels"]:
    """What each unit of the first hidden layer hears from the visible ones."""
    first = parts(model)[0]
    between = [
        weights
        for wiring, weights in zip(first.layout.wirings, first.couplings, strict=True)
        if isinstance(wiring, Dense) and wiring.layers == {0, 1}
    ]
    return np.asarray(between[0]) if between else np.zeros((0, first.layout.n_visible))


def show_pictures(axes: Axes, pictures: Pictures, shape: tuple[int, int], n_columns: int, title: str) -> None:
    """Greyscale pictures, 1 is ink."""
    axes.imshow(mosaic(pictures, shape, n_columns), cmap=GREYS, vmin=0, vmax=1, interpolation="nearest")
    _bare(axes, title)


def show_filters(axes: Axes, weights: Pictures, shape: tuple[int, int], n_columns: int, title: str) -> None:
    """Couplings of hidden units, red positive and blue negative, all on one scale."""
    largest = float(np.quantile(np.abs(weights), 0.995)) or 1.0
    axes.imshow(mosaic(weights, shape, n_columns), cmap=SIGNED, vmin=-largest, vmax=largest, interpolation="nearest")
    _bare(axes, title)


def show_repair(axes: Axes, repair: Repair, shape: tuple[int, int]) -> None:
    """Three rows: originals, the same with a region missing (tinted), and the machine's fills."""
    n = len(repair.originals)
    seen = mosaic(np.concatenate([repair.originals, repair.corrupted, repair.filled]), shape, n)
    axes.set_facecolor("white")
    missing = mosaic(np.isnan(np.concatenate([repair.originals, repair.corrupted, repair.filled])), shape, n, gap=0.0)
    axes.imshow(seen, cmap=GREYS, vmin=0, vmax=1, interpolation="nearest")
    tint = np.zeros((*missing.shape, 4))
    tint[missing == 1] = (0.98, 0.75, 0.35, 1.0)
    axes.imshow(tint, interpolation="nearest")
    _bare(axes, f"{repair.side} missing")


def overview(model: Model, shape: tuple[int, int], repairs: Sequence[Repair], samples: Pictures, title: str) -> Figure:
    """One page on a model of pictures: its filters, its samples, and, where there are any, what it makes of missing regions."""
    figure = Figure(figsize=(10, 9 if repairs else 5), layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=13)
    halves: Any = figure.subfigures(2, 1, height_ratios=(1.0, 0.95)) if repairs else (figure,)
    left, right = halves[0].subplots(1, 2)
    weights = filters(model)
    if len(weights):
        strongest = np.argsort(-np.linalg.norm(weights, axis=1), kind="stable")[:36]
        show_filters(left, weights[np.sort(strongest)], shape, 6, "filters: couplings of hidden units (red +, blue −)")
    else:
        show_pictures(left, _sigmoid(np.asarray(parts(model)[0].biases[0])[None]), shape, 1, "σ(bias) of each unit")
    show_pictures(right, samples[:36], shape, 6, "samples: pixel probabilities, not chosen")
    if repairs:
        halves[1].suptitle("rows: original, region missing, filled in by the machine", fontsize=10)
        for axes, repair in zip(halves[1].subplots(2, 2).ravel(), repairs, strict=True):
            show_repair(axes, repair, shape)
    return figure


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def _bare(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
