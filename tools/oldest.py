"""Print the lower bounds of everything that pyproject.toml names, as constraints for pip."""

import re
import tomllib
from pathlib import Path

HELD = {"torch": "2.13.0"}  # older ones come with CUDA only, gigabytes: see CONTRIBUTING.md


def main() -> None:
    """Print one line for each."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    needed = [*project["dependencies"], *(need for extra in extras for need in extra)]
    found = (re.fullmatch(r"([\w-]+)>=([\w.]+)", need) for need in needed)
    bounds = {need[1]: need[2] for need in found if need}
    for name, bound in sorted((bounds | HELD).items()):
        print(f"{name}=={bound}")


if __name__ == "__main__":
    main()
