// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/record/any_object_store.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The checkpoint whose values a job starts with: its tensors under the names that the job has for them, each of the
/// type and shape that the job needs.
///
/// It may have any format that `open_tensor_file` opens. Variables are found by their names, or by the names in
/// `Job::initial_names`; in an object-based checkpoint of TensorFlow 2 by full name or path, see `find_by_object`.
/// Values of type float16 and bfloat16 are read as float32. A table of any keys is found as this library saves it, or
/// as
/// two tensors: NAME/keys, uint64 or int64 [n], and NAME/values, [n, dim]. Counters are not read: they count what this
/// job does. Only what describes the tensors is read here, see `open_tensor_file`, and the graph of objects.
///
/// Threads: const members from any thread.
class InitialCheckpoint {
 public:
  /// Returns the checkpoint that `job` names; empty: it names none. Blocks.
  ///
  /// If the job allows missing variables and tables, the result has the ones that exist. Even then the checkpoint must
  /// have at least one of them. For each entry of `Job::initial_names` with a stored name, it must have at least one of
  /// the variables and tables that the entry is for.
  ///
  /// Errors: throws `std::system_error`: as `open_tensor_file`; `ps_errc::not_in_checkpoint`, naming each missing
  /// variable and table and the nearest names that exist; `checkpoint_errc::mismatch` if only types or shapes differ.
  /// `open`: for a URL, see `open_checkpoint`; its tensors are then read over the network when they are asked for.
  [[nodiscard]] DISTRIB_DECL static auto of(const Job& job, const OpenObjectStore& open = {})
      -> std::optional<InitialCheckpoint>;

  /// Returns a reader that has only what the job starts with, under the job's names.
  [[nodiscard]] auto reader() const noexcept -> const BundleReader& { return reader_; }

  /// Returns the names of the variables and tables that start as their initializers say: the checkpoint lacks them, or
  /// `Job::initial_names` leaves them out.
  [[nodiscard]] auto missing() const noexcept -> const std::vector<std::string>& { return missing_; }

 private:
  InitialCheckpoint(BundleReader reader, std::vector<std::string> missing)
      : reader_{std::move(reader)}, missing_{std::move(missing)} {}

  BundleReader reader_;
  std::vector<std::string> missing_;
};

/// Returns the text for the observer when a job starts with the checkpoint `prefix`. `missing`: see
/// `InitialCheckpoint::missing`; the text names at most 20 of them.
[[nodiscard]] DISTRIB_DECL auto beginning_with(const std::string& prefix, const std::vector<std::string>& missing)
    -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/initial_checkpoint.ipp>
#endif
