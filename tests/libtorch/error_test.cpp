// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/error.hpp>

#include "libtorch/catch.hpp"

#include <string>
#include <system_error>

using distrib::libtorch_errc;

TEST_CASE("libtorch_errc: every member has a text and a condition", "[libtorch]") {
  CHECK(std::string{distrib::detail::libtorch_category().name()} == "distrib.libtorch");
  for (int value = 1; value <= static_cast<int>(libtorch_errc::refused); ++value) {
    const std::error_code ec = static_cast<libtorch_errc>(value);
    CAPTURE(value);
    CHECK(ec.message() != "unknown error");
    CHECK(ec.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{libtorch_errc::other_module} == distrib::failure::mismatch);
  CHECK(std::error_code{libtorch_errc::no_cuda} == distrib::failure::unsupported);
}
