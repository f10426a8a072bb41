// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/call_observer.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest CallObserver.
struct LeastCallObserver {
  LeastCallObserver(const LeastCallObserver&) = delete;
  void started(const distrib::ObservedCall&);
  void ended(const distrib::ObservedCall&, const std::error_code&);
};
static_assert(distrib::CallObserver<LeastCallObserver>);
static_assert(distrib::CallObserver<const distrib::detail::NoCallObserver>);

struct OnlyEnds {
  void ended(const distrib::ObservedCall&, const std::error_code&);
};
struct ChangesIt : LeastCallObserver {
  void started(distrib::ObservedCall&);
};
static_assert(!distrib::CallObserver<const LeastCallObserver>);
static_assert(!distrib::CallObserver<OnlyEnds>);
static_assert(!distrib::CallObserver<ChangesIt>);

}  // namespace

TEST_CASE("CallObserver: accepts the smallest model", "[concepts]") { SUCCEED(); }
