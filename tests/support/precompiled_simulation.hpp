// SPDX-License-Identifier: Apache-2.0
// Compiled once for the rooms that simulate, which are optimised: the headers of precompiled_values.hpp.
#pragma once

#include "support/precompiled_values.hpp"
