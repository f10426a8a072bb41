// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/events.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Which checkpoints a `KeepBestCheckpoint` keeps, and where.
struct KeepBestOptions {
  /// On the file system of the checkpoints, and not their directory; or a URL in the bucket of the checkpoints.
  std::string directory;
  std::string metric = "accuracy";
  bool lower_is_better = false;
  std::size_t max_to_keep = 1;  ///< The newest ones of those that were the best when they were measured. 0: all.
};

/// Keeps the best checkpoint: whenever a metric is better than ever before, gives the files of the checkpoint that was
/// measured a second name in a directory of their own, so that they stay when `SaveCheckpoint` removes them.
/// TensorFlow's BestExporter exports a model at the same moments. `latest_checkpoint(directory)` is the best one; the
/// file `best.json` there has its metric, so a later run goes on from it. A metric that is NaN is never the best.
///
/// In an object store the store copies the objects of the checkpoint, on the thread of the hooks. The directory has the
/// form of a directory of checkpoints there: `newest_prefix` is the best one. Checkpoints in an object store and a
/// directory of files, or the other way round, are refused when the job starts: `train_errc::bad_hook`.
///
/// At an evaluator each measurement is of a checkpoint. Elsewhere a measurement counts if a checkpoint of the same step
/// is saved, at the latest before the next measurement: `Evaluate::every_steps` should be a multiple of
/// `SaveCheckpoint::every_steps`.
///
/// Errors: a checkpoint that cannot be kept is reported to all hooks (`Event::Kind::checkpoint_refused`), for example
/// because it has been removed already; training continues.
class KeepBestCheckpoint {
 public:
  explicit KeepBestCheckpoint(KeepBestOptions options) : options_{std::move(options)} {}

  void use_object_stores(const OpenObjectStore& open) { open_ = open; }
  void on_start(const JobStart&) { forget(); }
  DISTRIB_DECL void on_saved(const CheckpointSaved& event);
  DISTRIB_DECL void on_evaluated(const Evaluated& event);

  /// Returns the directory of the kept checkpoints.
  [[nodiscard]] auto written_directory() const -> std::string { return options_.directory; }
  [[nodiscard]] auto kept_directory() const -> std::string { return options_.directory; }

  /// Returns an event if a checkpoint could not be kept.
  [[nodiscard]] auto report() -> std::optional<Event> { return std::exchange(report_, std::nullopt); }

 private:
  // A measurement, or a checkpoint, that waits for the other one of the same step.
  struct Measured {
    Step step = 0;
    double value = 0;
  };

  void forget() {
    best_.reset();
    is_known_ = false;
    measured_.reset();
    saved_.reset();
  }
  DISTRIB_DECL void look_at(Step step, double value, const std::string& prefix);
  DISTRIB_DECL void read_best(Error& error);
  DISTRIB_DECL void keep(Step step, double value, const std::string& prefix, Error& error) const;
  DISTRIB_DECL void keep_objects(Step step, double value, const std::string& prefix, Error& error) const;
  DISTRIB_DECL auto text_of_best(Error& error) const -> std::string;
  DISTRIB_DECL auto json(Step step, double value) const -> std::string;

  KeepBestOptions options_;
  OpenObjectStore open_;
  bool is_known_ = false;  // `best_` was read
  std::optional<double> best_;
  std::optional<Measured> measured_;
  std::optional<CheckpointSaved> saved_;
  std::optional<Event> report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/keep_best_checkpoint.ipp>
#endif
