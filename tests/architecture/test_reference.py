"""The reference has every public name, and every command with every option."""

import importlib
import inspect
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import hyperproto as hp
from hyperproto.cli.main import VERBS, main

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "reference" / "api"
PAGES = """baselines codes confidence data estimators evaluation export hub losses metrics models priors prototypes
           report runtime spaces sphere tasks training"""
OTHER = {"confidence": "hyperproto.evaluation.confidence", "runtime": "hyperproto.runtime"}
SHOWN = re.compile(r"^::: (\S+)\.(\w+)$", re.MULTILINE)


def public(module):
    """Return what a module says is public, or else what it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    names = getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]
    return {name for name in names if not isinstance(getattr(module, name), ModuleType)}


@pytest.mark.parametrize("name", PAGES.split())
def test_a_page_has_the_public_names_of_its_namespace_and_no_others(name):
    path = OTHER.get(name, f"hyperproto.{name}")
    page = (API / f"{'export' if name == 'runtime' else name}.md").read_text(encoding="utf-8")
    shown = {one for module, one in SHOWN.findall(page) if module in (path, f"{path}.{one}")}
    assert shown == public(importlib.import_module(path)) - {"__version__"}


@pytest.mark.parametrize("page", sorted(API.glob("*.md")), ids=lambda page: page.stem)
def test_every_name_of_the_reference_has_an_example(page):
    """In its docstring or below it; doctest runs the former, test_pages the latter."""
    parts = re.split(r"^(?=::: )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert parts
    for part in parts:
        module, name = SHOWN.match(part).groups()
        file = ROOT / "src" / f"{module.replace('.', '/')}/{name}.py"
        assert not file.exists(), f"{module}.{name} is a module: name what is in it"
        found = getattr(importlib.import_module(module), name)
        has_docstring = inspect.isclass(found) or inspect.isfunction(found)
        told = has_docstring and re.search(r">>> (?!.*\+SKIP)", found.__doc__ or "")
        below = re.search(r"```python.*?\n(.*?)```", part, re.DOTALL)
        called = below and (not inspect.isfunction(found) or re.search(rf"\b{name}\(", below[1]))
        assert told or called, f"{module}.{name}"


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
    told = re.search(
        r"^version: (.*)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    newest = re.search(
        r"^## (\d[\w.]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert told[1] == newest[1] == hp.__version__
