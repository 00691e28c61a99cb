"""What is in the distributions, what they need, and what a package index shows of them."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELATIVE = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def test_links_of_the_readme_lead_to_the_repository():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shown = readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for change in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        shown = re.sub(change["pattern"], change["replacement"], shown)
    assert RELATIVE.search(readme)
    assert not RELATIVE.search(shown)
    assert shown.count(f"]({project['project']['urls']['Homepage']}/blob/main/docs/") > 10
    assert "](https://raw.githubusercontent.com/hyperproto/hyperproto/main/docs/images/" in shown
    assert [path for path in RELATIVE.findall(readme) if not (ROOT / path).exists()] == []


def test_links_of_the_runtimes_readme_are_absolute():
    assert not RELATIVE.search((ROOT / "runtime" / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return the names of the files in each distribution: two wheels and an sdist."""
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("dist")
    for folder, *targets in ((ROOT, "wheel", "sdist"), (ROOT / "runtime", "wheel")):
        for target in targets:
            command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", place]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
    found = {
        path.name.split("-")[0]: zipfile.ZipFile(path).namelist() for path in place.glob("*.whl")
    }
    with tarfile.open(next(place.glob("*.tar.gz"))) as file:
        found["sdist"] = [name.partition("/")[2] for name in file.getnames()]
    return found


def test_no_file_belongs_to_two_distributions(built):
    both = {*built["hyperproto"]} & {*built["hyperproto_runtime"]}
    assert both == set()
    assert {name.split("/")[0].partition("-")[0] for name in built["hyperproto"]} == {"hyperproto"}
    runtime = {name.split("/")[0].partition("-")[0] for name in built["hyperproto_runtime"]}
    assert runtime == {"hyperproto_runtime"}


def test_the_runtime_has_every_module_that_it_imports(built):
    for folder in ("runtime", "runtime/serve"):
        own = {
            path.name for path in (ROOT / "src" / "hyperproto" / folder).iterdir() if path.is_file()
        }
        assert {f"hyperproto_runtime/{folder}/{name}" for name in own} <= {
            *built["hyperproto_runtime"]
        }
    core = {Path(name).stem for name in built["hyperproto_runtime"] if "/_core/" in name}
    for name in core | {"errors"}:
        source = (ROOT / "src" / "hyperproto" / "_core" / f"{name}.py").read_text(encoding="utf-8")
        assert {*re.findall(r"^from \.(\w+) import", source, re.MULTILINE)} <= core


def test_wheels_hold_the_library_and_nothing_of_the_repository(built):
    for name in (*built["hyperproto"], *built["hyperproto_runtime"]):
        assert not re.search(r"^(reproduction|results|tests)/|\.jsonl?$", name), name
    assert "hyperproto/codes/zoo/100x10.safetensors" in built["hyperproto"]
    assert "hyperproto/py.typed" in built["hyperproto"]


def test_the_sdist_has_what_the_wheel_is_built_from_and_no_records(built):
    assert {name.split("/")[0] for name in built["sdist"]} <= {
        *("src", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO"),
        *("CHANGELOG.md", "CITATION.cff", ".gitignore"),
    }
    modules = {name for name in built["hyperproto"] if name.startswith("hyperproto/")}
    assert modules <= {name.removeprefix("src/") for name in built["sdist"]}


def test_five_dependencies_are_required_and_all_has_what_the_command_line_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.split(r"[<>=]", line)[0] for line in project["dependencies"]}
    assert required == {"torch", "numpy", "scipy", "safetensors", "threadpoolctl"}
    extras = project["optional-dependencies"]
    named = set(re.findall(r"[\w-]+", extras["all"][0].partition("[")[2]))
    asked = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"\bextra=\"(\w+)\"", path.read_text(encoding="utf-8"))
    }
    assert asked <= {*extras}  # an error must name an extra that is there
    assert asked - named <= {"dask", "runtime", "vision", "wordnet"}
