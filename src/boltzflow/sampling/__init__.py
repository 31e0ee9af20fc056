"""How states move: uniforms, conditionals, sweeps, chains, clamping, imputation."""
