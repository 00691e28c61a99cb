"""For the documentation site: docstrings, which are reStructuredText as numpy's, as the Markdown of
the pages.
"""

import re
import textwrap
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert

BLOCK = re.compile(r"^( *)\.\. math:: ?(.*(?:\n\1 +\S.*)*)", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|mod|meth|attr|data):`~?(?:hyperproto\.)?([^`]+)`")


class Markdown(Extension):
    """Turn equations into MathML, which browsers draw by themselves, and roles into code."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring where it was read."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """Return a docstring in Markdown.

    >>> markdown("See :func:`place` and [1]_.")
    'See `place` and [1].'
    """
    text = BLOCK.sub(lambda found: f"{found[1]}{equation(found[2], 'block')}", text)
    text = re.sub(r":math:`([^`]+)`", lambda found: equation(found[1], "inline"), text)
    text = ROLE.sub(lambda found: f"`{found[1]}`", text)
    text = re.sub(r"\[(\d)\]_", r"[\1]", text)
    text = re.sub(r"^( *)\.\. \[(\d)\] ", r"\1[\2] ", text, flags=re.MULTILINE)
    return re.sub(r"::\n\n(?= )", ":\n\n", text)


def equation(latex: str, display: str) -> str:
    """Return an equation as one line of MathML."""
    found = convert(" ".join(textwrap.dedent(latex).split()).replace("\\\\", "\\"), display=display)
    return re.sub(r"\s*\n\s*", "", found)
