// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns what the part files of all `shards` shards of `prefix` say, in the order of the shards. On failure returns
/// an empty vector and sets `error` as `BundleReader::open_part` does; `not_found` names the first part file that is
/// missing.
[[nodiscard]] DISTRIB_DECL auto read_parts(const std::string& prefix, std::size_t shards, Error& error)
    -> std::vector<BundleIndex>;

namespace detail {

/// Returns the content of the index file of a checkpoint whose parts were written by all shards: byte for byte what
/// `plan_bundle` makes of all of them. A tensor that several parts hold whole must be the same in each; the first one
/// is used. Performs no I/O. On failure returns an empty vector, and `error` names the tensor: `mismatch` (parts
/// disagree about its dtype, shape or bytes), `duplicate` (slices overlap), `incomplete` (slices do not cover it).
/// `more`: see `BundleEntries::encode`.
[[nodiscard]] DISTRIB_DECL auto merge_parts(std::span<const BundleIndex> parts, Error& error, ByteView more = {})
    -> std::vector<std::byte>;

}  // namespace detail

/// Plans how the index of `prefix` is written when the parts of all its shards are there; `parts` are in the order of
/// the shards. Several tasks may do this at the same time: all write the same bytes, each under a temporary name with
/// its own `writer`. On failure the plan is empty, and `error` names the tensor: `mismatch` (parts disagree about its
/// dtype, shape or bytes), `duplicate` (slices overlap), `incomplete` (slices do not cover it). Performs no I/O.
[[nodiscard]] DISTRIB_DECL auto plan_merge(std::string_view prefix, std::span<const BundleIndex> parts,
                                           std::string_view writer, Error& error) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/merge_parts.ipp>
#endif
