from hyperproto._core.progress import progress_bar, report_progress


def test_nothing_is_printed_where_standard_error_is_no_terminal(capsys):
    with progress_bar("working", 3) as bar:
        assert not bar.shown
        bar.update(1, note=lambda: 1 / 0)  # never called
        bar.print("a line")
    assert capsys.readouterr() == ("", "")


def test_a_shown_bar_tells_what_is_done_and_prints_lines_above(capsys):
    with progress_bar("working", show=True) as bar:
        assert bar.shown
        bar.update(2, total=3, description="still working", note=lambda: "loss 0.5")
        bar.print("epoch 1 done")
    shown = capsys.readouterr().err
    assert "still working" in shown
    assert "loss 0.5" in shown
    assert "epoch 1 done" in shown


def test_updates_are_shown_at_most_ten_times_a_second():
    notes = []
    with progress_bar("working", 1000, show=True) as bar:
        for done in range(1000):
            bar.update(done, note=lambda: str(notes.append(0)))
    assert 1 <= len(notes) < 100


def test_a_bar_of_bytes_shows_their_unit(capsys):
    with progress_bar("reading", 4_000_000, show=True, in_bytes=True) as bar:
        bar.update(2_000_000)
    assert "MB" in capsys.readouterr().err


def test_the_innermost_open_bar_is_updated_without_being_handed_on(capsys):
    report_progress(1, 2, "by nobody")
    with progress_bar("outer", show=True):
        with progress_bar("inner", show=True):
            report_progress(1, 2, "within")
        report_progress(1, 2, "around")
    shown = capsys.readouterr().err
    assert "by nobody" not in shown
    assert "within" in shown
    assert "around" in shown
