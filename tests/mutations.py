#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one-line mistakes in the headers, and looks whether a test notices each.

usage: mutations.py BUILD [--known] [--seed N] [--count N] [--jobs N] [NAME...]

First the mistakes of KNOWN below, which no test noticed once. Then --count mistakes (40) that are drawn by --seed (1) in
each NAME: a header without its ending, `ps/protocol/sync_shard_core`, with its bodies, or a folder, `sim/detail`; CORES
unless told. With --known nothing is drawn; with NAMEs, only their mistakes of KNOWN are planted.

A mistake is noticed when the test of the header that has it fails, or does not end in its time; where none does, when one
of ALSO does. Mistakes that cannot be noticed are named in the table at the end of docs/design/tests.md. Exit code 1: one
was not noticed and is not named. Everything is compiled at -O0 with all bodies in one unit, into BUILD/mutations; nothing
else is needed there. The model is universalmutator (Groce and others, 2018).
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE, TESTS = ROOT / "include", ROOT / "tests"
LIBRARIES = "-Wl,--as-needed -lssl -lcrypto -lisal -lz -lpthread".split()
CORES = ["ps/protocol/sync_shard_core", "ps/protocol/async_shard_core", "ps/protocol/sync_worker_core",
         "ps/protocol/async_worker_core", "ps/protocol/rank_log_core", "ps/protocol/look_core", "ps/cut/object_cuts_core",
         "ps/server/shard_exports", "ps/server/rank_dealer", "ps/worker/served_ranks", "export_log/export_core",
         "data/range_plan", "rpc/server_core", "rpc/client_core", "sim/disk", "sim/wire", "sim/scheduler"]
COMPILE_SECONDS, MEMORY = 600, 12 << 30

Mutation = collections.namedtuple("Mutation", "file line old new text")  # text: the whole file, with the mistake
Test = collections.namedtuple("Test", "file cases")  # cases: which of them, as Catch2 is told; empty: all

# Where the mirrored test of a header that begins so does not notice it: what else is run, the quickest first.
ALSO = [
    ("ps/protocol/sync_", Test("simulation/random_runs_test.cpp", "*a synchronous job*,*backup workers*")),
    ("ps/protocol/async_", Test("simulation/random_runs_test.cpp", "*an asynchronous job*")),
    ("ps/protocol/look_core", Test("simulation/onlookers_test.cpp", "Onlookers come*")),
    ("ps/cut/object_cuts_core", Test("simulation/object_cuts_test.cpp",
                                     "*cuts in an object store are found*,*cuts of replicas*found*")),
    ("ps/cut/object_cuts_core", Test("simulation/object_links_test.cpp", "*incremental cuts*found, whatever*")),
    ("ps/cut/object_cuts_core", Test("simulation/object_ranks_test.cpp", "*object store says the same*")),
    ("ps/protocol/rank_log_core", Test("simulation/random_runs_test.cpp", "*whose ranks change*")),
    ("export_log/export_core", Test("ps/server/shard_exports_test.cpp", "")),
    ("export_log/export_core", Test("simulation/export_log_test.cpp", "")),
    ("rpc/", Test("rpc/handshake_test.cpp", "")),
    *(("rpc/", Test(f"simulation/rpc_{name}_test.cpp", "")) for name in
      ("cuts", "deadline", "drain", "loss", "overload", "stranger")),
    ("sim/", Test("sim/run_test.cpp", "")),
]

# file, what it says, what it says by mistake, the test and which of its cases
KNOWN = [
    ("ps/protocol/sync_shard_core.hpp", "    if (loading_) return;\n    drop_other_cuts(out);", "    drop_other_cuts(out);",
     "ps/protocol/sync_shard_core", "*no cut is dropped while*"),
    ("ps/protocol/impl/sync_shard_core.ipp", "lower_bound({k_ - window_, {}})", "lower_bound({k_, {}})",
     "ps/protocol/sync_shard_core", "*names are compared*"),
    ("ps/protocol/async_shard_core.hpp", "since < kept_", "since <= kept_",
     "ps/protocol/async_shard_core", "*half of what a worker keeps*"),
    ("ps/protocol/detail/replica_views.hpp", "progress.done > t + 1", "progress.done > t",
     "ps/protocol/detail/replica_views", ""),
    ("ps/protocol/detail/replica_views.hpp", "progress.done > t + 1", "progress.done > t",
     "ps/protocol/sync_worker_core", "*one step beyond*"),
    ("ps/protocol/detail/tree_sum.hpp", "const auto there = nodes_.find(sibling);", "const auto there = nodes_.begin();",
     "ps/protocol/detail/tree_sum", "*order of arrival*"),
    ("ps/protocol/detail/tree_sum.hpp", "if (sibling.second < width) {", "if (sibling.second < ranks) {",
     "ps/protocol/detail/tree_sum", "*which sums*"),
    ("ps/protocol/detail/tree_sum.hpp", "    if (is_held(at, width)) return false;\n",
     "    for (Node up = at; up.first < 21; up = {up.first + 1, up.second / 2}) nodes_.erase(up);\n",
     "ps/protocol/detail/tree_sum", "*is dropped*"),
    ("ps/protocol/detail/tree_sum.hpp", "    drop_inside(at);\n", "", "ps/protocol/detail/tree_sum", "*any mixture*"),
    ("ps/protocol/detail/tree_sum.hpp", "    complete_ = width == 1;\n",
     "    complete_ = nodes_.empty();\n", "ps/protocol/detail/tree_sum", "*is dropped*"),
    ("ps/protocol/detail/tree_sum.hpp", "    complete_ = width == 1;\n    nodes_.emplace(at, std::move(value));\n",
     "    nodes_.emplace(at, std::move(value));\n    Rank sizes = 0;\n"
     "    for (const auto& node : nodes_) sizes += Rank{1} << node.first.first;\n    complete_ = sizes >= ranks;\n",
     "ps/protocol/detail/tree_sum", "*is dropped*"),
    ("ps/protocol/impl/sync_shard_core.ipp", "insert({{step, ranks}, checksum})", "insert({{step, ranks.first}, checksum})",
     "ps/protocol/sync_shard_core", "*equal names are compared*"),
    ("ps/protocol/impl/sync_shard_core.ipp", "has_tree && !began_in_order)", "has_tree)",
     "ps/protocol/sync_shard_core", "*stays in rank order*"),
    ("ps/protocol/sync_shard_core.hpp", "    for (Rank rank = ranks.first; rank < ranks.end(ranks_); ++rank) vacant_.erase(rank);\n",
     "", "ps/protocol/sync_shard_core", "*a vacant rank*"),
    ("ps/protocol/impl/sync_shard_core.ipp", "std::ranges::count_if(vacant_, says_none)", "vacant_.size()",
     "ps/protocol/sync_shard_core", "*a vacant rank*"),
    ("ps/server/impl/shard_clock.ipp", "vacant_ < spare_", "vacant_ <= spare_", "ps/server/shard_clock", "*as many ranks may be lost*"),
    ("ps/server/impl/shard_clock.ipp", "rank != 0 && vacant_", "vacant_", "ps/server/shard_clock", "*chief is still needed*"),
    ("ps/server/impl/shard_clock.ipp", "needs_no_rank ? 0 : spare", "spare", "ps/server/shard_clock", "*open end needs no backup*"),
    ("ps/server/shard_clock.hpp", "    if (std::exchange(ranks_[rank].vacant, false)) --vacant_;\n", "    ranks_[rank].vacant = false;\n",
     "ps/server/shard_clock", "*as many ranks may be lost*"),
    ("ps/store/detail/shard_table.hpp", "if (copy_ && is_to_be_copied(key) && !is_in_copy(key, use))",
     "if (copy_ && !is_in_copy(key, use))",
     "ps/store/table_store", "*appear and are evicted*"),
    ("ps/store/impl/dense_store.ipp", "  clear_gaps(next->bytes());\n", "", "ps/store/dense_store", "*the gaps*"),
    ("ps/cut/cut_store.hpp",
     "FileAction::remove(files_.own_part(prefix)), FileAction::sync_directory(settings_.directory),",
     "FileAction::remove(files_.own_part(prefix)),", "ps/cut/cut_store", "*loss of power*"),
    ("ps/cut/cut_store.hpp", "base->lineage != cut.lineage.until(base->step)", "false", "ps/cut/cut_store", "*one history*"),
    ("ps/cut/cut_store.hpp", "    keep_bases(plan);\n", "", "ps/cut/cut_store", "*while a link of any shard*"),
    ("ps/cut/cut_store.hpp", "      if (is_needed(step, links)) continue;\n", "", "ps/cut/cut_store", "*removed after the link*"),
    ("ps/cut/impl/table_tensors.ipp", "? a.link > b.link", "? a.link < b.link",
     "ps/cut/cut_tensors", "*a link on what it stands on*"),
    ("ps/store/detail/shard_table.hpp", "changed.until <= number", "changed.until <= number + 1",
     "ps/cut/cut_tensors", "*a link on what it stands on*"),
    ("ps/store/detail/shard_table.hpp",
     "    if (!since_.empty() && !since_.back().too_many) since_.back().gone.push_back(key);\n", "",
     "ps/cut/cut_tensors", "*a link on what it stands on*"),
    ("ps/store/detail/impl/shard_table.ipp", "last_use > newest_use_at_copy_", "last_use >= newest_use_at_copy_",
     "ps/cut/cut_tensors", "*a link on what it stands on*"),
    ("ps/store/impl/cut_chain.ipp", " && step > newest_", "", "ps/store/cut_chain", "*until they are newer*"),
    ("ps/store/impl/cut_chain.ipp", "base_->bytes + *sizes.changed <= base_->whole_bytes", "base_->whole_bytes != 0",
     "ps/store/cut_chain", "*before its bytes pass*"),
    ("ps/store/impl/cut_chain.ipp", "  base_.reset();\n", "", "ps/store/cut_chain", "*another state was loaded*"),
    ("rpc/impl/server_core.ipp", "deadline = read_ +", "deadline = now +", "rpc/server_core", "*deadline counts*"),
    ("rpc/impl/server_core.ipp", "  begun->held -= bytes;\n", "", "rpc/server_core", "*what items bring*"),
    ("rpc/impl/server_core.ipp",
     "  hold(*call, frame.header->head_bytes);\n", "", "rpc/server_core", "*body in chunks*"),
    ("rpc/impl/server_core.ipp", '  if (call->ended) return refuse_peer("an item after the end");\n', "",
     "rpc/server_core", "*after the end*"),
    ("rpc/impl/client_core.ipp", "queued_bytes() > options_.owed_bytes", "queued_bytes() >= options_.owed_bytes",
     "rpc/client_core", "*what is queued*"),
    ("rpc/client_core.hpp", "std::chrono::ceil", "std::chrono::floor", "rpc/client_core", "*rounded up*"),
    ("rpc/detail/impl/deadline_wheel.ipp", "word <= ticks / 64", "word < ticks / 64",
     "rpc/detail/deadline_wheel", "*in the same word*"),
    ("checkpoint/impl/bundle_reader.ipp", "piece.offset <= size && ", "", "checkpoint/bundle_reader", "*outside its*"),
    ("data/order/order_steps.hpp", "epoch * count_ + position", "epoch + position", "data/order/order_steps", "*repeats*"),
    ("data/stream/stream_steps.hpp", "first_epoch_ = epoch * count_", "first_epoch_ = epoch",
     "data/stream/stream_steps", "*repeats*"),
    ("data/stream/pipeline.hpp", "      given_ = state.position;\n", "", "data/stream/pipeline", "*counts on*"),
    ("data/split_stream.hpp", "      error = {};\n      part_ =", "      part_ =", "data/split_stream", "*of a header*"),
    ("sharding/impl/part_slices.ipp", "counts[axis] > shape[axis]", "counts[axis] >= shape[axis]",
     "sharding/part_slices", ""),
    ("net/tls/detail/tls_names.hpp", "X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | ", "", "net/tls/tls", "*which servers*"),
    ("net/tls/tls.hpp", "context, TLS1_3_VERSION", "context, TLS1_2_VERSION", "net/tls/tls", "*TLS 1.2*"),
    ("spark/spark_encoder.hpp", "\n    fits = true;\n", "\n", "spark/spark_encoder", "*do not fit*"),
    ("sim/impl/disk.ipp", "  durable_ = std::move(left);\n  changes_.clear();\n", "  durable_ = std::move(left);\n",
     "sim/disk", "*at the next one*"),
    ("sim/disk.hpp", "full_until_ = std::max(full_until_, until)", "full_until_ = until", "sim/disk", "*latest time*"),
    ("sim/impl/disk.ipp", "|| !at->second->synced ", "", "sim/disk", "*a file that is durable*"),
    ("sim/wire.hpp", "if (!end.arrived.empty() || !end.sent.empty())", "if (!end.arrived.empty())",
     "sim/wire", "*held up*"),
    # What the same look at the tests found no case for.
    ("core/slice.hpp", " || count[outer] != to_slice.extents[outer]", "", "core/slice", "copy_overlap*"),
    ("rpc/frame_reader.hpp",
     "    if (!matches(FrameChecksum<void>::of(head), head.data() + head.size())) return false;\n", "",
     "rpc/frame_reader", "*in chunks is found*"),
    ("rpc/frame_reader.hpp", "    filled_ = 0;\n    sum_ = 0;\n    state_ = State::chunks;\n",
     "    filled_ = 0;\n    state_ = State::chunks;\n", "rpc/frame_reader", "*bodies in chunks*"),
    ("record/record_reader.hpp", "damage_.size() > options_", "damage_.size() >= options_", "record/record_reader", "*policy*"),
    ("record/record_reader.hpp", "lost_bytes_ > options_", "lost_bytes_ >= options_", "record/record_reader", "*policy*"),
    ("record/record_reader.hpp", "    if (ends_right(size)) return lose(", "    return lose(",
     "record/record_reader", "*policy*"),
    ("record/record_reader.hpp", "suspect_ = !found_next", "suspect_ = found_next", "record/record_reader", "*suspect*"),
    ("optimizer/detail/kernels.inc", "  return w - w * f.decay - m * f.alpha / (sqrt(v) + f.epsilon);",
     "  if (width == 8) return w - m * f.alpha / (sqrt(v) + f.epsilon) - w * f.decay;\n"
     "  return w - w * f.decay - m * f.alpha / (sqrt(v) + f.epsilon);", "optimizer/adamw", ""),
    ("optimizer/detail/kernels.inc", "sum = sum + Part::load(mean.contributions[i].data() + at);",
     "sum = sum + Part::load(mean.contributions[width == 8 ? mean.count - i : i].data() + at);", "optimizer/reduce", ""),
    ("ps/cut/impl/object_cuts.ipp", "    if (!may_pass(answer.error.code)) {", "    if (true) {", "ps/cut/object_cuts",
     "*while the store is away*"),
    ("ps/cut/impl/object_cuts.ipp", "if (pause_.count() == 0 && access_.tell)", "if (access_.tell)", "ps/cut/object_cuts",
     "*while the store is away*"),
    ("ps/cut/impl/object_cuts.ipp", "  if (reads && answer.error.code == failure::not_found) make_sure(action, answer);\n", "",
     "ps/cut/object_cuts", "*no cut counts as gone*"),
    ("ps/cut/impl/object_cuts.ipp", "  if (of_uploads && !may_pass(answer.error.code)) answer.error = {};\n", "",
     "ps/cut/object_cuts", "*no cut counts as gone*"),
    ("ps/cut/impl/object_cuts.ipp",
     "  if (claim->nonce == access_.nonce || owner->address == access_.owner.address) return false;\n", "",
     "ps/cut/object_cuts", "*follows itself*"),
    ("ps/cut/impl/object_cuts.ipp", "return access_.answers(*owner, claim->nonce);", "return false;", "ps/cut/object_cuts",
     "*is followed*"),
    ("ps/cut/impl/object_cuts.ipp", "(!is_durable_ || done.failure.code", "(done.failure.code", "ps/cut/object_cuts",
     "*while the store is away*"),
    ("ps/cut/impl/object_cuts.ipp", "(!is_durable_ || done.failure.code", "(true || done.failure.code", "ps/cut/object_cuts",
     "*while the store is away*"),
    ("ps/cut/impl/object_cuts.ipp", "  newest_.clear();\n  const Step saved", "  const Step saved", "ps/cut/object_cuts",
     "*not taken for a newer one*"),
    ("ps/cut/impl/object_cuts.ipp", ".back().step < key.step;", ".back().step > key.step;", "ps/cut/object_cuts", "*not taken for a newer one*"),
    ("ps/cut/impl/object_cuts.ipp", "if (!error && cuts.front().step != key.step)", "if (false)", "ps/cut/object_cuts",
     "*of another step than its name*"),
    ("ps/cut/impl/object_cuts.ipp",
     "while (may_pass(error.code) && !perform(ObjectAction::list(names_.checkpoints())).error);", "while (false);",
     "ps/cut/object_cuts", "*checkpoint of other shards is read*"),
    ("ps/cut/impl/object_cuts.ipp", "    if (!tensors.fits(*reader)) return std::nullopt;\n", "    static_cast<void>(tensors);\n",
     "ps/cut/object_cuts", "*have other parts count only*"),
    ("ps/cut/impl/object_cuts.ipp", "if (base && !core_.may_link(saved, *base)) {", "if (false) {", "ps/cut/object_cuts",
     "*a link after a cut that was given up*"),
    ("ps/cut/impl/object_cuts.ipp", "else if (!stands_on(link, checked_, checked_lineage_))", "else if (false)",
     "ps/cut/object_cuts", "*of another history*"),
    ("ps/cut/impl/object_cuts_core.ipp", "if (key.shards != shards || !key.is_whole()) continue;",
     "if (key.shards != shards) continue;", "ps/cut/object_cuts_core", "*names no link*"),
    ("ps/cut/impl/object_cuts_core.ipp", "    if (needed.contains(key)) continue;\n", "",
     "ps/cut/object_cuts_core", "*a cut on which a link stands*"),
    ("ps/cut/impl/object_cuts_core.ipp", "(!listed_ || waits || may_be_named(key))", "(!listed_ || waits)",
     "ps/cut/object_cuts_core", "*each shard removes its cuts of the others*"),
    ("ps/cut/impl/object_cuts_core.ipp", "if (!is_unnamed && (!listed_ ||", "if (!is_unnamed && listed_ && (",
     "ps/cut/object_cuts_core", "*unless the user wants it*"),
    ("ps/cut/impl/object_cuts.ipp", "  if (!older.empty()) older.pop_back();\n", "", "ps/cut/object_cuts",
     "*all cuts but the newest are dropped*"),
]

# --- mistakes ---

# What is found in a line, and what it becomes. clang-format puts spaces around operators, and none in `T<U>` and `T&&`.
RULES = [(re.compile(found), becomes) for found, becomes in [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" [+-] 1\b(?!\.)", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r"(?<![\w)\]])!(?=[\w(:])", ""), (r"\bstd::max\b", "std::min"),
    (r"\bstd::min\b", "std::max"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<![\w.'])(0|[1-9]\d*)(?![\w.'])", lambda found: str(int(found[0]) + 1)),
    (r"(?<![\w.'])1(?![\w.'])", "0"),
]]
NO_CODE = re.compile(r"\s*(//|#|template\b|using\b|namespace\b|inline namespace\b|static_assert|friend\b|(\[\[nodiscard\]\] )?DISTRIB_DECL\b)")
STATEMENT = re.compile(r"(\s*)(else )?(?!return\b|else\b|auto\b|const\b|static\b|case\b|[\w:<>, ]+[&*]? \w+( = |;|\{))([\w*+(-].*;)$")
COMMENT = re.compile(r"\s*//.*")
TRAILING = re.compile(r"(?<=[;{}]) +//.*")  # KNOWN quotes code without the comment behind it


def mistakes(file):
    """All there may be in a file: (line number, the line, what it becomes)."""
    for number, line in enumerate(file.read_text().split("\n")):
        if NO_CODE.match(line):
            continue
        # Texts and comments stay: they are hidden from the rules by as many letters.
        code = re.sub(r'"(\\.|[^"\\])*"', lambda found: '"' + "x" * (len(found[0]) - 2) + '"', line)
        code = re.sub(r"//.*", lambda found: "x" * len(found[0]), code)
        for pattern, becomes in RULES:
            for found in pattern.finditer(code):
                new = becomes(found) if callable(becomes) else becomes
                yield number, line, line[:found.start()] + new + line[found.end():]
        whole = COMMENT.sub("", line)
        statement = STATEMENT.match(whole)
        if statement and all(whole.count(left) == whole.count(right) for left, right in ("()", "{}")):
            yield number, line, statement[1] + (statement[2] or "") + ";"


def bare(line):
    """Without its comment and the spaces before it."""
    return COMMENT.sub("", line).strip()


def all_mutations(file):
    lines = file.read_text().split("\n")
    for number, old, new in dict.fromkeys(mistakes(file)):
        text = "\n".join([*lines[:number], new, *lines[number + 1:]])
        yield Mutation(str(file.relative_to(INCLUDE / "distrib")), number + 1, bare(old), bare(new), text)


def files_of(name):
    """A header and its bodies, or all of a folder."""
    at = INCLUDE / "distrib" / name
    header, bodies = at.with_suffix(".hpp"), at.parent / "impl" / f"{at.name}.ipp"
    found = [*sorted(at.rglob("*.[hi]pp"))] if at.is_dir() else [file for file in (header, bodies) if file.exists()]
    found = [file for file in found if file.name != "src.hpp"]
    return found or sys.exit(f"error: there is no header and no folder {name}")


def equivalents():
    """The table of docs/design/tests.md: (file, what it says, what it says by mistake)."""
    text = (ROOT / "docs/design/tests.md").read_text().replace(r"\|", "\0")
    rows = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \| `([^`]*)` \|", text, re.MULTILINE)
    return {tuple(cell.replace("\0", "|") for cell in row) for row in rows}


# --- tests ---


def header_of(file):
    """Returns the header that this file is, or whose bodies it has."""
    return re.sub(r"(^|/)impl/(\w+)\.ipp$", r"\1\2.hpp", file)


def mirrors(file):
    """The tests of a header: its own, or those of the headers of its room that include it."""
    header = header_of(file)
    own = header.removesuffix(".hpp") + "_test.cpp"
    if (TESTS / own).exists():
        return [Test(own, "")]
    room = header.split("/")[0] if header.startswith("sim/") else os.path.dirname(header.replace("/detail/", "/"))
    users = {header_of(str(user.relative_to(INCLUDE / "distrib"))) for user in (INCLUDE / "distrib" / room).rglob("*.[hi]pp")
             if f"<distrib/{header}>" in user.read_text()} - {header}
    return sorted({test for user in users for test in mirrors(user)})


@functools.cache
def included(path):
    names = re.findall(r'^#include ["<]([^">]+)[">]', path.read_text(), re.MULTILINE)
    found = [(INCLUDE if name.startswith("distrib/") else TESTS) / name for name in names]
    return [path for path in found if path.is_file()]


def reach(path):
    """All files of ours that are compiled with this one."""
    seen, left = {path}, [path]
    while left:
        new = set(included(left.pop())) - seen
        seen |= new
        left += new
    return seen


class Bench:
    """Compiles tests against headers with a mistake, and runs them, each in a folder of its own."""

    def __init__(self, build, jobs):
        self.folder, self.jobs = build / "mutations", jobs
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.locks, self.seconds, self.numbers = {}, {}, itertools.count()
        self.objects = list(self.pool.map(self.compiled_once, ["main", "test_dir"]))

    def compiler(self, test, *more):
        level = "-O1" if test.startswith(("sim/", "simulation/")) else "-O0"  # as tests/CMakeLists.txt has it
        return ["g++", "-std=c++20", level, "-DNDEBUG", "-w", *more, f"-I{INCLUDE}", f"-I{TESTS}", f"-I{ROOT}"]

    def compiled_once(self, name):
        made = self.folder / f"{name}.o"
        subprocess.run([*self.compiler("", f'-DDISTRIB_TEST_DIR="{TESTS}"'), "-c", TESTS / "support" / f"{name}.cpp",
                        "-o", made], check=True)
        return made

    def precompiled(self, test, file):
        """All headers of a test that a mistake in `file` does not change, compiled."""
        made = self.folder / re.sub(r"\W", "_", f"{test} {file}") / "precompiled.hpp"
        with self.locks.setdefault(made, threading.Lock()):
            if made.exists():
                return made
            headers = [path for path in reach(TESTS / test) if INCLUDE in path.parents and path.suffix == ".hpp"]
            clean = sorted(path.relative_to(INCLUDE) for path in headers if INCLUDE / "distrib" / file not in reach(path))
            made.parent.mkdir()
            source = made.with_suffix(".cpp")
            source.write_text('#include "support/catch.hpp"\n' + "".join(f"#include <{name}>\n" for name in clean))
            subprocess.run([*self.compiler(test), "-x", "c++-header", source, "-o", f"{made}.gch"], check=True)
            made.write_text('#error "it is not compiled as this was"\n')
            return made

    def limit(self, test, file):
        """How long a test may take: it is run without a mistake first, and must pass."""
        with self.locks.setdefault(test, threading.Lock()):
            if test not in self.seconds:
                began = time.monotonic()
                found = self.run_with(Mutation(file, 0, "", "", (INCLUDE / "distrib" / file).read_text()), test, 1200)
                if found != "passed":
                    sys.exit(f"error: {test.file} {test.cases} without a mistake: {found}")
                self.seconds[test] = time.monotonic() - began
        return 30 + 4 * self.seconds[test]

    def look(self, mutation, test):
        """What a test says of a mistake: "does not compile", "passed", "fails" or "does not end"."""
        return self.run_with(mutation, test, self.limit(test, mutation.file))

    def run_with(self, mutation, test, limit):
        folder = self.folder / f"mistake-{next(self.numbers)}"
        changed = folder / "include" / "distrib" / mutation.file
        changed.parent.mkdir(parents=True)
        changed.write_text(mutation.text)
        precompiled = self.precompiled(test.file, mutation.file)
        compiler = self.compiler(test.file, f"-I{folder}/include", "-include", precompiled)
        link = [TESTS / test.file, *self.objects, *LIBRARIES, "-o", folder / "test"]
        if self.run([*compiler, *link], COMPILE_SECONDS, folder) != 0:
            found = "does not compile"
        else:
            code = self.run([folder / "test", "--warn", "NoTests", test.cases or "~[.]"], limit, folder)
            found = "passed" if code == 0 else "does not end" if code is None else "fails"
        shutil.rmtree(folder)
        return found

    @staticmethod
    def run(command, limit, folder):
        """The exit status; None: it was ended at its limit."""
        with open(folder / "output.txt", "w") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return None


def known(bench, names):
    rows = []
    for file, old, new, test, cases in KNOWN:
        if names and not header_of(file).startswith(tuple(names)):
            continue
        text = TRAILING.sub("", (INCLUDE / "distrib" / file).read_text())
        if text.count(old) != 1:
            sys.exit(f"error: {file} has {text.count(old)} times:\n{old}")
        line = text[:text.index(old)].count("\n") + 1
        mutation = Mutation(file, line, old.strip(), new.strip(), text.replace(old, new))
        rows.append((Test(f"{test}_test.cpp", cases), mutation))
    missed = 0
    for (test, mutation), found in zip(rows, bench.pool.map(lambda row: bench.look(row[1], row[0]), rows)):
        noticed = found in ("fails", "does not end")
        missed += not noticed
        show(mutation, f"{test.file} {found}" if noticed else f"NOT NOTICED: {test.file} {test.cases} {found}")
    print(f"{len(rows)} known mistakes, {len(rows) - missed} noticed", flush=True)
    return missed


def show(mutation, found):
    print(f"{mutation.file}:{mutation.line}: {found}\n    {mutation.old}\n    {mutation.new or '(nothing)'}", flush=True)


def judge(bench, mutation, named):
    """The test that notices it; or "does not compile", "named" or "survived"."""
    for test in mirrors(mutation.file):
        found = bench.look(mutation, test)
        if found != "passed":
            return found if found == "does not compile" else test.file
    if (mutation.file, mutation.old, mutation.new) in named:
        return "named"
    for prefix, test in ALSO:
        if mutation.file.startswith(prefix) and bench.look(mutation, test) != "passed":
            return test.file
    return "survived"


def draw(bench, name, seed, count):
    """Draws in a header or folder until `count` have compiled. Gives how many survived and are not named."""
    mutations = [mutation for file in files_of(name) for mutation in all_mutations(file) if mirrors(mutation.file)]
    random.Random(f"{seed} {name}").shuffle(mutations)
    named, tally, at = equivalents(), collections.Counter(), 0
    while at < len(mutations) and (left := count - tally.total() + tally["does not compile"]) > 0:
        some = mutations[at:at + left]
        at += left
        for mutation, found in zip(some, bench.pool.map(lambda one: judge(bench, one, named), some)):
            tally[found] += 1
            if found != "does not compile":
                show(mutation, found.upper() if found == "survived" else found)
    redrawn = tally.pop("does not compile", 0)
    print(f"{name}: {tally.total()} drawn of {len(mutations)} by seed {seed}: " +
          ", ".join(f"{number} {found}" for found, number in tally.most_common()) +
          f" (and {redrawn} that do not compile)", flush=True)
    return tally["survived"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    told = parser.parse_intermixed_args()
    for name in told.names:
        files_of(name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # of what it runs: a mistake may ask for all there is
    bench = Bench(told.build.resolve(), told.jobs)
    missed = known(bench, told.names if told.known else [])
    for name in [] if told.known else told.names or CORES:
        missed += draw(bench, name, told.seed, told.count)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
