// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <vector>

/// Bytes that the library may get from outside. Each function accepts any bytes, and ends the process if the library
/// does something that it must not do. `tests/run.sh fuzz` lets libFuzzer search for such bytes; fuzz/replay_test.cpp
/// tests all bytes that are kept in fuzz/corpus.
namespace fuzz {

using distrib::ByteView;
using Bytes = std::vector<std::byte>;

void frame(ByteView input);             ///< A plain record file, under every damage policy.
void inflate(ByteView input);  ///< A compressed record file, and the decompressors.
void index(ByteView input);  ///< Index files, this library's and DALI's, beside an undamaged file.
void splits(ByteView input);  ///< A record file that is cut into splits; the splits must fit together.
void example(ByteView input);  ///< A tf.train.Example; protobuf decides what is right.
void sequence_example(ByteView input);  ///< A tf.train.SequenceExample; protobuf decides what is right.
void rpc_frame(ByteView input);  ///< A stream of frames, cut anywhere; a slow reader decides what is right.
void rpc_greeting(ByteView input);  ///< What the two ends of a connection receive before they know each other.
void rpc_head(ByteView input);  ///< Frames with valid checksums and any content, to both ends of a connection.
void saved(ByteView input);  ///< Indexes and state files of checkpoints, object graphs, events.
void safetensors(ByteView input);  ///< A safetensors file, and the index of several.
void torch_file(ByteView input);  ///< A file of PyTorch: its archive, its pickle, and both together.
void export_log(ByteView input);  ///< Heads, manifests, votes and parts of an export log.
void stream_log(ByteView input);  ///< The file of a stream log, and its items.
void schedulers(ByteView input);  ///< Environment variables and lists of Slurm, answers of Kubernetes.
void hadoop_pipes(ByteView input);  ///< What Hadoop sends to a task, cut anywhere, and its codecs.
void spark(ByteView input);  ///< A record of Spark, and names of its directories.
void s3(ByteView input);  ///< Answers of object stores and of servers of credentials, files of profiles, URLs.
void webhdfs(ByteView input);  ///< Answers of name nodes, data nodes and HTTP servers, and their URLs.
void cut_object(ByteView input);  ///< Objects of cuts in an object store, and their names.
void coordinator(ByteView input);  ///< Messages of a coordinator and its workers, and arguments of functions.

}  // namespace fuzz
