"""One page for an experiment: the table, its remarks, its figures, and the records behind it."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from hyperproto._version import __version__
from hyperproto.report.pages import page_head
from hyperproto.reproduction.grid import Grid, best_rows, ours, papers, what_ours_is

__all__ = ["to_html"]

STYLE = (
    "body{margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse}th,td{padding:.35em .7em;border-bottom:1px solid #ccc;text-align:right}"
    "th:first-child,td:first-child{text-align:left}td{white-space:nowrap}td:first-child{white-space:normal}.paper{color:#666;font-size:.85em;font-weight:normal;display:block}"
    "table{display:block;overflow-x:auto}"
    ".past td:first-child{font-style:italic}.best{font-weight:bold}img{max-width:100%}code{font-size:.85em}"
)


def to_html(grid: Grid, pictures: Sequence[Path], pages: Sequence[Path]) -> str:
    """Return a page that needs no network; pictures (PNG) are held in it, pages are linked."""
    title = html.escape(grid.experiment.title)
    images = "".join(f'<p><img alt="{html.escape(path.stem)}" src="{_data_address(path)}"></p>' for path in pictures)
    links = "".join(
        f'<p><a href="{html.escape(path.name)}">{html.escape(path.name)}</a>: to turn with the mouse</p>'
        for path in pages
    )
    remarks = "".join(f"<li>{html.escape(remark)}</li>" for remark in grid.remarks)
    return (
        f"{page_head(grid.experiment.title)}<style>{STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>Scale {grid.scale}. {what_ours_is(grid)}; below, in grey, what the paper prints. "
        f"Rows in italics go past it.</p>{_table(grid)}<ul>{remarks}</ul>{images}{links}"
        f"<h2>Records</h2>{_records(grid)}<p>hyperproto {__version__}</p></body></html>\n"
    )


def _table(grid: Grid) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *grid.columns))
    best = {column: best_rows(grid, column) for column in grid.columns}
    body = ""
    for row in grid.rows:
        cells = "".join(_cell(grid, row, column, row in best[column]) for column in grid.columns)
        body += f'<tr class="{"past" if grid.is_past(row) else ""}"><td>{html.escape(row)}</td>{cells}</tr>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(grid: Grid, row: str, column: str, best: bool) -> str:
    held = grid.cells.get((row, column))
    if held is None:
        return "<td></td>"
    theirs = papers(held.entry.paper, grid.experiment.decimals)
    below = f'<span class="paper">{theirs}</span>' if theirs else ""
    return f'<td class="{"best" if best else ""}">{html.escape(ours(held, grid.experiment.decimals))}{below}</td>'


def _records(grid: Grid) -> str:
    """Return the cell, data sizes, network and epochs behind each number."""
    lines = {}
    for held in grid.cells.values():
        for seed, record in held.records.items():
            spec, protocol = record["spec"], record["protocol"]
            facts = [f"{spec['data']}, seed {seed}"]
            if record["epochs"]:
                facts.append(
                    f"{protocol['train']:,} images, {protocol['parameters']:,} weights ({spec['network']}), "
                    f"{len(record['epochs'])} of {spec['epochs']} epochs"
                )
            if protocol.get("prototypes"):
                facts.append(protocol["prototypes"]["method"])
            facts.append(record["state"])
            lines[record["address"]] = f"<li><code>{record['address']}</code> {html.escape('; '.join(facts))}</li>"
    return f"<ul>{''.join(lines.values())}</ul>"


def _data_address(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
