// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Opens the files of a stream with a reader that uses no other thread.
template <class R = RecordReader> struct OpenReader {
  using Reader = R;
  auto operator()(const std::string& path, std::error_code& ec) const -> std::unique_ptr<Reader> {
    return std::make_unique<Reader>(path, RecordReaderOptions{}, ec);
  }
};

/// The records of files, one after the other as they are stored, each verified: a Stream. For files without an index:
/// pipes, and compressed files that do not fit into memory. The first `rewind` finds the files; each is opened when its
/// turn comes.
///
/// Up to `cycle_length` files are open, and each returns `block_length` records at its turn, in the deterministic order
/// of TensorFlow's interleave. 1 and 1: one file after the other.
///
/// Errors: `next` reports a `record_errc` with file, record and offset, or why a file cannot be opened. The rest of
/// that file is skipped, as TensorFlow does, and the next call continues behind it. `rewind` reports
/// `data_errc::no_files` or `bad_interleave`; after that there are no records until a `rewind` succeeds.
///
/// `open(path, ec)` returns a reader by `std::unique_ptr`; its type is `Open::Reader`. If `Open` has `find(error)`,
/// that function returns the files instead of `sources`: see `OpenRemoteFiles`.
template <class Open = OpenReader<>> class TfRecordStream {
 public:
  using Element = Record;

  explicit TfRecordStream(std::vector<std::string> sources, std::int64_t cycle_length = 1,
                          std::int64_t block_length = 1, Open open = {})
      : sources_{std::move(sources)}, cycle_length_{cycle_length}, block_length_{block_length}, open_with_{open} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Record> {
    while (open_ > 0 || next_file_ < files_.size()) {
      std::unique_ptr<Reader>& slot = slots_[turn_];
      if (slot == nullptr) {
        if (next_file_ == files_.size() || !open(slot, error)) {
          end_turn();
          if (error) return std::nullopt;
          continue;
        }
      }
      if (const std::optional<Record> record = slot->try_next()) {
        if (++given_ == block_length_) end_turn();
        return record;
      }
      const Error failure = slot->error();
      slot.reset();
      --open_;
      end_turn();
      if (!failure) continue;
      error = failure;
      return std::nullopt;
    }
    return std::nullopt;
  }

  void rewind(std::uint64_t, Error& error) {
    if (cycle_length_ <= 0 || block_length_ <= 0)
      error = {data_errc::bad_interleave,
               "stream(" + std::to_string(cycle_length_) + ", " + std::to_string(block_length_) + ")"};
    else if (files_.empty()) files_ = find(error);
    if (error) return files_.clear();
    slots_.clear();
    slots_.resize(std::min(static_cast<std::size_t>(cycle_length_), files_.size()));
    next_file_ = open_ = turn_ = 0;
    given_ = 0;
  }

  /// The names of the files do not count, but their number does.
  [[nodiscard]] auto describe() const -> std::string {
    return "tfrecord_stream files=" + std::to_string(files_.size()) + " interleave=" + std::to_string(cycle_length_) +
           '/' + std::to_string(block_length_);
  }

 private:
  using Reader = typename Open::Reader;

  auto find(Error& error) const -> std::vector<std::string> {
    if constexpr (requires { open_with_.find(error); }) return open_with_.find(error);
    else return find_files(sources_, error);
  }

  auto open(std::unique_ptr<Reader>& slot, Error& error) -> bool {
    std::error_code ec;
    slot = open_with_(files_[next_file_], ec);
    if (ec) {
      error = {ec, detail::shown_name(files_[next_file_])};
      slot.reset();
    }
    ++next_file_;
    if (slot == nullptr) return false;
    ++open_;
    return true;
  }

  void end_turn() noexcept {
    turn_ = (turn_ + 1) % slots_.size();
    given_ = 0;
  }

  std::vector<std::string> sources_;
  std::int64_t cycle_length_;
  std::int64_t block_length_;
  Open open_with_;
  std::vector<std::string> files_;
  std::vector<std::unique_ptr<Reader>> slots_;
  std::size_t next_file_ = 0;
  std::size_t open_ = 0;
  std::size_t turn_ = 0;  // the slot whose turn it is
  std::int64_t given_ = 0;  // records returned in this turn
};

}  // namespace v0
}  // namespace distrib
