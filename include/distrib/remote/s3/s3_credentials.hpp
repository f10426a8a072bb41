// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/remote/detail/http_steps.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/s3/aws_credentials_core.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/detail/command_output.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What to do before credentials are used.
enum class RefreshTime : std::uint8_t {
  not_yet,  ///< Use them.
  ahead,  ///< They end within 15 minutes: fetch new ones, and use these meanwhile.
  at_once,  ///< They end within 10 minutes, or there are none: wait for new ones.
};

/// Says what to do at `now` with credentials that end at `expires`, if they end.
[[nodiscard]] inline auto refresh_time(const std::optional<UnixTime>& expires, UnixTime now) -> RefreshTime {
  constexpr std::chrono::minutes ahead{15};
  constexpr std::chrono::minutes latest{10};
  if (!expires || now < *expires - ahead) return RefreshTime::not_yet;
  return now < *expires - latest ? RefreshTime::ahead : RefreshTime::at_once;
}

/// Credentials that are fetched when they are first needed, and again before they end, by one thread at a time.
///
/// Threads: any. Must be made by `std::make_shared`.
class S3Credentials : public std::enable_shared_from_this<S3Credentials> {
 public:
  /// `files`: the paths of the files of credentials and of settings, read at each fetch; a file that does not exist is
  /// empty. `pool`: its threads fetch ahead; null: the thread that notices it does.
  S3Credentials(AwsCredentialSources sources, std::array<std::string, 2> files, HttpOptions http, IoPool* pool)
      : sources_{std::move(sources)}, files_{std::move(files)}, http_{std::move(http)}, pool_{pool} {}

  /// Returns valid credentials. Errors: as `AwsCredentialsCore`; the result is then empty.
  [[nodiscard]] auto get(Error& error) -> AwsKeys {
    error = {};
    std::unique_lock lock{mutex_};
    while (true) {
      const UnixTime now = time();
      const RefreshTime refresh = has_keys_ ? refresh_time(keys_.expires, now) : RefreshTime::at_once;
      if (refresh == RefreshTime::not_yet || (is_valid(now) && now < next_try_)) return keys_;
      if (refresh == RefreshTime::ahead && state_ != State::idle) return keys_;
      if (state_ == State::fetching) {
        fetched_.wait(lock);
        if (error_ && !is_valid(time())) return fail(error);
        continue;
      }
      if (refresh == RefreshTime::ahead && pool_ != nullptr) {
        state_ = State::posted;
        asio::post(pool_->executor(), [weak = weak_from_this()] {
          const auto self = weak.lock();
          if (!self) return;
          std::unique_lock own{self->mutex_};
          if (self->state_ == State::posted) self->fetch(own);
        });
        return keys_;
      }
      fetch(lock);  // also what was posted to a pool that is busy, or has stopped
      return error_ && !is_valid(time()) ? fail(error) : keys_;
    }
  }

  /// Returns credentials instead of `refused`, which the store calls expired: fetches new ones, unless another thread
  /// has done that. Errors: as `AwsCredentialsCore`; the result is then empty.
  [[nodiscard]] auto renew(const AwsKeys& refused, Error& error) -> AwsKeys {
    {
      const std::lock_guard lock{mutex_};
      if (state_ != State::fetching && keys_ == refused) has_keys_ = false;
    }
    return get(error);
  }

 private:
  enum class State : std::uint8_t { idle, posted, fetching };

  static auto time() -> UnixTime { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

  auto fail(Error& error) const -> AwsKeys {
    error = error_;
    return {};
  }

  auto is_valid(UnixTime now) const -> bool { return has_keys_ && (!keys_.expires || now < *keys_.expires); }

  /// Fetches without the lock. Old credentials stay if that fails. The next try is a minute later: credentials that end
  /// soon after they were made would otherwise be fetched for each request.
  void fetch(std::unique_lock<std::mutex>& lock) {
    state_ = State::fetching;
    lock.unlock();
    AwsKeys keys;
    Error error;
    try {
      keys = fetch_now(error);
    } catch (...) {
      lock.lock();
      state_ = State::idle;
      fetched_.notify_all();
      throw;
    }
    lock.lock();
    state_ = State::idle;
    error_ = error;
    next_try_ = time() + std::chrono::minutes{1};
    if (!error) {
      keys_ = std::move(keys);
      has_keys_ = true;
    }
    fetched_.notify_all();
  }

  auto fetch_now(Error& error) const -> AwsKeys {
    constexpr std::size_t most_bytes = 1 << 20;
    constexpr std::chrono::milliseconds longest_command = std::chrono::minutes{1};
    AwsCredentialSources sources = sources_;
    std::error_code ignored;
    if (!files_[0].empty()) sources.profiles.add_credentials(detail::read_up_to(files_[0], most_bytes, ignored));
    if (!files_[1].empty()) sources.profiles.add_config(detail::read_up_to(files_[1], most_bytes, ignored));
    HttpOptions quick = http_;
    quick.proxies = {};  // servers of the machine are not behind a proxy
    quick.connect_timeout = quick.idle_timeout = std::chrono::seconds{1};
    quick.timeout = std::chrono::seconds{5};
    HttpClient far{http_};
    HttpClient near{quick};
    AwsCredentialsCore core{std::move(sources)};
    while (true) {
      const AwsCredentialStep step = core.next(time());
      switch (step.kind) {
        case AwsCredentialStep::Kind::done: return core.keys();
        case AwsCredentialStep::Kind::failed: error = core.error(); return {};
        case AwsCredentialStep::Kind::wait: detail::pause_for(step.pause, nullptr); break;
        case AwsCredentialStep::Kind::send: {
          Error lost;
          HttpAnswer answer = (step.at_once ? near : far).send(step.request, {}, lost);
          core.answered(answer, lost);
          detail::wipe(answer.body.data(), answer.body.size());
          break;
        }
        case AwsCredentialStep::Kind::read: {
          std::error_code ec;
          std::string text = detail::read_up_to(step.name, 64 << 10, ec);
          core.has_read(std::move(text), ec);
          break;
        }
        case AwsCredentialStep::Kind::run: {
          std::error_code ec;
          std::string text = detail::command_output(step.name, 64 << 10, std::min(longest_command, http_.timeout), ec);
          core.has_read(std::move(text), ec);
          break;
        }
      }
    }
  }

  const AwsCredentialSources sources_;
  const std::array<std::string, 2> files_;
  const HttpOptions http_;
  IoPool* const pool_;
  std::mutex mutex_;
  std::condition_variable fetched_;
  AwsKeys keys_;
  Error error_;  // of the last fetch
  UnixTime next_try_{};
  bool has_keys_ = false;
  State state_ = State::idle;
};

}  // namespace v0
}  // namespace distrib
