"""What pages link to is there, and so are the commands and options that they show."""

import re
import tomllib

import pytest

from hyperproto.cli.main import VERBS, main
from tests.examples.pages import DOCS, GENERATED, PAGES, ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_heading_that_a_page_links_to_is_there(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        name, _, heading = link.partition("#")
        if link.startswith("http"):
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists() or target in GENERATED, link
        if page.is_relative_to(DOCS):
            assert target.is_relative_to(DOCS), f"{link}: the site has only what is below docs/"
        if heading and not heading.startswith("hyperproto."):  # a name of the reference
            headings = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings]
            assert heading in anchors, link


def test_every_page_is_in_the_menu_and_every_entry_is_a_page():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]

    def entries(part):
        return (
            [part]
            if isinstance(part, str)
            else [
                x for y in (part.values() if isinstance(part, dict) else part) for x in entries(y)
            ]
        )

    found = {
        str(path.relative_to(DOCS)) for path in [*PAGES, *GENERATED] if path.is_relative_to(DOCS)
    }
    assert sorted(entries(nav)) == sorted(found)


def test_pictures_are_small_and_used():
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for path in sorted((DOCS / "images").iterdir()):
        assert path.name in shown, path.name
        assert path.stat().st_size < 60_000, path.name


def test_every_verb_and_option_that_a_page_shows_exists(capsys):
    options = {}
    for verb in VERBS:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        options[verb] = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    shown = [
        line
        for page in PAGES
        for line in re.findall(r"hyperproto (\w+)([^\n`#]*)", page.read_text())
    ]
    assert sum(verb in VERBS for verb, _ in shown) > 50
    for verb, rest in shown:
        if verb in VERBS:
            assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", rest)) <= options[verb], (verb, rest)


def test_extras_are_installed_by_one_spelling_and_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runtime = tomllib.loads((ROOT / "runtime" / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    known = {f"'.[{extra}]'" for extra in project["optional-dependencies"]} | {".", "./runtime"}
    known |= {f"'./runtime[{extra}]'" for extra in runtime["optional-dependencies"]}
    shown = re.findall(
        r"pip install ([^\s`]+)", "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    )
    assert len(shown) > 8
    assert set(shown) <= known
