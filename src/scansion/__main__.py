"""``python -m scansion`` is the command ``scansion``."""

from scansion.cli import main

if __name__ == "__main__":
    main()
