// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_cuts.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/stored_cuts.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/record/error.hpp>

#include "ps/cuts.hpp"
#include "ps/exported_store.hpp"
#include "ps/linked_cuts.hpp"
#include "ps/story.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using ObjectKinds = CutWork::Kind;

namespace {

/// One variable of four elements on so many shards. Cuts every 3 steps, checkpoints every 6, the last step is 60.
auto quarters(std::uint32_t shards, bool synchronous = true) -> Job {
  Job job;
  job.shards_per_task = shards;
  job.ranks = 1;
  job.total_steps = 60;
  job.cut_interval = 3;
  job.updater = "sgd learning_rate=1";
  job.consistency = synchronous ? Consistency{BulkSynchronousParallel{}} : Consistency{AsynchronousParallel{}};
  job.variables = {{"v", DType::float32, {64}, ZerosInitializer{}}};
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    job.parts.push_back({0, Slice::along({64}, 0, 64 / shards * shard, 64 / shards), shard});
  return job;
}

/// A process of a shard: `StoredCuts` with an object store.
struct ObjectProcess {
  ObjectProcess(std::shared_ptr<support::MapObjects> in, Job of, std::uint32_t shard, std::uint64_t nonce)
      : bucket{std::move(in)}, job{std::move(of)}, number{shard} {
    ObjectAccess access;
    access.open = support::map_stores(bucket);
    access.owner = {"/job:ps/task:0", "host", std::to_string(nonce), "host:" + std::to_string(nonce)};
    access.nonce = nonce;
    access.answers = [this](const ClaimOwner& owner, std::uint64_t asked) {
      asked_for.push_back(owner.address + ' ' + std::to_string(asked));
      return others_answer;
    };
    access.pause = [this](std::chrono::milliseconds) { return ++pauses < patience; };
    access.tell = [this](const std::string& text) { told.push_back(text); };
    cuts = std::make_unique<StoredCuts<>>(PosixFiles{}, access);
  }

  auto done(CutWork work) const -> CutWork {
    (*cuts)(work);
    return work;
  }
  auto open() const -> CutWork {
    CutWork work{.kind = ObjectKinds::open};
    work.owner = CutOwner{job, number, {"map://bucket/run", 6, {.max_to_keep = 2}}, {AnyUpdater{Sgd{}}}};
    return done(std::move(work));
  }
  auto save(Step step, float value) const -> CutWork {
    auto block = std::make_shared<AlignedBuffer>(64 * sizeof(float) / job.shards());
    for (float& element : block->as<float>()) element = value;
    Cut cut{step, block, {}, {}};
    if (!job.consistency.is_synchronous()) cut.applied = {step};
    return done({.kind = ObjectKinds::save, .step = step, .save = {std::move(cut)}});
  }
  auto value_at(Step step, ObjectKinds kind = ObjectKinds::load) const -> float {
    const CutWork work = done({.kind = kind, .step = step});
    CHECK_FALSE(work.failure);
    if (work.failure) return -1;
    CHECK(work.cut.step == step);
    return work.cut.values->as<float>().front();
  }

  std::shared_ptr<support::MapObjects> bucket;
  Job job;
  std::uint32_t number;
  bool others_answer = false;
  int patience = 1000;
  int pauses = 0;
  std::vector<std::string> asked_for;
  std::vector<std::string> told;
  std::unique_ptr<StoredCuts<>> cuts;
};

auto new_bucket() -> std::shared_ptr<support::MapObjects> { return std::make_shared<support::MapObjects>(); }

}  // namespace

TEST_CASE("ObjectCuts: cuts are saved, found, read, dropped, and removed at the end", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess first{bucket, quarters(1), 0, 1};
    CHECK(first.open().cuts.empty());
    for (const Step step : {3U, 6U, 9U, 12U}) CHECK_FALSE(first.save(step, static_cast<float>(step)).failure);
    CHECK_FALSE(first.done({.kind = ObjectKinds::drop, .step = 3}).failure);
    CHECK_FALSE(first.done({.kind = ObjectKinds::look}).failure);
    CHECK(bucket->count("run/model.ckpt-") == 2);
    CHECK(finished_checkpoint("map://bucket/run", support::map_stores(bucket)).empty());
  }
  ObjectProcess second{bucket, quarters(1), 0, 2};
  CHECK(story::steps_of(second.open().cuts) == std::vector<Step>{6, 9, 12});
  CHECK(second.asked_for == std::vector<std::string>{"host:1 1"});
  CHECK(second.value_at(12, ObjectKinds::start) == 12);
  CHECK(second.value_at(9) == 9);
  CHECK(second.value_at(12) == 12);
  const CutWork initial = second.done({.kind = ObjectKinds::load, .step = 0, .is_initial = true});
  CHECK(initial.cut.values->as<float>().front() == 0);
  CHECK(second.done({.kind = ObjectKinds::load, .step = 3}).failure.code == checkpoint_errc::no_such_checkpoint);
  CHECK_FALSE(second.save(60, 60).failure);
  CHECK_FALSE(second.done({.kind = ObjectKinds::finish}).failure);
  CHECK(finished_checkpoint("map://bucket/run", support::map_stores(bucket)) == "map://bucket/run/model.ckpt-60");
  CHECK(bucket->count("run/cuts/") == 2);  // of the two checkpoints that stay
}

TEST_CASE("ObjectCuts: all cuts but the newest are dropped, in one process with all shards", "[ps]") {
  ObjectAccess access;
  access.open = support::map_stores(new_bucket());
  access.nonce = 1;
  const CutOwner owner{quarters(2), 0, {"map://bucket/run", 1, {.max_to_keep = 2}}, {AnyUpdater{Sgd{}}}};
  ObjectCuts cuts{owner, access, CutShards::all};
  CutWork found;
  cuts.open(found);
  cuts.drop_older();  // there is none
  for (const Step step : {3U, 6U}) {
    const auto block = std::make_shared<AlignedBuffer>(32 * sizeof(float));
    const Cut both[] = {{step, block, {}, {}}, {step, block, {}, {}}};
    cuts.save(both);
  }
  cuts.drop_older();
  CHECK(cuts.read(6).size() == 2);
  CHECK_THROWS_AS(cuts.read(3), std::system_error);
}

TEST_CASE("ObjectCuts: a process that is followed tells nothing more", "[ps]") {
  const auto bucket = new_bucket();
  ObjectProcess first{bucket, quarters(1), 0, 1};
  ObjectProcess second{bucket, quarters(1), 0, 2};
  CHECK_FALSE(first.open().failure);
  second.others_answer = true;
  CHECK(second.open().failure.code == ps_errc::directory_in_use);
  CHECK_FALSE(first.save(3, 3).failure);
  second.others_answer = false;
  CHECK(story::steps_of(second.open().cuts) == std::vector<Step>{3});
  const Error followed = first.save(6, 6).failure;
  CHECK(followed.code == ps_errc::shard_taken_over);
  CHECK(followed.where == "map://bucket/run: run/claims/00000/0000000002-0000000000000002");
  CHECK(first.done({.kind = ObjectKinds::look}).failure.code == ps_errc::shard_taken_over);
  CHECK_FALSE(second.save(6, 6).failure);
}

TEST_CASE("ObjectCuts: a shard that opens its cuts again follows itself", "[ps]") {
  const auto bucket = new_bucket();
  ObjectProcess process{bucket, quarters(1), 0, 1};
  process.others_answer = true;
  CHECK_FALSE(process.open().failure);
  CHECK_FALSE(process.save(3, 3).failure);
  CHECK(story::steps_of(process.open().cuts) == std::vector<Step>{3});
  CHECK(process.asked_for.empty());
  CHECK_FALSE(process.save(6, 6).failure);
}

TEST_CASE("ObjectCuts: while the store is away the shard waits, and tells that once", "[ps]") {
  const auto bucket = new_bucket();
  ObjectProcess process{bucket, quarters(1), 0, 1};
  int away = 4;
  bucket->fail = [&](const std::string&) { return away-- > 0 ? support::MapObjects::away() : std::error_code{}; };
  CHECK_FALSE(process.open().failure);
  CHECK(process.pauses == 4);
  REQUIRE(process.told.size() == 1);
  CHECK(process.told.front().starts_with("the object store of the cuts does not answer, waiting: list run/claims/"));
  away = 3;
  CHECK_FALSE(process.save(3, 3).failure);
  CHECK(process.told.size() == 2);

  SECTION("until the task is to end: then the cut is not saved, and may be saved again") {
    away = 1'000'000;
    process.patience = process.pauses + 3;
    CHECK(may_pass(process.save(6, 6).failure.code));
    away = 0;
    CHECK_FALSE(process.save(6, 7).failure);
    CHECK(process.value_at(6) == 7);
  }
  SECTION("what fails after the cut is durable is told, and no failure") {
    bucket->fail = [](const std::string& request) {
      return request.starts_with("put run/model.ckpt-") ? make_error_code(checkpoint_errc::cannot_write)
                                                        : std::error_code{};
    };
    CHECK_FALSE(process.save(6, 6).failure);
    REQUIRE(process.told.size() == 3);
    CHECK(process.told.back().starts_with("the cut of step 6 is saved, but not all that follows is done: "));
    CHECK(process.save(60, 60).failure.code == checkpoint_errc::cannot_write);  // workers rely on the last checkpoint
  }
}

TEST_CASE("ObjectCuts: no cut counts as gone because the bucket or the credentials are", "[ps]") {
  const auto bucket = new_bucket();
  ObjectProcess first{bucket, quarters(1), 0, 1};
  CHECK_FALSE(first.open().failure);
  CHECK_FALSE(first.save(3, 3).failure);
  ObjectProcess second{bucket, quarters(1), 0, 2};
  const std::error_code gone = std::make_error_code(std::errc::no_such_file_or_directory);
  bool reads = false;
  bucket->fail = [&](const std::string& request) {
    reads = reads || request.starts_with("get run/cuts/");
    return reads ? gone : std::error_code{};
  };
  CHECK(second.open().failure.code == checkpoint_errc::cannot_read);
  bucket->fail = [](const std::string& request) {
    return request.starts_with("uploads ") ? make_error_code(checkpoint_errc::unsupported) : std::error_code{};
  };
  CHECK(story::steps_of(second.open().cuts) == std::vector<Step>{3});  // a store without a list of uploads is good
}

TEST_CASE("ObjectCuts: another number of shards continues from the checkpoints, and sweeps what was before", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess zero{bucket, quarters(2), 0, 1}, one{bucket, quarters(2), 1, 2};
    CHECK_FALSE(zero.open().failure);
    CHECK_FALSE(one.open().failure);
    for (const Step step : {6U, 9U}) {
      CHECK_FALSE(zero.save(step, 10.0F + static_cast<float>(step)).failure);
      CHECK_FALSE(one.save(step, 20.0F + static_cast<float>(step)).failure);
    }
    CHECK_FALSE(zero.save(12, 1).failure);  // the other shard did not get there
    CHECK(bucket->count("run/model.ckpt-") == 1);
  }
  std::vector<std::unique_ptr<ObjectProcess>> four;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    four.push_back(std::make_unique<ObjectProcess>(bucket, quarters(4), shard, 10 + shard));
    const CutWork opened = four.back()->open();
    CHECK_FALSE(opened.failure);
    CHECK(story::steps_of(opened.cuts) == std::vector<Step>{6, 9});  // 9 was complete, and lacked its index
    CHECK(four.back()->value_at(9, ObjectKinds::start) == (shard < 2 ? 19 : 29));
    CHECK(four.back()->value_at(6) == (shard < 2 ? 16 : 26));
  }
  for (const Step step : {12U, 18U, 24U}) {
    for (const auto& shard : four) {
      CHECK_FALSE(shard->save(step, static_cast<float>(step)).failure);
      CHECK_FALSE(shard->done({.kind = ObjectKinds::drop, .step = step - 6}).failure);
    }
  }
  for (const Step step : {27U, 33U, 39U, 45U, 51U})  // indexes are listed, the newest one is read
    for (const auto& shard : four) CHECK_FALSE(shard->save(step, static_cast<float>(step)).failure);
  CHECK(bucket->count("run/model.ckpt-") == 2);
  for (const auto& [key, bytes] : bucket->objects) CHECK(key.find("-of-00002") == std::string::npos);
  for (const auto& shard : four) CHECK_FALSE(shard->save(60, 60).failure);

  Error error;
  const auto reader = open_checkpoint("map://bucket/run/model.ckpt-60", support::map_stores(bucket), error);
  REQUIRE(reader);
  std::vector<float> all(64);
  reader->read("v", Slice::whole({64}), std::as_writable_bytes(std::span{all}));
  CHECK(all == std::vector<float>(64, 60));
}

TEST_CASE("ObjectCuts: an asynchronous shard keeps to its line, also after another number of shards", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess two[] = {{bucket, quarters(2, false), 0, 1}, {bucket, quarters(2, false), 1, 2}};
    for (const ObjectProcess& shard : two) CHECK(shard.open().cuts.empty());
    CHECK(bucket->count("run/bases/") == 2);
    for (const ObjectProcess& shard : two) CHECK_FALSE(shard.save(6, 6).failure);
  }
  ObjectProcess one{bucket, quarters(1, false), 0, 3};
  CHECK(story::steps_of(one.open().cuts) == std::vector<Step>{6});
  CHECK(one.value_at(6) == 6);
  // Killed before it saved anything, it begins with the same.
  ObjectProcess again{bucket, quarters(1, false), 0, 4};
  CHECK(story::steps_of(again.open().cuts) == std::vector<Step>{6});
  CHECK_FALSE(again.save(9, 9).failure);
  ObjectProcess last{bucket, quarters(1, false), 0, 5};
  CHECK(story::steps_of(last.open().cuts) == std::vector<Step>{9});
}

TEST_CASE("ObjectCuts: a cut that was read when the shard was opened is not taken for a newer one of its step",
          "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess first{bucket, quarters(1), 0, 1};
    CHECK_FALSE(first.open().failure);
    for (const Step step : {3U, 6U}) CHECK_FALSE(first.save(step, static_cast<float>(step)).failure);
  }
  ObjectProcess second{bucket, quarters(1), 0, 2};
  CHECK_FALSE(second.open().failure);
  CHECK_FALSE(second.save(6, 7).failure);
  CHECK(second.value_at(6) == 7);
  CHECK_FALSE(second.open().failure);
  CHECK(bucket->asked("get run/cuts/00000000000000000006/") == 3);
  CHECK(second.value_at(6) == 7);
  CHECK(bucket->asked("get run/cuts/00000000000000000006/") == 3);  // it was read when the shard was opened
  CHECK(second.value_at(3) == 3);
}

TEST_CASE("ObjectCuts: an object whose cut is of another step than its name is damaged", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess first{bucket, quarters(1), 0, 1};
    CHECK_FALSE(first.open().failure);
    CHECK_FALSE(first.save(3, 3).failure);
  }
  const CutObjectNames names{"run"};
  CutKey key{3, 0, 1, {1, 1}, 1};
  const auto bytes = bucket->objects.at(names.cut(key));
  key.step = 4;
  bucket->objects[names.cut(key)] = bytes;
  const CutWork opened = ObjectProcess{bucket, quarters(1), 0, 2}.open();
  CHECK(story::steps_of(opened.cuts) == std::vector<Step>{3});
  REQUIRE(opened.refused.size() == 1);
  CHECK(opened.refused.front().code == checkpoint_errc::corrupt_data);
}

TEST_CASE("ObjectCuts: a store that is away while a checkpoint of other shards is read is asked again", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess before{bucket, quarters(1), 0, 1};
    CHECK_FALSE(before.open().failure);
    CHECK_FALSE(before.save(6, 6).failure);
  }
  ObjectProcess process{bucket, quarters(2), 1, 2};
  int away = 0;
  bucket->fail = [&](const std::string& request) {
    return request.starts_with("range ") && away-- > 0 ? support::MapObjects::away() : std::error_code{};
  };
  away = 2;
  CHECK(story::steps_of(process.open().cuts) == std::vector<Step>{6});
  CHECK(process.value_at(6, ObjectKinds::start) == 6);  // it was read when the shard was opened
  away = 2;
  CHECK(process.value_at(6) == 6);
  CHECK(away <= 0);
}

TEST_CASE("ObjectCuts: an asynchronous shard goes on when its variables have other parts, and does not begin anew",
          "[ps]") {
  const auto bucket = new_bucket();
  Job parts = quarters(1, false);
  parts.parts = {{0, Slice::along({64}, 0, 0, 32), 0}, {0, Slice::along({64}, 0, 32, 32), 0}};
  {
    ObjectProcess one{bucket, quarters(1, false), 0, 1};
    CHECK_FALSE(one.open().failure);
    CHECK_FALSE(one.save(6, 6).failure);
  }
  ObjectProcess other{bucket, parts, 0, 2};
  CHECK(story::steps_of(other.open().cuts) == std::vector<Step>{6});
  CHECK(other.value_at(6) == 6);
  CHECK(story::steps_of(ObjectProcess{bucket, parts, 0, 3}.open().cuts) == std::vector<Step>{6});
}

TEST_CASE("ObjectCuts: cuts of a shard whose variables have other parts count only as parts of whole checkpoints",
          "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess zero{bucket, quarters(2), 0, 1}, one{bucket, quarters(2), 1, 2};
    for (const ObjectProcess* const process : {&zero, &one}) {
      CHECK_FALSE(process->open().failure);
      CHECK_FALSE(process->save(6, 6).failure);
    }
    CHECK_FALSE(zero.save(9, 9).failure);  // the other shard did not get there
  }
  Job parts = quarters(2);  // the same slices and names, but two parts in each shard
  parts.parts.clear();
  for (std::uint32_t part = 0; part < 4; ++part)
    parts.parts.push_back({0, Slice::along({64}, 0, std::int64_t{16} * part, 16), part / 2});
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    ObjectProcess process{bucket, parts, shard, 3 + shard};
    const CutWork opened = process.open();
    CHECK_FALSE(opened.failure);
    CHECK(opened.refused.empty());
    CHECK(story::steps_of(opened.cuts) == std::vector<Step>{6});  // not 9, although its object has all the values
    CHECK(process.value_at(6, ObjectKinds::start) == 6);
  }
  CHECK(story::steps_of(ObjectProcess{bucket, quarters(2), 0, 5}.open().cuts) == std::vector<Step>{6, 9});
}

TEST_CASE("ObjectCuts: the store that is away when a finished job is looked for is told", "[ps]") {
  const auto bucket = new_bucket();
  ObjectProcess process{bucket, quarters(1), 0, 1};
  CHECK_FALSE(process.open().failure);
  CHECK_FALSE(process.save(60, 60).failure);
  Error unread;
  const auto look = [&] { return finished_checkpoint("map://bucket/run", support::map_stores(bucket), unread); };
  CHECK(look() == "map://bucket/run/model.ckpt-60");
  CHECK_FALSE(unread);
  for (const char* const failing : {"list run/model.ckpt-", "get run/model.ckpt-", "range run/cuts/"}) {
    bucket->fail = [failing](const std::string& request) {
      return request.starts_with(failing) ? support::MapObjects::away() : std::error_code{};
    };
    CHECK(look().empty());
    CHECK(may_pass(unread.code));
  }
}

TEST_CASE("ObjectCuts: cuts of another job are refused, and damaged cuts are named", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess first{bucket, quarters(1), 0, 1};
    CHECK_FALSE(first.open().failure);
    CHECK_FALSE(first.save(3, 3).failure);
    CHECK_FALSE(first.save(6, 6).failure);
  }
  Job other = quarters(1);
  other.seed = 7;
  CHECK(ObjectProcess(bucket, other, 0, 2).open().failure.code == ps_errc::job_mismatch);
  for (auto& [key, bytes] : bucket->objects)
    if (const auto cut = CutObjectNames{"run"}.cut_of(key); cut && cut->step == 6) bytes.front() ^= std::byte{1};
  const CutWork opened = ObjectProcess(bucket, quarters(1), 0, 3).open();
  CHECK(story::steps_of(opened.cuts) == std::vector<Step>{3});
  REQUIRE(opened.refused.size() == 1);
  CHECK(opened.refused.front().code == checkpoint_errc::corrupt_data);
  CHECK(opened.refused.front().where.starts_with("run/cuts/"));
}

TEST_CASE("ObjectCuts: each replica saves by itself, and one that comes back finds the checkpoint of the other one",
          "[ps]") {
  const auto bucket = new_bucket();
  Job job = quarters(1);
  job.replicas = 2;
  ObjectProcess second{bucket, job, 1, 2};
  CHECK(second.open().cuts.empty());
  {
    ObjectProcess first{bucket, job, 0, 1};
    first.others_answer = true;
    CHECK(first.open().cuts.empty());
    CHECK(first.asked_for.empty());
    CHECK_FALSE(first.save(3, 3).failure);
    for (const Step step : {3U, 6U, 9U}) CHECK_FALSE(second.save(step, static_cast<float>(step)).failure);
  }
  CHECK(bucket->count("run/model.ckpt-") == 1);
  ObjectProcess again{bucket, job, 0, 3};
  CHECK(story::steps_of(again.open().cuts) == std::vector<Step>{3, 6});
  CHECK(again.asked_for == std::vector<std::string>{"host:1 1"});
  CHECK(again.value_at(6, ObjectKinds::start) == 6);
  CHECK(again.value_at(6) == 6);
  CHECK(again.value_at(3) == 3);
  {
    ObjectProcess late{bucket, job, 0, 5};
    bool removed = false;  // by the other replica, between the list and the read
    const std::error_code gone = std::make_error_code(std::errc::no_such_file_or_directory);
    bucket->fail = [&](const std::string& request) {
      const bool reads = request.starts_with("range run/cuts/");
      if (reads && !std::exchange(removed, true))
        std::erase_if(bucket->objects, [](const auto& of) { return of.first.starts_with("run/model.ckpt-"); });
      return reads ? gone : std::error_code{};
    };
    CHECK(story::steps_of(late.open().cuts) == std::vector<Step>{3});
    CHECK(removed);
    bucket->fail = nullptr;
    CHECK_FALSE(again.open().failure);
  }
  for (ObjectProcess* const process : {&again, &second}) CHECK_FALSE(process->save(12, 12).failure);
  CHECK(bucket->count("run/model.ckpt-") == 2);
  second.others_answer = true;
  CHECK_FALSE(second.open().failure);  // its own address is not asked
  ObjectProcess other{bucket, job, 1, 4};
  other.others_answer = true;
  CHECK(other.open().failure.code == ps_errc::directory_in_use);
  CHECK(other.asked_for == std::vector<std::string>{"host:2 2"});
  for (ObjectProcess* const process : {&again, &second}) CHECK_FALSE(process->save(60, 60).failure);
  for (ObjectProcess* const process : {&again, &second})
    CHECK_FALSE(process->done({.kind = ObjectKinds::finish}).failure);
  CHECK(bucket->count("run/cuts/") == 2);  // of the two checkpoints that stay
  Error unread;
  CHECK(newest_prefix("map://bucket/run", support::map_stores(bucket), unread) == "map://bucket/run/model.ckpt-60");
}

TEST_CASE("ObjectCuts: another job begins with the values of a checkpoint in a store", "[ps]") {
  const auto bucket = new_bucket();
  {
    ObjectProcess before{bucket, quarters(1), 0, 1};
    CHECK_FALSE(before.open().failure);
    CHECK_FALSE(before.save(6, 6).failure);
  }
  Job job = quarters(1);
  job.initial_checkpoint = "map://bucket/run/model.ckpt-6";
  ObjectProcess process{std::make_shared<support::MapObjects>(), job, 0, 2};
  CHECK_FALSE(process.open().failure);
  CHECK(process.done({.kind = ObjectKinds::start, .is_initial = true}).failure.code ==
        checkpoint_errc::no_such_checkpoint);
  process.bucket->objects = bucket->objects;
  const CutWork initial = process.done({.kind = ObjectKinds::start, .is_initial = true});
  CHECK_FALSE(initial.failure);
  CHECK(initial.cut.values->as<float>().front() == 6);
}

TEST_CASE("ObjectCuts: without something that opens URLs a URL is refused by a sentence that names the component",
          "[ps]") {
  StoredCuts<> cuts;
  CutWork work{.kind = ObjectKinds::open};
  work.owner = CutOwner{quarters(1), 0, {"s3://user:secret@bucket/run", 6}, {AnyUpdater{Sgd{}}}};
  cuts(work);
  CHECK(work.failure.code == distrib::record_errc::no_object_store);
  CHECK(work.failure.where == "s3://bucket/run");
  CHECK(work.failure.code.message().find("distrib::http") != std::string::npos);
}

namespace {

using ObjectSteps = std::vector<Step>;

/// A process of a shard whose cuts may be links, and the shard: it goes on from its newest cut. Checkpoints are the
/// multiples of 20, cuts those of 5.
struct LinkingProcess {
  LinkingProcess(std::shared_ptr<support::MapObjects> in, std::uint64_t nonce, bool incremental = true)
      : bucket{std::move(in)}, job{linked_cuts::job(1)}, cuts{owner(), access(nonce)}, shard{job, 0} {
    CutWork work{.kind = ObjectKinds::open};
    cuts.open(work);
    refused = std::move(work.refused);
    steps = story::steps_of(work.cuts);
    if (!steps.empty()) shard.load(cuts.read(steps.back()).front());
    if (incremental)
      shard.make_links([kept = owner().settings](Step step) { return kept.is_users(step, 100'000); }, shard.step());
  }
  auto owner() const -> CutOwner {
    return {job, 0, {"map://bucket/run", 20, {.max_to_keep = 2}}, exported_store::updaters()};
  }
  auto access(std::uint64_t nonce) const -> ObjectAccess {
    ObjectAccess made;
    made.open = support::map_stores(bucket);
    made.nonce = nonce;
    return made;
  }
  void save(const Cut& cut) { cuts.save({&cut, 1}); }
  void run(Step until) {
    while (shard.step() < until) {
      shard.train(shard.step() + 5);
      const Cut cut = shard.cut();
      if (cut.base) ++links;
      save(cut);
      shard.store().cut_is_durable(cut.step);
    }
  }
  // Checks what can be read: it is that of a process without links.
  void check_all() {
    LinkingProcess plain{std::make_shared<support::MapObjects>(), 1, false};
    for (const Step step : steps) {
      plain.run(step);
      CHECK(cuts::same(cuts.read(step).front(), plain.cuts.read(step).front()));
    }
  }

  std::shared_ptr<support::MapObjects> bucket;
  Job job;
  ObjectCuts cuts;
  linked_cuts::Shard shard;
  std::vector<Error> refused;
  ObjectSteps steps;  // what it found
  std::size_t links = 0;
};

/// The names of the links that are there.
auto link_names(support::MapObjects& bucket) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& [key, bytes] : bucket.objects)
    if (const auto cut = CutObjectNames{"run"}.cut_of(key); cut && !cut->is_whole()) names.push_back(key);
  return names;
}

}  // namespace

TEST_CASE("ObjectCuts: links are small, and give back the whole cut, also in a new process", "[ps]") {
  const auto bucket = new_bucket();
  {
    LinkingProcess first{bucket, 1};
    first.run(35);
    CHECK(first.links >= 4);
    CHECK(link_names(*bucket).size() == first.links);
    first.steps = {5, 10, 15, 20, 25, 30, 35};
    first.check_all();
  }
  const auto bytes = [&](const std::string& key) { return bucket->objects.at(key).size(); };
  std::size_t whole = 0;
  for (const auto& [key, object] : bucket->objects)
    if (const auto cut = CutObjectNames{"run"}.cut_of(key); cut && cut->is_whole()) whole = object.size();
  for (const std::string& link : link_names(*bucket)) CHECK(bytes(link) < whole / 2);

  LinkingProcess second{bucket, 2};
  CHECK(second.steps == ObjectSteps{5, 10, 15, 20, 25, 30, 35});
  CHECK(second.refused.empty());
  second.run(40);
  CHECK(second.links == 0);  // the first cut of a process, and one that the user wants
  second.run(60);
  for (const Step step : {5U, 10U, 15U, 20U, 25U, 30U, 35U, 40U, 45U}) second.cuts.drop(step, false);
  second.run(65);
  second.steps = {50, 55, 60, 65};
  second.check_all();
  CHECK(link_names(*bucket).size() == second.links);
}

TEST_CASE("ObjectCuts: a link after a cut that was given up is saved whole", "[ps]") {
  const auto bucket = new_bucket();
  LinkingProcess first{bucket, 1};
  first.run(10);
  first.shard.train(15);
  bucket->fail = [](const std::string& request) {
    return request.starts_with("put ") ? support::MapObjects::away() : std::error_code{};
  };
  CHECK_THROWS(first.save(first.shard.cut()));
  bucket->fail = nullptr;
  first.shard.train(25);
  const Cut cut = first.shard.cut();
  REQUIRE(cut.base == Step{10});
  first.save(cut);
  first.shard.store().cut_is_durable(25);
  first.run(30);
  CHECK(link_names(*bucket).size() == 2);  // 10 and 30
  LinkingProcess second{bucket, 2};
  CHECK(second.steps == ObjectSteps{5, 10, 25, 30});
  CHECK(second.refused.empty());
  LinkingProcess plain{new_bucket(), 1, false};
  plain.run(30);
  CHECK(cuts::same(second.cuts.read(30).front(), plain.cuts.read(30).front()));
}

TEST_CASE("ObjectCuts: a link that stands on a cut of another history is passed over", "[ps]") {
  const auto bucket = new_bucket();
  LinkingProcess first{bucket, 1};
  first.run(10);
  first.shard.train(15);
  Cut cut = first.shard.cut();
  REQUIRE(cut.base);
  Job before = first.job;
  before.data = "other files";
  cut.lineage = story::only_lineage(before).continued(7, settings_hash(to_text(first.job))).until(15);
  first.save(cut);
  LinkingProcess second{bucket, 2};
  CHECK(second.steps == ObjectSteps{5, 10});
  REQUIRE(second.refused.size() == 1);
  CHECK(second.refused.front().code == failure::corrupt);
  second.check_all();
}

TEST_CASE("ObjectCuts: the log of the ranks is an object, and a process that is followed saves none", "[ps]") {
  const auto bucket = new_bucket();
  Job job = quarters(1);
  job.most_ranks = 8;
  const auto saves = [](const ObjectProcess& process, Step horizon) {
    CutWork work{.kind = ObjectKinds::save_ranks};
    work.ranks = RankFile{horizon, {std::make_shared<const RankEntry>(RankEntry{horizon, 1, {0, 5}})}};
    return process.done(std::move(work)).failure;
  };
  ObjectProcess first{bucket, job, 0, 1};
  CHECK_FALSE(first.open().ranks);
  CHECK_FALSE(saves(first, 100));
  CHECK_FALSE(saves(first, 200));
  CHECK(bucket->count("run/ranks/") == 1);
  ObjectProcess second{bucket, job, 0, 2};
  const CutWork found = second.open();
  REQUIRE(found.ranks);
  CHECK(found.ranks->horizon == 200);
  REQUIRE(found.ranks->entries.size() == 1);
  CHECK(found.ranks->entries.front()->ranks == std::vector<Rank>{0, 5});
  CHECK(saves(first, 300).code == ps_errc::shard_taken_over);
  CHECK_FALSE(saves(second, 300));
  CHECK_FALSE(second.done({.kind = ObjectKinds::finish}).failure);
  CHECK(bucket->count("run/ranks/") == 2);  // the job may be continued; and what the followed process wrote late
  ObjectProcess third{bucket, job, 0, 3};
  const CutWork after = third.open();
  REQUIRE(after.ranks);
  CHECK(after.ranks->horizon == 300);
  CHECK_FALSE(saves(third, 400));
  CHECK(bucket->count("run/ranks/") == 1);
}
