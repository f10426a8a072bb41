// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/export_log.hpp>
#include <distrib/export_log/follow_core.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/serve/replica_store.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where a replica reads its model: an export log. A value.
struct ExportSource {
  std::string directory;  ///< A path, which may be on a file system that other machines write; or a URL.
  OpenObjectStore open_store =
      {};  ///< Opens a URL, as `s3_stores()` of the component distrib::http; empty: paths only.
};

/// One version of a model, which does not change while this object exists: tables and dense variables of the same
/// position. Movable. A view that is kept for long delays the version after the next one; `ReplicaStatus` counts views.
///
/// Threads: one at a time; any number of views.
class ModelView {
 public:
  /// Made by `ModelReplica::view`.
  explicit ModelView(ReplicaStore& store) noexcept : reader_{store} {}

  /// True if the replica had a position when the view was made. Without one all functions below fail: `not_ready`.
  [[nodiscard]] auto has_position() const noexcept -> bool { return reader_.has_version(); }
  /// The position in the log; 0: none.
  [[nodiscard]] auto position() const noexcept -> LogPosition {
    return has_position() ? reader_.manifest().position : 0;
  }
  /// The step of the job; 0 without a position.
  [[nodiscard]] auto step() const noexcept -> std::uint64_t { return has_position() ? reader_.manifest().step : 0; }

  /// Writes the rows of `keys` to `out`, which has the table's `dim` floats for each key. A key without a row, whether
  /// it was never trained or was evicted, has the initial row that training would begin with. Takes no lock and
  /// allocates nothing. On failure `to` is `not_ready`, `unknown_name`, or `no_such_row` for a key of a numbered table
  /// that is too large, and `out` is not changed. The length of `out` is a programmer error (asserted).
  DISTRIB_DECL void rows(std::string_view table, std::span<const std::uint64_t> keys, std::span<float> out,
                         ErrorRef to) const;
  /// This overload throws the error as `std::system_error` that names the table.
  void rows(std::string_view table, std::span<const std::uint64_t> keys, std::span<float> out) const {
    Error error;
    rows(table, keys, out, error);
    throw_if(error);
  }

  /// Returns a dense variable; valid while the view exists. On failure returns nullptr, and `to` is `not_ready` or
  /// `unknown_name`.
  [[nodiscard]] DISTRIB_DECL auto variable(std::string_view name, ErrorRef to) const -> const ReplicaVariable*;
  /// This overload throws the error as `std::system_error` that names the variable.
  [[nodiscard]] auto variable(std::string_view name) const -> const ReplicaVariable& {
    Error error;
    return *detail::or_throw(variable(name, error), error);
  }

  /// The manifest of the position, which must exist: steps, tables, digests. Valid while the view exists.
  [[nodiscard]] auto manifest() const noexcept -> const LogManifest& { return reader_.manifest(); }

 private:
  ReplicaStore::Reader reader_;
};

/// Settings of a replica.
struct ReplicaOptions {
  /// Most memory of all tables, in bytes; 0: no limit. A position that needs more is refused: the replica goes on with
  /// the one that it has.
  std::size_t memory_bytes = 0;
  /// Called once, with the first position, before `ready()` is true; for example looks up the keys that are asked for
  /// most. May throw; then it is called again with the next position.
  std::function<void(const ModelView&)> warm_up = {};
};

/// What a replica says about itself. A value.
struct ReplicaStatus {
  bool ready = false;  ///< True from the first position on, after it was warmed up.
  std::uint64_t log = 0;  ///< Names the log.
  LogPosition position = 0;  ///< The position that is served; 0: none.
  LogPosition newest = 0;  ///< The newest position that was seen in the log.
  std::uint64_t step = 0;  ///< The step of the position that is served.
  std::optional<LogPosition> held;  ///< The position at which an operator holds it.
  FollowCounts counts;  ///< What happened so far.
  std::uint64_t delayed = 0;  ///< How often a new version waited for a view.
  std::size_t views = 0;  ///< Number of views now.
  std::size_t memory_bytes = 0;  ///< Bytes in use by tables.
  std::vector<LogTable> tables;  ///< The tables that are served, with rows and digests.
  Error last_error;  ///< The last failure to get a newer position; empty since a success.
};

/// A copy of a model that is being trained, for processes that answer users: follows an export log, and answers lookups
/// while it applies what is new. Verifies what it serves against the digests of the trainer before it switches; recovers
/// from objects that are missing, late, doubled or damaged; never goes back in the log, unless an operator wants it.
///
/// Threads: any. `poll` is called by one thread at a time (others wait); lookups never wait for it.
class ModelReplica {
 public:
  /// Reads nothing yet.
  DISTRIB_DECL explicit ModelReplica(ExportSource source, ReplicaOptions options = {});

  /// Looks for a newer position, and serves it if there is one. Blocks while it reads and applies. Returns true if
  /// another position is served than before. Failures are in `status().last_error`; call again later: 5 to 10 times in
  /// a second is usual.
  DISTRIB_DECL auto poll() -> bool;

  /// Pins what is served now.
  [[nodiscard]] auto view() noexcept -> ModelView { return ModelView{store_}; }

  /// Stays at this position from the next `poll` on. If a newer one is served, goes back to it: the log must still have
  /// it (`distrib export log`). Until the log has it, follows.
  void hold(LogPosition position) noexcept { held_.store(position); }
  /// Follows the newest position again.
  void release() noexcept { held_.store(not_held); }

  /// True if lookups can be answered, and the replica is warm.
  [[nodiscard]] auto ready() const noexcept -> bool { return ready_.load(); }
  /// What was so at the end of the last `poll`.
  [[nodiscard]] DISTRIB_DECL auto status() const -> ReplicaStatus;
  /// The store, for tools. `tables()` and `for_each` of it only while no thread polls.
  [[nodiscard]] auto store() const noexcept -> const ReplicaStore& { return store_; }

 private:
  static constexpr LogPosition not_held = ~LogPosition{0};

  DISTRIB_DECL void follow();
  DISTRIB_DECL void warm_up();
  DISTRIB_DECL void note_status();

  ExportLog log_;
  ReplicaOptions options_;
  std::mutex polling_;
  FollowCore core_;
  ReplicaStore store_;
  std::uint64_t delayed_ = 0;
  std::atomic<LogPosition> held_{not_held};
  std::atomic<bool> ready_{false};
  mutable std::mutex reporting_;
  ReplicaStatus status_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/serve/impl/model_replica.ipp>
#endif
