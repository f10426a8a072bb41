// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/pool_ahead.hpp>
#include <distrib/remote/idle_pieces.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How pieces of one kind of remote file are fetched.
/// - `F::open(url, options, error)` finds the file and its size; on failure it returns nothing and sets `error`.
/// - `F::client(options)` makes a client, which one thread uses at a time.
/// - `fetch.size` is the size of the file in bytes.
/// - `fetch(client, first, to, dropped, error)` fills all of `to` with the bytes of the file from `first` on, or sets
///   `error`. It must also end soon after `dropped` became true. It is called on several threads at once, each with its
///   own client, and must not refer to anything outside of itself.
/// - Options have `piece_bytes`, `pieces_ahead` and `pool`.
template <class F>
concept RemoteFetch =
    std::move_constructible<F> &&
    requires(const F& fetch, const std::string& url, const typename F::Options& options, typename F::Client& client,
             std::span<std::byte> to, const std::atomic<bool>& dropped, Error& error) {
      { F::open(url, options, error) } -> std::same_as<std::optional<F>>;
      { F::client(options) } -> std::same_as<typename F::Client>;
      { fetch.size } -> std::convertible_to<std::uint64_t>;
      fetch(client, std::uint64_t{}, to, dropped, error);
    };

/// The bytes of a remote file, a `ByteSource`, fetched in pieces of `piece_bytes`. Threads of the options' pool fetch
/// up to `pieces_ahead` pieces at once. A busy or stopped pool cannot block the reader: it fetches a piece itself if no
/// thread has begun it. Without a pool it fetches all pieces itself.
///
/// Errors: as reported by `Fetch`. If the file cannot be opened, the next `read` tries again. After the first failed
/// piece every later `read` reports the same failure, or throws again what fetching that piece threw.
///
/// Threads: one at a time. The destructor does not wait for the threads of the pool. Movable.
template <RemoteFetch Fetch> class RemoteFile {
 public:
  using Options = typename Fetch::Options;

  /// Sends no request before the first `read`. Files that are read one after the other share `idle`: connections stay
  /// open, and memory of `pieces_ahead` pieces is used again.
  explicit RemoteFile(std::string url, Options options = {},
                      std::shared_ptr<IdlePieces<Fetch>> idle = std::make_shared<IdlePieces<Fetch>>())
      : url_{std::move(url)}, options_{std::move(options)}, idle_{std::move(idle)} {}

  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    error = {};
    if (!is_open_) open(error);
    while (!error && window_.empty() && taken_ != count_) take_piece(error);
    if (error) return 0;
    const std::size_t count = std::min(to.size(), window_.size());
    if (count != 0) std::memcpy(to.data(), window_.data(), count);
    window_ = window_.subspan(count);
    return count;
  }

 private:
  struct Work {
    struct Piece {
      Piece(const Options& options, const std::shared_ptr<IdlePieces<Fetch>>& from)
          : idle{from}, used{idle->take(options)} {}
      Piece(const Piece&) = delete;
      auto operator=(const Piece&) -> Piece& = delete;
      ~Piece() { idle->give(std::move(used)); }

      std::shared_ptr<IdlePieces<Fetch>> idle;
      typename IdlePieces<Fetch>::Piece used;
      std::uint64_t first = 0;
      Error error;
    };
    static constexpr bool is_waited_for = false;

    void operator()(Piece& piece, const std::atomic<bool>& dropped) const {
      fetch(piece.used.client, piece.first, std::span{piece.used.bytes}, dropped, piece.error);
    }

    Fetch fetch;
  };

  void open(Error& error) {
    std::optional<Fetch> fetch = Fetch::open(url_, options_, error);
    if (!fetch) return;
    size_ = fetch->size;
    piece_bytes_ = std::max<std::size_t>(options_.piece_bytes, 1);
    count_ = size_ / piece_bytes_ + (size_ % piece_bytes_ != 0 ? 1 : 0);
    const std::uint64_t ahead = options_.pool == nullptr ? 1 : std::max<std::size_t>(options_.pieces_ahead, 1);
    pieces_ = {options_.pool, static_cast<std::size_t>(std::min(ahead, count_)), Work{std::move(*fetch)}, options_,
               idle_};
    is_open_ = true;
  }

  // Goes to the next piece after the present one was read. The memory of the present piece is used for a later one.
  void take_piece(Error& error) {
    for (; asked_ != std::min(taken_ + pieces_.size(), count_); ++asked_) {
      typename Work::Piece& piece = pieces_[asked_ % pieces_.size()];
      piece.first = asked_ * piece_bytes_;
      piece.used.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes_, size_ - piece.first)));
      piece.error = {};
      pieces_.want_ahead(asked_ % pieces_.size());
    }
    const typename Work::Piece& piece = pieces_.finish(taken_ % pieces_.size());
    error = piece.error;
    if (error) return;
    window_ = piece.used.bytes;
    ++taken_;
  }

  std::string url_;
  Options options_;
  std::shared_ptr<IdlePieces<Fetch>> idle_;
  bool is_open_ = false;
  std::uint64_t size_ = 0;
  std::size_t piece_bytes_ = 1;
  std::uint64_t count_ = 0;  // number of pieces
  PoolAhead<Work> pieces_;
  std::uint64_t asked_ = 0;  // pieces that were requested
  std::uint64_t taken_ = 0;  // pieces whose bytes have arrived
  ByteView window_;  // unread bytes of the present piece
};

}  // namespace v0
}  // namespace distrib
