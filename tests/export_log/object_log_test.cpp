// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/object_log.hpp>

#include <distrib/export_log/retire_log.hpp>

#include "support/catch.hpp"
#include "support/disorderly_objects.hpp"
#include "support/map_objects.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::ByteView;
using distrib::Error;
using distrib::export_errc;
using distrib::LogHead;
using support::MapClient;
using support::MapObjects;

namespace {

static_assert(distrib::HeadStore<distrib::ObjectLog<MapClient>>);

/// A log in a bucket in memory.
struct LogInBucket {
  std::shared_ptr<MapObjects> bucket = std::make_shared<MapObjects>();
  MapClient client{bucket};
  distrib::ObjectLog<MapClient> log;

  explicit LogInBucket(const std::string& prefix) : log{client, prefix} {}
};

auto head_of_log(std::uint64_t epoch) -> LogHead { return {7, 0, {}, {epoch}}; }

}  // namespace

TEST_CASE("ObjectLog: a head is replaced only from the version that was read") {
  LogInBucket made{"jobs/clicks"};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  Error error;
  CHECK_FALSE(log.read_head(error));
  CHECK_FALSE(error);
  CHECK(log.swap_head("", head_of_log(1), error));
  CHECK(bucket.objects.contains("jobs/clicks/head"));
  CHECK_FALSE(log.swap_head("", head_of_log(2), error));
  CHECK_FALSE(error);
  const auto head = log.read_head(error);
  REQUIRE(head);
  CHECK(head->head == head_of_log(1));
  CHECK(log.swap_head(head->version, head_of_log(2), error));
  CHECK_FALSE(log.swap_head(head->version, head_of_log(3), error));
  CHECK_FALSE(error);
  CHECK(log.read_head(error)->head == head_of_log(2));
  bucket.objects.erase("jobs/clicks/head");
  CHECK_FALSE(log.swap_head(head->version, head_of_log(4), error));
  CHECK(error);
}

TEST_CASE("ObjectLog: the version belongs to the head that was read, also if it changes meanwhile") {
  LogInBucket made{""};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  Error error;
  REQUIRE(log.swap_head("", head_of_log(1), error));
  bool is_replaced = false;
  bucket.fail = [&](const std::string& request) {
    if (request == "get head" && !std::exchange(is_replaced, true))
      bucket.write("head", distrib::as_bytes(to_text(head_of_log(2))));
    return std::error_code{};
  };
  const auto head = log.read_head(error);
  REQUIRE(head);
  CHECK(head->head == head_of_log(2));
  CHECK(head->version == std::to_string(bucket.versions.at("head")));
  const std::size_t asked = bucket.requests.size();
  CHECK(log.read_head(error)->head == head_of_log(2));
  CHECK(bucket.requests.size() == asked + 1);  // it has not changed
}

TEST_CASE("ObjectLog: objects are written once") {
  LogInBucket made{"log"};
  auto& log = made.log;
  Error error;
  const std::string first = "first";
  log.put("votes/1", distrib::as_bytes(first), error);
  CHECK_FALSE(error);
  log.put("votes/1", distrib::as_bytes("other"), error);
  CHECK_FALSE(error);
  CHECK(distrib::as_text(ByteView{log.get("votes/1", 100, error)}) == first);
  CHECK(log.get("votes/2", 100, error).empty());
  CHECK(error.code == export_errc::missing_object);
  log.remove("votes/1", error);
  CHECK_FALSE(error);
  static_cast<void>(log.get("votes/1", 100, error));
  CHECK(error.code == export_errc::missing_object);
}

TEST_CASE("ObjectLog: a store that ignores conditions is refused, and an error of the store is passed on") {
  LogInBucket made{"log"};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  bucket.honours_conditions = false;
  Error error;
  CHECK_FALSE(log.swap_head("", head_of_log(1), error));
  CHECK(error.code == export_errc::no_conditions);
  log.put("votes/1", {}, error);
  CHECK(error.code == export_errc::no_conditions);
  CHECK_FALSE(bucket.objects.contains("log/head"));
  CHECK_FALSE(bucket.objects.contains("log/votes/1"));
  bucket.honours_conditions = true;
  CHECK(log.swap_head("", head_of_log(1), error));
  bucket.fail = [](const std::string&) { return MapObjects::mismatch(); };  // for another reason
  log.put("votes/1", {}, error);
  CHECK(error.where == "put log/votes/1");
}

namespace {

/// A mistake in how a head is kept in a store.
enum class HeadMistake {
  none,
  swaps_anyway,  ///< The head is replaced, whatever its version is.
  begins_anyway,  ///< The first head is written although there is one.
  believes_refusals,  ///< A swap that was refused counts as done.
  believes_failures,  ///< So does one whose request failed.
  pairs_wrongly,  ///< The version is asked for after the head was read, and not compared.
  remembers,  ///< The head is read once.
  trusts_the_store,  ///< It is not asked whether it has conditions.
};

/// What `ObjectLog` asks of its store, if it makes a mistake.
class HeadClient : public support::DisorderlyClient {
 public:
  HeadClient(std::shared_ptr<MapObjects> bucket, std::function<bool()> disturb, HeadMistake mistake)
      : DisorderlyClient{std::move(bucket), std::move(disturb)}, mistake_{mistake} {}

  auto put_if_absent(const std::string& key, ByteView bytes, Error& error) -> std::string {
    const bool is_head = key.ends_with("head");
    if (mistake_ == HeadMistake::begins_anyway && is_head) return put(key, bytes, error);
    std::string version = DisorderlyClient::put_if_absent(key, bytes, error);
    if (mistake_ == HeadMistake::trusts_the_store && !is_head) error = {MapObjects::mismatch(), key};
    return version;
  }
  auto replace_if_version(const std::string& key, ByteView bytes, const std::string& version, Error& error)
      -> std::string {
    if (mistake_ == HeadMistake::swaps_anyway) return put(key, bytes, error);
    return DisorderlyClient::replace_if_version(key, bytes, version, error);
  }

 private:
  HeadMistake mistake_;
};

/// Processes that count in one head: each raises an epoch of its own.
class DrawnHeads {
 public:
  DrawnHeads(std::uint32_t seed, HeadMistake mistake) : dice_{seed}, mistake_{mistake} {
    bucket_->honours_conditions = seed % 16 != 5;
    for (std::size_t i = 0; i < processes; ++i) {
      clients_.push_back(std::make_unique<HeadClient>(bucket_, [this] { return disturb(); }, mistake));
      logs_.emplace_back(*clients_.back(), "jobs/clicks");
    }
  }

  /// Returns what is wrong; empty: nothing.
  auto run() -> std::string {
    for (int i = 0; i < 60 && wrong_.empty(); ++i) raise_epoch(dice_() % processes);
    calm_ = true;
    if (wrong_.empty() && bucket_->honours_conditions) raise_epoch(0);
    return wrong_;
  }

 private:
  static constexpr std::size_t processes = 4;

  auto disturb() -> bool {
    if (calm_ || depth_ > 3) return false;
    if (dice_() % 6 == 0) raise_epoch(dice_() % processes);
    return dice_() % 24 == 0;
  }

  void raise_epoch(std::size_t process) {
    if (std::exchange(is_busy_[process], true)) return;
    ++depth_;
    int attempts = 0;
    while (wrong_.empty() && !attempt(process))
      if (++attempts == 200) wrong_ = "it stands still";
    --depth_;
    is_busy_[process] = false;
  }

  auto read_by(std::size_t process, Error& error) -> std::optional<distrib::StampedHead> {
    if (mistake_ == HeadMistake::remembers && remembered_[process]) return remembered_[process];
    std::optional<distrib::StampedHead> head;
    if (mistake_ == HeadMistake::pairs_wrongly) {
      const std::vector<std::byte> bytes = clients_[process]->get("jobs/clicks/head", 1000, error);
      if (error.code == distrib::failure::not_found) return error = {}, std::nullopt;
      if (!error) head.emplace(*distrib::parse_log_head(distrib::as_text(ByteView{bytes}), error), std::string{});
      if (head) head->version = clients_[process]->info("jobs/clicks/head", error).version;
    } else {
      head = logs_[process].read_head(error);
    }
    if (mistake_ == HeadMistake::remembers && head) remembered_[process] = head;
    return head;
  }

  // True if the epoch of the process is raised, or never will be.
  auto attempt(std::size_t process) -> bool {
    const std::array<std::uint64_t, processes> before = told_;
    Error error;
    const std::optional<distrib::StampedHead> read_now = read_by(process, error);
    if (error) return false;
    LogHead head = read_now ? read_now->head : LogHead{7, 0, {}, {}};
    head.epochs.resize(processes);
    for (std::size_t i = 0; i < processes; ++i)
      if (head.epochs[i] < before[i]) return wrong_ = "an epoch fell", true;
    const std::uint64_t wanted = before[process] + 1;
    if (head.epochs[process] > wanted) return wrong_ = "an epoch was raised twice", true;
    if (head.epochs[process] == wanted) return told_[process] = wanted, true;  // an answer was lost
    head.epochs[process] = wanted;
    bool is_done = logs_[process].swap_head(read_now ? read_now->version : "", head, error);
    if (error.code == export_errc::no_conditions) {
      if (bucket_->honours_conditions) wrong_ = "a store with conditions is refused";
      return true;
    }
    if (mistake_ == HeadMistake::believes_refusals && !error) is_done = true;
    if (mistake_ == HeadMistake::believes_failures && error.code == distrib::failure::unavailable) is_done = true;
    if (!is_done) return false;
    if (!bucket_->honours_conditions) return wrong_ = "a store without conditions is used", true;
    told_[process] = wanted;
    return true;
  }

  std::mt19937 dice_;
  HeadMistake mistake_;
  std::shared_ptr<MapObjects> bucket_ = std::make_shared<MapObjects>();
  std::vector<std::unique_ptr<HeadClient>> clients_;
  std::vector<distrib::ObjectLog<HeadClient>> logs_;
  std::array<std::optional<distrib::StampedHead>, processes> remembered_;
  std::array<std::uint64_t, processes> told_{};
  std::array<bool, processes> is_busy_{};
  std::string wrong_;
  bool calm_ = false;
  int depth_ = 0;
};

}  // namespace

TEST_CASE("ObjectLog: no swap of a head is lost in drawn orders, and each planted mistake is found") {
  constexpr std::uint32_t most = 100;
  for (std::uint32_t seed = 0; seed < most; ++seed) {
    CAPTURE(seed);
    CHECK(DrawnHeads{seed, HeadMistake::none}.run().empty());
  }
  for (int mistake = 1; mistake <= static_cast<int>(HeadMistake::trusts_the_store); ++mistake) {
    CAPTURE(mistake);
    std::uint32_t seed = 0;
    while (seed < most && DrawnHeads{seed, static_cast<HeadMistake>(mistake)}.run().empty()) ++seed;
    CHECK(seed < most);
  }
}
