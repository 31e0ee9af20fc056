import sys

import pytest

from boltzflow import cli


@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """Run a command line in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["boltzflow", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capfd.readouterr())

    return run
