// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/record/any_object_store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The checkpoints of a job in an object store, for readers. A checkpoint is whole if all cuts that its index names
/// exist; others are passed over.
///
/// The prefix of a checkpoint is "URL/model.ckpt-STEP": its index has a name that also has a hash.
///
/// Errors: those of the store; `checkpoint_errc::corrupt_index` for a damaged index.
///
/// Threads: one at a time, and its readers, and other users of the same store.
class ObjectCheckpoints {
 public:
  explicit ObjectCheckpoints(ObjectDirectory directory) : directory_{std::move(directory)}, names_{directory_.root} {}

  /// Returns the whole checkpoints, one of each step, steps ascending. Reads the indexes. A damaged index is passed over.
  [[nodiscard]] DISTRIB_DECL auto list(ErrorRef to) -> std::vector<CheckpointKey>;

  /// Opens a checkpoint: reads its index. Tensors are read, by requests for their bytes, when they are asked for.
  [[nodiscard]] DISTRIB_DECL auto open(const CheckpointKey& key, ErrorRef to) -> std::optional<BundleReader>;

  /// Opens the checkpoint of this step; `checkpoint_errc::no_such_checkpoint` if there is no whole one.
  [[nodiscard]] DISTRIB_DECL auto open_step(Step step, ErrorRef to) -> std::optional<BundleReader>;

  [[nodiscard]] auto prefix_of(Step step) const -> std::string {
    return directory_.url + "/model.ckpt-" + std::to_string(step);
  }

 private:
  ObjectDirectory directory_;
  CutObjectNames names_;
};

/// Opens the directory that a URL names. Fails with `record_errc::no_object_store` if `open` is empty, or as `open` does.
[[nodiscard]] DISTRIB_DECL auto open_directory(const std::string& url, const OpenObjectStore& open, Error& error)
    -> ObjectDirectory;

/// Opens the checkpoint `prefix`: a path, as `BundleReader::open`; or a URL, "s3://bucket/run/model.ckpt-600", where
/// what follows the step is not looked at.
[[nodiscard]] DISTRIB_DECL auto open_checkpoint(const std::string& prefix, const OpenObjectStore& open, ErrorRef to)
    -> std::optional<BundleReader>;

/// Returns the prefix of the newest checkpoint of `directory`: as `latest_checkpoint` for a path; for a URL the newest
/// whole one. Empty: there is none, or, with `to` set, the store could not be asked.
[[nodiscard]] DISTRIB_DECL auto newest_prefix(const std::string& directory, const OpenObjectStore& open, ErrorRef to)
    -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/object_checkpoints.ipp>
#endif
