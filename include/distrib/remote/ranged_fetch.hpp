// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/idle_pieces.hpp>
#include <distrib/remote/remote_file.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

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

/// Opens a file for reading at any place. Its copies take their clients from `idle`. On failure sets `error` and returns
/// nothing.
template <VersionedFetch F>
[[nodiscard]] auto open_ranged(const std::string& url, const typename F::Options& options,
                               std::shared_ptr<IdlePieces<F>> idle, Error& error) -> std::optional<RangedFile> {
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
  file.read = [fetch, options, idle](std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                                     Error& failed) {
    typename IdlePieces<F>::Piece piece = idle->take(options);
    piece.bytes = {};  // it came from a file that was read as a whole, and is not needed here
    (*fetch)(piece.client, first, to, dropped, failed);
    idle->give(std::move(piece));
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
