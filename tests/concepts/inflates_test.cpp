// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>

#include "support/catch.hpp"

namespace {

using distrib::ByteView;
using InflaterRoom = std::span<std::byte>;

/// The smallest type that Inflates: cannot be copied or moved, and is constructed only with a compression.
class LeastInflater {
 public:
  explicit LeastInflater(distrib::Compression) {}
  LeastInflater(const LeastInflater&) = delete;
  auto operator=(const LeastInflater&) -> LeastInflater& = delete;
  auto inflate(ByteView&, InflaterRoom, std::error_code&) -> std::size_t { return 0; }
  auto complete() const -> bool { return true; }
};

struct NoCompression {
  auto inflate(ByteView&, InflaterRoom, std::error_code&) -> std::size_t { return 0; }
  auto complete() const -> bool { return true; }
};
struct NeverComplete {
  explicit NeverComplete(distrib::Compression) {}
  auto inflate(ByteView&, InflaterRoom, std::error_code&) -> std::size_t { return 0; }
};
struct KeepsInput {
  explicit KeepsInput(distrib::Compression) {}
  auto inflate(ByteView&&, InflaterRoom, std::error_code&) -> std::size_t { return 0; }
  auto complete() const -> bool { return true; }
};

}  // namespace

TEST_CASE("Inflates: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::Inflates<LeastInflater>);
  STATIC_REQUIRE_FALSE(distrib::Inflates<NoCompression>);
  STATIC_REQUIRE_FALSE(distrib::Inflates<NeverComplete>);
  STATIC_REQUIRE_FALSE(distrib::Inflates<KeepsInput>);
}
