// SPDX-License-Identifier: Apache-2.0
// How variables are cut, and on which shard a row or a key is. Not here, as no job of ours uses it: a cut variable with
// its values in one process, sharding/sharded_values.hpp.
#pragma once

#include <distrib/sharding/consistent_hash_sharding.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/group_by_shard.hpp>
#include <distrib/sharding/key_sharding.hpp>
#include <distrib/sharding/max_size.hpp>
#include <distrib/sharding/min_size.hpp>
#include <distrib/sharding/mod_sharding.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/row_sharding.hpp>
#include <distrib/sharding/sharded_variable.hpp>
#include <distrib/sharding/virtual_shard.hpp>
