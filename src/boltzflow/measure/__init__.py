"""What a machine is worth: reconstruction errors, beside what trivial fills reach."""
