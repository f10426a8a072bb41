// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/remote_file.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A `RemoteFetch` that can tell whether a file was replaced: `fetch.content()` names the content that it fetches, and
/// is empty if the server does not tell; `F::changed()` is the error of a file that was replaced. It may also have
/// `fetch.is_lasting()`: false if another content may still get the same name, so that it must not be kept.
template <class F>
concept VersionedFetch = RemoteFetch<F> && requires(const F& fetch) {
  { fetch.content() } -> std::convertible_to<std::string>;
  { F::changed() } -> std::same_as<std::error_code>;
};

/// Clients that wait for their next request, shared by all files of a set: as many as requests were sent at once.
///
/// Threads: any.
template <RemoteFetch F> class IdleClients {
 public:
  /// Returns an idle client, or a new one.
  [[nodiscard]] auto take(const typename F::Options& options) -> typename F::Client {
    {
      const std::lock_guard lock{mutex_};
      if (!idle_.empty()) {
        typename F::Client client = std::move(idle_.back());
        idle_.pop_back();
        return client;
      }
    }
    return F::client(options);
  }
  void give(typename F::Client client) {
    const std::lock_guard lock{mutex_};
    idle_.push_back(std::move(client));
  }

 private:
  std::mutex mutex_;
  std::vector<typename F::Client> idle_;
};

/// Opens a file for reading at any place. `clients` are used by all its copies. On failure sets `error` and returns
/// nothing.
template <VersionedFetch F>
[[nodiscard]] auto open_ranged(const std::string& url, const typename F::Options& options,
                               std::shared_ptr<IdleClients<F>> clients, Error& error) -> std::optional<RangedFile> {
  error = {};
  std::optional<F> opened = F::open(url, options, error);
  if (!opened) return std::nullopt;
  const auto fetch = std::make_shared<const F>(std::move(*opened));
  RangedFile file;
  file.bytes = fetch->size;
  file.version = fetch->content();
  if constexpr (requires { fetch->is_lasting(); })
    if (!fetch->is_lasting()) file.version.clear();
  file.piece_bytes = std::max<std::size_t>(options.piece_bytes, 1);
  file.pieces_ahead = std::max<std::size_t>(options.pieces_ahead, 1);
  file.read = [fetch, options, clients](std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                                        Error& failed) {
    typename F::Client client = clients->take(options);
    (*fetch)(client, first, to, dropped, failed);
    clients->give(std::move(client));
  };
  file.check = [fetch, url, options](Error& failed) {
    failed = {};
    const std::optional<F> now = F::open(url, options, failed);
    if (failed) return;
    if (now->size != fetch->size || std::string{now->content()} != std::string{fetch->content()})
      failed = {F::changed(), detail::shown_url(url)};
  };
  if (IoPool* const pool = options.pool)
    file.post = [pool](std::function<void()> job) { asio::post(pool->executor(), std::move(job)); };
  return file;
}

}  // namespace v0
}  // namespace distrib
