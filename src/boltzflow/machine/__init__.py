"""What a machine is: layout, couplings, energy, local fields, free energy, enumeration. No randomness in its laws."""
