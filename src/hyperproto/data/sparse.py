"""Sparse rows: tensors in torch's CSR layout, of which rows can be taken and joined; never made dense as a whole."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def is_sparse(values: Any) -> bool:
    """Whether this is a sparse matrix of scipy, or a tensor of sparse rows."""
    return values.layout == torch.sparse_csr if isinstance(values, Tensor) else hasattr(values, "tocsr")


def sparse_rows(starts: Tensor, columns: Tensor, values: Tensor, width: int) -> Tensor:
    """Return sparse rows, shape (n, width): entries ``starts[i]`` to ``starts[i + 1]`` are those of row i."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts, columns, values, size=(len(starts) - 1, width), check_invariants=False)


def from_scipy(matrix: Any) -> Tensor:
    """Return a matrix of scipy as sparse rows; nothing is copied where it is CSR."""
    csr = matrix.tocsr()
    index = np.int64 if csr.indices.dtype != csr.indptr.dtype else csr.indices.dtype
    starts, columns = (torch.from_numpy(part.astype(index, copy=False)) for part in (csr.indptr, csr.indices))
    return sparse_rows(starts, columns, torch.from_numpy(csr.data), csr.shape[1])


def parts_of(rows: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return where sparse rows start, shape (n + 1,), and the columns and values of their entries."""
    rows = rows if isinstance(rows, Tensor) else from_scipy(rows)
    return rows.crow_indices(), rows.col_indices(), rows.values()


def take_rows(values: Tensor, ids: Tensor | slice) -> Tensor:
    """Return some rows of a tensor, dense or sparse, in the order of ``ids``.

    >>> rows = from_scipy(__import__("scipy.sparse").sparse.eye_array(3, format="csr"))
    >>> take_rows(rows, torch.tensor([2, 0])).to_dense().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if not is_sparse(values):
        return values.index_select(0, ids) if isinstance(ids, Tensor) else values[ids]  # values[ids] takes longer
    ids = torch.arange(len(values))[ids] if isinstance(ids, slice) else ids
    starts, columns, entries = parts_of(values)
    first = starts[ids]
    counts = starts[ids + 1] - first
    after = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(starts.dtype)
    found = torch.repeat_interleave(first - after[:-1], counts) + torch.arange(int(after[-1]))
    return sparse_rows(after, columns[found], entries[found], values.shape[1])


def join_rows(parts: Sequence[Tensor]) -> Tensor:
    """Return rows, dense or sparse, one after the other."""
    if not is_sparse(parts[0]):
        return torch.cat(list(parts))
    starts, columns, entries = zip(*(parts_of(part) for part in parts), strict=True)
    counts = torch.cat([part.diff() for part in starts]).cumsum(0)
    after = torch.cat([counts.new_zeros(1), counts])
    return sparse_rows(after, torch.cat(columns).to(after.dtype), torch.cat(entries), parts[0].shape[1])
