// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/stream.hpp>

#include "support/catch.hpp"

namespace {

struct Element {};

/// The smallest Stream.
struct LeastStream {
  using Element = ::Element;
  LeastStream(LeastStream&&) = default;
  auto next(distrib::Error& error) -> std::optional<Element>;
  void rewind(std::uint64_t epoch, distrib::Error& error);
  auto describe() const -> const char*;
};
static_assert(distrib::Stream<LeastStream>);

struct FixedStream : LeastStream {
  FixedStream(FixedStream&&) = delete;
};
struct Bare : LeastStream {
  auto next(distrib::Error& error) -> Element;
};
struct SilentStream : LeastStream {
  void describe() const;
};
static_assert(!distrib::Stream<FixedStream>);
static_assert(!distrib::Stream<Bare>);
static_assert(!distrib::Stream<SilentStream>);
static_assert(!distrib::Stream<Element>);

}  // namespace

TEST_CASE("Stream: accepts the smallest model", "[concepts]") { SUCCEED(); }
