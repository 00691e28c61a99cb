"""The reference has every public name, and every command with every option."""

import importlib
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import hyperproto as hp
from hyperproto.cli.main import VERBS, main

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "reference" / "api"
PAGES = """baselines confidence data estimators evaluation export losses metrics models priors prototypes
           report spaces sphere training"""


def public(module):
    """Return what a module says is public, or else what it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    names = getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]
    return {name for name in names if not isinstance(getattr(module, name), ModuleType)}


@pytest.mark.parametrize("name", PAGES.split())
def test_a_page_has_the_public_names_of_its_namespace(name):
    path = "evaluation.confidence" if name == "confidence" else name
    shown = re.findall(rf"^::: hyperproto\.{re.escape(path)}\.(\w+)$", (API / f"{name}.md").read_text(), re.MULTILINE)
    assert set(shown) >= public(importlib.import_module(f"hyperproto.{path}"))
    assert all(hasattr(importlib.import_module(f"hyperproto.{path}"), one) for one in shown)


def test_the_first_page_has_every_name_of_the_package():
    text = (API / "index.md").read_text(encoding="utf-8")
    assert [name for name in hp.__all__ if f"`hp.{name}`" not in text] == []


def test_the_page_of_commands_has_every_command_and_option(capsys):
    page = runpy.run_path(str(ROOT / "tools" / "docs_commands.py"))["page"]()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert list(sections) == list(VERBS)
    for verb in VERBS:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", capsys.readouterr().out)) - {"--help"}
        assert options <= set(re.findall(r"--[a-z][\w-]+", sections[verb])), verb


def test_one_version_everywhere():
    told = re.search(r"^version: (.*)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    newest = re.search(r"^## (\d[\w.]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told[1] == newest[1] == hp.__version__
