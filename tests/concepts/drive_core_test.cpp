// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/drive.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest DriveCore.
struct LeastDriveCore {
  auto next(const std::error_code&, std::size_t) -> distrib::DriveAction { return distrib::DriveAction::done(); }
};
static_assert(distrib::DriveCore<LeastDriveCore>);

struct SaysNothing {
  void next(const std::error_code&, std::size_t) {}
};
struct KnowsNoFailure {
  auto next(std::size_t) -> distrib::DriveAction { return distrib::DriveAction::done(); }
};
static_assert(!distrib::DriveCore<SaysNothing>);
static_assert(!distrib::DriveCore<KnowsNoFailure>);

}  // namespace

TEST_CASE("DriveCore: accepts the smallest model", "[concepts]") {
  CHECK(LeastDriveCore{}.next({}, 0).kind == distrib::DriveAction::Kind::done);
}
