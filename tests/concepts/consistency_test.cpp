// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/consistency.hpp>

#include "support/catch.hpp"

namespace {

/// The least that is a synchronous Consistency, and the least that is another one.
struct Together {
  static constexpr const char* mode = "together";
  static constexpr bool synchronous = true;
  auto describe() const -> const char* { return "together"; }
  auto operator==(const Together&) const -> bool = default;
};
struct Apart {
  static constexpr const char* mode = "apart";
  static constexpr bool synchronous = false;
  static constexpr unsigned staleness = 1;
  auto describe() const -> const char* { return "apart"; }
  auto operator==(const Apart&) const -> bool = default;
};
static_assert(distrib::Consistency<Together>);
static_assert(distrib::Consistency<Apart>);

struct NoMode {
  static constexpr bool synchronous = true;
  auto describe() const -> const char* { return ""; }
  auto operator==(const NoMode&) const -> bool = default;
};
struct NoKind {
  static constexpr const char* mode = "";
  auto describe() const -> const char* { return ""; }
  auto operator==(const NoKind&) const -> bool = default;
};
struct NoText {
  static constexpr const char* mode = "";
  static constexpr bool synchronous = true;
  auto operator==(const NoText&) const -> bool = default;
};
struct NoBound {
  static constexpr const char* mode = "";
  static constexpr bool synchronous = false;
  auto describe() const -> const char* { return ""; }
  auto operator==(const NoBound&) const -> bool = default;
};
struct NoValue {
  static constexpr const char* mode = "";
  static constexpr bool synchronous = true;
  auto describe() const -> const char* { return ""; }
};
static_assert(!distrib::Consistency<NoMode>);
static_assert(!distrib::Consistency<NoKind>);
static_assert(!distrib::Consistency<NoText>);
static_assert(!distrib::Consistency<NoBound>);
static_assert(!distrib::Consistency<NoValue>);
static_assert(!distrib::Consistency<int>);

}  // namespace

TEST_CASE("Consistency: the archetypes describe themselves", "[concepts]") {
  CHECK(std::string{Together{}.describe()} == Together::mode);
  CHECK(std::string{Apart{}.describe()} == Apart::mode);
  CHECK(NoMode::synchronous);  // what these have is right; what they lack is why they are none
  CHECK(NoValue::synchronous);
  CHECK(std::string{NoValue::mode}.empty());
}
