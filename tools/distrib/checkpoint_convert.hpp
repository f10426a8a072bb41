// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"
#include "report.hpp"

#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/ps/job/initial_name.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

// What `distrib checkpoint export` and `import` have in common.
namespace tools {

struct CheckpointOptions;

/// Which tensors are wanted, and how they are called on the other side: `--only` and `--rename`.
class TensorNames {
 public:
  /// Sets the rules from the options. Reports wrong ones and returns false.
  [[nodiscard]] auto set(const CheckpointOptions& options, Report& report) -> bool;

  /// Returns the name of a tensor on the other side; empty if it is not wanted.
  [[nodiscard]] auto operator()(const std::string& name) -> std::string;

  /// True if each rule was for a tensor. Reports the others.
  [[nodiscard]] auto are_all_used(const std::string& where, Report& report) const -> bool;

 private:
  std::vector<std::string> only_;
  std::vector<distrib::InitialName> renamed_;
  std::set<std::string> used_;
};

/// Reads the next bytes of a tensor into all of `to`. On failure returns false and sets `error`.
using NextBytes = std::function<bool(std::span<std::byte> to, distrib::Error& error)>;

/// Reads `bytes` bytes in portions of whole rows of `row_bytes`, and calls `f(portion)` for each. On failure, or when
/// `f` returns false, returns false.
template <class F>
auto for_each_portion(const NextBytes& next, std::uint64_t bytes, std::size_t row_bytes, distrib::Error& error, F f)
    -> bool {
  constexpr std::size_t usual = std::size_t{1} << 20;
  const std::size_t rows = std::max<std::size_t>(1, usual / std::max<std::size_t>(1, row_bytes)) * row_bytes;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, rows)));
  do {
    const auto portion =
        std::span{buffer}.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer.size())));
    if (!next(portion, error) || !f(distrib::ByteView{portion})) return false;
    bytes -= portion.size();
  } while (bytes != 0);
  return true;
}

/// Files that are being written under hidden names. The destructor removes those that were not published.
class HiddenFiles {
 public:
  HiddenFiles() = default;
  HiddenFiles(const HiddenFiles&) = delete;
  ~HiddenFiles() {
    distrib::Error ignored;
    for (const std::string& path : paths_) distrib::perform(distrib::FileAction::remove(path), ignored);
  }

  /// Creates or empties a file. On failure sets `error` and returns false.
  auto create(const std::string& path, distrib::Error& error) -> bool {
    paths_.push_back(path);
    distrib::perform(distrib::FileAction::write(path, {}, {}), error);
    return !error;
  }

  /// Appends to a file. On failure sets `error` and returns false.
  static auto append(const std::string& path, distrib::ByteView bytes, distrib::Error& error) -> bool {
    if (!bytes.empty()) distrib::perform(distrib::FileAction::append(path, {bytes}, {}), error);
    return !error;
  }

  /// Performs the plan that gives the files their names. On failure sets `error` and returns false.
  auto publish(const distrib::FilePlan& plan, distrib::Error& error) -> bool {
    distrib::perform(plan, error);
    if (!error) paths_.clear();
    return !error;
  }

 private:
  std::vector<std::string> paths_;
};

/// Opens a file of tensors, or a checkpoint; if `path` is a directory, its newest checkpoint. Reports a failure.
[[nodiscard]] auto open_checkpoint(const std::string& path, Report& report) -> std::optional<distrib::TensorFile>;

/// Returns the exit code for a failure while reading. Wrong usage is found before anything is read, so here it means
/// that this command cannot read the checkpoint, or that the checkpoint is damaged.
[[nodiscard]] auto checkpoint_exit_of(const std::error_code& code) -> int;

[[nodiscard]] auto checkpoint_export(const CheckpointOptions& options) -> int;
[[nodiscard]] auto checkpoint_import(const CheckpointOptions& options) -> int;

}  // namespace tools
