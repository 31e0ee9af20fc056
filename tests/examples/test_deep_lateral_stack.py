"""The example of a deep lateral stack runs, and draws what it says."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import deep_lateral_stack as example


def test_the_example_prints_scores_of_both_priors_and_draws_a_picture(tmp_path, capsys):
    example.main(tmp_path / "out.png", epochs=2)
    told = capsys.readouterr().out
    for words in ("prior uniform: Parzen", "prior mean: Parzen", "training digits as centres: 22.6"):
        assert words in told
    assert (tmp_path / "out.png").stat().st_size > 10_000
