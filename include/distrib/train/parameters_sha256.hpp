// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <span>
#include <string>

namespace distrib {
inline namespace v0 {

/// Returns the SHA-256 of the bytes of all variables and tables, in the order of their names, as lower-case hex. A
/// table counts with the bytes of its digest; `tables`: the digests, in the job's order.
[[nodiscard]] DISTRIB_DECL auto parameters_sha256(const Job& job, const RuntimeValues& values,
                                                  std::span<const TableDigest> tables = {}) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/parameters_sha256.ipp>
#endif
