// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/object_log.hpp>

#include <distrib/export_log/retire_log.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::ByteView;
using distrib::Error;
using distrib::export_errc;
using distrib::LogHead;

namespace {

/// There is no object.
auto missing_key(const std::string& key) -> Error { return {export_errc::no_log, key}; }

/// A condition that does not hold, as stores have it.
struct ConditionCategory : std::error_category {
  [[nodiscard]] auto name() const noexcept -> const char* override { return "a store"; }
  [[nodiscard]] auto message(int) const -> std::string override { return "the condition does not hold"; }
  [[nodiscard]] auto equivalent(int, const std::error_condition& condition) const noexcept -> bool override {
    return condition == distrib::failure::mismatch;
  }
};

/// A bucket in memory.
struct MemoryBucket {
  struct Object {
    std::vector<std::byte> bytes;
    std::uint64_t version = 0;
  };
  std::map<std::string, Object> objects;
  std::uint64_t versions = 0;
  bool honours_conditions = true;
  bool denies = false;
  std::function<void()> before_get;  ///< Something that happens between two requests.

  auto mismatch(const std::string& key) const -> Error {
    static const ConditionCategory category;
    return {std::error_code{1, category}, key};
  }
  auto info(const std::string& key, Error& error) -> distrib::ObjectInfo {
    error = {};
    const auto at = objects.find(key);
    if (at == objects.end()) return error = missing_key(key), distrib::ObjectInfo{};
    return {key, at->second.bytes.size(), std::to_string(at->second.version), 0};
  }
  auto get(const std::string& key, std::uint64_t, Error& error) -> std::vector<std::byte> {
    if (before_get) std::exchange(before_get, nullptr)();
    error = {};
    const auto at = objects.find(key);
    if (at == objects.end()) return error = missing_key(key), std::vector<std::byte>{};
    return at->second.bytes;
  }
  auto put(const std::string& key, ByteView bytes, Error& error) -> std::string {
    error = {};
    objects[key] = {{bytes.begin(), bytes.end()}, ++versions};
    return std::to_string(versions);
  }
  auto put_if_absent(const std::string& key, ByteView bytes, Error& error) -> std::string {
    if (denies) return error = mismatch("denied"), std::string{};
    if (honours_conditions && objects.contains(key)) return error = mismatch(key), std::string{};
    return put(key, bytes, error);
  }
  auto replace_if_version(const std::string& key, ByteView bytes, const std::string& version, Error& error)
      -> std::string {
    const auto at = objects.find(key);
    if (at == objects.end()) return error = missing_key(key), std::string{};
    if (honours_conditions && std::to_string(at->second.version) != version)
      return error = mismatch(key), std::string{};
    return put(key, bytes, error);
  }
  void copy(const std::string& from, const std::string& to, Error& error) {
    error = {};
    objects[to] = objects[from];
  }
  void remove(const std::string& key, Error& error) {
    error = {};
    objects.erase(key);
  }
  auto list(const std::string&, Error& error) -> std::vector<distrib::ObjectInfo> {
    return error = {}, std::vector<distrib::ObjectInfo>{};
  }
  auto uploads(const std::string&, Error& error) -> std::vector<distrib::ObjectUpload> {
    return error = {}, std::vector<distrib::ObjectUpload>{};
  }
  void abort(const distrib::ObjectUpload&, Error& error) { error = {}; }
};
static_assert(distrib::ObjectStore<MemoryBucket>);
static_assert(distrib::HeadStore<distrib::ObjectLog<MemoryBucket>>);

auto head_of_log(std::uint64_t epoch) -> LogHead { return {7, 0, {}, {epoch}}; }

}  // namespace

TEST_CASE("ObjectLog: a head is replaced only from the version that was read") {
  MemoryBucket bucket;
  distrib::ObjectLog log{bucket, "jobs/clicks"};
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
  MemoryBucket bucket;
  distrib::ObjectLog log{bucket, ""};
  Error error;
  REQUIRE(log.swap_head("", head_of_log(1), error));
  bucket.before_get = [&] { bucket.put("head", distrib::as_bytes(to_text(head_of_log(2))), error); };
  const auto head = log.read_head(error);
  REQUIRE(head);
  CHECK(head->head == head_of_log(2));
  CHECK(head->version == std::to_string(bucket.objects.at("head").version));
}

TEST_CASE("ObjectLog: objects are written once") {
  MemoryBucket bucket;
  distrib::ObjectLog log{bucket, "log"};
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
  MemoryBucket bucket;
  bucket.honours_conditions = false;
  distrib::ObjectLog log{bucket, "log"};
  Error error;
  CHECK_FALSE(log.swap_head("", head_of_log(1), error));
  CHECK(error.code == export_errc::no_conditions);
  log.put("votes/1", {}, error);
  CHECK(error.code == export_errc::no_conditions);
  CHECK_FALSE(bucket.objects.contains("log/head"));
  CHECK_FALSE(bucket.objects.contains("log/votes/1"));
  bucket.honours_conditions = true;
  CHECK(log.swap_head("", head_of_log(1), error));
  bucket.denies = true;  // of the same kind as a condition that does not hold
  log.put("votes/1", {}, error);
  CHECK(error.where == "denied");
}
