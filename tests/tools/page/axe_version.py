"""For tests/tools/with_wheels.sh: axe's script, which the wheel holds, is all that is wanted of it."""

import importlib.util
import pathlib

script = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js"
with open(script, encoding="utf-8") as f:
    print(f.readline().strip("/*! \n"))
