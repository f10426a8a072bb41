// SPDX-License-Identifier: Apache-2.0
// Includes Catch2 2.13 (Debian 12) or 3.x; tests use only what both have.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#else
#include <catch2/catch.hpp>
#endif

using Catch::Matchers::Equals;
#if __has_include(<catch2/catch_test_macros.hpp>)
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
using Catch::Detail::Approx;
[[nodiscard]] inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
