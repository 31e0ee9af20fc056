"""What is wired to what: layers of units and the wirings between and inside them."""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import accumulate

from boltzflow.errors import InputError, check_count
from boltzflow.machine.wiring import Wiring


@dataclass(frozen=True)
class Layout:
    """Layers (the first is visible, all others hidden) and their wirings. Static: two equal layouts compile once."""

    widths: tuple[int, ...]
    wirings: tuple[Wiring, ...]
    labels: tuple[tuple[Hashable, ...], ...] = ()
    """For imported graphs: the user's names of the units, layer by layer; empty where they are 0, 1, 2 …"""

    def __post_init__(self) -> None:
        if not self.widths:
            raise InputError("a layout needs at least one layer, the visible one; got none.")
        counted = tuple(check_count(f"the width of layer {layer}", width) for layer, width in enumerate(self.widths))
        object.__setattr__(self, "widths", counted)
        if self.labels and tuple(map(len, self.labels)) != counted:
            raise InputError(f"labels name every unit, {counted}; got {tuple(map(len, self.labels))}.")
        for k, wiring in enumerate(self.wirings):
            self._check_fits(wiring)
            if wiring.layers in (other.layers for other in self.wirings[:k]):
                raise InputError(f"two wirings join layers {sorted(wiring.layers)}; put all their pairs into one.")

    def _check_fits(self, wiring: Wiring) -> None:
        ends = sorted(wiring.layers)
        if not 0 <= ends[0] <= ends[-1] < len(self.widths):
            raise InputError(f"{wiring} joins layers {ends}, but the layout has layers 0 to {len(self.widths) - 1}.")
        expected = (self.widths[ends[0]], self.widths[ends[-1]])
        if wiring.widths != expected:
            raise InputError(f"{wiring} is for widths {wiring.widths}, but its layers have widths {expected}.")

    @property
    def n_visible(self) -> int:
        return self.widths[0]

    @property
    def n_hidden(self) -> int:
        return sum(self.widths[1:])

    @property
    def n_units(self) -> int:
        return sum(self.widths)

    @property
    def n_couplings(self) -> int:
        return sum(wiring.n_couplings for wiring in self.wirings)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each layer begins when all units are counted through."""
        return (0, *accumulate(self.widths[:-1]))

    @property
    def hidden_layers(self) -> range:
        return range(1, len(self.widths))

    @property
    def fully_visible(self) -> bool:
        return len(self.widths) == 1

    def coupled_inside(self, layer: int) -> bool:
        """Some two units of the layer are coupled."""
        return any(wiring.layers == {layer} for wiring in self.wirings)

    @property
    def hidden_independent(self) -> bool:
        """No two hidden units are coupled, so given the visible units they are independent."""
        return all(0 in wiring.layers for wiring in self.wirings)

    def wirings_of(self, layer: int, silent: frozenset[int] = frozenset()) -> tuple[tuple[int, Wiring], ...]:
        """The wirings that end in a layer, each with its place in the machine's couplings; none from a silent layer."""
        return tuple(
            (k, wiring)
            for k, wiring in enumerate(self.wirings)
            if layer in wiring.layers and not ((wiring.layers - {layer}) or {layer}) & silent
        )

    def name_of(self, layer: int, unit: int, below: int = 0) -> str:
        """A unit in words, for messages; `below` layers are not counted in this layout."""
        kind = "visible" if layer + below == 0 else "hidden"
        label = f" ({self.labels[layer][unit]!r})" if self.labels else ""
        return f"unit {unit}{label} of layer {layer + below} ({kind})"

    def __str__(self) -> str:
        widths = "-".join(map(str, self.widths))
        kinds = ", ".join(f"{type(w).__name__.lower()} {'–'.join(map(str, sorted(w.layers)))}" for w in self.wirings)
        return f"{widths} ({kinds or 'no couplings'})"
