// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/serve/detail/version_pins.hpp>
#include <distrib/serve/replica_table.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A dense variable of a version.
struct ReplicaVariable {
  DType dtype = DType::float32;  ///< Its type.
  Shape shape;  ///< Its shape.
  AlignedBuffer values;  ///< Row-major.
};

/// What a replica has of a model in memory: the version that is served, and the next one while it is made. Tables and
/// dense variables are switched together, by one store.
///
/// Threads: any may read by a `Reader`; one at a time calls everything else.
class ReplicaStore {
  struct Tables;
  struct Version;

 public:
  /// Pins the version that is served. While it exists the next version but one cannot be made. Movable.
  class Reader {
   public:
    explicit Reader(ReplicaStore& store) noexcept : store_{&store}, pinned_{store.pins_.pin()} {}
    Reader(Reader&& other) noexcept : store_{std::exchange(other.store_, nullptr)}, pinned_{other.pinned_} {}
    auto operator=(Reader&& other) noexcept -> Reader& {
      std::swap(store_, other.store_);
      std::swap(pinned_, other.pinned_);
      return *this;
    }
    ~Reader() {
      if (store_ != nullptr) store_->pins_.unpin(pinned_.place);
    }

    /// True if there is a version.
    [[nodiscard]] auto has_version() const noexcept -> bool { return now() != nullptr; }
    /// The manifest of the version, which must exist; valid while this reader exists.
    [[nodiscard]] DISTRIB_DECL auto manifest() const noexcept -> const LogManifest&;
    /// A table or variable; nullptr if the model has none of this name. Valid while this reader exists.
    [[nodiscard]] DISTRIB_DECL auto table(std::string_view name) const noexcept -> const ReplicaTable*;
    [[nodiscard]] DISTRIB_DECL auto variable(std::string_view name) const noexcept -> const ReplicaVariable*;
    /// The number of the version, for `ReplicaTable::rows`.
    [[nodiscard]] auto version() const noexcept -> std::uint64_t { return pinned_.version; }

   private:
    [[nodiscard]] DISTRIB_DECL auto now() const noexcept -> const Version*;

    ReplicaStore* store_;
    detail::VersionPins::Pinned pinned_;
  };

  /// `memory_bytes`: most memory of all tables; 0: no limit.
  DISTRIB_DECL explicit ReplicaStore(std::size_t memory_bytes = 0);
  ReplicaStore(const ReplicaStore&) = delete;
  auto operator=(const ReplicaStore&) -> ReplicaStore& = delete;
  DISTRIB_DECL ~ReplicaStore();

  /// True if the next version can be begun. False while a reader has a version before the one that is served.
  [[nodiscard]] DISTRIB_DECL auto settle() -> bool;

  /// Begin a version, apply parts, and serve it if its rows are those of the manifest. After a failure the rest is
  /// dropped, and `finish` returns that failure: `bad_object`, `too_large`, `wrong_digest`. `begin` must only be called
  /// after `settle` has returned true.
  DISTRIB_DECL void begin(bool from_base, const LogManifest& manifest);
  DISTRIB_DECL void apply(const PartContents& part);
  [[nodiscard]] DISTRIB_DECL auto finish(const LogManifest& manifest, bool check_digests = true) -> std::error_code;
  /// Drops the version that was begun.
  DISTRIB_DECL void abandon();

  /// Bytes in use by tables.
  [[nodiscard]] DISTRIB_DECL auto memory_bytes() const noexcept -> std::size_t;
  /// Number of readers.
  [[nodiscard]] auto readers() const noexcept -> std::size_t { return pins_.pinned(); }
  /// The tables of the version that is served, for who writes.
  [[nodiscard]] DISTRIB_DECL auto tables() const -> std::vector<const ReplicaTable*>;

 private:
  struct Tables {
    std::vector<std::unique_ptr<ReplicaTable>> list;  // in ascending order of names
  };
  struct Version {
    LogManifest manifest;
    std::shared_ptr<Tables> tables;
    std::map<std::string, ReplicaVariable, std::less<>> variables;
  };

  DISTRIB_DECL void fail(const std::error_code& error);
  DISTRIB_DECL void apply_table(const PartTable& part, bool is_full);
  DISTRIB_DECL void apply_slice(const PartSlice& part);
  [[nodiscard]] auto slot(std::uint64_t version) noexcept -> std::unique_ptr<Version>& {
    return versions_[version & 1];
  }

  std::size_t most_bytes_;
  detail::VersionPins pins_;
  // By the parity of the version. Readers see the pointers of their own version only.
  std::array<std::unique_ptr<Version>, 2> versions_;
  std::shared_ptr<Tables> next_tables_;
  std::map<std::string, ReplicaVariable, std::less<>> next_variables_;
  std::map<std::string, std::uint64_t, std::less<>> covered_;  // elements of each variable that the last position has
  std::error_code error_;
  bool is_begun_ = false;
  bool must_settle_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/serve/impl/replica_store.ipp>
#endif
