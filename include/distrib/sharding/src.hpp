// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of sharding/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/sharding/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/sharding/detail/impl/rows_in_shards.ipp>
#include <distrib/sharding/impl/consistent_hash_sharding.ipp>
#include <distrib/sharding/impl/fixed_shards.ipp>
#include <distrib/sharding/impl/max_size.ipp>
#include <distrib/sharding/impl/min_size.ipp>
#include <distrib/sharding/impl/part_slices.ipp>
#include <distrib/sharding/impl/sharded_variable.ipp>
