"""The papers' formulas beside the corrected ones."""
