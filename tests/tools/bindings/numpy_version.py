"""For tests/tools/with_wheels.sh: the environment's NumPy is all that is wanted of it."""

import numpy

print(f"NumPy {numpy.__version__}")
