// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What requests for the files of a set leave for later ones: clients, whose connections are open, and memory. `F` is a
/// `RemoteFetch`. There are as many as were used at once.
///
/// Threads: any.
template <class F> class IdlePieces {
 public:
  struct Piece {
    typename F::Client client;
    std::vector<std::byte> bytes = {};
  };

  /// Returns the piece that was idle for longest, or one with a new client.
  [[nodiscard]] auto take(const typename F::Options& options) -> Piece {
    {
      const std::lock_guard lock{mutex_};
      if (!idle_.empty()) {
        Piece piece = std::move(idle_.front());
        idle_.pop_front();
        return piece;
      }
    }
    return {F::client(options)};
  }
  /// Keeps the piece for later; drops it if there is no memory for that.
  void give(Piece piece) noexcept {
    try {
      const std::lock_guard lock{mutex_};
      idle_.push_back(std::move(piece));
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  std::mutex mutex_;
  std::deque<Piece> idle_;
};

}  // namespace v0
}  // namespace distrib
