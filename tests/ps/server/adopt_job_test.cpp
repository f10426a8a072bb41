// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/adopt_job.hpp>

#include <distrib/optimizer/updater_list.hpp>

#include "ps/story.hpp"

#include <functional>

using namespace distrib;

namespace {

auto good_job() -> Job {
  Job job = story::job(2, 3, 10, 5);
  job.updater = "sgd " + Sgd{.learning_rate = 0.5F}.describe();
  job.consistency = BulkSynchronousParallel{};
  job.data = "records";
  job.tables = {{"numbered", 16, 100}, {"any", 16, 0}};
  return job;
}

auto request(const Job& job) -> JoinRequest {
  JoinRequest request;
  request.job_text = to_text(job);
  request.job_hash = to_hex(sha256(as_bytes(request.job_text)));
  return request;
}

const ShardIdentity joined_place{.task = 0, .shard = 1, .tasks = 1, .ranks = 3, .finished = false};

auto refusal(const JoinRequest& of, const std::optional<Job>& known = {}, std::uint64_t memory = 1 << 20) -> Error {
  Error error;
  const ShardOptions options{.memory_budget_bytes = memory};
  static_cast<void>(adopt_job(of, known, joined_place, shard_kinds(StandardUpdaters{}), options, error));
  return error;
}

}  // namespace

TEST_CASE("adopt_job: returns the job, its updaters, and the memory for its tables", "[ps]") {
  Error error;
  const AdoptedJob adopted = adopt_job(request(good_job()), {}, joined_place, shard_kinds(StandardUpdaters{}),
                                       ShardOptions{.memory_budget_bytes = 1 << 20}, error);
  REQUIRE_FALSE(error);
  CHECK(to_text(adopted.job) == to_text(good_job()));
  CHECK(adopted.job.consistency.is_synchronous());
  CHECK(adopted.job.arithmetic.empty());
  REQUIRE(adopted.kind.updaters.size() == 1);
  CHECK(adopted.kind.table_budget_bytes == (1 << 20) - 3 * 64);  // three versions of one small block
  CHECK_FALSE(refusal(request(good_job()), {}, 3 * 64 + 50 * 64));  // enough for half of the numbered rows too
}

TEST_CASE("adopt_job: the job computes with the arithmetic of the worker that brings it", "[ps]") {
  Error error;
  JoinRequest described = request(good_job());
  described.arithmetic = "torch 2 threads 1";
  const AdoptedJob adopted =
      adopt_job(described, {}, joined_place, shard_kinds(StandardUpdaters{}), ShardOptions{}, error);
  REQUIRE_FALSE(error);
  CHECK(adopted.job.arithmetic == "torch 2 threads 1");
}

TEST_CASE("adopt_job: the shards of a task share its memory", "[ps]") {
  Error error;
  const ShardOptions options{.memory_budget_bytes = 1 << 20, .task_memory_bytes = 1 << 20};
  const AdoptedJob adopted =
      adopt_job(request(good_job()), {}, joined_place, shard_kinds(StandardUpdaters{}), options, error);
  REQUIRE_FALSE(error);
  REQUIRE(adopted.job.shards_per_task == 2);
  CHECK(adopted.kind.table_budget_bytes == (1 << 19) - 3 * 64);
}

TEST_CASE("adopt_job: refuses a wrong hash, another job, an unknown updater, and too much memory", "[ps]") {
  JoinRequest other_hash = request(good_job());
  other_hash.job_hash.back() = other_hash.job_hash.back() == '0' ? '1' : '0';
  CHECK(refusal(other_hash).code == ps_errc::bad_job);
  CHECK(refusal({0, to_hex(sha256(as_bytes("nonsense"))), "nonsense", {}}).code == ps_errc::bad_job);

  Job longer = good_job();
  longer.total_steps = 11;
  const Error another = refusal(request(longer), good_job());
  CHECK(another.code == ps_errc::job_mismatch);
  CHECK(another.where == "it has 'total_steps 10', this job has 'total_steps 11'");

  const auto refused = [](const std::function<void(Job&)>& change) {
    Job job = good_job();
    change(job);
    return refusal(request(job)).code;
  };
  CHECK(refused([](Job& job) { job.ranks = 4; }) == ps_errc::job_mismatch);
  CHECK(refused([](Job& job) { job.updater = "magic"; }) == ps_errc::unknown_updater);
  CHECK(refused([](Job& job) { job.updaters_of = {{"any", "magic"}}; }) == ps_errc::unknown_updater);
  CHECK(refused([](Job& job) { job.tables[0].rows = 1 << 20; }) == ps_errc::too_large);
  const Error too_large = refusal(request(good_job()), {}, 3 * 64 + 50 * 64 - 1);
  CHECK(too_large.code == ps_errc::too_large);
  CHECK(too_large.where == "3392 bytes needed, allowed are 3391");
}
