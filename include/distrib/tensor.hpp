// SPDX-License-Identifier: Apache-2.0
// Views of variables.
#pragma once

#include <distrib/tensor/initial_values.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/matmul.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/tensor/view.hpp>
