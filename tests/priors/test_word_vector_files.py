import gzip

import numpy as np
import pytest

from hyperproto._core.errors import InputError
from hyperproto.priors import from_vectors
from tests.refusals import refuses

VECTORS = {
    "the": [0.0, 1.0, -2.5],
    "cat": [1.0, 0.5, 0.0],
    "dog": [1.0, 0.0, 1e-3],
    "fish": [-1.0, 0.25, 3.0],
}
NAMES = ("dog", "cat_fish", "the")


def lines(*, end: str = "\n") -> str:
    return "".join(f"{word} {' '.join(map(str, vector))}{end}" for word, vector in VECTORS.items())


def raw(*, newline: bytes) -> bytes:
    words = (f"{w} ".encode() + np.array(v, "<f4").tobytes() + newline for w, v in VECTORS.items())
    return b"4 3\n" + b"".join(words)


FORMS = {
    "glove.txt": lines().encode(),
    "crlf.txt": lines(end="\r\n").encode(),
    "tabs.txt": lines().replace(" ", "\t").encode(),
    "no_last_newline.txt": lines().rstrip().encode(),
    "word2vec.txt": b"4 3\n" + lines().encode(),
    "fasttext.vec": b"4 3\n" + lines(end=" \n").encode(),
    "google.bin": raw(newline=b"\n"),
    "gensim.bin": raw(newline=b""),
    "binary_by_content": raw(newline=b""),
}


def cosine(a, b):
    return np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_prior(tmp_path, form, packed):
    path = tmp_path / (f"{form}.gz" if packed else form)
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    prior = from_vectors(path, NAMES)
    cat_fish = np.mean([VECTORS["cat"], VECTORS["fish"]], axis=0)
    rows = [VECTORS["dog"], cat_fish, VECTORS["the"]]
    expected = [[cosine(a, b) for b in rows] for a in rows]
    np.testing.assert_allclose(prior.similarity, expected, atol=1e-7)
    assert prior.known.all()
    assert prior.source == f"word vectors {path.name} (3 of 3 classes)"
    assert prior.notes == ('1 of 3 names are averages of their words\' vectors: "cat_fish".',)


def write(tmp_path, content, name="words.txt"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_words_with_spaces_are_read(tmp_path):
    path = write(tmp_path, "a 1 0\n. . . 5 5\nnew york 0 1\nb 1 1\n")
    np.testing.assert_allclose(from_vectors(path, ("a", "New_York")).similarity, np.eye(2))


def test_the_first_of_repeated_words_counts(tmp_path):
    path = write(tmp_path, "a 1 0\nb 0 1\nb 1 0\n")
    assert from_vectors(path, ("a", "b")).similarity[0, 1] == 0


def test_a_long_file_is_read_across_blocks(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((6000, 40)).astype("<f4")
    text = "".join(f"w{i} {' '.join(map(str, row))}\n" for i, row in enumerate(table.tolist()))
    binary = b"6000 40\n" + b"".join(
        b"w%d " % i + row.tobytes() + b"\n" for i, row in enumerate(table)
    )
    names = ("w0", "w3000", "w5999")
    expected = [[cosine(a, b) for b in table[[0, 3000, 5999]]] for a in table[[0, 3000, 5999]]]
    for path in (write(tmp_path, text), write(tmp_path, binary, "words.bin")):
        assert path.stat().st_size > 3 * 2**18
        np.testing.assert_allclose(from_vectors(path, names).similarity, expected, atol=1e-6)


def test_names_not_in_the_vectors_are_listed(tmp_path):
    path = write(tmp_path, lines())
    with pytest.raises(
        InputError, match=r'must be in the word vectors words.txt; 2 of 3 are not: "cat_fsh"'
    ):
        from_vectors(path, ("cat_fsh", "dog", "zebra"))
    with pytest.raises(
        InputError, match=r'"cat_fsh" lacks "fsh"\. Rename them, or use missing="free"'
    ):
        from_vectors(path, ("cat_fsh", "dog", "zebra"))
    many = tuple(f"x{i}" for i in range(12))
    with pytest.raises(InputError, match=r'12 of 13 are not: "x0", .*"x9" and 2 more\.'):
        from_vectors(path, ("cat", *many))


def test_names_not_in_the_vectors_can_be_placed_without_prior(tmp_path):
    prior = from_vectors(write(tmp_path, lines()), ("zebra", "dog", "cat"), missing="free")
    assert prior.known.tolist() == [False, True, True]
    assert prior.similarity[0].tolist() == [1, 0, 0]
    assert prior.source == "word vectors words.txt (2 of 3 classes)"
    assert prior.notes == (
        '1 of 3 classes are not in the word vectors words.txt and are placed without prior: "zebra".',
    )


def test_a_file_that_knows_none_of_the_classes_is_an_error_even_so(tmp_path):
    with pytest.raises(InputError, match="none of the 2 is in the word vectors words.txt"):
        from_vectors(write(tmp_path, lines()), ("n01", "n02"), missing="free")


@pytest.mark.parametrize(("fault", "count"), [("dog 1.0 0.0", 2), ("dog 1.0 0.0 1 2", 4)])
def test_a_needed_line_of_the_wrong_dimension_is_named(tmp_path, fault, count):
    path = write(tmp_path, lines().replace("dog 1.0 0.0 0.001", fault))
    with pytest.raises(
        InputError, match=rf'must have 3 numbers per line, .*; line 3 \("dog"\) has {count}\.'
    ):
        from_vectors(path, ("cat", "dog"))
    assert from_vectors(path, ("the", "cat")).known.all()


def test_the_line_is_counted_from_the_header(tmp_path):
    path = write(tmp_path, "4 3\n" + lines().replace("dog 1.0", "dog"))
    with pytest.raises(InputError, match=r'line 4 \("dog"\) has 2'):
        from_vectors(path, ("cat", "dog"))


def test_a_first_line_of_the_wrong_dimension_does_not_make_a_file_binary(tmp_path):
    path = write(tmp_path, "2 3\ncat 1 2\ndog 1 2 3\n")
    with pytest.raises(InputError, match=r'line 2 \("cat"\) has 2'):
        from_vectors(path, ("cat", "dog"))


def test_a_needed_word_among_the_numbers_is_named(tmp_path):
    path = write(tmp_path, lines().replace("dog 1.0 0.0", "dog 1.0 zero"))
    with pytest.raises(InputError, match=r'line 3 \("dog"\) has "zero" among them'):
        from_vectors(path, ("cat", "dog"))


@pytest.mark.parametrize("kept", [-1, -20, 4 + 4 + 3])
def test_a_binary_file_cut_short_is_told(tmp_path, kept):
    path = write(tmp_path, raw(newline=b"")[:kept], "words.bin")
    with pytest.raises(
        InputError, match=r"must have 4 words with 3 float32 .* it ends after \d. It is cut short"
    ):
        from_vectors(path, ("the", "cat"))


@pytest.mark.parametrize("form", ["glove.txt", "google.bin"])
def test_a_gzipped_file_cut_short_is_told(tmp_path, form):
    path = write(tmp_path, gzip.compress(FORMS[form])[:-12], f"{form}.gz")
    with pytest.raises(InputError, match=r"must be readable by gzip .*It is cut short"):
        from_vectors(path, ("the", "cat"))


def test_a_text_file_shortened_below_its_header_is_noted(tmp_path):
    prior = from_vectors(write(tmp_path, "1000 3\n" + lines()), ("the", "cat"))
    assert prior.notes == ('"words.txt" has 4 words where its first line says 1,000.',)


def test_nan_in_a_needed_vector_names_the_class(tmp_path):
    path = write(tmp_path, lines().replace("dog 1.0", "dog nan"))
    with pytest.raises(InputError, match='must be finite; that of class "dog" '):
        from_vectors(path, ("cat", "dog"))
    assert from_vectors(path, ("cat", "the")).known.all()


@pytest.mark.parametrize("content", ["hello\nworld\n", "", b"\x00\x01\x02\x03" * 50])
def test_a_file_that_holds_no_vectors_is_told(tmp_path, content):
    with pytest.raises(InputError, match="must contain word vectors; its first line is neither"):
        from_vectors(write(tmp_path, content), ("cat", "dog"))


def test_a_pickle_is_not_read(tmp_path):
    with pytest.raises(
        InputError, match="got a zip or pickle file. Write it with gensim's save_word2vec_format"
    ):
        from_vectors(write(tmp_path, b"\x80\x04\x95" + b"x" * 50, "model.kv"), ("cat", "dog"))


def test_a_missing_file_and_missing_names_are_told(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="No word vectors at .*Nothing is downloaded for you"
    ):
        from_vectors(tmp_path / "glove.txt", ("cat", "dog"))
    with refuses("names", "only the number of classes"):
        from_vectors(write(tmp_path, lines()), None)


def test_progress_is_shown_where_asked_for(tmp_path, capsys):
    path = write(tmp_path, lines())
    from_vectors(path, ("cat", "dog"))
    assert capsys.readouterr() == ("", "")
    from_vectors(path, ("cat", "dog"), progress=True)
    assert "reading words.txt" in capsys.readouterr().err


def test_an_array_with_names_next_to_it_is_looked_up_by_name(tmp_path):
    np.save(tmp_path / "words.npy", np.array(list(VECTORS.values())))
    (tmp_path / "words.txt").write_text("\n".join(VECTORS) + "\n")
    prior = from_vectors(tmp_path / "words.npy", ("fish", "Cat"))
    assert prior.similarity[0, 1] == pytest.approx(cosine(VECTORS["fish"], VECTORS["cat"]))


def test_an_array_without_names_is_in_class_order(tmp_path):
    np.save(tmp_path / "words.npy", np.array(list(VECTORS.values()), dtype=np.float32))
    prior = from_vectors(tmp_path / "words.npy", None)
    assert prior.similarity[1, 2] == pytest.approx(cosine(VECTORS["cat"], VECTORS["dog"]), abs=1e-6)
    assert prior.source == "vectors words.npy (4 of 4 classes)"


def test_faulty_arrays_are_told(tmp_path):
    path = tmp_path / "words.npy"
    np.save(path, np.ones((4, 3)))
    (tmp_path / "words.txt").write_text("a\nb\n")
    with pytest.raises(
        InputError, match='words.txt" must name each of the 4 rows of "words.npy", .* got 2'
    ):
        from_vectors(path, ("a", "b"))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(
        InputError, match=r"must be a readable .npy file of numbers .*It may be cut short"
    ):
        from_vectors(path, ("a", "b"))
    np.save(path, np.ones(4))
    with pytest.raises(
        InputError,
        match=r"must contain one matrix of numbers, a row for each word or class; got shape \(4,\)",
    ):
        from_vectors(path, ("a", "b"))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "bomb.txt.gz",
            gzip.compress(b"a 1 2\n" + b"x 1 2\n" * 3_000_000),
            "must unpack to at most 10 times its size",
        ),
        (
            "line.txt",
            b"a 1 2\n" + b"a" * (1 << 21),
            "must have lines of less than 1,048,576 bytes; got a longer line 2",
        ),
        ("digits.txt", b"a 1 " + b"1" * (1 << 19) + b"x\n", "must contain word vectors"),
        (
            "wide.bin",
            b"3 999999999999\na \x00\x00\x80\x3f",
            "be as long as one vector at least; got vectors of 999,999,",
        ),
    ],
)
def test_small_files_that_ask_for_much_are_refused(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        from_vectors(tmp_path / name, ("a", "b"))
