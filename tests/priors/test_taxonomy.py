import numpy as np
import pytest

from hyperproto._core.errors import InputError, InputTypeError
from hyperproto.priors import from_taxonomy
from hyperproto.priors.taxonomy import ancestors, check_taxonomy, path_similarity
from tests.refusals import refuses

#                 thing
#        animal          vehicle
#     pet      fox      bus   pickup truck
#   cat dog
EDGES = [
    ("cat", "pet"),
    ("dog", "pet"),
    ("pet", "animal"),
    ("fox", "animal"),
    ("animal", "thing"),
    ("vehicle", "thing"),
    ("bus", "vehicle"),
    ("pickup truck", "vehicle"),
]
NAMES = ("cat", "dog", "fox", "Pickup_Truck", "animal")
STEPS = [[0, 2, 3, 5, 2], [2, 0, 3, 5, 2], [3, 3, 0, 4, 1], [5, 5, 4, 0, 3], [2, 2, 1, 3, 0]]


def as_file(tmp_path, text):
    path = tmp_path / "tree.csv"
    path.write_text(text)
    return path


MAKERS = {
    "pairs": lambda _: EDGES,
    "mapping": lambda _: dict(EDGES),
    "csv": lambda p: as_file(p, "\n".join(",".join(e) for e in EDGES)),
    "csv with header": lambda p: as_file(
        p, "child,parent\n" + "\n".join(",".join(e) for e in EDGES)
    ),
    "csv, parent first": lambda p: as_file(
        p, "Parent;Class\n" + "\n".join(";".join(e[::-1]) for e in EDGES)
    ),
    "csv with root, spaces and blank lines": lambda p: as_file(
        p, "\ufeffthing,\n\n" + "\n".join(" , ".join(e) for e in EDGES)
    ),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_similarity_falls_with_the_steps_between_two_classes(tmp_path, kind):
    prior = from_taxonomy(MAKERS[kind](tmp_path), NAMES)
    np.testing.assert_allclose(prior.similarity, 1 / (1 + np.array(STEPS)))
    assert prior.known.all()
    assert prior.notes == ()
    assert prior.source.endswith("(5 of 5 classes)")


def test_names_not_in_the_taxonomy_are_listed_or_free():
    with pytest.raises(
        InputError, match=r'taxonomy; 1 of 2 are not: "dogg"\. Did you mean "dog"\?.*missing="free"'
    ):
        from_taxonomy(EDGES, ("cat", "dogg"))
    prior = from_taxonomy(EDGES, ("cat", "zebra", "dog"), missing="free")
    assert prior.known.tolist() == [True, False, True]
    np.testing.assert_allclose(prior.similarity[0], [1, 0, 1 / 3])
    with refuses("names", "only the number of classes"):
        from_taxonomy(EDGES, None)


@pytest.mark.parametrize(
    ("extra", "cycle"),
    [
        ([("animal", "cat")], '"cat" > "pet" > "animal" > "cat"'),
        ([("pet", "pet")], '"pet" > "pet"'),
        ([("thing", "cat")], '"cat" > "pet" > "animal" > "thing" > "cat"'),
    ],
)
def test_a_cycle_is_named(extra, cycle):
    with pytest.raises(InputError, match=f"must have no cycle; the taxonomy has one: {cycle}"):
        from_taxonomy(EDGES + extra, ("cat", "dog"))


def test_two_roots_are_named():
    with pytest.raises(
        InputError, match=r'must have one root; the taxonomy has 2: "thing", "food"\. Give them'
    ):
        from_taxonomy([*EDGES, ("soup", "food")], ("cat", "dog"))


def test_a_name_of_two_nodes_is_told():
    edges = [*EDGES, ("Cat", "vehicle")]
    with pytest.raises(
        InputError,
        match='must be at one place in a taxonomy; the taxonomy has "CAT" at 2: "cat", "Cat"',
    ):
        from_taxonomy(edges, ("CAT", "dog"))
    assert from_taxonomy(edges, ("cat", "Cat")).notes == ()


def test_faulty_files_are_told(tmp_path):
    with pytest.raises(
        InputError, match='must have two columns, child and parent; line 2 has 3: "a", "b", "c"'
    ):
        from_taxonomy(as_file(tmp_path, "x,y\na,b,c\n"), ("x", "y"))
    with pytest.raises(InputError, match="must have a row for each child and its parent; got none"):
        from_taxonomy(as_file(tmp_path, "child,parent\n"), ("x", "y"))
    (tmp_path / "tree.csv").write_bytes(b"caf\xe9,drink\n")
    with pytest.raises(InputError, match="must be text in UTF-8; got another byte at"):
        from_taxonomy(tmp_path / "tree.csv", ("x", "y"))
    with pytest.raises(FileNotFoundError, match="No taxonomy at .*no CSV file of child,parent"):
        from_taxonomy(tmp_path / "none.csv", ("x", "y"))
    with pytest.raises(
        InputTypeError, match=r"must be pairs \(child, parent\) of names; pair 1 is 7"
    ):
        from_taxonomy([("a", "b"), 7], ("a", "b"))


def test_two_names_of_one_node_are_noted():
    prior = from_taxonomy(EDGES, ("cat", "Cat", "dog"))
    assert prior.notes == (
        '1 pair of classes is identical to the prior, which cannot distinguish them: "cat" and "Cat".',
    )


def test_the_shorter_of_two_ways_up_counts():
    parents = {"a": ["long", "top"], "long": ["longer"], "longer": ["top"], "b": ["top"], "top": []}
    check_taxonomy(parents, where="the taxonomy")
    above = [ancestors(node, parents.__getitem__) for node in ("a", "b", "longer")]
    assert above[0] == {"a": 0, "long": 1, "top": 1, "longer": 2}
    np.testing.assert_allclose(1 / path_similarity(above) - 1, [[0, 2, 2], [2, 0, 2], [2, 2, 0]])


def test_a_deep_chain_does_not_exhaust_the_stack():
    chain = [(str(i), str(i + 1)) for i in range(400)]
    assert from_taxonomy(chain, ("0", "400")).similarity[0, 1] == pytest.approx(1 / 401)
    with refuses("A taxonomy", 'more above "0"'):
        from_taxonomy([(str(i), str(i + 1)) for i in range(200_000)], ("0", "5000"))
    with refuses("A taxonomy", 'more above "0"'):
        from_taxonomy([(str(i), str(i + 1)) for i in range(9000)], tuple(map(str, range(200))))
    nested = ["leaf"]
    for _ in range(5000):
        nested = {"node": nested}
    with refuses("A nested taxonomy", "more"):
        from_taxonomy(nested, ("leaf", "node"))
