// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/head_store.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest store of a log: it has nothing and takes nothing.
struct EmptyHeadStore {
  static auto read_head(distrib::Error& error) -> std::optional<distrib::StampedHead> {
    error = {};
    return std::nullopt;
  }
  static auto swap_head(const std::string&, const distrib::LogHead&, distrib::Error& error) -> bool {
    error = {};
    return false;
  }
  static auto get(const std::string&, std::uint64_t, distrib::Error& error) -> std::vector<std::byte> {
    error = {};
    return {};
  }
  static void put(const std::string&, distrib::ByteView, distrib::Error& error) { error = {}; }
  static void remove(const std::string&, distrib::Error& error) { error = {}; }
};

struct StoreWithoutSwap : EmptyHeadStore {
  static void swap_head(const distrib::LogHead&) {}
};

}  // namespace

TEST_CASE("a store of a log reads and swaps its head, and has objects that are written once") {
  STATIC_REQUIRE(distrib::HeadStore<EmptyHeadStore>);
  STATIC_REQUIRE(!distrib::HeadStore<StoreWithoutSwap>);
}
