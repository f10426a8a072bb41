// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/object_store.hpp>

#include "support/catch.hpp"

#include <map>

namespace {

/// The smallest object store: a map.
class MapStore {
 public:
  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    error = {};
    return {.key = key, .bytes = objects_[key].size()};
  }
  auto get(const std::string& key, std::uint64_t, distrib::Error& error) -> std::vector<std::byte> {
    error = {};
    return objects_[key];
  }
  auto put(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    error = {};
    objects_[key].assign(bytes.begin(), bytes.end());
    return "1";
  }
  auto put_if_absent(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    return put(key, bytes, error);
  }
  auto replace_if_version(const std::string& key, distrib::ByteView bytes, const std::string&, distrib::Error& error)
      -> std::string {
    return put(key, bytes, error);
  }
  void copy(const std::string& from, const std::string& to, distrib::Error& error) {
    error = {};
    objects_[to] = objects_[from];
  }
  void remove(const std::string& key, distrib::Error& error) {
    error = {};
    objects_.erase(key);
  }
  auto list(const std::string&, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    error = {};
    return {};
  }
  auto uploads(const std::string&, distrib::Error& error) -> std::vector<distrib::ObjectUpload> {
    error = {};
    return {};
  }
  void abort(const distrib::ObjectUpload&, distrib::Error& error) { error = {}; }

 private:
  std::map<std::string, std::vector<std::byte>> objects_;
};

struct OnlyReads {
  auto info(const std::string& key, distrib::Error&) -> distrib::ObjectInfo { return {.key = key}; }
  auto get(const std::string&, std::uint64_t, distrib::Error&) -> std::vector<std::byte> { return {}; }
};

static_assert(distrib::ObjectStore<MapStore>);
static_assert(distrib::ObjectReader<OnlyReads>);
static_assert(!distrib::ObjectWriter<OnlyReads> && !distrib::ObjectLister<OnlyReads>);
static_assert(!distrib::ObjectStore<OnlyReads>);

}  // namespace

TEST_CASE("ObjectStore: a map is one", "[concepts]") {
  MapStore store;
  distrib::Error error;
  store.put("a", distrib::as_bytes("bytes"), error);
  store.copy("a", "b", error);
  store.remove("a", error);
  CHECK(distrib::as_text(store.get("b", 9, error)) == "bytes");
  CHECK(store.info("b", error).bytes == 5);
}
