from hyperproto.cli.names import read_names


def test_a_list_may_be_longer_than_a_file_name():
    names = tuple(f"class_{index}" for index in range(500))
    assert read_names(",".join(names)) == names


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("cat\ndog\n", encoding="utf-8-sig")
    assert read_names(str(path)) == ("cat", "dog")
