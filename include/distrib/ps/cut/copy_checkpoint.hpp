// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/record/any_object_store.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

// Checkpoints of jobs, moved between directories of files and object stores. Each function blocks, and writes the index
// last: a copy that was broken off is no checkpoint, and may be made again.

/// Copies the checkpoint of `step` of a job in an object store into `directory`, as TensorFlow's files
/// model.ckpt-STEP.*, verifies it, and makes it the newest one in the state file. Makes the directory if it does not
/// exist. Returns the prefix. Memory: 16 MiB and the index.
///
/// Errors: as `ObjectCheckpoints`, `perform` and `BundleReader::verify`; the result is empty then.
[[nodiscard]] DISTRIB_DECL auto copy_to_files(const ObjectDirectory& from, Step step, const std::string& directory,
                                              ErrorRef to) -> std::string;

/// Lets the store copy the checkpoint of `step` to the names that TensorFlow reads, URL/model.ckpt-STEP.*: for
/// tf.train.load_checkpoint("gs://..."). Nothing passes through this process but the index. Returns the prefix, a URL.
///
/// Errors: `checkpoint_errc::unsupported` if `target` is in another bucket; those of the store, and of
/// `ObjectCheckpoints`; the result is empty then.
[[nodiscard]] DISTRIB_DECL auto copy_to_tensorflow_names(const ObjectDirectory& from, Step step,
                                                         const ObjectDirectory& target, ErrorRef to) -> std::string;

/// Copies the checkpoint `prefix` of a job, which is verified first, into a directory of an object store, from which the
/// job then continues, with any number of shards. Returns the prefix there. `nonce`: a random number. Memory: the whole
/// checkpoint once.
///
/// Errors: `checkpoint_errc::unsupported` if there is a job in the store's directory already; `ps_errc::job_mismatch` if
/// no job is stored in the checkpoint; as `BundleReader::open` and `verify`; those of the store. The result is empty then.
[[nodiscard]] DISTRIB_DECL auto copy_to_store(const std::string& prefix, const ObjectDirectory& target,
                                              std::uint64_t nonce, ErrorRef to) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/copy_checkpoint.ipp>
#endif
