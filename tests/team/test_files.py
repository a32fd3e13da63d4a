"""Read, Write, Edit and Glob."""

import os
import threading
from pathlib import Path

import pytest

from infranode_eval.team.agent import Agent
from infranode_eval.team.files import MAX_BYTES, MAX_PATHS, edit, glob_, read, write
from infranode_eval.team.workspace import Forbidden, Scope, ToolError, Workspace

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(100)
KEYS = {"image": ("vlm", "omni"), "audio": ("omni",)}


@pytest.fixture
def workspace(tmp_path):
    template = tmp_path / "vorlage"
    for name, data in (("a/drei.txt", b"eins\nzwei\ndrei\n"), ("a/leer.txt", b""), ("a/tief/x.csv", b"1;2\n"),
                       ("a/bild.png", PNG), ("a/bild.txt", PNG), ("a/ton.wav", WAV), ("a/text.png", b"kein Bild\n"),
                       ("h/geheim.txt", b"geheim\n"), ("aus/alt.txt", b"alt\n")):
        (template / name).parent.mkdir(parents=True, exist_ok=True)
        (template / name).write_bytes(data)
    (template / "a/verweis.txt").symlink_to("drei.txt")
    (template / "a/hinaus").symlink_to("../h")
    return Workspace.prepare(template, tmp_path / "arbeit")


@pytest.fixture
def agent():
    return Agent("leser", "llm", Scope(("a", "aus")), keys_for=KEYS)


def put(workspace, name, data):
    (workspace.real / name).write_bytes(data)
    return f"/arbeit/{name}"


def test_a_text_comes_with_numbered_lines(workspace, agent):
    result = read(agent, workspace, {"file_path": "/arbeit/a/drei.txt"})
    assert result.text == "1\teins\n2\tzwei\n3\tdrei"
    assert (result.touched, result.error, result.attachment) == ("/arbeit/a/drei.txt", False, None)


PAGES = (({"offset": 2, "limit": 1}, "2\tzwei", "a middle line"), ({"offset": 3}, "3\tdrei", "to the end"),
         ({"limit": 2}, "1\teins\n2\tzwei", "from the start"),
         ({"offset": 2, "limit": 10 ** 9}, "2\tzwei\n3\tdrei", "more"),
         ({"offset": None, "limit": None}, "1\teins\n2\tzwei\n3\tdrei", "null is not given"),
         ({"offset": 2.0, "limit": 1.0}, "2\tzwei", "JSON knows one kind of number"))


@pytest.mark.parametrize(("page", "expected", "why"), PAGES)
def test_a_page_is_counted_in_lines_from_one(workspace, agent, page, expected, why):
    assert read(agent, workspace, {"file_path": "/arbeit/a/drei.txt", **page}).text == expected, why


@pytest.mark.parametrize("page", [{"offset": 4}, {"offset": 0}, {"limit": 0}, {"offset": -1}, {"offset": True},
                                  {"offset": "2"}, {"limit": 10 ** 400}, {"seite": 1}])
def test_a_page_that_is_none_is_an_error(workspace, agent, page):
    with pytest.raises(ToolError):
        read(agent, workspace, {"file_path": "/arbeit/a/drei.txt", **page})


TEXTS = (
    (b"a\r\nb\r\n", "1\ta\n2\tb", "the ends of Windows are not shown"), (b"a", "1\ta", "no end of the last line"),
    (b"\n\n", "1\t\n2\t", "empty lines count"), (b"\xef\xbb\xbfa", "1\ta", "a byte order mark is not shown"),
    (b"", "[Hinweis: /arbeit/a/t ist leer]", "nothing"), ("a\u2028b\x0cc".encode(), "1\ta\u2028b\x0cc", "one line"),
    (b"kein Bild", "1\tkein Bild", "the name says nothing"),
    ("Grüße\n".encode("latin-1"),
     "[Hinweis: die Datei ist kein gültiges UTF-8; an unlesbaren Stellen steht �]\n1\tGr��e", "and it is said"),
)


@pytest.mark.parametrize(("data", "expected", "why"), TEXTS, ids=[row[2] for row in TEXTS])
def test_a_text_is_shown_as_it_is(workspace, agent, data, expected, why):
    assert read(agent, workspace, {"file_path": put(workspace, "a/t", data)}).text == expected


def test_a_large_text_gets_a_notice_and_a_larger_one_is_refused_unless_paged(workspace, agent):
    line = b"x" * 1023 + b"\n"
    small, large = put(workspace, "a/klein", line * 31), put(workspace, "a/gross", line * 33)
    huge = put(workspace, "a/riesig", line * 257)
    assert read(agent, workspace, {"file_path": small}).text.startswith("1\tx")
    assert read(agent, workspace, {"file_path": large}).text.startswith("[Hinweis")
    assert read(agent, workspace, {"file_path": large, "limit": 5}).text.startswith("1\tx")
    with pytest.raises(ToolError, match="offset und limit"):
        read(agent, workspace, {"file_path": huge})
    assert read(agent, workspace, {"file_path": huge, "offset": 257}).text == "257\t" + "x" * 1023
    cut = read(agent, workspace, {"file_path": huge, "offset": 1}).text
    assert cut.startswith("[Hinweis: gezeigt bis Zeile 256 von 257]\n1\tx")
    assert len(cut) < 270_000


def test_one_endless_line_is_cut_too(workspace, agent):
    path = put(workspace, "a/zeile", "ä".encode() * 200_000)
    text = read(agent, workspace, {"file_path": path, "limit": 1}).text
    assert text.startswith("[Hinweis: gezeigt bis Zeile 1 von 1; diese Zeile ist abgeschnitten]\n1\tää")
    assert len(text.encode()) < 263_000


def test_a_file_that_is_not_perceived_is_described_and_not_attached(workspace, agent):
    result = read(agent, workspace, {"file_path": "/arbeit/a/bild.png"})
    assert result.text == ("[Nicht wahrnehmbar: /arbeit/a/bild.png ist ein Bild (image/png, 108 Bytes). Passender "
                           "model_key für einen Unteragenten: vlm, omni]")
    assert (result.attachment, result.touched) == (None, "/arbeit/a/bild.png")
    assert "omni" in read(agent, workspace, {"file_path": "/arbeit/a/ton.wav"}).text
    agent.keys_for = {}
    assert "keiner der angebotenen" in read(agent, workspace, {"file_path": "/arbeit/a/bild.png"}).text


@pytest.mark.parametrize("name", ["bild.png", "bild.txt"])
def test_what_is_perceived_is_attached_whatever_its_name(workspace, agent, name):
    agent.modalities = {"image": 4, "audio": 0}
    result = read(agent, workspace, {"file_path": f"/arbeit/a/{name}"})
    kept = result.attachment
    assert (kept.path, kept.mime, kept.modality, kept.data) == (f"/arbeit/a/{name}", "image/png", "image", PNG)
    assert f"/arbeit/a/{name}" in result.text
    assert read(agent, workspace, {"file_path": "/arbeit/a/ton.wav"}).attachment is None, "a cap of 0 perceives nothing"


def test_bytes_that_nobody_perceives_are_an_error(workspace, agent):
    with pytest.raises(ToolError, match="weder Text noch"):
        read(agent, workspace, {"file_path": put(workspace, "a/x.bin", b"\0\1\2")})


REFUSED = (("/arbeit/h/geheim.txt", Forbidden), ("/arbeit/h/nix", Forbidden),
           ("/arbeit/a/hinaus/geheim.txt", Forbidden),
           ("/arbeit/a/../h/geheim.txt", Forbidden), ("/etc/passwd", Forbidden), ("/arbeit/a/../../x", Forbidden),
           ("a/drei.txt", ToolError), ("/arbeit", ToolError), ("/arbeit/a", ToolError), ("/arbeit/a/nix", ToolError),
           ("/arbeit/a/drei.txt/x", ToolError), ("/arbeit/a/\0", ToolError))


@pytest.mark.parametrize(("path", "kind"), REFUSED)
@pytest.mark.parametrize("tool", [read, write, edit])
def test_what_may_not_be_touched_is_refused_and_nothing_changes(workspace, agent, tool, path, kind):
    if tool is write and path == "/arbeit/a/nix":
        path = "/arbeit/a/nix/"
    before = {p: p.read_bytes() for p in workspace.real.rglob("*") if p.is_file()}
    arguments = {"file_path": path, **({} if tool is read else {"content": "neu"} if tool is write else
                                       {"old_string": "geheim", "new_string": "neu"})}
    with pytest.raises(ToolError) as caught:
        tool(agent, workspace, arguments)
    assert type(caught.value) is kind
    assert {p: p.read_bytes() for p in workspace.real.rglob("*") if p.is_file()} == before
    assert agent.known == {}


def test_a_link_to_a_granted_file_is_the_file(workspace, agent):
    result = read(agent, workspace, {"file_path": "/arbeit/a/verweis.txt"})
    assert (result.text.startswith("1\teins"), result.touched) == (True, "/arbeit/a/drei.txt")
    edit(agent, workspace, {"file_path": "/arbeit/a/drei.txt", "old_string": "eins", "new_string": "1"})


def test_a_new_file_is_written_with_its_folders_and_known_from_then_on(workspace, agent):
    arguments = {"file_path": "/arbeit/aus/neu/x.txt", "content": "Grüße\n"}
    result = write(agent, workspace, arguments)
    assert result.text == "/arbeit/aus/neu/x.txt angelegt (8 Bytes)."
    assert result.touched == "/arbeit/aus/neu/x.txt"
    assert (workspace.real / "aus/neu/x.txt").read_bytes() == "Grüße\n".encode()
    again = write(agent, workspace, {**arguments, "content": ""})
    assert again.text == "/arbeit/aus/neu/x.txt überschrieben (0 Bytes)."
    assert (workspace.real / "aus/neu/x.txt").read_bytes() == b""
    edit_of_empty = {"file_path": "/arbeit/aus/neu/x.txt", "old_string": "x", "new_string": "y"}
    with pytest.raises(ToolError, match="kommt in /arbeit/aus/neu/x.txt nicht vor"):
        edit(agent, workspace, edit_of_empty)


@pytest.mark.parametrize("tool", [write, edit])
def test_a_file_that_is_there_must_be_read_before_and_unchanged_since(workspace, agent, tool):
    path = "/arbeit/aus/alt.txt"
    arguments = {"file_path": path, **({"content": "neu"} if tool is write else
                                       {"old_string": "alt", "new_string": "neu"})}
    with pytest.raises(ToolError, match="zuerst mit Read"):
        tool(agent, workspace, arguments)
    read(Agent("anderer", "llm", agent.scope), workspace, {"file_path": path})
    with pytest.raises(ToolError, match="zuerst mit Read"):
        tool(agent, workspace, arguments)
    read(agent, workspace, {"file_path": path, "limit": 1})
    put(workspace, "aus/alt.txt", b"alt, aber anders\n")
    with pytest.raises(ToolError, match="seit dem letzten Lesen geändert"):
        tool(agent, workspace, arguments)
    read(agent, workspace, {"file_path": path})
    assert tool(agent, workspace, arguments).touched == path
    assert (workspace.real / "aus/alt.txt").read_bytes() == (b"neu" if tool is write else b"neu, aber anders\n")


def test_the_mode_of_a_file_survives_its_new_content(workspace, agent):
    (workspace.real / "aus/alt.txt").chmod(0o755)
    read(agent, workspace, {"file_path": "/arbeit/aus/alt.txt"})
    write(agent, workspace, {"file_path": "/arbeit/aus/alt.txt", "content": "neu"})
    assert (workspace.real / "aus/alt.txt").stat().st_mode & 0o777 == 0o755


EDITS = (
    (b"a b a", "b", "c", False, b"a c a", "1 Stelle"), (b"a b a", "a", "c", True, b"c b c", "2 Stellen"),
    (b"a b a", "a b", "", False, b" a", "1 Stelle"),
    ("Grüße\r\nx".encode(), "ü", "ue", False, "Grueße\r\nx".encode(), "1 Stelle"),
    (b"\xfcber alles", "alles", "x", False, b"\xfcber x", "1 Stelle"),
    (b"a\nb\n", "a\nb", "c", False, b"c\n", "1 Stelle"),
    (b"\xef\xbb\xbfa", "a", "b", True, b"\xef\xbb\xbfb", "1 Stelle"),
)


@pytest.mark.parametrize(("data", "old", "new", "every", "expected", "text"), EDITS)
def test_an_edit_changes_its_place_and_no_other_byte(workspace, agent, data, old, new, every, expected, text):
    path = put(workspace, "aus/e", data)
    read(agent, workspace, {"file_path": path})
    result = edit(agent, workspace, {"file_path": path, "old_string": old, "new_string": new, "replace_all": every})
    assert (workspace.real / "aus/e").read_bytes() == expected
    assert text in result.text


FAULTS = (
    (b"a b a", {"old_string": "a", "new_string": "c"}, "2-mal"),
    (b"a", {"old_string": "b", "new_string": "c"}, "nicht vor"),
    (b"a\r\nb", {"old_string": "a\nb", "new_string": "c"}, "CR LF"),
    (b"a", {"old_string": "", "new_string": "c"}, "leer"),
    (b"a", {"old_string": "a", "new_string": "a"}, "gleich"), (b"a", {"old_string": "a"}, "new_string fehlt"),
    (b"a", {"old_string": "a", "new_string": "b", "replace_all": "ja"}, "replace_all muss true oder false"),
    (b"a" * 21, {"old_string": "a", "new_string": "b" * 1_000_000, "replace_all": True}, "mehr als"),
    (PNG, {"old_string": "PNG", "new_string": "x"}, "kein Text"),
)


@pytest.mark.parametrize(("data", "arguments", "message"), FAULTS)
def test_an_edit_that_is_not_clear_changes_nothing(workspace, agent, data, arguments, message):
    path = put(workspace, "aus/e", data)
    read(agent, workspace, {"file_path": path})
    with pytest.raises(ToolError, match=message):
        edit(agent, workspace, {"file_path": path, **arguments})
    assert (workspace.real / "aus/e").read_bytes() == data


def test_a_file_with_a_second_name_is_left_alone(workspace, agent):
    os.link(workspace.real / "h/geheim.txt", workspace.real / "aus/zweiter")
    read(agent, workspace, {"file_path": "/arbeit/aus/zweiter"})
    with pytest.raises(ToolError, match="zweiten Namen"):
        write(agent, workspace, {"file_path": "/arbeit/aus/zweiter", "content": "neu"})
    assert (workspace.real / "h/geheim.txt").read_bytes() == b"geheim\n"


def test_what_is_too_large_is_neither_read_nor_written(workspace, agent):
    with open(workspace.real / "a/loch", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ToolError, match="Bytes"):
        read(agent, workspace, {"file_path": "/arbeit/a/loch", "limit": 1})
    with pytest.raises(ToolError, match="Bytes"):
        write(agent, workspace, {"file_path": "/arbeit/aus/x", "content": "x" * (MAX_BYTES + 1)})
    assert not (workspace.real / "aus/x").exists()


def test_a_pipe_is_an_error_for_every_tool_and_nobody_waits(workspace, agent):
    os.mkfifo(workspace.real / "aus/rohr")
    caught = []

    def call_all():
        for tool, more in ((read, {}), (write, {"content": ""}), (edit, {"old_string": "a", "new_string": "b"})):
            try:
                tool(agent, workspace, {"file_path": "/arbeit/aus/rohr", **more})
            except ToolError as error:
                caught.append(type(error))

    thread = threading.Thread(target=call_all, daemon=True)
    thread.start()
    thread.join(3)
    assert caught == [ToolError] * 3


def names(result):
    return result.text.replace("/arbeit/", "").split("\n")


GLOBS = (
    ({"pattern": "**/*.txt"}, "a/bild.txt a/drei.txt a/leer.txt aus/alt.txt", "links and hidden files are absent"),
    ({"pattern": "a/*.csv"}, "", "only one level"), ({"pattern": "**/*.{csv,wav}"}, "a/tief/x.csv a/ton.wav", "braces"),
    ({"pattern": "*.txt", "path": "/arbeit/aus"}, "aus/alt.txt", "from a folder"),
    ({"pattern": "/arbeit/a/t*/*"}, "a/tief/x.csv", "an absolute pattern"),
    ({"pattern": "/arbeit/a/drei.txt"}, "a/drei.txt", "an absolute path"),
    ({"pattern": "../aus/*", "path": "/arbeit/a"}, "aus/alt.txt", "a pattern that climbs inside the scope"),
    ({"pattern": "h/*"}, "", "a relative pattern is a filter and counts nothing"),
    ({"pattern": "*/geheim.txt"}, "", "a pattern does not find what is hidden"),
    ({"pattern": "**/geheim.txt", "path": "/arbeit"}, "", "from the root neither"),
    ({"pattern": "hinaus/*", "path": "/arbeit/a"}, "", "through a link neither"),
)


@pytest.mark.parametrize(("arguments", "expected", "why"), GLOBS, ids=[row[2] for row in GLOBS])
def test_a_pattern_lists_regular_files_of_the_scope(workspace, agent, arguments, expected, why):
    result = glob_(agent, workspace, arguments)
    assert (names(result) if expected else result.text) == (expected.split() or "Keine Datei gefunden.")
    assert (result.error, result.touched) == (False, None)


GLOB_ERRORS = (
    ({"pattern": "*", "path": "/arbeit/h"}, Forbidden), ({"pattern": "*", "path": "/arbeit/nix"}, Forbidden),
    ({"pattern": "/arbeit/h/*"}, Forbidden), ({"pattern": "/etc/*"}, Forbidden), ({"pattern": "/*"}, Forbidden),
    ({"pattern": "../*"}, Forbidden), ({"pattern": "../h/*", "path": "/arbeit/a"}, Forbidden),
    ({"pattern": ".."}, Forbidden),
    ({"pattern": "*", "path": "/arbeit/a/hinaus"}, Forbidden), ({"pattern": "*/../h/*"}, ToolError),
    ({"pattern": "*", "path": "a"}, ToolError), ({"pattern": "*", "path": "/arbeit/a/nix"}, ToolError),
    ({"pattern": "*", "path": "/arbeit/a/drei.txt"}, ToolError), ({"pattern": ""}, ToolError), ({}, ToolError),
    ({"pattern": ["*"]}, ToolError), ({"pattern": "*", "glob": "*"}, ToolError),
    ({"pattern": "x" * 10 ** 7}, ToolError),
    ({"pattern": "*", "path": "/arbeit/a/" + "x" * 300}, ToolError),
)


@pytest.mark.parametrize(("arguments", "kind"), GLOB_ERRORS)
def test_a_listing_of_what_is_hidden_is_refused(workspace, agent, arguments, kind):
    with pytest.raises(ToolError) as caught:
        glob_(agent, workspace, arguments)
    assert type(caught.value) is kind


def test_the_newest_file_stands_first_and_equal_ones_by_path(workspace, agent):
    first = names(glob_(agent, workspace, {"pattern": "**/*.txt"}))
    assert first == sorted(first)
    write(agent, workspace, {"file_path": "/arbeit/aus/b.txt", "content": ""})
    write(agent, workspace, {"file_path": "/arbeit/aus/a.txt", "content": ""})
    assert names(glob_(agent, workspace, {"pattern": "**/*.txt"})) == ["aus/a.txt", "aus/b.txt", *first]


def test_what_a_bash_has_written_is_newer_than_all_before_and_has_one_time(workspace, agent):
    write(agent, workspace, {"file_path": "/arbeit/aus/w.txt", "content": ""})
    for number in range(20):        # in the order of their names backwards, as fast as the disk allows
        put(workspace, f"aus/{20 - number:02}.txt", b"")
    expected = [f"aus/{number:02}.txt" for number in range(1, 21)]
    assert names(glob_(agent, workspace, {"pattern": "aus/*.txt"})) == [*expected, "aus/w.txt", "aus/alt.txt"]
    write(agent, workspace, {"file_path": "/arbeit/aus/z.txt", "content": ""})
    assert names(glob_(agent, workspace, {"pattern": "aus/*.txt"}))[:2] == ["aus/z.txt", "aus/01.txt"]


def test_an_update_is_newer_than_all_before(workspace, agent, tmp_path):
    class Change:
        op, src, dst = "new", Path("u.txt"), "a/u.txt"

    (tmp_path / "u.txt").write_text("u")
    write(agent, workspace, {"file_path": "/arbeit/aus/w.txt", "content": ""})
    workspace.apply([Change], tmp_path)
    assert names(glob_(agent, workspace, {"pattern": "**/*.txt"}))[:2] == ["a/u.txt", "aus/w.txt"]


def test_a_long_listing_is_cut_and_says_so(workspace, agent):
    for number in range(MAX_PATHS + 50):
        put(workspace, f"aus/{number:03}.dat", b"")
    shown = names(glob_(agent, workspace, {"pattern": "aus/*.dat"}))
    assert len(shown) == MAX_PATHS + 1
    assert shown[0] == "aus/000.dat"
    assert shown[-1].startswith(f"[Hinweis: {MAX_PATHS} von {MAX_PATHS + 50} Dateien")


def test_a_name_that_is_no_text_can_still_be_sent(workspace, agent):
    (workspace.real / os.fsdecode(b"aus/\xff.txt")).write_text("x")
    assert "aus/�.txt" in names(glob_(agent, workspace, {"pattern": "aus/*"}))
