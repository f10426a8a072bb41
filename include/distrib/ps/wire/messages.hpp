// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

// The protocol's messages as methods of rpc. Heads are protowire, with unknown fields passed over; blocks are bodies.

/// Field 1: steps done; 2: cuts, packed, ascending; 3: whether there was no room for the last one; 4: whether another
/// process of the asking rank goes on; 5: whether contribution 0 is waited for; 6: history (fixed64, left out when 0); 7:
/// all cuts, packed, of each the step (varint) and the lineage (fixed64).
DISTRIB_DECL void encode_progress(WireWriter& head, std::uint32_t field, const Progress& progress);

/// False: it does not decode, or cuts do not ascend.
[[nodiscard]] DISTRIB_DECL auto decode_progress(ByteView bytes, Progress& progress) -> bool;

namespace detail {
/// Reads a message that is a step and nothing more.
[[nodiscard]] inline auto decode_step(ByteView head, Step& step) -> bool {
  WireReader reader{head};
  while (reader.next())
    if (reader.tag() == wire_tag(1, WireType::varint)) step = reader.uint64();
  return reader.ok();
}
}  // namespace detail

/// A rank begins to speak on this connection. The text of the job follows only when the shard asks for it.
struct JoinRequest {
  Rank rank = 0;
  std::string job_hash;  ///< SHA-256 of the job's text, in hexadecimal digits.
  std::string job_text;  ///< Empty: the shard knows it by its hash, or asks.
  CutSettings cuts;  ///< With the text: where the shard keeps its cuts.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// What a shard tells on the stream of Join.
struct JoinItem {
  enum class Kind : std::uint8_t {
    joined = 1,  ///< The first item, and the answer to a Restore.
    notice,  ///< The shard has moved, or a cut is durable.
    text_wanted,  ///< The hash of the job is new to the shard: join again, with the text.
    rank_lost,  ///< Nobody has heard of `rank` for too long: the job cannot go on.
  };
  Kind kind = Kind::joined;
  Progress progress;
  Rank rank = 0;

  void encode(WireWriter& head) const {
    head.varint(1, static_cast<std::uint64_t>(kind));
    encode_progress(head, 2, progress);
    if (kind == Kind::rank_lost) head.varint(3, rank);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// "Give me the values of this step"; asynchronous: "I have finished this step". The body says which
/// rows are wanted, too: see `append_pull_rows`.
struct PullRequest {
  Step step = 0;
  SharedBuffer body = {};  ///< Null: no rows.

  void encode(WireWriter& head) const { head.varint(1, step); }
  [[nodiscard]] auto decode(ByteView head) -> bool { return detail::decode_step(head, step); }
};

/// How far the shard is.
struct PushReply {
  Progress progress;
  bool not_repeatable = false;  ///< The same name came before with other bytes, which count.

  void encode(WireWriter& head) const {
    encode_progress(head, 1, progress);
    if (not_repeatable) head.varint(2, 1);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The shard's values of the step that was asked for, unless it is gone; and how far the shard is.
struct PullReply {
  Progress progress;
  bool gone = false;  ///< That step is no longer kept.
  Step counted = 0;  ///< What the block is made of: steps; asynchronous: contributions of all ranks together.
  SharedBuffer body;  ///< The dense block, and the rows that were asked for. Null when that is nothing.
  std::optional<std::uint32_t> body_checksum = {};  ///< At the shard: CRC-32C of the body, when it is known.

  void encode(WireWriter& head) const {
    encode_progress(head, 1, progress);
    if (gone) head.varint(2, 1);
    else head.varint(3, counted);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The contribution (step, rank): the shard's block of it is the body, see `ps/store/table_gradients.hpp`.
struct PushRequest {
  Step step = 0;
  Rank rank = 0;
  Step common_cut = 0;  ///< The newest cut that the worker knows every shard to have.
  SharedBuffer body;
  bool pull_follows = false;  ///< The worker waits for the values that it asks for next: the answer may come with them.
  std::uint64_t history = 0;  ///< See `Contribution`.
  std::uint32_t body_checksum = 0;  ///< At the shard: CRC-32C of the body.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Go to this cut, which every shard has. Answered on the stream of Join.
struct RestoreRequest {
  Step cut = 0;
  std::uint64_t lineage = 0;  ///< Of that cut; 0: that of the shard's own history.

  void encode(WireWriter& head) const {
    head.varint(1, cut);
    if (lineage != 0) head.fixed64(2, lineage);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Cannot be served at the step where it is, but another replica of its shard is ahead: takes the state of that one.
/// Answered on the stream of Join, when that is done.
struct CatchUpRequest {
  Step done = 0;  ///< Where it is, as far as the worker knows.

  void encode(WireWriter& head) const { head.varint(1, done); }
  [[nodiscard]] auto decode(ByteView head) -> bool { return detail::decode_step(head, done); }
};

/// A replica asks the other one of its shard for a newer cut than its own, and then for what follows of it.
struct StateRequest {
  std::string job_hash;  ///< As in JoinRequest.
  Step have = 0;  ///< The step where it is.
  std::uint64_t at = 0;  ///< So many bytes of the cut it has already.

  void encode(WireWriter& head) const {
    head.text(1, job_hash);
    head.varint(2, have);
    if (at != 0) head.varint(3, at);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// A piece of a cut, see `ps/cut/cut_pieces.hpp`.
struct StateReply {
  Step step = 0;  ///< Of the cut; 0: there is none that is newer.
  std::vector<std::uint64_t> sizes;  ///< Of its blocks, with the first piece.
  SharedBuffer body;  ///< Null when there is nothing more.
  std::string lineage = {};  ///< Of the cut, with the first piece: see `to_text(const Lineage&)`. Empty: from an older
      ///< version, which knows no settings but the job's.

  void encode(WireWriter& head) const {
    head.varint(1, step);
    if (!sizes.empty())
      head.message(2, [&](WireWriter& packed) {
        for (const std::uint64_t size : sizes) packed.raw_varint(size);
      });
    if (!lineage.empty()) head.text(4, lineage);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The categories that errors of these methods have, for `RpcClientOptions::categories`.
[[nodiscard]] inline auto ps_categories() -> ErrorCategories {
  static const std::error_category* const categories[] = {&detail::ps_category(), &detail::checkpoint_category()};
  return categories;
}

/// Names who speaks on this connection, and brings what the shard tells by itself.
struct Join : StreamingMethod<"distrib.ps.Join", JoinRequest, JoinItem> {};
/// Values of a step.
struct Pull : Method<"distrib.ps.Pull", PullRequest, PullReply> {};
/// One contribution.
struct Push : Method<"distrib.ps.Push", PushRequest, PushReply> {};
/// Everybody goes to a cut.
struct Restore : Method<"distrib.ps.Restore", RestoreRequest, Empty> {};
/// A replica takes the state of its sibling.
struct CatchUp : Method<"distrib.ps.CatchUp", CatchUpRequest, Empty> {};
/// A newer cut of the sibling, piece by piece. Needs no Join before.
struct State : Method<"distrib.ps.State", StateRequest, StateReply> {};
/// Make a cut soon.
struct Save : Method<"distrib.ps.Save", Empty, Empty> {};
/// This rank stops; another time it goes on.
struct Leave : Method<"distrib.ps.Leave", Empty, Empty> {};
/// This rank is done.
struct Goodbye : Method<"distrib.ps.Goodbye", Empty, Empty> {};
/// How is the shard? Needs no Join before, and changes nothing.
struct Status : Method<"distrib.ps.Status", Empty, ShardStatus> {};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/messages.ipp>
#endif
