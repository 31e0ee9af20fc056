import io

import numpy as np
from rich.console import Console

import boltzflow as bf
from boltzflow import progress

DIGITS = bf.data.digits().train


def weights(**settings):
    run = bf.train(bf.rbm(64, 4), DIGITS, epochs=3, **settings)
    return np.asarray(run.model.couplings[0]).tobytes()


def test_training_gives_the_same_bytes_with_and_without_the_bar(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=100))
    with bf.ProgressBar("digits") as bar:
        watched = weights(callbacks=[bar])
    assert watched == weights()
    assert "epoch 3/3" in screen.getvalue()
    assert "objective" in screen.getvalue()


def test_nothing_is_drawn_where_there_is_no_terminal(capfd):
    with bf.ProgressBar() as bar:
        weights(callbacks=[bar])
    assert capfd.readouterr() == ("", "")
