import io
import os
import pickle
import pickletools

import numpy as np
import pytest

from hyperproto.data.restricted_pickle import load_restricted
from tests.data.layouts import python2_pickle


def load(held):
    return load_restricted(io.BytesIO(held), "train")


class Malicious:
    def __init__(self, call, *args):
        self.call = (call, args)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "f4"])
def test_arrays_lists_and_text_of_every_protocol_come_back(protocol, dtype):
    data = np.arange(12).reshape(3, 4).astype(dtype)
    held = {b"data": data, b"labels": [1, 2], b"names": [b"a", "b"], "fortran": np.asfortranarray(data)}
    found = load(pickle.dumps(held, protocol))
    assert found["data"].dtype == data.dtype
    assert np.array_equal(found["data"], data)
    assert np.array_equal(found["fortran"], data)
    assert found["labels"] == [1, 2]
    assert found["names"] == [b"a", "b"]


def test_what_python_2_and_an_old_numpy_wrote_is_read():
    data = np.arange(6, dtype=np.uint8).reshape(2, 3)
    found = load(python2_pickle(data, [1, 0], [0, 0]))
    assert np.array_equal(found["data"], data)
    assert found["fine_labels"] == [1, 0]


@pytest.mark.parametrize("protocol", range(6))
def test_a_malicious_pickle_executes_nothing(tmp_path, protocol):
    target = tmp_path / "owned"
    held = pickle.dumps({b"data": Malicious(os.system, f"touch {target}")}, protocol)
    with pytest.raises(ValueError, match='got a request for "posix.system". It was not read and nothing was run'):
        load(held)
    assert not target.exists()
    pickle.loads(held)  # and it would have: the test can fail
    assert target.exists()


@pytest.mark.parametrize(
    ("held", "what"),
    [
        (Malicious(eval, "1"), "eval"),
        (Malicious(getattr, "a", "b"), "getattr"),
        (Malicious(np.load, "x"), "load"),
        (Malicious(bytes, 10), "got an error"),
        (np.array([{}], dtype=object), "an array of 'O8'"),
        (np.zeros(2, dtype=[("a", "u1")]), "an array of 'V1'"),
        (np.float64(1), "numpy._core.multiarray.scalar"),
        (pickle.PickleBuffer, "PickleBuffer"),
    ],
)
def test_nothing_but_plain_arrays_is_built(held, what):
    with pytest.raises(ValueError, match=what):
        load(pickle.dumps({b"data": held}, 2))


def test_codecs_other_than_latin1_are_refused():
    held = b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R."
    pickletools.dis(held, out=io.StringIO())  # a well-formed pickle
    with pytest.raises(ValueError, match="the encoding 'rot13'"):
        load(held)


def test_a_pickle_cannot_change_what_a_permitted_name_stands_for():
    held = b"\x80\x02cnumpy\ndtype\n}X\x05\x00\x00\x00_callK\x01sb."
    with pytest.raises(ValueError, match="a change to a permitted name"):
        load(held)
    assert load(pickle.dumps({b"data": np.zeros(2)}, 2))["data"].tolist() == [0, 0]


def test_forged_flags_of_a_dtype_are_refused():
    """With numpy's own constructor this dtype would read the bytes as pointers to objects."""
    dtype = b"cnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R"
    fields = b"(K\x03X\x01\x00\x00\x00|NX\x01\x00\x00\x00a\x85}K\x08K\x01K\x00tb."
    with pytest.raises(ValueError, match="an array with fields"):
        load(b"\x80\x02" + dtype + fields)


def test_persistent_ids_are_refused():
    with pytest.raises(ValueError, match="persistent id"):
        load(b"\x80\x02K\x01Q.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda held: held[:-200], "It may be cut short"),
        (lambda held: b"<html>not found</html>", "must be a pickle as the publisher wrote it"),
        (lambda held: b"", "must be a pickle as the publisher wrote it"),
        (lambda held: pickle.dumps([1]), "must hold a dict; got list"),
        (lambda held: held.replace(b"M,\x01", b"M-\x01"), r"shape \(301,\) holds 300 numbers"),
    ],
)
def test_a_broken_pickle_is_a_sentence(change, sentence):
    held = pickle.dumps({b"data": np.arange(300, dtype=np.uint8)}, 2)
    with pytest.raises(ValueError, match=sentence):
        load(change(held))
