from __future__ import annotations

import io
import wave
from pathlib import Path

from infranode_eval.team.scenario import read_scenario
from infranode_eval.team.stats import Amount, Stats, scenario_stats, total_stats
from tests.team.probe import UPDATES, WORKSPACE, write_probe


def png(width: int, height: int) -> bytes:
    """The beginning of a picture: as far as its size is told."""
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + b"IHDR" + size


def wav(seconds: float) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(b"\0\0" * int(16_000 * seconds))
    return file.getvalue()


def test_the_probe_is_counted_as_by_hand(tmp_path: Path) -> None:
    stats = scenario_stats(read_scenario(write_probe(tmp_path)))
    assert (stats.scenarios, stats.rounds, stats.update_groups) == (1, 2, 1)
    assert (stats.update_files, stats.update_new, stats.update_replace, stats.replace_share) == (2, 1, 1, 0.5)
    texts = [*WORKSPACE.values(), *UPDATES.values()]
    assert len(texts) == 11 and stats.amounts["text"].files == 11
    assert stats.amounts["text"].bytes == sum(len(text.encode()) for text in texts)
    assert {name: amount.files for name, amount in stats.amounts.items() if name != "text"} == {
        "image": 0, "audio": 0, "video": 0, "other": 0}


def test_modalities_are_told_from_the_content(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    top = folder / "workspace" / "akten"
    for path in [*(folder / "workspace").rglob("*"), *(folder / "updates").rglob("*")]:
        if path.is_file():
            path.write_bytes(b"")
    (top / "satzung.txt").write_text("Fr\u00fcher!", "utf-8")     # 7 characters, 8 bytes: 7 / 3.3 -> 3 tokens
    (top / "karte").write_bytes(png(1_500, 1_001))                # 24 bytes: 1,501,500 / 750 -> 2,002 tokens
    (top / "ruf.wav").write_bytes(wav(2.5))                       # 44 + 80,000 bytes: 2.5 * 32 -> 80 tokens
    (top / "film").write_bytes(b"\0\0\0\x18ftypmp42")             # 12 bytes, length unknown
    (top / "daten").write_bytes(b"a\0b")                          # 3 bytes that nobody perceives
    (top / "verweis").symlink_to("satzung.txt")
    amounts = scenario_stats(read_scenario(folder)).amounts
    assert amounts["text"] == Amount(11, 8, 3), "eleven files, ten of them empty, and no link"
    assert amounts["image"] == Amount(1, 24, 2_002)
    assert amounts["audio"] == Amount(1, 80_044, 80)
    assert amounts["video"] == Amount(1, 12, None) and amounts["other"] == Amount(1, 3, None)


def test_broken_media_have_no_known_tokens(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    (folder / "workspace/akten/a.png").write_bytes(png(4, 4)[:20])
    (folder / "workspace/akten/a.wav").write_bytes(b"RIFF\0\0\0\0WAVE")
    (folder / "workspace/akten/b.wav").write_bytes(wav(1))
    amounts = scenario_stats(read_scenario(folder)).amounts
    assert amounts["image"] == Amount(1, 20, None)
    assert amounts["audio"] == Amount(2, 12 + 32_044, None), "a sum with an unknown part is unknown"


def test_scenarios_add_up(tmp_path: Path) -> None:
    scenario = read_scenario(write_probe(tmp_path))
    one, two = scenario_stats(scenario), total_stats([scenario, scenario])
    assert two == one + one and (two.scenarios, two.rounds, two.update_files) == (2, 4, 4)
    assert two.amounts["text"].tokens == 2 * one.amounts["text"].tokens
    assert two.to_json()["modalities"]["text"]["files"] == 22


def test_without_updates_there_is_no_share() -> None:
    empty = total_stats([])
    assert (empty.replace_share, empty.to_json()["new_share"], empty.rounds) == (None, None, 0)
    assert Stats(update_new=3, update_replace=1).to_json()["replace_share"] == 0.25
