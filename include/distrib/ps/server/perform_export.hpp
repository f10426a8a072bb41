// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/export_core.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/ps/server/export_part.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Work of a shard that exports, for a thread that may block.
struct ExportWork {
  /// Remove old positions, see `retire_log`.
  struct Retire {};
  /// Write all rows beside deltas.
  struct Base {
    std::shared_ptr<const TakenPart> rows;
    std::uint64_t epoch = 0;  ///< Of the process, see `base_name`.
  };

  std::uint64_t run = 0;  ///< Which `ExportCore` asks: a shard that loads a state has a new one.
  std::variant<ExportAction, std::shared_ptr<TakenPart>, Retire, Base> what;  ///< What to do.

  Error failure;  ///< Why it could not be done.
  LogView view;  ///< Of `ReadLog`.
  bool is_swapped = false;  ///< Of `SwapHead`.
  std::vector<std::optional<LogVote>> votes;  ///< Of `ReadVotes`.
  LogPart part;  ///< Of a part, or of a base.
  std::vector<LogTable> tables;  ///< Of a part.
};

namespace detail {

/// Does one piece of work with a log.
template <HeadStore Store>
class ExportPerformer {
 public:
  ExportPerformer(Store& log, const ExportPartWriter& writer, ExportWork& work)
      : log_{log}, writer_{writer}, work_{work} {}

  void operator()(const export_action::ReadLog&) const {
    std::optional<StampedHead> head = log_.read_head(work_.failure);
    if (work_.failure.code == export_errc::no_log) work_.failure = {};  // the first position makes the directory
    if (!head) return;
    work_.view.head = std::move(head->head);
    work_.view.version = std::move(head->version);
    if (work_.view.head.position == 0) return;
    const std::string& name = work_.view.head.manifest;
    const std::vector<std::byte> bytes = log_.get(name, max_log_text_bytes, work_.failure);
    if (work_.failure) return;
    if (hash_in_name(name) != sha256(bytes)) work_.failure = {export_errc::wrong_hash, name};
    else work_.view.manifest = parse_log_manifest(as_text(ByteView{bytes}), work_.failure);
  }
  void operator()(const export_action::SwapHead& swap) const {
    work_.is_swapped = log_.swap_head(swap.version, swap.head, work_.failure);
  }
  void operator()(const export_action::Put& put) const { log_.put(put.name, as_bytes(put.text), work_.failure); }
  void operator()(const export_action::ReadVotes& read) const {
    for (const std::string& name : read.names) {
      const std::vector<std::byte> bytes = log_.get(name, max_log_text_bytes, work_.failure);
      if (work_.failure.code == export_errc::missing_object) {
        work_.failure = {};
        work_.votes.emplace_back();
        continue;
      }
      if (!work_.failure) work_.votes.push_back(parse_log_vote(as_text(ByteView{bytes}), work_.failure));
      if (work_.failure) return;
    }
  }
  void operator()(const export_action::Remove& remove) const { log_.remove(remove.name, work_.failure); }
  void operator()(const export_action::Committed&) const {}
  void operator()(const export_action::Replaced&) const {}

  void operator()(const ExportAction& action) const { std::visit(*this, action); }
  void operator()(const std::shared_ptr<TakenPart>& part) const {
    const std::vector<std::byte> bytes = writer_.write(*part, work_.failure);
    if (work_.failure) return;
    work_.part = {part_name(part->label, writer_.shard(), writer_.shards(), bytes), bytes.size(), part->on,
                  part->state};
    work_.tables = writer_.tables(*part);
    log_.put(work_.part.name, bytes, work_.failure);
  }
  void operator()(const ExportWork::Retire&) const { retire_log(log_, work_.failure); }
  void operator()(const ExportWork::Base& base) const {
    const std::vector<std::byte> bytes = writer_.write(*base.rows, work_.failure);
    if (work_.failure) return;
    work_.part = {base_name(base.rows->label, writer_.shard(), writer_.shards(), base.epoch, bytes),
                  bytes.size(),
                  {},
                  base.rows->state};
    log_.put(work_.part.name, bytes, work_.failure);
  }

 private:
  Store& log_;
  const ExportPartWriter& writer_;
  ExportWork& work_;
};

}  // namespace detail

/// Does a piece of work of a shard that exports, and sets its results. Blocks.
template <HeadStore Store>
void perform_export(Store& log, const ExportPartWriter& writer, ExportWork& work) {
  work.failure = {};
  std::visit(detail::ExportPerformer<Store>{log, writer, work}, work.what);
}

}  // namespace v0
}  // namespace distrib
