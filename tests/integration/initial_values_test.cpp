// SPDX-License-Identifier: Apache-2.0
// Jobs that start from a checkpoint, not from their initializers.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/initial_cut.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"
#include "train/table_model.hpp"

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

TEST_CASE("initial values: from a checkpoint, the same bits in one process and on any number of servers",
          "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const std::string saved = (directory / "before").string();
  auto before = table_model::builder(data, 2, 2, 15).with_hooks(SaveCheckpoint{.directory = saved}).build();
  REQUIRE(before.run() == 0);

  std::string first;
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    CAPTURE(shards);
    const auto plain = table_model::builder(data, 2, shards, 10).with_seed(12);
    const auto warm = plain.with_initial_checkpoint(saved + "/model.ckpt-15");
    std::string heard;
    auto local = warm.with_hooks(line_job::Heard{&heard}).build();
    CHECK(local.run() == 0);
    CHECK(local.result().steps == 10);
    CHECK_THAT(heard, ContainsSubstring("beginning with values of " + saved + "/model.ckpt-15\nstart 0\n"));
    if (first.empty()) first = local.result().parameters_sha256;
    CHECK(local.result().parameters_sha256 == first);
    auto cold = plain.build();
    CHECK(cold.run() == 0);
    CHECK(cold.result().parameters_sha256 != first);
    CHECK(loopback_cluster::run(warm.with_local_mode({}), shards, 2).parameters_sha256 == first);

    // It continues from its own checkpoints, and only while it names the same initial checkpoint.
    const auto kept = warm.with_hooks(SaveCheckpoint{.directory = (directory / std::to_string(shards)).string()});
    CHECK(loopback_cluster::run(kept.with_local_mode({}), shards, 2).parameters_sha256 == first);
    CHECK(kept.build().run() == 0);
    CHECK_THROWS_WITH(
        plain.with_hooks(SaveCheckpoint{.directory = (directory / std::to_string(shards)).string()}).build().run(),
        ContainsSubstring("it has 'initial_checkpoint " + saved + "/model.ckpt-15'"));
  }
}

TEST_CASE("initial values: from files of safetensors and PyTorch, the same bits as from the checkpoint",
          "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const std::string saved = (directory / "before/model.ckpt-15").string();
  auto before = table_model::builder(data, 2, 1, 15)
                    .with_hooks(SaveCheckpoint{.directory = (directory / "before").string()})
                    .build();
  REQUIRE(before.run() == 0);
  const auto reader = BundleReader::open(saved);
  std::vector<std::vector<std::byte>> kept(4);
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name, std::string as, std::size_t at) {
    const StoredTensor& tensor = *reader.find(name);
    kept[at].resize(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
    reader.read(name, Slice::whole(tensor.shape), kept[at]);
    tensors.push_back({std::move(as), tensor.dtype, tensor.shape, kept[at]});
  };
  add("bias", "net.bias", 0);
  add("items", "net.items", 1);
  add("users/shard-00000-of-00001/keys", "net.users/keys", 2);
  add("users/shard-00000-of-00001/values", "net.users/values", 3);
  save_safetensors(directory / "model.safetensors", tensors);
  save_torch_file(directory / "model.pt", tensors);

  auto from_checkpoint = table_model::builder(data, 2, 1, 10).with_initial_checkpoint(saved).build();
  REQUIRE(from_checkpoint.run() == 0);
  const std::string expected = from_checkpoint.result().parameters_sha256;
  for (const char* file : {"model.safetensors", "model.pt"})
    for (const std::uint32_t shards : {1U, 3U}) {
      CAPTURE(file, shards);
      const auto warm = table_model::builder(data, 2, shards, 10)
                            .with_initial_checkpoint((directory / file).string(), {.names = {{"net.", "/"}}});
      auto local = warm.build();
      CHECK(local.run() == 0);
      CHECK(local.result().parameters_sha256 == expected);
      CHECK(loopback_cluster::run(warm.with_local_mode({}), shards, 2).parameters_sha256 == expected);
    }
}

TEST_CASE("initial values: also in an asynchronous job", "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const std::string saved = (directory / "before").string();
  auto before = table_model::builder(data, 1, 2, 15).with_hooks(SaveCheckpoint{.directory = saved}).build();
  REQUIRE(before.run() == 0);
  const auto warm = table_model::builder(data, 1, 1, 10)
                        .with_consistency(AsynchronousParallel{})
                        .with_initial_checkpoint(saved + "/model.ckpt-15");
  auto local = warm.build();  // with one worker there is only one order
  CHECK(local.run() == 0);
  CHECK(loopback_cluster::run(warm, 2, 1).parameters_sha256 == local.result().parameters_sha256);
}

TEST_CASE(
    "initial values: a checkpoint that is missing or of another model ends the job before it starts; the error names "
    "it",
    "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto missing = table_model::builder(data, 1, 1, 10).with_initial_checkpoint((directory / "none").string());
  CHECK_THROWS_WITH(missing.build().run(), ContainsSubstring((directory / "none.index").string()));

  IoPool pool{2};
  Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  ClusterFlags flags;
  flags.job_name = "worker";
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};
  flags.worker_hosts = {"127.0.0.1:1"};
  auto worker = missing.build(pool, flags);
  CHECK_THROWS_WITH(worker.run(), ContainsSubstring((directory / "none.index").string()));

  const Shape shape{2};  // the bias of the model has one element
  const std::vector<float> two{1, 2};
  BundlePart part;
  part.tensors.push_back({"bias", DType::float32, shape, Slice::whole(shape), std::as_bytes(std::span{two})});
  perform(plan_bundle((directory / "other").string(), std::vector{part}));
  const auto other = table_model::builder(data, 1, 1, 10).with_initial_checkpoint((directory / "other").string());
  CHECK_THROWS_WITH(other.build().run(), ContainsSubstring("other: bias: it is float32[2], not float32[1]"));
  auto again = other.build(pool, flags);  // the server has no job yet
  CHECK_THROWS_WITH(again.run(), ContainsSubstring("other: bias: it is float32[2], not float32[1]"));
}

TEST_CASE("initial values: missing variables end the job before it starts, unless they are allowed", "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  auto before = table_model::builder(data, 1, 1, 15)
                    .with_hooks(SaveCheckpoint{.directory = (directory / "before").string()})
                    .build();
  REQUIRE(before.run() == 0);
  const std::string saved = (directory / "before/model.ckpt-15").string();
  // The same checkpoint with other names, and the items as two tensors.
  const auto reader = BundleReader::open(saved);
  constexpr auto rows = static_cast<std::int64_t>(TableModel::num_items);
  std::vector<float> items(TableModel::num_items * 4);
  std::vector<float> bias(1);
  reader.read("items", Slice::whole({rows, 4}), std::as_writable_bytes(std::span{items}));
  reader.read("bias", Slice::whole({1}), std::as_writable_bytes(std::span{bias}));
  const auto bytes = std::as_bytes(std::span{items});
  const Shape upper{10, 4};
  const Shape lower{rows - 10, 4};
  BundlePart part;
  part.tensors.push_back({"old/items/part_0", DType::float32, upper, Slice::whole(upper), bytes.first(160)});
  part.tensors.push_back({"old/items/part_1", DType::float32, lower, Slice::whole(lower), bytes.subspan(160)});
  part.tensors.push_back({"old/bias", DType::float32, {1}, Slice::whole({1}), std::as_bytes(std::span{bias})});
  const std::string other = (directory / "other").string();
  perform(plan_bundle(other, std::vector{part}));

  const auto plain = table_model::builder(data, 1, 1, 10).with_seed(12);
  std::string heard;
  const auto lacking = plain.with_initial_checkpoint(other);
  const auto refuse = [&](auto trainer) {
    std::string text;
    try {
      static_cast<void>(trainer.run());
    } catch (const std::system_error& error) {
      text = error.what();
      CHECK(error.code() == ps_errc::not_in_checkpoint);
    }
    for (const std::string& words :
         {other + ": it lacks bias (nearest: old/bias float32[1], ", std::string{"; it lacks users (nearest: "},
          std::string{"; it lacks items (nearest: old/items/part_0 float32[10,4], old/items/part_1 float32[30,4]: "
                      "separate tensors, which the name old/items/part_* joins)"},
          std::string{": the initial checkpoint lacks what the job begins with"}})
      CHECK_THAT(text, ContainsSubstring(words));
  };
  refuse(lacking.with_hooks(line_job::Heard{&heard}).build());
  CHECK(heard.empty());  // nothing was trained

  IoPool pool{2};
  Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  ClusterFlags flags;
  flags.job_name = "worker";
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};
  flags.worker_hosts = {"127.0.0.1:1"};
  refuse(lacking.build(pool, flags));

  const InitialCheckpointOptions partly{.allow_missing = true, .names = {{"old/items/part_*", "items"}, {"old/", "/"}}};
  const auto warm = plain.with_initial_checkpoint(other, partly);
  auto local = warm.with_hooks(line_job::Heard{&heard}).build();
  CHECK(local.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("beginning with values of " + other + "; from initializers: users\nstart 0\n"));
  const std::string hash = local.result().parameters_sha256;
  CHECK(loopback_cluster::run(warm, 2, 1).parameters_sha256 == hash);
  // Equal to a job that starts from the same values under their own names.
  auto same = plain.with_initial_checkpoint(saved, {.names = {{"", "users"}}}).build();
  CHECK(same.run() == 0);
  CHECK(same.result().parameters_sha256 == hash);
  auto cold = plain.build();
  CHECK(cold.run() == 0);
  CHECK(cold.result().parameters_sha256 != hash);

  // A checkpoint that is named by one of its files. The job continues from its own checkpoints, also with another
  // `allow_missing`.
  const SaveCheckpoint kept{.directory = (directory / "kept").string()};
  auto strict = plain.with_initial_checkpoint(saved + ".index").with_hooks(kept).build();
  CHECK(strict.run() == 0);
  auto again = plain.with_initial_checkpoint(saved + ".index", {.allow_missing = true}).with_hooks(kept).build();
  CHECK(again.run() == 0);
  CHECK(again.result().parameters_sha256 == strict.result().parameters_sha256);
  CHECK_THROWS_WITH(
      plain.with_initial_checkpoint(saved + ".index", {.names = {{"", "users"}}}).with_hooks(kept).build().run(),
      ContainsSubstring("this job has 'initial_name users'"));
}

TEST_CASE("initial values: shards that go back to step 0 start from the checkpoint again", "[integration]") {
  const support::TempDirectory directory;
  Job job = loopback_job::make(2, 1, 30);
  job.seed = 17;  // seed of the earlier job
  const JobUpdaters updaters{Momentum{}};
  std::vector<BundlePart> parts;
  std::vector<Cut> of_shards;
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    of_shards.push_back(initial_cut(job, ShardLayout{job, shard}, updaters));
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    parts.push_back(CutTensors{job, shard, updaters}.part(of_shards[shard]));
  perform(plan_bundle((directory / "c").string(), parts));
  job.seed = 5;
  job.initial_checkpoint = (directory / "c").string();

  const auto run = [](const Job& of, Step lost_at) {
    IoPool pool{2};
    asio::io_context context{1};
    const ClusterSpec cluster{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};
    Server stays{pool, cluster, "ps", 0};
    std::optional<Server> lost{std::in_place, pool, cluster, "ps", 1U};  // lost with its cuts, which are in memory
    const std::vector<Address> to{{"127.0.0.1", stays.port()}, {"127.0.0.1", lost->port()}};
    auto worker = std::make_unique<loopback_job::Worker>(context, of, 0, to);
    if (lost_at != 0) {
      worker->at_step = [&](Step step) {
        if (step == lost_at) worker->client->stop();
      };
      support::run_until(context, [&] { return worker->is_over; });
      CHECK(worker->end.code == 1);
      lost.reset();
      const ClusterSpec same{{"ps", {"127.0.0.1:1", to[1].to_string()}}, {"worker", {"127.0.0.1:1"}}};
      lost.emplace(pool, same, "ps", 1U);
      worker = std::make_unique<loopback_job::Worker>(context, of, 0, to);
    }
    std::vector<Step> made;
    worker->at_step = [&](Step step) { made.push_back(step); };
    support::run_until(context, [&] { return worker->is_over; });
    CHECK(worker->end.code == 0);
    CHECK((made.empty() ? 0 : made.front()) == 1);
    CHECK(stays.join() == 0);
    CHECK(lost->join() == 0);
    return loopback_job::hash_of(worker->end.result);
  };
  const std::string undisturbed = run(job, 0);
  CHECK(run(job, 9) == undisturbed);
  job.initial_checkpoint.clear();
  CHECK(run(job, 0) != undisturbed);
}
