import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
from boltzflow import files


def same(first, second):
    return all(map(np.array_equal, jax.tree.leaves(first), jax.tree.leaves(second)))


def test_what_was_saved_is_loaded_bit_for_bit(machine, tmp_path):
    loaded = bf.load(bf.save(machine, tmp_path / "model"))
    assert loaded.layout == machine.layout
    assert same(loaded, machine)
    assert [leaf.dtype for leaf in jax.tree.leaves(loaded)] == [leaf.dtype for leaf in jax.tree.leaves(machine)]


def test_names_of_units_survive(tmp_path):
    named = bf.graph([("a", "b"), ("b", (0, 1)), (2, "a")], visible=["a", (0, 1)])
    assert bf.load(bf.save(named, tmp_path / "model")).layout.labels == named.layout.labels


def test_what_is_said_about_a_model_is_kept(tmp_path):
    bf.save(bf.rbm(3, 2), tmp_path / "model", about={"rule": "vpf", "rows": 7})
    saved = files.read(tmp_path / "model")
    assert saved.about == {"rule": "vpf", "rows": 7}
    assert saved.written_by == bf.__version__


def test_a_folder_is_complete_or_not_there(tmp_path):
    with pytest.raises(bf.InputError, match="JSON can write"):
        bf.save(bf.rbm(3, 2), tmp_path / "model", about={"data": object()})
    assert list(tmp_path.iterdir()) == []


def test_an_existing_model_is_kept_unless_told_otherwise(tmp_path):
    bf.save(bf.rbm(3, 2), tmp_path / "model")
    with pytest.raises(bf.InputError, match="exists already; choose another name"):
        bf.save(bf.rbm(4, 2), tmp_path / "model")
    bf.save(bf.rbm(4, 2), tmp_path / "model", overwrite=True)
    assert bf.load(tmp_path / "model").layout.widths == (4, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_of_other_things_is_never_overwritten(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    with pytest.raises(bf.InputError, match="is not a model folder, so it is not overwritten"):
        bf.save(bf.rbm(3, 2), tmp_path / "letters", overwrite=True)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "dear"


def cut(folder):
    path = folder / files.NUMBERS
    path.write_bytes(path.read_bytes()[:-5])


def remove_config(folder):
    (folder / files.CONFIG).unlink()


def remove_numbers(folder):
    (folder / files.NUMBERS).unlink()


def break_config(folder):
    (folder / files.CONFIG).write_text("{")


def foreign(folder):
    (folder / files.CONFIG).write_text('{"model_type": "other"}')


def change_config(**changes):
    def change(folder):
        path = folder / files.CONFIG
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (cut, "may be truncated or altered"),
        (remove_config, "not a model folder: there is no config.json"),
        (remove_numbers, "cannot be read"),
        (break_config, "is damaged"),
        (foreign, "does not describe a boltzflow model"),
        (change_config(version=99), "format version 99; this boltzflow .* reads version 1"),
        (
            change_config(layout={"widths": [3, 9], "wirings": [{"kind": "dense", "lower": 0, "upper": 1}]}),
            "do not fit",
        ),
        (
            change_config(layout={"widths": [3, 2], "wirings": [{"kind": "edges", "lower": 0, "upper": 1}]}),
            "do not fit",
        ),
        (
            change_config(layout={"widths": [3, 2], "wirings": [{"kind": "dense", "lower": 0, "upper": 5}]}),
            "do not fit",
        ),
        (change_config(layout=[]), "do not fit"),
    ],
)
def test_what_is_not_a_whole_model_is_refused(spoil, sentence, tmp_path):
    bf.save(bf.rbm(3, 2), tmp_path / "model")
    spoil(tmp_path / "model")
    with pytest.raises(bf.InputError, match=sentence):
        bf.load(tmp_path / "model")


def test_a_machine_that_is_not_finite_is_refused(tmp_path):
    machine = bf.rbm(3, 2)
    broken = bf.Machine(machine.layout, (machine.couplings[0].at[0, 0].set(jnp.inf),), machine.biases)
    with pytest.raises(bf.InputError, match="not finite"):
        bf.load(bf.save(broken, tmp_path / "model"))
