// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

/// The prefix of the checkpoint in `directory` that holds the last step of the job that saved it; empty when the newest
/// one, see `list_checkpoints`, does not, or cannot be read. Reads its description only, not its values.
[[nodiscard]] DISTRIB_DECL auto finished_checkpoint(const std::string& directory) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/finished_job.ipp>
#endif
