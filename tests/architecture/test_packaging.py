"""What a package index shows: it has no files of the repository to lead to."""

import re
import tomllib
from pathlib import Path

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
