// SPDX-License-Identifier: Apache-2.0
// LibTorch and Catch2 both define CHECK: the tests want Catch2's.
#pragma once

#include <distrib/libtorch/torch.hpp>

#ifndef CATCH_VERSION_MAJOR  // it is defined if Catch2 comes from the precompiled header
#undef CHECK
#endif
#include "support/catch.hpp"
