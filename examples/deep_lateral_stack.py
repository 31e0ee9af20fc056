"""A deep stack with connections inside its hidden layers, on the digits that come with scikit-learn.

Trains 64-49-49-16 by VPF in the authors' order, generates from the top down with both priors, and draws what came out.

    python examples/deep_lateral_stack.py [OUT.png]
"""

import sys

from matplotlib.figure import Figure

import boltzflow as bf
from boltzflow.measure.parzen import parzen_score
from boltzflow.plots import show_pictures

WIDTHS = (64, 49, 49, 16)


def main(out, epochs=600):
    digits = bf.data.digits()
    model = bf.stack(*WIDTHS, lateral=True)
    with bf.ProgressBar("digits") as bar:
        options = {"order": "authors"}
        run = bf.train(model, digits.train, rule="vpf", rule_options=options, epochs=epochs, callbacks=[bar])
    print(run)
    figure = Figure(figsize=(9, 5), layout="constrained")
    for axes, prior in zip(figure.subplots(1, 2), ("uniform", "mean"), strict=True):
        pictures = bf.generate(run.model, 2000, prior=prior, data=digits.train, r=3)
        score = parzen_score(pictures, digits.test)
        print(f"prior {prior}: Parzen {score.mean:.1f} ± {score.error:.1f} (σ = {score.sigma})")
        show_pictures(axes, pictures[:64], (8, 8), 8, f"generated from the top down, prior: {prior}")
    print(f"training digits as centres: {parzen_score(digits.train, digits.test).mean:.1f}")
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "deep-stack.png")
