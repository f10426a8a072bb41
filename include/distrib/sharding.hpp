// SPDX-License-Identifier: Apache-2.0
// How variables are divided into parts, and on which shard a row is.
#pragma once

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/max_size.hpp>
#include <distrib/sharding/min_size.hpp>
#include <distrib/sharding/mod_sharding.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/row_sharding.hpp>
#include <distrib/sharding/sharded_values.hpp>
#include <distrib/sharding/sharded_variable.hpp>
