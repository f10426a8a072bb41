// SPDX-License-Identifier: Apache-2.0
// The only object with Catch's main function. Catch2 3 has its own main; then this file is empty.
#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
