"""Writes the scenarios of the suite team: seeded facts in, a folder of texts, pictures, sounds, checks and answers out.

How a scenario is written (scenarios/recht_satzung.py is the example):

1. `scenarios/<id>.py` has one function `draft() -> Draft` (draft.py), which draws its facts from a `random.Random` with
   a seed of text and writes them into German texts, the long ones in `texts/<id>.py`. The command finds it by its name.
2. A text is a `str`, a picture `Asset("image", what a perceiver says, a function that gives the bytes of the PNG)`, a
   sound `Asset("audio", …, a function that gives the bytes of the WAV)`. picture.py draws (sheet, bars, curve) and
   sound.py speaks. What a perceiver says holds every fact in digits, as a model would report it: managers parse it.
3. A round's answer is the JSON that `answer` says, in ausgabe/<round>.json; the kit writes the expected values, the
   check command, the golden and the wrong answers from it. `Wrong(why, {**answer, "key": other}, from_=…)`.
4. Each fact that only a picture or a sound may hold is a `Secret` (leak.py) with the asset's path; the command refuses
   a scenario in which a text, a name, a question or a chunk of an asset tells it.
5. `python -m infranode_eval.generator.team <id>` writes data/team/<id>/; `--check` compares instead of writing. Add the
   id to data/team/tests.json, a manager in infranode_eval/team/managers/<id>.py, and its expected table in
   tests/team/expected/<id>.json. tests/generator/team/test_shipped.py then tests the new folder, too.
"""
