// SPDX-License-Identifier: Apache-2.0
// The one Catch main object; with Catch2 3 the library brings its own main and this file is empty.
#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
