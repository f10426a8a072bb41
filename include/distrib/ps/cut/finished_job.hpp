// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/any_object_store.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

/// Returns the prefix of the newest checkpoint of a job in `directory` (see `newest_complete`) if it holds the last
/// step of the job that saved it. Otherwise returns an empty text, also if there is no checkpoint of a job. Checkpoints
/// without a job, such as another program's export that the state file names, are skipped. Reads only description and
/// step, not the values.
///
/// `directory` may be a URL that `open` opens: then the newest whole checkpoint there counts. What cannot be read counts
/// as not there.
[[nodiscard]] DISTRIB_DECL auto finished_checkpoint(const std::string& directory, const OpenObjectStore& open = {})
    -> std::string;
/// This overload sets `unread` to why the object store could not be asked, or clears it.
[[nodiscard]] DISTRIB_DECL auto finished_checkpoint(const std::string& directory, const OpenObjectStore& open,
                                                    Error& unread) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/finished_job.ipp>
#endif
