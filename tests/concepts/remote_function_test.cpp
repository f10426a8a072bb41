// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/function.hpp>

#include "support/catch.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace {

/// The least function.
struct LeastFunction {
  static constexpr std::string_view name = "least";
  void operator()(distrib::FunctionContext&) const {}
};
struct UnnamedFunction {
  void operator()(distrib::FunctionContext&) const {}
};
struct WithoutContext {
  static constexpr std::string_view name = "without_context";
  void operator()(int) const {}
};
struct ChangingFunction {
  static constexpr std::string_view name = "changing";
  void operator()(distrib::FunctionContext&) {}
};
struct GenericFunction {
  static constexpr std::string_view name = "generic";
  void operator()(distrib::FunctionContext&, auto) const {}
};
struct TakesPointer {
  static constexpr std::string_view name = "takes_pointer";
  void operator()(distrib::FunctionContext&, std::unique_ptr<int>) const {}
};
struct TakesResource {
  static constexpr std::string_view name = "takes_resource";
  void operator()(distrib::FunctionContext&, std::unique_ptr<int>&, const std::string&, std::string&&) const noexcept {}
};

static_assert(distrib::RemoteFunction<LeastFunction>);
static_assert(distrib::RemoteFunction<TakesResource>);
static_assert(!distrib::RemoteFunction<UnnamedFunction>);
static_assert(!distrib::RemoteFunction<WithoutContext>);
static_assert(!distrib::RemoteFunction<ChangingFunction>);
static_assert(!distrib::RemoteFunction<GenericFunction>);
static_assert(!distrib::RemoteFunction<TakesPointer>);
static_assert(!distrib::RemoteFunction<int>);

}  // namespace

TEST_CASE("RemoteFunction: the least one has a name and takes its context", "[concepts]") {
  CHECK(distrib::FunctionList<LeastFunction>::contains<LeastFunction>);
}
