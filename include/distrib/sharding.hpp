// SPDX-License-Identifier: Apache-2.0
// How variables are cut.
#pragma once

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/min_size.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/partitioner.hpp>
