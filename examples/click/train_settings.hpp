// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/any_ranged_files.hpp>
#include <distrib/rpc/shared_secret.hpp>
#include <distrib/tensor/matmul.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The settings of the click job, from its flags.
struct Settings {
  std::string data, out = "click", mode = "sync", checkpoints, exported, stream_log;
  std::uint64_t steps = 0, batch = 64, seed = 1, save_every = 1000, evaluate_every = 0, start_within = 300;
  std::uint64_t max_rows = 0, half_life = 0, export_every = 100, export_ms = 0, replay_kib = 256 << 10;
  std::uint64_t steps_ahead = 1000;
  bool incremental = false, erasable = false, export_bfloat16 = false;
  std::string erased;
  std::uint32_t workers = 3, shards = 1, replicas = 1, staleness = 3, min_count = 1;
  float wide_rate = 0.1F, deep_rate = 0.05F;
  std::optional<distrib::MatmulKernel> products;
};

/// Reads the flags that are not the cluster's. Exits with a message if a flag is wrong, and after --help.
auto read_flags(const std::vector<std::string>& arguments) -> Settings;

/// Returns the TLS that the starter of this process provides; null: none.
auto tls_of_job() -> std::shared_ptr<const distrib::Transport>;

/// Returns what opens directories in object stores; empty if this program was built without cpp-httplib.
auto object_stores() -> distrib::OpenObjectStore;

/// Returns the files that a URL names, which may be a pattern. `waiting`: threads that wait for the server; a server that
/// does not answer is waited for as long as a lost task. Throws `std::invalid_argument` if built without it.
auto remote_files(const std::string& url, distrib::IoPool& waiting) -> distrib::AnyRangedFiles;

/// Returns 0 if the task of these flags is healthy; otherwise prints what is wrong and returns 1. For health checks of
/// containers.
auto probe(const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret) -> int;
