"""The only file that lm-eval loads by path; it re-exports the functions that the YAML files name.

lm-eval executes it outside any package, so a relative import fails here, and two loads would make two copies of the
scorer. So its parent folder goes on sys.path for one import, and a package of the same name from elsewhere is refused.
"""

import importlib
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))


def _load():
    sys.path.insert(0, os.path.dirname(_HERE))
    try:
        package = importlib.import_module("lm_eval_task")
        places = [os.path.realpath(place) for place in package.__path__]
        if _HERE not in places:
            raise ImportError(f"lm_eval_task was loaded from {places}, not from {_HERE}; "
                              "uninstall the other copy or point --include_path at it")
        return tuple(importlib.import_module(f"lm_eval_task.{name}") for name in ("harness", "bench_harness"))
    finally:
        sys.path.remove(os.path.dirname(_HERE))


_harness, _bench = _load()
custom_dataset = _harness.custom_dataset
doc_to_text = _harness.doc_to_text
doc_to_target = _harness.doc_to_target
process_results = _harness.process_results
mean_where_given = _harness.mean_where_given
ability_of = _harness.ability_of

bench_dataset = _bench.custom_dataset
bench_doc_to_text = _bench.doc_to_text
bench_process_results = _bench.process_results
ratio_of_sums = _bench.ratio_of_sums
