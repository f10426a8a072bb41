// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_cuts_core.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/ps/job/error.hpp>

#include "ps/cut/object_parts.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

using ObjectKind = ObjectAction::Kind;
using StoredObjects = std::map<std::string, std::vector<std::byte>>;

const CutObjectNames object_names{"run"};

auto options_of(std::uint32_t shard, std::uint64_t nonce) -> ObjectCutsOptions {
  ObjectCutsOptions options;
  options.shard = shard;
  options.shards = 2;
  options.last_step = 100;
  options.settings = {"run", 10, {}};
  options.settings.retention.max_to_keep = 2;
  options.owner = {"ps " + std::to_string(shard), "host", "1", "host:1"};
  options.nonce = nonce;
  return options;
}

/// Returns the options as `change` leaves them.
auto changed_options(ObjectCutsOptions options, auto change) -> ObjectCutsOptions {
  change(options);
  return options;
}

/// A core, and a store that performs each action at once.
struct Talk {
  Talk(StoredObjects& in, const ObjectCutsOptions& options)
      : objects{in},
        core{options,
             [this](const CutKey& key, ByteView object, Error& error) {
               checked.push_back(key.step);
               static_cast<void>(parse_cut_footer(object, object.size(), error));
               return std::optional{Lineage{}};
             }},
        shard_{options.shard} {}

  void operator()(ObjectAction action) { next = std::move(action); }
  void operator()(CutDurable cut) { durable.push_back(cut.step); }
  void operator()(ObjectCutsDone result) { done = std::move(result); }

  auto run(auto begin) -> ObjectCutsDone {
    done.reset();
    requests.clear();
    begin();
    while (next) {
      const ObjectAction action = *std::exchange(next, std::nullopt);
      requests.push_back(text_of(action));
      ObjectAnswer answer = perform(action);
      if (change) change(action, answer);
      core.answered(std::move(answer), *this);
    }
    REQUIRE(done);
    CHECK_FALSE(core.busy());
    return *done;
  }
  auto open() -> ObjectCutsDone {
    return run([this] { core.open(*this); });
  }
  auto save(Step step, std::int64_t value = 1) -> ObjectCutsDone {
    auto bytes = object_parts::object(shard(), 2, value, static_cast<std::int64_t>(step), more);
    return run([&] { core.save(step, std::make_shared<const std::vector<std::byte>>(std::move(bytes)), *this); });
  }
  auto link(Step step, Step base) -> ObjectCutsDone {
    auto bytes = object_parts::object(shard(), 2, 1, static_cast<std::int64_t>(step), more);
    return run(
        [&] { core.save_link(step, base, std::make_shared<const std::vector<std::byte>>(std::move(bytes)), *this); });
  }
  auto drop(Step step, bool unneeded = false) -> ObjectCutsDone {
    return run([&] { core.drop(step, unneeded, *this); });
  }
  auto finish() -> ObjectCutsDone {
    return run([this] { core.finish(*this); });
  }
  auto read(Step step) -> ObjectCutsDone {
    return run([&] { core.read(step, *this); });
  }
  [[nodiscard]] auto name(Step step) const -> std::string { return object_names.cut(core.cuts().at(step)); }
  [[nodiscard]] auto shard() const -> std::uint32_t { return shard_; }

  static auto text_of(const ObjectAction& action) -> std::string {
    constexpr const char* verbs[] = {"list ",       "get ",     "end ",   "put ", "remove ",
                                     "remove all ", "uploads ", "abort ", "ask "};
    std::string key = action.keys.empty() ? action.key : action.keys.front();
    key = key.substr(0, key.find('/', 4));  // "run/cuts"
    if (key.starts_with("run/model.ckpt")) key = "run/index";
    return verbs[static_cast<std::size_t>(action.kind)] + key.substr(4);
  }

  auto perform(const ObjectAction& action) -> ObjectAnswer {
    ObjectAnswer answer;
    const auto object = objects.find(action.key);
    switch (action.kind) {
      case ObjectKind::list:
        for (const auto& [key, bytes] : objects)
          if (key.starts_with(action.key)) answer.objects.push_back({key, bytes.size()});
        break;
      case ObjectKind::get:
      case ObjectKind::get_end:
        if (object == objects.end()) {
          answer.error = {std::make_error_code(std::errc::no_such_file_or_directory), action.key};
        } else {
          answer.objects = {{action.key, object->second.size()}};
          const auto bytes = action.kind == ObjectKind::get
                                 ? object->second.size()
                                 : std::min<std::size_t>(action.most_bytes, object->second.size());
          answer.bytes.assign(object->second.end() - static_cast<std::ptrdiff_t>(bytes), object->second.end());
        }
        break;
      case ObjectKind::put: objects[action.key] = *action.bytes; break;
      case ObjectKind::remove: objects.erase(action.key); break;
      case ObjectKind::remove_all:
        for (const std::string& key : action.keys) objects.erase(key);
        break;
      case ObjectKind::uploads: answer.uploads = uploads; break;
      case ObjectKind::abort: std::erase(uploads, action.upload); break;
      case ObjectKind::ask: answer.alive = others_answer; break;
    }
    return answer;
  }

  StoredObjects& objects;
  std::vector<ObjectUpload> uploads;
  bool others_answer = false;
  int more = 0;
  std::function<void(const ObjectAction&, ObjectAnswer&)> change;
  std::vector<std::string> requests;
  std::vector<Step> durable, checked;
  std::optional<ObjectAction> next;
  std::optional<ObjectCutsDone> done;
  ObjectCutsCore core;
  std::uint32_t shard_;
};

/// A replica of a shard that has two.
struct OfReplica : Talk {
  OfReplica(StoredObjects& in, std::uint32_t shard, std::uint32_t replica, std::uint64_t nonce)
      : Talk{in, changed_options(options_of(shard, nonce), [=](ObjectCutsOptions& options) {
               options.replica = replica;
               options.replicas = 2;
             })} {}
};

/// A shard of a job whose ranks may change.
struct OfScaled : Talk {
  OfScaled(StoredObjects& in, std::uint32_t shard, std::uint64_t nonce, std::uint32_t shards = 2)
      : Talk{in, changed_options(options_of(shard, nonce), [=](ObjectCutsOptions& options) {
               options.shards = shards;
               options.has_rank_log = true;
             })} {}
  auto save_ranks(Step horizon, std::vector<Step> entries = {}) -> ObjectCutsDone {
    RankFile file{horizon, {}};
    for (const Step from : entries)
      file.entries.push_back(std::make_shared<const RankEntry>(RankEntry{from, from, {0, 1}}));
    return run([&] { core.save_ranks(file, *this); });
  }
  /// A process that has opened the shard and saved a log.
  void begin_log(Step horizon, std::vector<Step> entries = {}) {
    open();
    save_ranks(horizon, std::move(entries));
  }
};

/// Returns the horizon and the steps of the entries; empty: there is no log.
auto ranks_in(const ObjectCutsDone& done) -> std::vector<Step> {
  if (!done.ranks) return {};
  std::vector<Step> all{done.ranks->horizon};
  for (const SharedRankEntry& entry : done.ranks->entries) all.push_back(entry->from);
  return all;
}

struct OfShard : Talk {
  OfShard(StoredObjects& in, std::uint32_t shard, std::uint64_t nonce, bool synchronous = true)
      : Talk{in, changed_options(options_of(shard, nonce),
                                 [=](ObjectCutsOptions& options) { options.synchronous = synchronous; })} {}
};

auto count_of(const StoredObjects& objects, const std::string& prefix) -> std::size_t {
  return static_cast<std::size_t>(std::count_if(objects.begin(), objects.end(),
                                                [&](const auto& object) { return object.first.starts_with(prefix); }));
}
using Requests = std::vector<std::string>;

}  // namespace

TEST_CASE("A shard claims an empty store, and then looks for cuts") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  CHECK(talk.open().cuts.empty());
  CHECK(talk.requests == Requests{"list claims", "put claims", "list claims", "list cuts", "uploads cuts"});
  CHECK(talk.core.claim() == ObjectClaim{1, 5});
  CHECK(parse_claim(objects.at(object_names.claim(0, {1, 5}))) == ClaimOwner{"ps 0", "host", "1", "host:1"});
}

TEST_CASE("A cut is durable when no larger claim is listed after it was written") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  bool was_told_before = false;
  talk.change = [&](const ObjectAction& action, const ObjectAnswer&) {
    if (action.kind == ObjectKind::list && action.key == object_names.claims(0))
      was_told_before = !talk.durable.empty();
  };
  CHECK_FALSE(talk.save(5).failure);
  CHECK(talk.requests == Requests{"put cuts", "list claims"});
  CHECK_FALSE(was_told_before);
  CHECK(talk.durable == std::vector<Step>{5});
  CHECK(talk.read(5).object == objects.at(talk.name(5)));
  CHECK(talk.read(6).failure.code == checkpoint_errc::no_such_checkpoint);
}

TEST_CASE("A shard that was followed tells nothing, and ends") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  CHECK(second.open().cuts.empty());
  CHECK(second.core.claim() == ObjectClaim{2, 6});
  CHECK(count_of(objects, object_names.claims(0)) == 1);
  CHECK(first.save(5).failure.code == ps_errc::shard_taken_over);
  CHECK(first.durable.empty());
  CHECK(first.run([&] { first.core.look(first); }).failure.code == ps_errc::shard_taken_over);
  CHECK_FALSE(second.run([&] { second.core.look(second); }).failure);
  CHECK(second.requests == Requests{"list claims"});
}

TEST_CASE("A shard whose process answers is not claimed") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  second.others_answer = true;
  const Error error = second.open().failure;
  CHECK(error.code == ps_errc::directory_in_use);
  CHECK(error.where.find("ps 0 on host, process 1") != std::string::npos);
  CHECK(count_of(objects, object_names.claims(0)) == 1);
}

TEST_CASE("After a lost answer the same request follows, with the same bytes") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  std::vector<ObjectAction> puts;
  talk.change = [&](const ObjectAction& action, ObjectAnswer& answer) {
    if (action.kind != ObjectKind::put) return;
    puts.push_back(action);
    answer.lost = puts.size() < 3;
  };
  CHECK_FALSE(talk.save(5).failure);
  REQUIRE(puts.size() == 3);
  CHECK(puts[2].key == puts[0].key);
  CHECK(puts[2].bytes == puts[0].bytes);
  CHECK(count_of(objects, object_names.cuts()) == 1);
}

TEST_CASE("An error of the store ends the work with this error, and not the next work") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  talk.change = [](const ObjectAction&, ObjectAnswer& answer) {
    answer.error = {make_error_code(ps_errc::too_large), "x"};
  };
  CHECK(talk.save(5).failure.code == ps_errc::too_large);
  CHECK(talk.requests == Requests{"put cuts"});
  talk.change = nullptr;
  CHECK_FALSE(talk.save(6).failure);
  CHECK(talk.durable == std::vector<Step>{6});
}

TEST_CASE("A start finds the cuts of all claims; of one step that of the largest claim") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6}, third{objects, 0, 7};
  first.open();
  first.save(5, 1);
  first.save(6, 2);
  second.open();
  second.save(7, 3);
  const CutKey late{6, 0, 2, {2, 6}, 9};
  objects[object_names.cut(late)] = object_parts::object(0, 2, 4, 6);
  const auto done = third.open();
  REQUIRE(done.cuts.size() == 3);
  CHECK(done.cuts[0].step == 5);
  CHECK(done.cuts[2].step == 7);
  CHECK(load_le<std::int64_t>(third.read(6).object.data()) == 4);
}

TEST_CASE("A start passes over damaged cuts, and does not begin anew if there are only such") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6}, third{objects, 0, 7};
  first.open();
  first.save(5);
  first.save(6);
  objects.at(first.name(6)).back() ^= std::byte{1};
  auto done = second.open();
  REQUIRE(done.cuts.size() == 1);
  REQUIRE(done.refused.size() == 1);
  CHECK(done.refused[0].where.starts_with(first.name(6)));
  objects.at(first.name(5)).back() ^= std::byte{1};
  done = third.open();
  CHECK(done.cuts.empty());
  CHECK(done.refused.size() == 2);
}

TEST_CASE("A start that finds cuts of another number of shards only is refused") {
  StoredObjects objects;
  objects[object_names.cut({5, 0, 3, {1, 1}, 1})] = object_parts::object(0, 3, 1, 5);
  OfShard talk{objects, 0, 5};
  CHECK(talk.open().failure.code == ps_errc::job_mismatch);
}

TEST_CASE("A start finds the checkpoints of another number of shards, and makes the newest that lacks its index") {
  StoredObjects objects;
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    for (const Step step : std::vector<Step>{5, 7})
      objects[object_names.cut({step, shard, 3, {1, shard}, 1})] =
          object_parts::object(shard, 3, 1, static_cast<std::int64_t>(step));
  objects[object_names.cut({9, 0, 3, {1, 0}, 2})] = object_parts::object(0, 3, 1, 9);
  OfShard talk{objects, 0, 5};
  auto done = talk.open();
  REQUIRE(done.checkpoints.size() == 1);
  CHECK(done.checkpoints.front().step == 7);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  talk.save(9);
  OfShard again{objects, 0, 6};
  done = again.open();
  CHECK(done.checkpoints.size() == 1);
  CHECK(done.cuts.size() == 1);
  CHECK(count_of(objects, object_names.cuts()) == 8);  // what has no checkpoint goes when a newer one is there
  OfShard other{objects, 1, 7};
  other.open();
  for (const Step step : std::vector<Step>{10, 20}) {
    again.save(step);
    other.save(step);
  }
  for (const Step step : std::vector<Step>{25, 26, 27, 28}) {  // indexes are listed, the newest is read
    again.save(step);
    other.save(step);
  }
  CHECK(count_of(objects, object_names.checkpoints()) == 2);
  for (const auto& [key, bytes] : objects) CHECK(key.find("of-00003") == std::string::npos);
}

TEST_CASE("A cut of other parts of the variables is passed over, and its checkpoint is found") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  zero.save(10);
  one.save(10);
  ObjectCutsCore core{options_of(0, 7),
                      [](const CutKey&, ByteView, Error&) -> std::optional<Lineage> { return std::nullopt; }};
  Talk talk{objects, options_of(0, 7)};
  std::optional<ObjectAction> next;
  std::optional<ObjectCutsDone> done;
  const auto out = [&](auto action) {
    if constexpr (std::is_same_v<decltype(action), ObjectAction>) next = std::move(action);
    if constexpr (std::is_same_v<decltype(action), ObjectCutsDone>) done = std::move(action);
  };
  core.open(out);
  while (next) core.answered(talk.perform(*std::exchange(next, std::nullopt)), out);
  REQUIRE(done);
  CHECK_FALSE(done->failure);
  CHECK(done->cuts.empty());
  REQUIRE(done->checkpoints.size() == 1);
  CHECK(done->checkpoints.front().step == 10);
}

TEST_CASE("A cut whose write finds no bucket is not durable") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  talk.change = [](const ObjectAction& action, ObjectAnswer& answer) {
    if (action.kind == ObjectKind::put)
      answer.error = {std::make_error_code(std::errc::no_such_file_or_directory), "bucket"};
  };
  CHECK(talk.save(5).failure.where == "bucket");
  CHECK(talk.durable.empty());
}

TEST_CASE("A start aborts uploads of smaller claims of its shard only") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  second.uploads = {{object_names.cut({5, 0, 2, {1, 5}, 1}), "a"},
                    {object_names.cut({5, 1, 2, {1, 5}, 1}), "b"},
                    {object_names.cut({5, 0, 2, {9, 5}, 1}), "c"},
                    {"run/cuts/other", "d"}};
  second.open();
  REQUIRE(second.uploads.size() == 3);
  CHECK(second.uploads[0].id == "b");
}

TEST_CASE("The shard that writes the last cut of a wanted step makes the checkpoint, by N + 5 requests at most") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  zero.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 0);
  one.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  CHECK(one.requests == Requests{"put cuts", "list c", "end cuts", "end cuts", "put index", "list index", "list cuts"});
  one.save(15);
  zero.save(15);  // not wanted
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
}

TEST_CASE("The table of a cut may be larger than what is read first") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.more = one.more = 400;
  zero.open();
  one.open();
  zero.save(10);
  one.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  CHECK(std::count(one.requests.begin(), one.requests.end(), "end cuts") == 4);
}

TEST_CASE("The last step is durable after its checkpoint only") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  zero.save(100);
  CHECK(zero.durable == std::vector<Step>{100});  // the other shard will make it
  bool early = false;
  one.change = [&](const ObjectAction& action, const ObjectAnswer&) {
    if (action.kind == ObjectKind::put && action.key.starts_with(object_names.checkpoints()))
      early = !one.durable.empty();
  };
  one.save(100);
  CHECK_FALSE(early);
  CHECK(one.durable == std::vector<Step>{100});
}

TEST_CASE("Parts that disagree make no checkpoint, which is an error for the last step alone") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  const auto lie = [&](Step step) {
    zero.run([&] {
      zero.core.save(step, std::make_shared<const std::vector<std::byte>>(object_parts::object(0, 2, 1, 77)), zero);
    });
    return one.save(step).failure;
  };
  CHECK_FALSE(lie(10));
  CHECK(lie(100).code == checkpoint_errc::mismatch);
  CHECK(one.durable == std::vector<Step>{10});
}

TEST_CASE("A start makes the checkpoint that a killed process left without an index") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6}, again{objects, 0, 7};
  zero.open();
  one.open();
  zero.save(10);
  one.save(10);
  for (auto at = objects.begin(); at != objects.end();)
    at = object_names.checkpoint_of(at->first) ? objects.erase(at) : std::next(at);
  again.open();
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
}

TEST_CASE("Of the checkpoints the newest stay; then each shard removes its cuts of the others") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  for (const Step step : std::vector<Step>{10, 20, 30}) {
    zero.save(step);
    one.save(step);
  }
  CHECK(count_of(objects, object_names.checkpoints()) == 2);
  CHECK(count_of(objects, object_names.cuts_of(10)) == 2);  // workers may send the shards there
  for (OfShard* talk : {&zero, &one}) {
    talk->drop(10);
    talk->drop(20);
    talk->save(31);
    talk->save(32);  // zero has listed the indexes at the one before
  }
  CHECK(count_of(objects, object_names.cuts_of(10)) == 0);
  CHECK(count_of(objects, object_names.cuts_of(20)) == 2);
}

TEST_CASE("An index of what is gone is removed, and readers pass over it") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  zero.save(10);
  one.save(10);
  objects.erase(zero.name(10));
  zero.save(20);
  one.save(20);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
}

TEST_CASE("A cut that the protocol does not need is removed, but not if the user wants it") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  talk.save(5);
  talk.save(10);
  talk.save(15);
  talk.drop(5);
  talk.drop(10);
  CHECK(talk.core.cuts().size() == 1);
  talk.save(16);
  CHECK(talk.requests == Requests{"put cuts", "list claims", "remove all cuts"});
  CHECK(count_of(objects, object_names.cuts()) == 3);
  CHECK(count_of(objects, object_names.cuts_of(5)) == 0);
  talk.save(17);
  CHECK(talk.requests == Requests{"put cuts", "list claims", "list index"});  // has 10 become a checkpoint?
  talk.save(18);
  CHECK(talk.requests == Requests{"put cuts", "list claims"});
  talk.drop(99);
  CHECK(talk.requests.empty());
}

TEST_CASE("A Restore removes no newer cut, until newer ones justify it") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  for (const Step step : std::vector<Step>{1, 2, 3}) talk.save(step);
  talk.drop(3, true);
  CHECK(talk.requests.empty());
  CHECK_FALSE(talk.core.cuts().contains(3));
  for (const Step step : std::vector<Step>{4, 5}) talk.save(step);
  CHECK(count_of(objects, object_names.cuts_of(3)) == 1);
  for (const Step step : std::vector<Step>{1, 2, 4}) talk.drop(step);
  talk.save(6);
  CHECK(count_of(objects, object_names.cuts()) == 2);
}

TEST_CASE("A job that is not replayable removes what a Restore went back behind, unless it was followed") {
  StoredObjects objects;
  auto options = options_of(0, 5);
  options.replayable = false;
  Talk talk{objects, options};
  talk.open();
  talk.save(1);
  talk.save(2);
  talk.drop(2, true);
  CHECK(talk.requests == Requests{"list claims", "remove cuts"});
  OfShard second{objects, 0, 6};
  second.open();
  CHECK(talk.drop(1, true).failure.code == ps_errc::shard_taken_over);
  CHECK(count_of(objects, object_names.cuts()) == 1);
}

TEST_CASE("Cuts of smaller claims are removed when nothing needs them") {
  StoredObjects objects;
  const std::string late = object_names.cut({3, 0, 2, {1, 5}, 8}), larger = object_names.cut({3, 0, 2, {9, 5}, 8});
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  second.open();
  objects[late] = objects[larger] = object_parts::object(0, 2, 1, 3);
  second.save(2);
  CHECK(objects.contains(late));
  second.save(4);
  second.save(5);
  second.drop(2);
  second.drop(3);
  second.save(10);  // lists the cuts
  CHECK(objects.contains(late));
  for (const Step step : std::vector<Step>{11, 12}) second.save(step);
  CHECK_FALSE(objects.contains(late));
  CHECK(objects.contains(larger));
}

TEST_CASE("An asynchronous process writes what it began with, before it is told anything") {
  StoredObjects objects;
  OfShard first{objects, 0, 5, false}, second{objects, 0, 6, false};
  first.open();
  CHECK(objects.at(object_names.base(0, {1, 5})).empty());
  first.save(5);
  second.open();
  CHECK(as_text(objects.at(object_names.base(0, {2, 6}))) == first.name(5));
  CHECK_FALSE(objects.contains(object_names.base(0, {1, 5})));
  OfShard third{objects, 0, 7, false};
  objects[object_names.cut({9, 0, 2, {1, 5}, 8})] = object_parts::object(0, 2, 1, 9);  // lands late
  CHECK(third.open().cuts.at(0).step == 5);
  third.save(6);
  CHECK(third.requests.back() == "list index");
  third.save(7);
  CHECK(count_of(objects, object_names.cuts_of(9)) == 0);  // of another history
  CHECK(count_of(objects, object_names.cuts()) == 2);
}

TEST_CASE("An asynchronous process whose base is gone does not begin anew") {
  StoredObjects objects;
  OfShard first{objects, 0, 5, false}, second{objects, 0, 6, false}, third{objects, 0, 7, false};
  first.open();
  first.save(5);
  second.open();
  objects.erase(first.name(5));
  CHECK(third.open().failure.code == checkpoint_errc::missing_data_file);
}

TEST_CASE("An asynchronous shard begins with the largest claim that has a cut or a base") {
  const CutKey old{9, 0, 1, {1, 1}, 1}, a{3, 0, 1, {2, 2}, 1}, b{4, 0, 1, {2, 2}, 2};
  using Order = std::vector<std::optional<CutKey>>;
  CHECK(detail::order_of_starts({old, a, b}, {}, true) == Order{old, b, a});
  CHECK(detail::order_of_starts({old, a, b}, {{{2, 2}, old}}, false) == Order{b, a, old});
  CHECK(detail::order_of_starts({old, a, b}, {{{3, 3}, a}}, false) == Order{a});
  CHECK(detail::order_of_starts({old}, {{{3, 3}, std::nullopt}}, false) == Order{std::nullopt});
  CHECK(detail::order_of_starts({old, a}, {}, false) == Order{a, old});
}

TEST_CASE("Checkpoints beyond max_to_keep go, but one each so many hours") {
  std::vector<detail::WholeCheckpoint> whole;
  for (Step step = 1; step <= 6; ++step) whole.push_back({step, static_cast<std::int64_t>(step) * 1800, step == 1});
  using OfSteps = std::set<Step>;
  auto go = detail::checkpoints_to_go(whole, {.max_to_keep = 1});
  CHECK(go.removed == OfSteps{2, 3, 4});  // at least two stay
  CHECK(go.preserved.empty());
  go = detail::checkpoints_to_go(whole, {.max_to_keep = 2, .keep_checkpoint_every_n_hours = 1});
  CHECK(go.removed == OfSteps{2, 4});
  CHECK(go.preserved == OfSteps{3});
  CHECK(detail::checkpoints_to_go(whole, {.max_to_keep = 0}).removed.empty());
  CHECK(detail::checkpoints_to_go(whole, {.max_to_keep = 5}).removed.empty());
}

TEST_CASE("A preserved checkpoint has a mark, and stays") {
  StoredObjects objects;
  auto options = options_of(0, 5);
  options.shards = 1;
  options.settings.retention.keep_checkpoint_every_n_hours = 1;
  Talk talk{objects, options};
  talk.open();
  for (const Step step : std::vector<Step>{10, 20, 30, 40}) {
    auto bytes = object_parts::object(0, 1, 1, static_cast<std::int64_t>(step));
    talk.run([&] { talk.core.save(step, std::make_shared<const std::vector<std::byte>>(std::move(bytes)), talk); });
  }
  CHECK(objects.contains(object_names.preserved(10)));
  CHECK(count_of(objects, object_names.checkpoints()) == 3);  // 20 is of the same hour
}

TEST_CASE("When the job is done, cuts without a checkpoint are removed") {
  StoredObjects objects;
  OfShard zero{objects, 0, 5}, one{objects, 1, 6};
  zero.open();
  one.open();
  zero.save(95);
  one.save(95);
  zero.save(100);
  zero.finish();
  CHECK(count_of(objects, object_names.cuts()) == 3);  // the checkpoint of the last step is not there yet
  one.save(100);
  zero.finish();
  one.finish();
  CHECK(count_of(objects, object_names.cuts()) == 2);
  CHECK(count_of(objects, object_names.cuts_of(100)) == 2);
}

TEST_CASE("Each replica of a shard has claims and cuts of its own") {
  StoredObjects objects;
  OfReplica first{objects, 0, 0, 5}, second{objects, 0, 1, 6};
  first.open();
  second.others_answer = true;  // the first one answers, and has not the claim of the second one
  CHECK_FALSE(second.open().failure);
  CHECK(objects.contains(object_names.claim(0, {1, 5})));
  CHECK(objects.contains(object_names.claim(0, {1, 6}, 1)));
  for (const Step step : std::vector<Step>{1, 2}) {
    CHECK_FALSE(first.save(step).failure);
    CHECK_FALSE(second.save(step).failure);
  }
  CHECK(second.name(2) == object_names.cut({2, 0, 2, {1, 6}, 2, 1}));
  OfReplica again{objects, 0, 1, 7};
  CHECK(again.open().cuts.size() == 2);
  CHECK(second.save(3).failure.code == ps_errc::shard_taken_over);
  CHECK_FALSE(first.save(3).failure);
  for (const Step step : std::vector<Step>{1, 2}) first.drop(step);
  first.save(4);
  CHECK(count_of(objects, object_names.cuts_of(1)) == 1);  // the other replica needs its own
  again.uploads = {{object_names.cut({9, 0, 2, {1, 5}, 9}), "a"}, {object_names.cut({9, 0, 2, {1, 6}, 9, 1}), "b"}};
  again.open();
  REQUIRE(again.uploads.size() == 1);
  CHECK(again.uploads.front().id == "a");
}

TEST_CASE("A checkpoint consists of cuts of any replicas, and is made once") {
  StoredObjects objects;
  OfReplica zero{objects, 0, 0, 5}, zero_again{objects, 0, 1, 6}, one{objects, 1, 0, 7}, one_again{objects, 1, 1, 8};
  for (Talk* talk : {static_cast<Talk*>(&zero), static_cast<Talk*>(&zero_again), static_cast<Talk*>(&one),
                     static_cast<Talk*>(&one_again)})
    talk->open();
  zero_again.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 0);
  one.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  zero.save(10);
  CHECK(zero.requests == Requests{"put cuts", "list c", "list index", "get index", "list index", "list cuts"});
  one_again.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  OfReplica newer{objects, 0, 1, 9};  // with other settings, say: its cut of the step counts
  newer.open();
  newer.save(10, 2);
  CHECK(count_of(objects, object_names.checkpoints()) == 2);
}

TEST_CASE("A replica that is behind does not bring back a checkpoint that was removed") {
  StoredObjects objects;
  OfReplica zero{objects, 0, 0, 5}, one{objects, 1, 0, 6}, zero_again{objects, 0, 1, 7};
  for (Talk* talk : {static_cast<Talk*>(&zero), static_cast<Talk*>(&one), static_cast<Talk*>(&zero_again)})
    talk->open();
  for (const Step step : std::vector<Step>{10, 20, 30}) {
    zero.save(step);
    one.save(step);
  }
  CHECK(count_of(objects, object_names.checkpoints()) == 2);
  bool brought_back = false;
  zero_again.change = [&](const ObjectAction& action, const ObjectAnswer&) {
    brought_back = brought_back || (action.kind == ObjectKind::put && object_names.checkpoint_of(action.key));
  };
  zero_again.save(10);
  CHECK_FALSE(brought_back);
}

TEST_CASE("When replicas are done, the last step has the cuts of its checkpoint; then both begin with these") {
  StoredObjects objects;
  OfReplica zero{objects, 0, 0, 5}, zero_again{objects, 0, 1, 6}, one{objects, 1, 0, 7};
  zero.open();
  zero_again.open();
  one.open();
  zero.save(95);
  zero_again.save(100);
  zero_again.finish();
  CHECK(objects.contains(zero_again.name(100)));  // the checkpoint is not there yet
  one.save(100);
  zero.save(100);
  CHECK(count_of(objects, object_names.cuts_of(100)) == 3);
  for (Talk* talk : {static_cast<Talk*>(&zero), static_cast<Talk*>(&zero_again), static_cast<Talk*>(&one)})
    talk->finish();
  CHECK(count_of(objects, object_names.cuts()) == 2);
  CHECK(objects.contains(zero_again.name(100)));
  OfReplica again{objects, 0, 0, 8};
  const auto done = again.open();
  CHECK_FALSE(done.failure);
  CHECK(done.cuts.empty());
  REQUIRE(done.of_sibling);
  CHECK(done.of_sibling->step == 100);
  OfReplica same{objects, 0, 1, 9};
  CHECK_FALSE(same.open().of_sibling);  // it has a cut of this step
}

TEST_CASE("A replica takes no cut of the other one for its own, but its checkpoint if that is newer") {
  StoredObjects objects;
  OfReplica first{objects, 0, 0, 5}, second{objects, 0, 1, 6}, one{objects, 1, 0, 7};
  first.open();
  second.open();
  one.open();
  first.save(5);
  second.save(5);
  second.save(10);
  one.save(10);
  second.save(15);
  OfReplica again{objects, 0, 0, 8};
  const auto done = again.open();
  REQUIRE(done.cuts.size() == 1);
  CHECK(done.cuts.front().step == 5);
  REQUIRE(done.of_sibling);
  CHECK(done.of_sibling->step == 10);
  CHECK_FALSE(again.core.cuts().contains(10));
  again.save(20);
  OfReplica third{objects, 0, 0, 9};
  CHECK_FALSE(third.open().of_sibling);
}

TEST_CASE("A job without replicas continues from the checkpoints of replicas, and removes their cuts") {
  StoredObjects objects;
  OfReplica second{objects, 0, 1, 5}, one{objects, 1, 1, 6};
  second.open();
  one.open();
  second.save(10);
  one.save(10);
  second.save(15);
  OfShard zero{objects, 0, 7}, other{objects, 1, 8};
  auto done = zero.open();
  CHECK(done.cuts.empty());
  REQUIRE(done.of_sibling);
  CHECK(done.of_sibling->step == 10);
  CHECK(other.open().of_sibling);
  for (const Step step : std::vector<Step>{20, 30, 35, 36, 37, 38}) {
    zero.save(step);
    other.save(step);
  }
  for (const auto& [key, bytes] : objects)
    if (const auto cut = object_names.cut_of(key)) CHECK(cut->replica == 0);
  CHECK(count_of(objects, object_names.checkpoints()) == 2);
}

TEST_CASE("A checkpoint is made of first replicas, or else of second ones, so that all cuts are of one history") {
  const CutKey zero{9, 0, 2, {1, 1}, 1}, newer{9, 0, 2, {2, 1}, 1}, one{9, 1, 2, {1, 1}, 1};
  const CutKey zero_again{9, 0, 2, {7, 1}, 1, 1}, one_again{9, 1, 2, {1, 2}, 1, 1}, foreign{9, 1, 3, {9, 9}, 1};
  using Choices = std::vector<std::vector<CutKey>>;
  const auto choices = [](const std::vector<CutKey>& there) {
    return detail::choices_to_merge(detail::newest_cuts(there, 2), 2);
  };
  CHECK(choices({zero, foreign}).empty());
  CHECK(choices({zero, newer, one, foreign}) == Choices{{newer, one}});
  CHECK(choices({zero, one_again}) == Choices{{zero, one_again}});
  CHECK(choices({zero, zero_again, one}) == Choices{{zero, one}, {zero_again, one}});
  CHECK(choices({zero, zero_again, one, one_again}) == Choices{{zero, one}, {zero_again, one_again}});
}

TEST_CASE("A link stands on the cut that was saved last; its name says on which") {
  StoredObjects objects;
  OfShard talk{objects, 0, 5};
  talk.open();
  CHECK_FALSE(talk.core.may_link(2, 1));
  talk.save(1);
  CHECK(talk.core.may_link(2, 1));
  CHECK_FALSE(talk.core.may_link(10, 1));  // the user wants it
  CHECK_FALSE(talk.link(2, 1).failure);
  CHECK(talk.requests == Requests{"put cuts", "list claims"});
  CHECK_FALSE(talk.link(3, 2).failure);
  CHECK(talk.name(3).ends_with(".0000000003-0000000001"));
  CHECK(talk.link(4, 2).failure.code == checkpoint_errc::not_found);
  CHECK(talk.read(3).object == objects.at(talk.name(3)));
  CHECK(talk.read(3).under == std::vector{objects.at(talk.name(1)), objects.at(talk.name(2))});
  CHECK(talk.read(1).under.empty());
  CHECK(talk.durable == std::vector<Step>{1, 2, 3});
}

TEST_CASE("After a cut that was given up, and in a new process, no link is possible") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  first.save(1);
  first.change = [](const ObjectAction& action, ObjectAnswer& answer) {
    if (action.kind == ObjectKind::put) answer.error = {std::make_error_code(std::errc::io_error), "put"};
  };
  CHECK(first.link(2, 1).failure);
  first.change = nullptr;
  CHECK_FALSE(first.core.may_link(3, 1));
  CHECK_FALSE(first.save(3).failure);
  CHECK(first.core.may_link(4, 3));
  second.open();
  CHECK(second.core.cuts().size() == 2);  // that of step 2 had landed, and was removed as one that was not told
  CHECK_FALSE(second.core.may_link(4, 3));
}

TEST_CASE("A start reads each cut of a chain once, and passes over links whose chain is not there") {
  StoredObjects objects;
  OfShard first{objects, 0, 5};
  first.open();
  first.save(1);
  for (const Step step : std::vector<Step>{2, 3, 4}) first.link(step, step - 1);
  const std::string third = first.name(3);
  {
    OfShard second{objects, 0, 6};
    CHECK(second.open().cuts.size() == 4);
    CHECK(second.checked == std::vector<Step>{1, 2, 3, 4});
    CHECK(second.done->refused.empty());
  }
  StoredObjects damaged = objects;
  damaged[third].back() = std::byte{0};
  {
    OfShard second{damaged, 0, 6};
    CHECK(second.open().cuts.size() == 2);
    CHECK(second.done->refused.size() == 1);
    CHECK(second.checked == std::vector<Step>{1, 2, 3});
  }
  objects.erase(third);
  OfShard second{objects, 0, 6};
  CHECK(second.open().cuts.size() == 2);
  REQUIRE(second.done->refused.size() == 1);  // the newest cut: that is damage
  CHECK(second.done->refused.front().code == checkpoint_errc::missing_data_file);
}

TEST_CASE("A start with nothing but links does not begin anew") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  first.save(1);
  first.link(2, 1);
  objects.erase(first.name(1));
  CHECK(second.open().cuts.empty());
  CHECK(second.done->refused.size() == 1);
}

TEST_CASE("No process removes a cut on which a link stands that stays") {
  StoredObjects objects;
  OfShard first{objects, 0, 5}, second{objects, 0, 6};
  first.open();
  first.save(1);
  first.link(2, 1);
  first.link(3, 2);
  first.drop(1);
  CHECK(first.requests.empty());
  first.link(4, 3);
  CHECK(count_of(objects, object_names.cuts_of(1)) == 1);
  second.open();
  second.save(5);
  second.drop(1);
  second.drop(2);
  second.drop(3);
  second.save(6);
  CHECK(count_of(objects, object_names.cuts()) == 6);  // 4 stands on 1, 2 and 3
  second.drop(4);
  for (const Step step : std::vector<Step>{7, 8, 9}) second.save(step);
  CHECK(count_of(objects, object_names.cuts()) == 5);
}

TEST_CASE("A checkpoint names no link, also if the user wants other steps than before") {
  StoredObjects objects;
  auto options = options_of(0, 5);
  options.settings.keep_every = 0;
  Talk before{objects, options};
  before.open();
  before.save(9);
  before.link(10, 9);
  OfShard first{objects, 0, 6}, second{objects, 1, 7};
  first.open();
  second.open();
  second.save(10);
  CHECK(count_of(objects, object_names.checkpoints()) == 0);
  CHECK(count_of(objects, object_names.cuts_of(10)) == 2);
  for (const Step step : std::vector<Step>{11, 12, 20}) first.save(step), second.save(step);
  CHECK(count_of(objects, object_names.checkpoints()) == 1);
  for (const Step step : std::vector<Step>{9, 10, 11}) first.drop(step);
  for (const Step step : std::vector<Step>{21, 22, 23}) first.save(step);
  CHECK(count_of(objects, object_names.cuts_of(9)) == 0);
}

TEST_CASE("A log of the ranks is one write and one list; the one before is removed when the new one is durable") {
  StoredObjects objects;
  OfScaled talk{objects, 0, 5};
  CHECK(ranks_in(talk.open()).empty());
  CHECK(talk.requests ==
        Requests{"list claims", "put claims", "list claims", "list ranks", "list cuts", "uploads cuts"});
  CHECK_FALSE(talk.save_ranks(1001).failure);
  CHECK(talk.requests == Requests{"put ranks", "list claims"});
  CHECK(talk.durable == std::vector<Step>{0});
  CHECK_FALSE(talk.save_ranks(2001, {1500}).failure);
  CHECK(talk.requests == Requests{"put ranks", "list claims", "remove ranks"});
  CHECK(count_of(objects, object_names.rank_logs()) == 1);
  OfScaled next{objects, 0, 6};
  CHECK(ranks_in(next.open()) == std::vector<Step>{2001, 1500});
  CHECK(next.requests == Requests{"list claims", "get claims", "ask claims", "put claims", "list claims", "list ranks",
                                  "get ranks", "put ranks", "list claims", "remove ranks", "list cuts", "uploads cuts",
                                  "remove claims"});
  CHECK_FALSE(next.save_ranks(3001, {1500}).failure);
  CHECK(count_of(objects, object_names.rank_logs()) == 1);
}

TEST_CASE("A log of the ranks that a followed process writes late counts nothing") {
  StoredObjects objects;
  OfScaled first{objects, 0, 5};
  first.begin_log(1001);
  OfScaled second{objects, 0, 6};
  CHECK(ranks_in(second.open()) == std::vector<Step>{1001});
  CHECK_FALSE(second.save_ranks(2001).failure);
  first.durable.clear();
  CHECK(first.save_ranks(5001, {1200}).failure.code == ps_errc::shard_taken_over);
  CHECK(first.durable.empty());
  OfScaled third{objects, 0, 7};
  CHECK(ranks_in(third.open()) == std::vector<Step>{2001});
  CHECK_FALSE(third.save_ranks(3001).failure);
  CHECK(count_of(objects, object_names.rank_logs()) == 1);
}

TEST_CASE("After a write of the log of the ranks that failed, the one before stays until the next is durable") {
  StoredObjects objects;
  OfScaled talk{objects, 0, 5};
  talk.begin_log(1001);
  talk.change = [](const ObjectAction& action, ObjectAnswer& answer) {
    if (action.kind == ObjectKind::list) answer.error = {make_error_code(std::errc::timed_out), "x"};
  };
  CHECK(talk.save_ranks(2001).failure.code == std::errc::timed_out);
  CHECK(count_of(objects, object_names.rank_logs()) == 2);
  talk.change = nullptr;
  CHECK_FALSE(talk.save_ranks(2001).failure);
  CHECK(count_of(objects, object_names.rank_logs()) == 1);
}

TEST_CASE("A damaged log of the ranks is refused: nobody knows what was told") {
  StoredObjects objects;
  OfScaled{objects, 0, 5}.begin_log(1001);
  const std::string name = object_names.rank_log({0, 2, {1, 5}, 1});
  objects.at(name).back() ^= std::byte{1};
  OfScaled next{objects, 0, 6};
  const Error error = next.open().failure;
  CHECK(error.code == checkpoint_errc::corrupt_data);
  CHECK(error.where == name);
}

TEST_CASE("Another number of shards begins with the logs of all, written as its own before anything is told") {
  StoredObjects objects;
  for (const std::uint32_t shard : {0U, 1U})
    OfScaled{objects, shard, 5}.begin_log(1000 + shard, {500 + Step{shard}, 800});
  OfScaled wider{objects, 2, 6, 3};
  CHECK(ranks_in(wider.open()) == std::vector<Step>{1001, 500, 501, 800});
  CHECK(wider.durable.empty());
  CHECK(objects.contains(object_names.rank_log({2, 3, {1, 6}, 1})));
  OfScaled again{objects, 2, 7, 3};
  CHECK(ranks_in(again.open()) == std::vector<Step>{1001, 500, 501, 800});
  OfScaled{objects, 0, 6, 3}.begin_log(3000, {500, 501, 800, 2000});
  OfScaled back{objects, 0, 8};  // two again: what three have added counts
  CHECK(ranks_in(back.open()) == std::vector<Step>{3000, 500, 501, 800, 2000});
}
