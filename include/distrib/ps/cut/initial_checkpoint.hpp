// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The checkpoint that a job begins with: its tensors by the names that the job has for them, each of the type and shape
/// that the job wants.
///
/// Variables are found by their names, or those of `Job::initial_names`; in an object-based checkpoint of TensorFlow 2 by
/// full name or path, see `find_by_object`. Tables of any keys are those that this library saved. Counters are not looked
/// for: they count what this job does. Nothing is read but the index and the graph of objects.
///
/// Threads: const members from any.
class InitialCheckpoint {
 public:
  /// That of `job`; empty when it begins as its initializers say. Blocks. Throws `std::system_error`: as
  /// `BundleReader::open`; `ps_errc::not_in_checkpoint`, naming each variable and table that the checkpoint lacks, with the
  /// nearest names there are; `checkpoint_errc::mismatch` when type or shape of some is another.
  ///
  /// A job that allows what is missing gets what there is. Even then the checkpoint must have something of the job, and
  /// something for each of `Job::initial_names`.
  [[nodiscard]] DISTRIB_DECL static auto of(const Job& job) -> std::optional<InitialCheckpoint>;

  /// Has only what the job begins with, under the job's names.
  [[nodiscard]] auto reader() const noexcept -> const BundleReader& { return reader_; }

  /// The variables and tables that begin as their initializers say.
  [[nodiscard]] auto missing() const noexcept -> const std::vector<std::string>& { return missing_; }

 private:
  InitialCheckpoint(BundleReader reader, std::vector<std::string> missing)
      : reader_{std::move(reader)}, missing_{std::move(missing)} {}

  BundleReader reader_;
  std::vector<std::string> missing_;
};

/// What the observer is told of a job that begins with the checkpoint `prefix`, in which `missing` were not found.
[[nodiscard]] DISTRIB_DECL auto beginning_with(const std::string& prefix, const std::vector<std::string>& missing)
    -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/initial_checkpoint.ipp>
#endif
