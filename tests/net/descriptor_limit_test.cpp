// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/descriptor_limit.hpp>

#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace {

/// Restores the limits of the process at the end of a test.
struct DescriptorLimits {
  DescriptorLimits() { REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0); }
  DescriptorLimits(const DescriptorLimits&) = delete;
  auto operator=(const DescriptorLimits&) -> DescriptorLimits& = delete;
  ~DescriptorLimits() { ::setrlimit(RLIMIT_NOFILE, &before); }

  static auto now() -> std::uint64_t {
    ::rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    return limit.rlim_cur;
  }

  ::rlimit before{};
};

}  // namespace

TEST_CASE("raise_descriptor_limit: raises the limit as far as it is needed and permitted", "[net]") {
  const DescriptorLimits limits;
  ::rlimit low = limits.before;
  low.rlim_cur = std::min<::rlim_t>(200, low.rlim_max);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(distrib::raise_descriptor_limit(100) == low.rlim_cur);  // never lowered
  CHECK(DescriptorLimits::now() == low.rlim_cur);
  if (limits.before.rlim_max < 300) return;
  CHECK(distrib::raise_descriptor_limit(300) == 300);
  CHECK(DescriptorLimits::now() == 300);
  if (limits.before.rlim_max == RLIM_INFINITY) return;
  const std::uint64_t most = limits.before.rlim_max;
  CHECK(distrib::raise_descriptor_limit(most + 1) == most);
  CHECK(DescriptorLimits::now() == most);
}

TEST_CASE("descriptor_use: counts what this process has open", "[net]") {
  const auto before = distrib::descriptor_use();
  REQUIRE(before);
  CHECK(before->limit == DescriptorLimits::now());
  const int one = ::open("/dev/null", O_RDONLY), other = ::open("/dev/null", O_RDONLY);
  REQUIRE(other >= 0);
  const auto more = distrib::descriptor_use();
  ::close(one);
  ::close(other);
  REQUIRE(more);
  CHECK(more->open == before->open + 2);
  CHECK(distrib::descriptor_use()->open == before->open);
}
