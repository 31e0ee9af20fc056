"""Machines on a graph: from pairs, sparse matrices and networkx, and back to a list; and the graphs that are refused."""

from collections.abc import Hashable, Mapping

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.graphs import coupling_list
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Edges
from machines import MACHINES
from oracles import close

LETTERS = ("a", "b", "c", "d", "e")
PAIRS = [(0, 1), (2, 0), (1, 3), (4, 3), (3, 2)]
COUPLINGS = np.array([0.5, -1.0, 2.0, 0.25, -0.75])
BIASES = np.array([0.1, -0.2, 0.3, -0.4, 0.5])
MATRIX = np.zeros((5, 5))
for (i, j), coupling in zip(PAIRS, COUPLINGS, strict=True):
    MATRIX[i, j] = MATRIX[j, i] = coupling


def from_pairs(visible):
    return bf.graph(PAIRS, visible=visible, couplings=COUPLINGS, biases=BIASES, dtype=jnp.float64)


def from_numpy_pairs(visible):
    return bf.graph(np.array(PAIRS), visible=visible, couplings=COUPLINGS, biases=BIASES, dtype=jnp.float64)


def from_pairs_and_matrix(visible):
    return bf.graph(PAIRS, visible=visible, couplings=MATRIX, biases=BIASES, dtype=jnp.float64)


def from_sparse_array(visible):
    return bf.graph(scipy.sparse.csr_array(MATRIX), visible=visible, biases=BIASES, dtype=jnp.float64)


def from_sparse_matrix(visible):
    return bf.graph(scipy.sparse.coo_matrix(MATRIX), visible=visible, biases=BIASES, dtype=jnp.float64)


def from_networkx(visible):
    return bf.graph(in_networkx(range(5)), visible=visible, dtype=jnp.float64)


def in_networkx(names) -> nx.Graph:
    network = nx.Graph()
    for name, bias in zip(names, BIASES, strict=True):
        network.add_node(name, bias=bias)
    network.add_weighted_edges_from((names[i], names[j], w) for (i, j), w in zip(PAIRS, COUPLINGS, strict=True))
    return network


SOURCES = [from_pairs, from_numpy_pairs, from_pairs_and_matrix, from_sparse_array, from_sparse_matrix, from_networkx]


def names_in_order(machine: Machine) -> list[Hashable]:
    """The users' names of the columns of all states."""
    labels = machine.layout.labels or (tuple(range(machine.layout.n_units)),)
    return [name for layer in labels for name in layer]


def energies(order: list[int]) -> np.ndarray:
    """Energy of every state of the graph above, its units in this order."""
    states = np.zeros((2**5, 5))
    states[:, order] = oracles.bits(5)
    pairwise = sum(w * states[:, i] * states[:, j] for (i, j), w in zip(PAIRS, COUPLINGS, strict=True))
    return -pairwise - states @ BIASES


def by_name(machine: Machine) -> Mapping[frozenset[Hashable], float]:
    pairs, weights = coupling_list(machine)
    return dict(zip(map(frozenset, pairs), np.asarray(weights).tolist(), strict=True))


@pytest.mark.parametrize("visible", [None, 5, 2, 1, [3, 0], [4], [4, 3, 2, 1, 0]], ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_energies_whatever_is_visible(source, visible):
    machine = source(visible)
    close(oracles.energies(machine), energies(names_in_order(machine)))


@pytest.mark.parametrize("visible", [None, 2, ["d", "a"]], ids=str)
def test_names_follow_their_units(visible):
    machine = bf.graph(in_networkx(LETTERS), visible=visible, dtype=jnp.float64)
    order = [LETTERS.index(name) for name in names_in_order(machine)]
    close(oracles.energies(machine), energies(order))


@pytest.mark.parametrize(
    ("visible", "labels"),
    [
        (None, (("a", "b", "c", "d", "e"),)),
        (2, (("a", "b"), ("c", "d", "e"))),
        (["d", "a"], (("d", "a"), ("b", "c", "e"))),
    ],
    ids=str,
)
def test_visible_units_come_in_the_order_named_and_the_others_in_that_of_the_graph(visible, labels):
    assert bf.graph(in_networkx(LETTERS), visible=visible).layout.labels == labels


def test_names_in_a_list_of_pairs_count_in_the_order_they_come():
    assert bf.graph([("b", "a"), ("c", "b")]).layout.labels == (("b", "a", "c"),)


def test_numbers_in_a_list_of_pairs_are_the_units_themselves_and_need_no_labels():
    layout = bf.graph([(4, 1), (1, 2)]).layout
    assert (layout.widths, layout.labels) == ((5,), ())


@pytest.mark.parametrize("source", SOURCES)
def test_only_edges_are_stored_one_number_each(source):
    machine = source(2)
    assert all(isinstance(wiring, Edges) for wiring in machine.layout.wirings)
    assert sum(array.size for array in machine.couplings) == machine.layout.n_couplings == len(PAIRS)


@pytest.mark.parametrize("visible", [None, 2, [3, 0]], ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_coupling_list_gives_back_what_came_in(source, visible):
    given = {frozenset(pair): w for pair, w in zip(PAIRS, COUPLINGS.tolist(), strict=True)}
    assert by_name(source(visible)) == given


def test_coupling_list_goes_in_again():
    machine = from_pairs([3, 0])
    pairs, couplings = coupling_list(machine)
    again = bf.graph(pairs, couplings=couplings, biases=BIASES, visible=[3, 0], dtype=jnp.float64)
    assert again.layout == machine.layout
    np.testing.assert_array_equal(oracles.energies(again), oracles.energies(machine))


@pytest.mark.parametrize("machine", [name for name in MACHINES if name != "one_unit"], indirect=True)
def test_every_machine_is_the_same_machine_as_a_graph(machine):
    pairs, couplings = coupling_list(machine)
    network = nx.Graph()
    for unit, bias in enumerate(oracles.biases(machine)):
        network.add_node(unit, bias=bias)
    network.add_weighted_edges_from((i, j, w) for (i, j), w in zip(pairs, couplings.tolist(), strict=True))
    assert len(pairs) == machine.layout.n_couplings
    close(oracles.energies(bf.graph(network, dtype=jnp.float64)), oracles.energies(machine))


def test_a_machine_without_couplings_has_an_empty_coupling_list():
    pairs, couplings = coupling_list(MACHINES["one_unit"]())
    assert (pairs, couplings.shape, couplings.dtype) == ([], (0,), np.dtype("float64"))


def test_without_numbers_a_visible_graph_starts_at_zero():
    machine = bf.graph(PAIRS)
    assert not any(array.any() for array in (*machine.couplings, *machine.biases))


def test_without_numbers_a_graph_with_hidden_units_starts_at_random_couplings_of_its_seed():
    one, same, other = (bf.graph(PAIRS, visible=2, seed=seed) for seed in (1, 1, 2))
    assert by_name(one) == by_name(same)
    assert all(by_name(one)[pair] != by_name(other)[pair] != 0 for pair in by_name(one))


def test_given_couplings_overrule_those_of_the_source():
    machine = bf.graph(in_networkx(range(5)), couplings=2 * COUPLINGS[[0, 1, 2, 4, 3]], biases=np.zeros(5))
    assert set(by_name(machine).values()) == set((2 * COUPLINGS).tolist())
    assert not machine.biases[0].any()


def network_with(**attributes) -> nx.Graph:
    network = nx.path_graph(3)
    nx.set_edge_attributes(network, {(0, 1): attributes})
    return network


def sparse(*rows: list[float]) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.array(rows))


NAN, INF = float("nan"), float("inf")
PATH = [(0, 1), (1, 2)]
REFUSED = {
    "no pairs": (lambda: bf.graph([]), "no edges; give at least one pair"),
    "no sparse entries": (lambda: bf.graph(scipy.sparse.csr_array((3, 3))), "no edges; give at least one pair"),
    "no networkx edges": (lambda: bf.graph(nx.empty_graph(3)), "no edges; give at least one pair"),
    "three ends": (lambda: bf.graph([(0, 1, 2)]), r"each edge is a pair of units; got \(0, 1, 2\)"),
    "one end": (lambda: bf.graph([1, 2]), "each edge is a pair of units; got 1"),
    "no list": (lambda: bf.graph(5), "list of pairs, a scipy.sparse matrix or a networkx graph; got 5"),
    "nothing": (lambda: bf.graph(None), "list of pairs, a scipy.sparse matrix or a networkx graph; got None"),
    "negative unit": (lambda: bf.graph([(0, -1)]), "counted from 0; got unit -1"),
    "self-loop": (lambda: bf.graph([(0, 1), (2, 2)]), "unit 2 is coupled to itself.*no self-couplings"),
    "self-loop, hidden": (lambda: bf.graph([(0, 1), (3, 3)], visible=2), "unit 3 is coupled to itself"),
    "self-loop by name": (lambda: bf.graph([("a", "b"), ("b", "b")]), "unit 'b' is coupled to itself"),
    "networkx self-loop": (lambda: bf.graph(nx.Graph([(0, 1), (1, 1)])), "unit 1 is coupled to itself"),
    "listed twice": (lambda: bf.graph([(0, 1), (1, 2), (1, 0)]), r"the pair \(0, 1\) is listed 2 times; list .*once"),
    "listed twice, between": (lambda: bf.graph([(0, 3), (3, 0)], visible=2), r"the pair \(0, 3\) is listed 2 times"),
    "listed twice by name": (lambda: bf.graph([("a", "b")] * 3, visible=["b"]), r"\('a', 'b'\) is listed 3 times"),
    "not square": (lambda: bf.graph(sparse([0, 1, 0], [1, 0, 0])), r"is square; got shape \(2, 3\)"),
    "diagonal": (lambda: bf.graph(sparse([0, 1], [1, 7])), "unit 1 is coupled to itself on the diagonal; .*bias"),
    "asymmetric": (
        lambda: bf.graph(sparse([0, 1.5], [-2, 0])),
        r"symmetric, but \(0, 1\) is 1\.5 and \(1, 0\) is -2; symmetrise .*\(w \+ w\.T\) / 2",
    ),
    "sparse not finite": (lambda: bf.graph(sparse([0, NAN], [NAN, 0])), r"finite.*\(0, 1\) is nan"),
    "sparse infinite": (lambda: bf.graph(sparse([0, INF], [INF, 0])), r"finite.*\(0, 1\) is inf"),
    "directed": (lambda: bf.graph(nx.DiGraph([(0, 1)])), "undirected networkx.Graph, not a directed or multi one"),
    "multi": (lambda: bf.graph(nx.MultiGraph([(0, 1)])), "undirected networkx.Graph, not a directed or multi one"),
    "some weights": (lambda: bf.graph(network_with(weight=2.0)), r"1 of 2 edges .*'weight'.*\(1, 2\)"),
    "weight in words": (lambda: bf.graph(nx.Graph([(0, 1, {"weight": "strong"})])), "weight.*numbers; got 'strong'"),
    "matrix asymmetric": (lambda: bf.graph([(0, 1)], couplings=[[0, 3], [4, 0]]), r"\(0, 1\) is 3 and \(1, 0\) is 4"),
    "matrix not finite": (lambda: bf.graph([(0, 1)], couplings=[[0, NAN], [NAN, 0]]), r"finite.*\(0, 1\) is nan"),
    "matrix off the graph": (
        lambda: bf.graph(PATH, couplings=[[0, 1, 5], [1, 0, 1], [5, 1, 0]]),
        r"coupling \(0, 2\) is 5, but the graph has no edge there; add it or set 0",
    ),
    "matrix diagonal": (
        lambda: bf.graph([(0, 1)], couplings=[[3, 1], [1, 0]]),
        "unit 0 is coupled to itself on the diagonal; .*bias",
    ),
    "matrix too large": (lambda: bf.graph(PATH, couplings=np.ones((4, 4))), r"3 × 3 matrix; got shape \(4, 4\)"),
    "one number": (lambda: bf.graph(PATH, couplings=1.0), r"one per pair or a 3 × 3 matrix; got shape \(\)"),
    "too many couplings": (lambda: bf.graph(PATH, couplings=[1, 2, 3]), r"expected 2 couplings; got shape \(3,\)"),
    "couplings not finite": (lambda: bf.graph(PATH, couplings=[0, INF]), "couplings must be finite; number 1 is not"),
    "couplings in words": (lambda: bf.graph(PATH, couplings=["x", "y"]), "couplings .*numbers"),
    "too few biases": (lambda: bf.graph(PATH, biases=[1, 2]), r"expected 3 biases; got shape \(2,\)"),
    "biases in a table": (lambda: bf.graph(PATH, biases=[[1, 2, 3]]), r"expected 3 biases; got shape \(1, 3\)"),
    "biases not finite": (lambda: bf.graph(PATH, biases=[0, 0, NAN]), "biases must be finite; number 2 is not"),
    "biases in words": (lambda: bf.graph(PATH, biases="none"), "biases .*numbers"),
    "none visible": (lambda: bf.graph(PATH, visible=0), "between 1 and the 3 units of the graph; got 0"),
    "too many visible": (lambda: bf.graph(PATH, visible=4), "between 1 and the 3 units of the graph; got 4"),
    "fewer than none": (lambda: bf.graph(PATH, visible=-1), "between 1 and the 3 units of the graph; got -1"),
    "half a unit visible": (lambda: bf.graph(PATH, visible=1.5), r"visible .*number.*names.*got 1\.5"),
    "visible is true": (lambda: bf.graph(PATH, visible=True), "visible .*number.*names.*got True"),
    "unknown name": (lambda: bf.graph(PATH, visible=[0, 7]), "visible names 7, which is not a unit of the graph"),
    "unknown word": (lambda: bf.graph([("a", "b")], visible=["A"]), "visible names 'A', .*not a unit of the graph"),
    "named twice": (lambda: bf.graph(PATH, visible=[1, 1]), r"at least one unit, and each once; got \[1, 1\]"),
    "no name": (lambda: bf.graph(PATH, visible=[]), r"at least one unit, and each once; got \[\]"),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_graph_that_no_machine_can_have_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_a_numpy_count_of_visible_units_is_a_count():
    assert bf.graph(PATH, visible=np.int64(2)).layout == bf.graph(PATH, visible=2).layout
