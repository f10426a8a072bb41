// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>

#include "support/catch.hpp"

namespace {

using distrib::ByteView;
using DeflaterRoom = std::span<std::byte>;

/// The smallest type that Deflates: cannot be copied or moved, and is constructed only with compression and options.
class LeastDeflater {
 public:
  LeastDeflater(distrib::Compression, const distrib::DeflateOptions&) {}
  LeastDeflater(const LeastDeflater&) = delete;
  auto operator=(const LeastDeflater&) -> LeastDeflater& = delete;
  auto deflate(ByteView&, DeflaterRoom, distrib::DeflateOptions::Flush) -> std::size_t { return 0; }
  void reset() {}
};

struct NoOptions {
  explicit NoOptions(distrib::Compression) {}
  auto deflate(ByteView&, DeflaterRoom, distrib::DeflateOptions::Flush) -> std::size_t { return 0; }
  void reset() {}
};
struct OneStream {
  OneStream(distrib::Compression, const distrib::DeflateOptions&) {}
  auto deflate(ByteView&, DeflaterRoom, distrib::DeflateOptions::Flush) -> std::size_t { return 0; }
};
struct NoFlush {
  NoFlush(distrib::Compression, const distrib::DeflateOptions&) {}
  auto deflate(ByteView&, DeflaterRoom) -> std::size_t { return 0; }
  void reset() {}
};

}  // namespace

TEST_CASE("Deflates: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::Deflates<LeastDeflater>);
  STATIC_REQUIRE_FALSE(distrib::Deflates<NoOptions>);
  STATIC_REQUIRE_FALSE(distrib::Deflates<OneStream>);
  STATIC_REQUIRE_FALSE(distrib::Deflates<NoFlush>);
}
