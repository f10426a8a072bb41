// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/byte_source.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest ByteSource.
struct LeastByteSource {
  LeastByteSource(LeastByteSource&&) = default;
  auto read(std::span<std::byte> to, distrib::Error& error) -> std::size_t;
};
static_assert(distrib::ByteSource<LeastByteSource>);

struct FixedByteSource : LeastByteSource {
  FixedByteSource(FixedByteSource&&) = delete;
};
struct ByCode {
  auto read(std::span<std::byte> to, std::error_code& ec) -> std::size_t;
};
struct Void {
  void read(std::span<std::byte> to, distrib::Error& error);
};
static_assert(!distrib::ByteSource<FixedByteSource>);
static_assert(!distrib::ByteSource<ByCode>);
static_assert(!distrib::ByteSource<Void>);

}  // namespace

TEST_CASE("ByteSource: accepts the smallest model", "[concepts]") { SUCCEED(); }
