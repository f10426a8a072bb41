// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <vector>

/// What outsiders may hand to the library, byte by byte. Each function takes any bytes, and ends the process when the
/// library does what it must not. `tests/run.sh fuzz` lets libFuzzer look for such bytes; fuzz/replay_test.cpp goes
/// through those that are kept in fuzz/corpus.
namespace fuzz {

using distrib::ByteView;
using Bytes = std::vector<std::byte>;

void frame(ByteView input);             ///< A plain record file, under every damage policy.
void inflate(ByteView input);           ///< A compressed record file, and what inflates it.
void index(ByteView input);             ///< Index files, ours and DALI's, beside a file that is well.
void splits(ByteView input);            ///< A record file cut into splits that are put together again.
void example(ByteView input);           ///< A tf.train.Example; protobuf is the judge.
void sequence_example(ByteView input);  ///< A tf.train.SequenceExample; protobuf is the judge.
void rpc_frame(ByteView input);         ///< A stream of frames, cut anywhere; a slow reader is the judge.
void rpc_greeting(ByteView input);      ///< What the two ends of a connection hear before they know each other.
void rpc_head(ByteView input);  ///< Frames with good checksums and any content, to both ends of a connection.
void saved(ByteView input);  ///< Indexes and state files of checkpoints, object graphs, events.
void schedulers(ByteView input);  ///< Environment variables and lists of Slurm, answers of Kubernetes.
void hadoop_pipes(ByteView input);  ///< What Hadoop says to a task, cut anywhere, and its codecs.
void spark(ByteView input);  ///< A record of Spark's, and names of its directories.
void webhdfs(ByteView input);  ///< Answers of name nodes, data nodes and HTTP servers, and their URLs.

}  // namespace fuzz
