// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/connection_core.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest ConnectionCore.
struct LeastConnectionCore {
  auto reads() const -> bool { return false; }
  auto read_space(std::span<std::byte> lent) -> distrib::ReadSpace { return {lent}; }
  void keep() {}
  auto ready() const -> bool { return false; }
  void bytes_read(std::size_t, distrib::Instant) {}
  auto output() -> std::span<const distrib::ByteView> { return {}; }
  void written(distrib::Instant) {}
  auto wake() const -> std::optional<distrib::Instant> { return {}; }
  void woken(distrib::Instant) {}
  void lost(const std::error_code&) {}
  auto finished() const -> bool { return true; }
};
static_assert(distrib::ConnectionCore<LeastConnectionCore>);

struct ReadsNumbers : LeastConnectionCore {
  auto read_space(std::span<std::byte>) -> std::span<int> { return {}; }
};
struct WritesNothing : LeastConnectionCore {
  void output() {}
};
struct SleepsByNumber : LeastConnectionCore {
  auto wake() const -> int { return 0; }
};
struct NeverFinished : LeastConnectionCore {
  void finished() const {}
};
static_assert(!distrib::ConnectionCore<ReadsNumbers>);
static_assert(!distrib::ConnectionCore<WritesNothing>);
static_assert(!distrib::ConnectionCore<SleepsByNumber>);
static_assert(!distrib::ConnectionCore<NeverFinished>);

}  // namespace

TEST_CASE("ConnectionCore: accepts the smallest model", "[concepts]") { SUCCEED(); }
