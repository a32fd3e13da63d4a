"""What models may have seen of the questions before: said with every result. Source: specification, db_routing, 71."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RELEASED = "Dezember 2026"      # of the embedded panel, with all questions and golds


def contamination_of(settings: Mapping[str, Any]) -> str:
    """One German sentence. settings: of a result; a run over a BIRD folder has its facts there under "bird"."""
    bird = settings.get("bird")
    if bird is None:
        return (f"Fragen und Musterabfragen sind seit {RELEASED} öffentlich; später trainierte Modelle können sie "
                "kennen.")
    train, questions = bird["train"], bird["questions"]
    share = f"{100 * train / questions:.2f}".replace(".", ",")
    return (f"BIRD ist seit 2023 öffentlich; {train}/{questions} = {share} % der Fragen stammen aus dem Trainingsteil, "
            "den Modelle gelernt haben können.")
