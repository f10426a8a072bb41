// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/rows/, compiled once: include this in one unit of a program that defines
// DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/rows/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/rows/detail/impl/memory_pieces.ipp>
#include <distrib/ps/rows/impl/clip_rows.ipp>
#include <distrib/ps/rows/impl/combiner.ipp>
#include <distrib/ps/rows/impl/embedding_lookup_sparse.ipp>
#include <distrib/ps/rows/impl/embedding_table.ipp>
#include <distrib/ps/rows/impl/mapped_memory.ipp>
#include <distrib/ps/rows/impl/row_math.ipp>
#include <distrib/ps/rows/impl/safe_embedding_lookup_sparse.ipp>
#include <distrib/ps/rows/impl/sparse_ids.ipp>
