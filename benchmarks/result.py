# SPDX-License-Identifier: Apache-2.0
"""Compares figures with baselines. `result.py FILE` prints the lines of a results.jsonl as a table. Exit code 1: a
target is missed."""
import json
import sys


def result(name, ours, baseline, baseline_name, unit, target):
    """Returns one line of results.jsonl. The target is a ratio ours / baseline: the least for a speed (a unit that ends
    with "/s"), the most for a cost. None: there is no target, and it counts as met."""
    ratio = ours / baseline
    met = target is None or (ratio >= target if unit.endswith("/s") else ratio <= target)
    return json.dumps({"name": name, "ours": round(ours, 3), "baseline": round(baseline, 3),
                       "baseline_name": baseline_name, "unit": unit, "ratio": round(ratio, 3),
                       "target": target and round(target, 3), "met": met})


def not_given(name, ours, baseline_name, unit):
    """Returns the line for a baseline that is not available on this machine."""
    return json.dumps({"name": name, "ours": round(ours, 3), "baseline": None, "baseline_name": baseline_name,
                       "unit": unit, "ratio": None, "target": None, "met": True})


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    width = max([28] + [len(line["name"]) for line in lines])
    row = ("{:<" + str(width) + "} {:>9} {:>9}  {:<24} {:<6} {:>6}  {:<14} {}").format
    print(row("name", "ours", "baseline", "of", "unit", "ratio", "target", "").rstrip())
    for line in lines:
        if line["baseline"] is None:
            print(row(line["name"], f"{line['ours']:.2f}", "-", line["baseline_name"], line["unit"], "-", "not given",
                      "").rstrip())
            continue
        target = ("at least " if line["unit"].endswith("/s") else "at most ") + str(line["target"])
        if line["target"] is None:
            target = "-"
        print(row(line["name"], f"{line['ours']:.2f}", f"{line['baseline']:.2f}", line["baseline_name"], line["unit"],
                  f"{line['ratio']:.2f}", target,
                  "" if line["target"] is None else "met" if line["met"] else "MISSED").rstrip())
    return 0 if all(line["met"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
