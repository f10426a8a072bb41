// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/store/, compiled once: include this in one unit of a program that defines
// DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/store/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/store/detail/impl/merged_gradients.ipp>
#include <distrib/ps/store/detail/impl/shard_table.ipp>
#include <distrib/ps/store/impl/block_pool.ipp>
#include <distrib/ps/store/impl/check_numerics.ipp>
#include <distrib/ps/store/impl/cut_chain.ipp>
#include <distrib/ps/store/impl/dense_store.ipp>
#include <distrib/ps/store/impl/gradient_block.ipp>
#include <distrib/ps/store/impl/key_lists.ipp>
#include <distrib/ps/store/impl/pull_rows.ipp>
#include <distrib/ps/store/impl/row_quota.ipp>
#include <distrib/ps/store/impl/shard_store.ipp>
#include <distrib/ps/store/impl/sum_blocks.ipp>
#include <distrib/ps/store/impl/table_copy.ipp>
#include <distrib/ps/store/impl/table_digest.ipp>
#include <distrib/ps/store/impl/table_gradients.ipp>
#include <distrib/ps/store/impl/table_store.ipp>
#include <distrib/ps/store/impl/wire_block.ipp>
