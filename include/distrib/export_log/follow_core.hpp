// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a follower verifies. Simulations switch a check off, to show that it is needed.
struct FollowChecks {
  bool hashes = true;   ///< The bytes of an object against its name.
  bool digests = true;  ///< The rows against the manifest: asked by who applies parts.
  bool chain = true;    ///< That each position follows from the one before.
  bool order = true;    ///< That positions do not fall.
};

}  // namespace detail

namespace follow_action {

/// Read `head`, then call `head_read`.
struct ReadHead {};
/// Read an object of at most `most_bytes`, then call `object_read`, or `object_failed`.
struct Read {
  std::string name;
  std::uint64_t most_bytes = 0;
};
/// Begin the next version: without rows, or with those that are served.
struct Begin {
  bool from_base = false;
  LogManifest manifest;  ///< Of the position that the next version will have.
};
/// Apply a part to the next version, before `object_read` is called again. A part that is full replaces all rows in the
/// ranges that it owns.
struct Apply {
  PartContents part;
};
/// Compare the digests of the next version with those of the manifest, and serve it if they are equal; then call
/// `applied`.
struct Finish {
  LogManifest manifest;
};
/// Drop the next version.
struct Abandon {};

}  // namespace follow_action

/// What the core of a follower asks for, in order.
using FollowAction = std::variant<follow_action::ReadHead, follow_action::Read, follow_action::Begin,
                                  follow_action::Apply, follow_action::Finish, follow_action::Abandon>;
using FollowActions = std::vector<FollowAction>;

/// How often a follower met what it must recover from. A value.
struct FollowCounts {
  std::uint64_t positions = 0;  ///< Versions that were accepted.
  std::uint64_t bases = 0;  ///< Of these, how many began without rows: with a base of either kind.
  std::uint64_t missing = 0;  ///< Objects that were not there.
  std::uint64_t damaged = 0;  ///< Objects with other bytes or of another form than the log promises.
  std::uint64_t wrong_digests = 0;  ///< Versions whose rows were not the trainer's.
  std::uint64_t old_heads = 0;  ///< Heads that were older than what is served.

  [[nodiscard]] auto operator==(const FollowCounts&) const -> bool = default;
};

/// Follows an export log: decides which objects are read, in which order parts are applied, and when a version may be
/// served. Begins with the newest position that has all rows, or whose bases a later position names. A base that is
/// missing or wrong is passed over in the next attempt. A follower that has an earlier position reads a named base
/// only if the base has fewer bytes than the deltas up to it. Recovers from objects that are missing, late, doubled or
/// damaged by beginning again with `head`. Positions never fall, unless an operator holds the follower at an older
/// one. Reads no clock, does no I/O. A version is served only after its rows were compared with the digests of its
/// manifest.
///
/// Threads: one at a time.
class FollowCore {
 public:
  /// Begins without a position.
  explicit FollowCore(const detail::FollowChecks& checks = {}) noexcept : checks_{checks} {}

  /// Looks for a newer position. Does nothing while `is_busy()`.
  DISTRIB_DECL void poll(FollowActions& out);

  /// Answers to actions. `head_read` gets nothing if there is no head, or it cannot be read.
  DISTRIB_DECL void head_read(const std::optional<LogHead>& head, FollowActions& out);
  DISTRIB_DECL void object_read(ByteView bytes, FollowActions& out);
  DISTRIB_DECL void object_failed(FollowActions& out);
  /// `error`: empty if the version is served; `wrong_digest` or `bad_object` if it cannot be right; any other error,
  /// such as `too_large`: it is tried again.
  DISTRIB_DECL void applied(const std::error_code& error);

  /// Stays at this position from the next `poll` on, or goes back to it; before the log has it, follows up to it.
  /// Nothing: follows the newest position.
  void hold(std::optional<LogPosition> position) noexcept { held_ = position; }
  /// The position at which it is held.
  [[nodiscard]] auto held() const noexcept -> std::optional<LogPosition> { return held_; }

  /// True while an answer to an action is missing.
  [[nodiscard]] auto is_busy() const noexcept -> bool { return phase_ != Phase::idle; }
  /// The position that is served; 0: none.
  [[nodiscard]] auto position() const noexcept -> LogPosition { return position_; }
  /// The manifest of the position that is served; empty: none.
  [[nodiscard]] auto manifest_name() const noexcept -> const std::string& { return name_; }
  /// The newest position that was seen.
  [[nodiscard]] auto newest() const noexcept -> LogPosition { return newest_; }
  /// The log that is followed; 0: none yet.
  [[nodiscard]] auto log() const noexcept -> std::uint64_t { return log_; }
  /// What happened so far.
  [[nodiscard]] auto counts() const noexcept -> const FollowCounts& { return counts_; }
  /// The last failure; a success clears it.
  [[nodiscard]] auto last_error() const noexcept -> const Error& { return error_; }

 private:
  enum class Phase : std::uint8_t { idle, reading_head, reading_manifests, reading_parts, finishing };

  DISTRIB_DECL void read_manifest(std::string name, LogPosition position, FollowActions& out);
  DISTRIB_DECL void manifest_read(ByteView bytes, FollowActions& out);
  DISTRIB_DECL void note_bases(const LogManifest& manifest);
  [[nodiscard]] DISTRIB_DECL auto begins_with_named_base() -> bool;
  DISTRIB_DECL void begin_with_named_base(FollowActions& out);
  DISTRIB_DECL void begin_parts(FollowActions& out);
  [[nodiscard]] DISTRIB_DECL auto parts_of_link() const -> const std::vector<LogPart>&;
  DISTRIB_DECL void part_read(ByteView bytes, FollowActions& out);
  DISTRIB_DECL void read_next_part(FollowActions& out);
  DISTRIB_DECL void give_up(export_errc code, FollowActions& out);
  [[nodiscard]] auto newest_of_chain() const -> const std::pair<std::string, LogManifest>& { return chain_.front(); }

  detail::FollowChecks checks_;
  std::uint64_t log_ = 0;
  std::vector<std::uint64_t> former_logs_;
  LogPosition position_ = 0;
  LogPosition newest_ = 0;
  std::string name_;
  std::optional<LogPosition> held_;
  bool in_doubt_ = false;  // the last version was wrong: begin with a base
  // of the attempt that is under way:
  Phase phase_ = Phase::idle;
  std::uint64_t next_log_ = 0;
  LogPosition goal_ = 0;
  std::string reading_;  // name of the object
  LogPosition reading_position_ = 0;
  std::vector<std::pair<std::string, LogManifest>> chain_;  // the newest one first
  bool from_base_ = false;
  std::vector<std::vector<LogBase>> named_;  // bases that the manifests of this attempt name, each once
  // The newest place to begin with named bases.
  struct Place {
    std::size_t links = 0;  // of `chain_`, up to it
    std::vector<LogPart> parts;  // the bases
    std::uint64_t bytes_left = 0;  // of the bases, less those of the deltas up to the place that were passed
  };
  std::optional<Place> place_;
  std::vector<std::string> refused_;  // parts of bases with which the last attempts failed
  std::size_t link_ = 0;  // of `chain_`, counted from its end
  std::size_t part_ = 0;
  FollowCounts counts_;
  Error error_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/follow_core.ipp>
#endif
