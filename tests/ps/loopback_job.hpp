// SPDX-License-Identifier: Apache-2.0
// A job without a model over real sockets. Its contributions depend on every bit of the values.
#pragma once

#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/worker/worker_client.hpp>
#include <distrib/sim/dice.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace loopback_job {

inline auto make(std::uint32_t tasks, distrib::Rank ranks, distrib::Step steps = 12) -> distrib::Job {
  distrib::Job job;
  job.seed = 5;
  job.tasks = tasks;
  job.ranks = ranks;
  job.total_steps = steps;
  job.cut_interval = 4;
  job.updater = "momentum " + distrib::Momentum{.learning_rate = 0.25F, .momentum = 0.5F}.describe();
  job.consistency = distrib::BulkSynchronousParallel{};
  // Parts of whole cache lines, so that blocks have no gaps, which would not be saved.
  job.variables = {{"a", distrib::DType::float32, {6, 16}, distrib::UniformInitializer{}},
                   {"b", distrib::DType::float32, {32}, distrib::UniformInitializer{}}};
  job.parts = {{0, distrib::Slice::along({6, 16}, 0, 0, 2), 0},
               {0, distrib::Slice::along({6, 16}, 0, 2, 4), tasks - 1},
               {1, distrib::Slice::whole({32}), tasks - 1}};
  return job;
}

inline auto contribution(distrib::Step step, distrib::Rank rank, const std::vector<distrib::SharedBuffer>& values)
    -> std::vector<distrib::SharedBuffer> {
  std::uint64_t hash = step * 31 + rank;
  for (const distrib::SharedBuffer& block : values)
    for (const float value : block->as<float>())
      hash = distrib::sim::Dice{hash ^ std::bit_cast<std::uint32_t>(value)}.next();
  std::vector<distrib::SharedBuffer> blocks;
  for (const distrib::SharedBuffer& block : values) {
    auto made = std::make_shared<distrib::AlignedBuffer>(block->size());
    distrib::sim::Dice random{hash + blocks.size()};
    for (float& element : made->as<float>()) element = static_cast<float>(random.below(2001)) / 1000.0F - 1.0F;
    blocks.push_back(std::move(made));
  }
  return blocks;
}

inline auto hash_of(const std::vector<distrib::SharedBuffer>& blocks) -> std::string {
  distrib::Sha256 hash;
  for (const distrib::SharedBuffer& block : blocks) hash.update(block->bytes());
  return distrib::to_hex(hash.finish());
}

/// A worker that computes on the executor of its client, and records the events and the end.
struct Worker : distrib::WorkerOwner {
  Worker(asio::io_context& where, const distrib::Job& job, distrib::Rank of, std::vector<distrib::Address> servers,
         distrib::WorkerClientOptions options = {}, distrib::CutSettings cuts = {})
      : context{where}, rank{of} {
    options.worker.wants_result = rank == 0;
    options.observer = [this](const distrib::Event& event) {
      events.push_back(event);
      if (heard) heard(event);
    };
    client = std::make_shared<distrib::WorkerClient>(context.get_executor(), job, rank, std::move(servers),
                                                     std::move(options), std::move(cuts), *this);
    asio::post(context, [this] { client->start(); });
  }

  void prepare(distrib::Prepare) override {}  // no tables
  void compute(distrib::Compute work, distrib::Step) override {
    asio::post(context, [this, work = std::move(work)] {
      if (const auto call = at_step) call(work.step);  // a copy, because the function may replace itself
      std::vector<distrib::SharedBuffer> blocks = contribution(work.step, rank, work.values);
      if (spoil) spoil(work.step, blocks);
      client->computed(work.ticket, std::move(blocks));
    });
  }
  void saved(distrib::Step step) override { durable = step; }
  void ended(distrib::WorkerEnd what) override {
    end = std::move(what);
    is_over = true;
  }

  asio::io_context& context;
  distrib::Rank rank;
  std::function<void(distrib::Step)> at_step;
  std::function<void(distrib::Step, std::vector<distrib::SharedBuffer>&)>
      spoil;  ///< Changes a contribution before it is sent; may be empty.
  std::function<void(const distrib::Event&)> heard;
  std::vector<distrib::Event> events;
  distrib::Step durable = 0;
  distrib::WorkerEnd end;
  bool is_over = false;
  std::shared_ptr<distrib::WorkerClient> client;
};

}  // namespace loopback_job
