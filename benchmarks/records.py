# SPDX-License-Identifier: Apache-2.0
"""records.py BUILD [ROW...]: compares records, Examples and pipelines with what a program would use or contain instead.
Prints lines of results.jsonl. Runs every program benchmark_records_* of the build, with its cases in a new random order
for each repetition, and compares medians. Names are ROW/CASE/OURS and ROW/CASE/BASELINE, where OURS begins with
"ours"."""
import json
import pathlib
import re
import subprocess
import sys

from result import result

REPETITIONS = 9
SECONDS = 0.1  # the least time of each repetition

SMALL, KIB, BIG = r"100 ?B.*", r"1 ?KiB.*", r"(10|16|64|100) ?KiB.*|1 ?MiB.*"
ANY = r".*"
RANDOM = r"50-150.*"

# (row, case, ours, baseline, least ratio of our speed to the baseline's). The first entry that matches applies.
RATIOS = [
    ("row1", RANDOM, ANY, ANY, 0.60), ("row1", SMALL, ANY, ANY, 0.90), ("row1", ANY, ANY, ANY, 0.95),
    ("row2", SMALL, ANY, ANY, 3), ("row2", KIB, ANY, ANY, 1.8), ("row2", r"10 ?KiB.*", ANY, ANY, 1.5),
    ("row2", r"100 ?KiB.*|1 ?MiB.*", ANY, ANY, 1.7),
    ("row3", SMALL, ANY, ANY, 0.55), ("row3", KIB + "|" + BIG, ANY, ANY, 0.70),
    ("row4", ANY, ANY, r".*sum.*", 1), ("row4", ANY, ANY, r".*abseil.*", 1.3), ("row4", ANY, ANY, ANY, 1.6),
    ("row5", SMALL + "|" + KIB, ANY, ANY, 0.80), ("row5", r"1 ?MiB.*", ANY, ANY, 0.80), ("row5", BIG, ANY, ANY, 0.90),
    ("row6", ANY, ANY, "protobuf", 16), ("row6", ANY, ANY, "two_pass", 5),
    ("row7", r"image.*", ANY, "protobuf", 150), ("row7", ANY, ANY, "protobuf", 3),
    ("row7", ANY, ANY, "memcpy", 1 / 1.1),
    ("row8", ANY, ANY, "protobuf", 15), ("row8", ANY, ANY, "two_pass", 6),
    ("row9", ANY, ANY, "protobuf", 10),
    ("row10", r"100 ?KiB.*", ANY, ANY, 0.95), ("row10", r"10 ?KiB.*", ANY, ANY, 0.80),
    ("row11", ANY, ANY, ANY, 1 / 1.5),
    ("row13", ANY, r".*isal.*", r".*zlib.*", 2.0), ("row13", ANY, r".*two.*", ANY, 1.9),
    ("row13", ANY, "ours", r".*zlib.*", 0.95),
]

# (row, case, ours, what, counter, divisor, unit, figure): the least for a speed, the most for a cost.
FIGURES = [
    ("row6", ANY, ANY, "ns a feature", "items_per_second", None, "ns", 20),
    ("row8", ANY, ANY, "figure", "items_per_second", 1e6, "M/s", 1.2),
    ("row10", KIB, ANY, "figure", "items_per_second", 1e6, "M/s", 1.4),
    ("row10", SMALL, ANY, "figure", "items_per_second", 1e6, "M/s", 3),
    ("row12", r".*(zero|int64|worst|integer).*", ANY, "figure", "bytes_per_second", 1e9, "GB/s", 0.4),
    ("row12", ANY, ANY, "figure", "bytes_per_second", 1e9, "GB/s", 4),
]
FEATURES = 40  # features of a click


def measure(program, wanted):
    """Runs a program. Returns {(row, case): {name: median}}."""
    command = [program, "--benchmark_format=json", f"--benchmark_min_time={SECONDS}",
               f"--benchmark_repetitions={REPETITIONS}", "--benchmark_enable_random_interleaving=true",
               "--benchmark_report_aggregates_only=true"]
    if wanted:
        command.append(f"--benchmark_filter=^({'|'.join(wanted)})/")
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    cases = {}
    for benchmark in json.loads(output)["benchmarks"] if output.strip() else []:
        if benchmark.get("aggregate_name") != "median":
            continue
        row, case, name = re.match(r"([^/]+)/(.+)/([^/]+)$", plain(benchmark["run_name"])).groups()
        cases.setdefault((row, case), {})[name] = benchmark
    return cases


def plain(name):
    """Returns the name without the parts that Google Benchmark adds."""
    return re.sub(r"/(real_time|process_time|manual_time|repeats:\d+|min_time:[\d.]+|threads:\d+|iterations:\d+)", "",
                  name)


def speed(benchmark, other=None):
    """Returns (speed, unit), by a counter that both benchmarks have, or by time if there is none."""
    for counter, divisor, unit in ("bytes_per_second", 1e9, "GB/s"), ("items_per_second", 1e6, "M/s"):
        if counter in benchmark and (other is None or counter in other):
            return benchmark[counter] / divisor, unit
    scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1}[benchmark["time_unit"]]
    return scale / benchmark["real_time"], "1/s"


def fits(rule, *values):
    return all(re.fullmatch(pattern, value) for pattern, value in zip(rule, values))


def place(row, case):
    """Returns the key for sorting: rows by number, cases by size."""
    size = re.match(r"([\d.]+) ?(|[KMG]i)B", case)
    scale = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
    return (int(re.sub(r"\D", "", row) or 99), row, float(size[1]) * scale[size[2]] if size else 0, case)


def compare(row, case, names):
    """Yields the lines of one case."""
    for ours in sorted(name for name in names if name.startswith("ours")):
        title = f"{row} {case}" + ("" if ours == "ours" else " " + ours.removeprefix("ours").strip("_"))
        for name in sorted(name for name in names if not name.startswith("ours")):
            fast, unit = speed(names[ours], names[name])
            target = next((rule[4] for rule in RATIOS if fits(rule, row, case, ours, name)), None)
            yield result(title, fast, speed(names[name], names[ours])[0], name.replace("_", " "), unit, target)
        for rule in FIGURES:
            if fits(rule, row, case, ours) and rule[4] in names[ours]:
                value = names[ours][rule[4]]
                value = 1e9 / value / FEATURES if rule[5] is None else value / rule[5]
                yield result(title, value, rule[7], rule[3], rule[6], 1)
                break


def main():
    programs = sorted(pathlib.Path(sys.argv[1], "benchmarks").glob("benchmark_records_*_benchmark"))
    lines = []
    for program in programs:
        print(f"  {program.name}", file=sys.stderr)
        for (row, case), names in measure(program, sys.argv[2:]).items():
            lines += [(place(row, case), line) for line in compare(row, case, names)]
    for _, line in sorted(lines, key=lambda line: line[0]):
        print(line)
    return 0 if lines else 70


sys.exit(main())
