// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/stream.hpp>

#include "support/catch.hpp"

namespace {

struct Element {};

/// The least that is a Stream.
struct Archetype {
  using Element = ::Element;
  Archetype(Archetype&&) = default;
  auto next(distrib::Error& error) -> std::optional<Element>;
  void rewind(std::uint64_t epoch, distrib::Error& error);
  auto describe() const -> const char*;
};
static_assert(distrib::Stream<Archetype>);

struct Fixed : Archetype {
  Fixed(Fixed&&) = delete;
};
struct Bare : Archetype {
  auto next(distrib::Error& error) -> Element;
};
struct Silent : Archetype {
  void describe() const;
};
static_assert(!distrib::Stream<Fixed>);
static_assert(!distrib::Stream<Bare>);
static_assert(!distrib::Stream<Silent>);
static_assert(!distrib::Stream<Element>);

}  // namespace

TEST_CASE("Stream: the archetype is one", "[concepts]") { SUCCEED(); }
