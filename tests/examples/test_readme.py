"""The README's first example runs as it stands."""

import re
from pathlib import Path

import torch

README = Path(__file__).parents[2] / "README.md"


def test_the_first_example_of_the_readme_learns():
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    centres = torch.randn(10, 64, generator=generator)
    labels = torch.randint(10, (60, 64), generator=generator)
    batches = [(centres[y] + 0.3 * torch.randn(64, 64, generator=generator), y) for y in labels]
    names = {"your_batches": batches, "new_inputs": centres}
    exec(code, names)
    assert (names["classes"] == torch.arange(10)).float().mean() > 0.8
    assert len(code.strip().splitlines()) <= 14


def test_every_file_the_readme_names_is_there():
    for link in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            assert (README.parent / link).exists(), link
