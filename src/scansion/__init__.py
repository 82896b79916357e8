"""Constrained decoding: every token of a language model keeps to a grammar."""
