# SPDX-License-Identifier: Apache-2.0
"""Rows 10, 11 and 13 of parameters.py: an embedding table in one process, compiled at -O2. Rows have 16 weights and
Adagrad's 16 accumulators, and `Adagrad::apply_rows` updates them. In each repetition all benchmarks run once, in a new
random order; medians are compared (row 13: the least disturbed pass). If this user is allowed to, programs run in the
round-robin real-time class.

Row 10: batches of 8192 keys of a table of 1 Mi rows. "unordered_map", the usual way, is a std::unordered_map and a slab
of rows, row by row; it stands for all tables with a node for each row. "flat map, ahead" is an array of slots, half
full, that prefetches all slots and rows, as ours does; so does "absl, ahead", with absl::flat_hash_map, if that was
found. The targets are for uniform keys; for Zipf-distributed keys only the flat map and absl have targets.
Row 11: requests of 1024 keys on pinned threads, each the only writer of its shard, compared with one table behind one
mutex, and with the better of 16 and 64 sub-tables with a mutex each.
Row 13: an empty table grows to 4 Mi rows."""
import json
import statistics
import subprocess

from result import result
from rpc import note, prepare

REPETITIONS = 9
DRAWS = {"0": "uniform", "1": "Zipf"}


def run(build, program, names, *options):
    """Runs the benchmarks whose names match a regular expression. Returns {name: [measurement of each repetition]}."""
    output = subprocess.run([f"{build}/benchmarks/benchmark_ps_{program}", "--benchmark_format=json",
                             "--benchmark_filter=" + names, *options], check=True, stdout=subprocess.PIPE,
                            preexec_fn=prepare("free", False)).stdout
    found = {}
    for one in json.loads(output)["benchmarks"]:
        if one["run_type"] == "iteration":
            found.setdefault(one["name"], []).append(one)
    return found


def speeds(build, program, names):
    """Runs the benchmarks that match `names`. Returns {name: median of million rows a second}."""
    found = run(build, program, names, "--benchmark_min_time=0.1", f"--benchmark_repetitions={REPETITIONS}",
                "--benchmark_enable_random_interleaving=true")
    medians = {}
    for name, all_of_it in found.items():
        values = sorted(one["items_per_second"] / 1e6 for one in all_of_it)
        medians[name] = statistics.median(values)
        note(f"    {name}: {medians[name]:.4g} ({values[0]:.3g}-{values[-1]:.3g})")
    return medians


def row10(build):
    note("  row10 table [M/s]")
    found = speeds(build, "embedding_table_benchmark", "^(pull|adagrad)/(table|map|map_windows|flat_ahead|absl_ahead)/")
    others = (("map", "unordered_map", 4.5, None), ("map_windows", "unordered_map, 16 rows", None, None),
              ("flat_ahead", "flat map, ahead", 1.0, 1.0), ("absl_ahead", "absl, ahead", 1.0, 1.0))
    for method in "adagrad", "pull":
        for zipf, draw in DRAWS.items():
            for name, words, *targets in others:
                baseline = found.get(f"{method}/{name}/zipf:{zipf}")
                if baseline is not None:
                    print(result(f"row10 table {method}, {draw}", found[f"{method}/table/zipf:{zipf}"], baseline, words,
                                 "M/s", targets[int(zipf)]), flush=True)


def row11(build):
    note("  row11 owners [M/s]")
    found = speeds(build, "owners_benchmark", ".")
    for zipf, draw in DRAWS.items():
        def of(design, threads, zipf=zipf):
            return found[f"{design}/zipf:{zipf}/real_time/threads:{threads}"]
        grouped = max(of("grouped_16", 2), of("grouped_64", 2))
        for baseline, words, target in ((of("owned", 1), "1 shard, 1 core", 1.8), (of("one_mutex", 2), "one mutex", 2),
                                        (grouped, "grouped locks", 1.2)):
            print(result(f"row11 2 shards on 2 cores, {draw}", of("owned", 2), baseline, words, "M/s", target),
                  flush=True)


def row13(build):
    grown = run(build, "embedding_table_benchmark", "^growth/")["growth/iterations:5"][0]
    note(f"  row13 growth: index {grown['least_index_bytes']:.1f} to {grown['most_index_bytes']:.1f} B a row, "
         f"longest batch {grown['longest_ms']:.2f} ms")
    print(result("row13 index, most", grown["most_index_bytes"], 34, "figure", "B/row", 1), flush=True)
    print(result("row13 longest batch while growing", grown["longest_ms"], 5, "figure", "ms", 1), flush=True)
