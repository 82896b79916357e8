"""Parts of ``benchmarks/masks.py``: cases, vocabularies, engines, and the report."""
