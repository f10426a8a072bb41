// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns the name of shard `shard`, from 0, of `shards`: "NAME-00003-of-00010" for shard 3 of 10. Numbers above 99999
/// take more digits; `shard` is not checked.
[[nodiscard]] inline auto shard_name(std::string_view name, std::size_t shard, std::size_t shards) -> std::string {
  return std::string{name} + "-" + detail::shard_of_shards(shard, shards);
}

/// Writes records into `shards` TFRecord files, in turn or where the caller says. The files get their names in
/// `close()` and not before: if one of them cannot be finished, none appears. (They are renamed one after another. If
/// this fails for one of them, that file and the files renamed before it are removed; older files that had these names
/// are then lost.)
///
/// Errors: set in `ec`, or thrown as `std::system_error` by the overload without `ec`. The first failure is final:
/// every later call reports it again, and `error()` names the file and the record. The options are those of
/// `RecordWriter`, but `rename_on_close` is always set: a writer that is destroyed before `close()` leaves no file.
/// Each shard needs the memory and the open file of a `RecordWriter`. Movable.
///
/// Threads: one at a time.
template <Deflates D = Deflater> class BasicShardedRecordWriter {
 public:
  /// Creates the files that get the names `NAME-00000-of-0000N` and so on. Throws `std::system_error`: as
  /// `RecordWriter`, or `record_errc::no_such_shard` for 0 shards.
  BasicShardedRecordWriter(std::string name, std::size_t shards, const RecordWriterOptions& options = {})
      : name_{std::move(name)} {
    open(shards, options);
    throw_if(error_);
  }

  /// This overload sets `ec` on failure instead of throwing; `error()` is then set too.
  BasicShardedRecordWriter(std::string name, std::size_t shards, const RecordWriterOptions& options,
                           std::error_code& ec)
      : name_{std::move(name)} {
    open(shards, options);
    ec = error_.code;
  }

  /// Adds a record with these bytes, which may change after the call, to the next shard in turn: call i of `append`,
  /// from 0, goes to shard i mod n of n shards. Records of `append_to` do not count.
  ///
  /// Errors: the system's reason if the file cannot be written; `record_errc::closed` after `close()`. Success clears
  /// `ec`.
  void append(ByteView payload) {
    std::error_code ec;
    append(payload, ec);
    throw_if(error_);
  }
  void append(ByteView payload, std::error_code& ec) {
    append_to(turn_, payload, ec);
    if (++turn_ >= shards_.size()) turn_ = 0;
  }

  /// Adds a record to shard number `shard`; the turn of `append` does not change. If `shard` is not below `shards()`,
  /// fails with `record_errc::no_such_shard`. Trap: like every failure this one is final, and no file appears.
  void append_to(std::size_t shard, ByteView payload) {
    std::error_code ec;
    append_to(shard, payload, ec);
    throw_if(error_);
  }
  void append_to(std::size_t shard, ByteView payload, std::error_code& ec) {
    if (!error_ && shard >= shards_.size())
      error_ = {record_errc::no_such_shard, name_ + ": shard " + std::to_string(shard)};
    if (!error_) {
      shards_[shard].append(payload, ec);
      if (ec) error_ = shards_[shard].error();
    }
    ec = error_.code;
  }

  /// Finishes all files, then gives all of them their names. A second call does nothing, except that it reports the
  /// first failure again.
  void close() {
    std::error_code ec;
    close(ec);
    throw_if(error_);
  }
  void close(std::error_code& ec) {
    for (Shard& shard : shards_) {
      shard.seal();
      if (!error_) error_ = shard.error();
    }
    std::size_t named = 0;
    for (; named < shards_.size() && !error_ && shards_[named].sealed_; ++named) {
      shards_[named].publish();
      error_ = shards_[named].error();
    }
    if (error_)
      for (std::size_t i = 0; i < named; ++i) shards_[i].withdraw();
    ec = error_.code;
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the number of records that were appended, to all files together.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t {
    std::uint64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.records();
    return sum;
  }

  /// Returns the number of shards.
  [[nodiscard]] auto shards() const noexcept -> std::size_t { return shards_.size(); }

 private:
  using Shard = BasicRecordWriter<D>;

  void open(std::size_t shards, RecordWriterOptions options) {
    options.rename_on_close = true;
    if (shards == 0) error_ = {record_errc::no_such_shard, name_ + ": 0 shards"};
    for (std::size_t i = 0; i < shards && !error_; ++i) {
      std::error_code ec;
      shards_.emplace_back(shard_name(name_, i, shards), options, ec);
      if (ec) error_ = shards_.back().error();
    }
  }

  std::string name_;
  std::vector<Shard> shards_;
  std::size_t turn_ = 0;
  Error error_;
};

/// The sharded writer that compresses with zlib.
using ShardedRecordWriter = BasicShardedRecordWriter<>;

}  // namespace v0
}  // namespace distrib
