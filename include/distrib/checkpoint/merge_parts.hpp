// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
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

/// What the part files of all `shards` shards of `prefix` say, in the order of the shards. Empty: `error` is that of
/// `BundleReader::open_part`; `not_found` names the first part file that is not there.
[[nodiscard]] DISTRIB_DECL auto read_parts(const std::string& prefix, std::size_t shards, Error& error)
    -> std::vector<BundleIndex>;

namespace detail {

/// The content of the index file of a checkpoint of which each shard has written its part: byte for byte what
/// `plan_bundle` makes of all of them. A tensor that several parts hold whole must be the same in each; the first
/// one's is used. Performs no I/O. On failure the result is empty and `error` names the tensor: `mismatch` (parts
/// disagree about its dtype, shape or bytes), `duplicate` (slices overlap), `incomplete` (slices leave a hole).
[[nodiscard]] DISTRIB_DECL auto merge_parts(std::span<const BundleIndex> parts, Error& error) -> std::vector<std::byte>;

}  // namespace detail

/// Plans how the index of `prefix` is written when the parts of all its shards are there, `parts` in their order. Any
/// number may do so at the same time: all write the same bytes, each under a temporary name with its own `writer`.
/// On failure the plan is empty and `error` says why (see `merge_parts`). Performs no I/O.
[[nodiscard]] DISTRIB_DECL auto plan_merge(std::string_view prefix, std::span<const BundleIndex> parts,
                                           std::string_view writer, Error& error) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/merge_parts.ipp>
#endif
