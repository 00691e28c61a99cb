"""What all pages have in common: they stand alone, need no network, and begin alike."""

import html
import re
from collections.abc import Mapping
from pathlib import Path

from hyperproto._core.files import replacing

__all__ = ["page_head", "write_page"]

STYLE = "body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; }"


def page_head(title: str) -> str:
    """Return the beginning of a page; its own style and ``</head>`` follow."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n"
    )


def write_page(path: str | Path, template: Path, title: str, parts: Mapping[str, str]) -> None:
    """Fill a template's ``@MARKS@`` in one pass, so that a name which looks like a mark stays a name."""
    filled = {"HEAD": page_head(title), "TITLE": html.escape(title), **parts}
    page = re.sub(r"@([A-Z]+)@", lambda mark: filled[mark[1]], template.read_text(encoding="utf-8"))
    with replacing(path) as beside:
        beside.write_text(page, encoding="utf-8")
