"""The README's first example runs as it stands."""

import re
from pathlib import Path

import pytest
import torch

from hyperproto.cli.main import VERBS, main

README = Path(__file__).parents[2] / "README.md"


def test_the_first_example_of_the_readme_learns():
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    centers = torch.randn(10, 64, generator=generator)
    labels = torch.randint(10, (60, 64), generator=generator)
    batches = [(centers[y] + 0.3 * torch.randn(64, 64, generator=generator), y) for y in labels]
    names = {"your_batches": batches, "new_inputs": centers}
    exec(code, names)
    assert (names["classes"] == torch.arange(10)).float().mean() > 0.8
    assert len(code.strip().splitlines()) <= 14


PAGES = [README, README.with_name("CONTRIBUTING.md"), *sorted((README.parent / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_heading_that_a_page_links_to_is_there(page):
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        name, _, heading = link.partition("#")
        if link.startswith("http"):
            continue
        target = page.parent / name if name else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings]
            assert heading in anchors, link


def test_every_verb_and_option_that_a_page_shows_exists(capsys):
    options = {}
    for verb in VERBS:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        options[verb] = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    shown = [line for page in PAGES for line in re.findall(r"hyperproto (\w+)([^\n`#]*)", page.read_text())]
    assert sum(verb in VERBS for verb, _ in shown) > 50
    for verb, rest in shown:
        if verb in VERBS:
            assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", rest)) <= options[verb], (verb, rest)
