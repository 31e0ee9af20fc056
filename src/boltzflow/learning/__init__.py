"""How couplings change: one contract, the rules that keep it, the training loop."""
