"""``python -m lakes.bench``: the measurements under the name that the workshop calls."""

from benchmark.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
