// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/remote/detail/http_steps.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/s3/aws_credentials_core.hpp>
#include <distrib/remote/s3/aws_environment.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/request_pace.hpp>
#include <distrib/remote/s3/s3_core.hpp>
#include <distrib/remote/s3/s3_credentials.hpp>
#include <distrib/remote/s3/s3_endpoint.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What all readers and writers of a bucket share: credentials, what the store told (its region, its clock, whether it
/// takes checksums), and how many requests are sent at once.
///
/// Threads: any.
class S3Session {
 public:
  /// Opens the bucket of `location`, or returns `options.session`, if that is of the same bucket, and of the same
  /// server if `location` names one. Reads the environment, and the files of profiles, as far as the options leave
  /// something open; sends no request.
  ///
  /// Errors: `s3_errc::bad_url`; the result is then null.
  [[nodiscard]] static auto open(const S3Location& location, const S3Options& options, Error& error)
      -> std::shared_ptr<S3Session>;

  /// Made by `open`.
  S3Session(S3Setup setup, HttpOptions http, std::shared_ptr<S3Credentials> credentials, bool anonymous)
      : setup_{std::move(setup)},
        http_{std::move(http)},
        credentials_{std::move(credentials)},
        anonymous_{anonymous},
        bucket_{setup_.endpoint.bucket},
        gcs_{setup_.endpoint.gcs},
        server_{setup_.endpoint.server ? setup_.endpoint.server->origin() : std::string{}} {}

  [[nodiscard]] auto http() const noexcept -> const HttpOptions& { return http_; }
  [[nodiscard]] auto bucket() const noexcept -> const std::string& { return bucket_; }
  [[nodiscard]] auto gcs() const noexcept -> bool { return gcs_; }
  /// True if parts of uploads are sent with a CRC-32C.
  [[nodiscard]] auto sums_parts() -> bool {
    const std::lock_guard lock{mutex_};
    return !gcs_ && (setup_.checksums == S3Checksums::automatic || setup_.checksums == S3Checksums::crc32c);
  }

  /// Performs an operation on the caller's thread and returns its core, done or failed; a failure is copied to `error`.
  /// `take` gets the bytes of an object. If `*stop` becomes true meanwhile, sets `error` to `http_errc::stopped`.
  /// `attempts`: how often a request is tried; 0: as the options say.
  auto run(HttpClient& client, S3Request request, const std::function<void(ByteView)>& take, Error& error,
           const std::atomic<bool>* stop = nullptr, std::size_t attempts = 0) -> S3Core {
    const S3Setup began = setup_now();
    S3Setup setup = began;
    if (attempts != 0) setup.retry.attempts = attempts;
    S3Core core{std::move(request), std::move(setup)};
    error = {};
    if (!anonymous_) core.use(credentials_->get(error));
    while (!error) {
      Paced paced{*this, core};
      detail::take_http_steps(client, paced, take, error, stop);
      learn(began, core.setup(), !core.error());
      if (error || !core.wants_keys()) break;
      core.use(credentials_->renew(core.setup().keys, error));
    }
    return core;
  }

 private:
  auto is_of(const S3Location& location) const -> bool {
    return bucket_ == location.bucket && gcs_ == location.gcs &&
           (location.endpoint.empty() || location.endpoint == server_);
  }

  /// A core whose requests are counted: each waits until the pace allows it.
  class Paced {
   public:
    Paced(S3Session& session, S3Core& core) : session_{session}, core_{core} {}
    Paced(const Paced&) = delete;
    auto operator=(const Paced&) -> Paced& = delete;
    ~Paced() { end(); }

    auto next() -> HttpStep {
      HttpStep step = core_.next(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
      if (step.kind != HttpStep::Kind::send) return step;
      session_.begin_request();
      under_way_ = true;
      return step;
    }
    [[nodiscard]] auto streams() const -> bool { return core_.streams(); }
    auto accept(const HttpAnswer& answer, std::uint64_t bytes) -> std::uint64_t { return core_.accept(answer, bytes); }
    void ended(const HttpAnswer& answer, const Error& lost) {
      const std::size_t before = core_.throttled();
      core_.ended(answer, lost);
      if (core_.throttled() != before) session_.slow_down();
      end();
    }
    [[nodiscard]] auto error() const -> const Error& { return core_.error(); }

   private:
    void end() {
      if (std::exchange(under_way_, false)) session_.end_request();
    }

    S3Session& session_;
    S3Core& core_;
    bool under_way_ = false;
  };

  void begin_request() {
    std::unique_lock lock{mutex_};
    while (!pace_.may_begin(std::chrono::steady_clock::now()))
      may_begin_.wait_for(lock, std::chrono::milliseconds{200});  // the limit also grows with time
    pace_.begun();
  }
  void end_request() {
    {
      const std::lock_guard lock{mutex_};
      pace_.ended();
    }
    may_begin_.notify_one();
  }
  void slow_down() {
    const std::lock_guard lock{mutex_};
    pace_.slow_down(std::chrono::steady_clock::now());
  }

  auto setup_now() -> S3Setup {
    const std::lock_guard lock{mutex_};
    return setup_;
  }
  /// Keeps what the store has told an operation. What the operation has not changed stays: another one, which began
  /// later or ended earlier, may have learned it meanwhile.
  void learn(const S3Setup& began, const S3Setup& ended, bool good) {
    const std::lock_guard lock{mutex_};
    if (ended.endpoint.region != began.endpoint.region) setup_.endpoint.region = ended.endpoint.region;
    if (ended.clock_offset != began.clock_offset) setup_.clock_offset = ended.clock_offset;
    if (!good) return;
    if (ended.checksums != began.checksums) setup_.checksums = ended.checksums;
    setup_.checksums_work = setup_.checksums_work || ended.checksums_work;
  }

  std::mutex mutex_;
  std::condition_variable may_begin_;
  S3Setup setup_;
  RequestPace pace_;
  const HttpOptions http_;
  const std::shared_ptr<S3Credentials> credentials_;
  const bool anonymous_;
  const std::string bucket_;
  const bool gcs_;
  const std::string server_;  // its URL, if one is given
};

inline auto S3Session::open(const S3Location& location, const S3Options& options, Error& error)
    -> std::shared_ptr<S3Session> {
  error = {};
  if (options.session) {
    if (options.session->is_of(location)) return options.session;
    error = {s3_errc::bad_url, location.url_of("") + ": the session is of bucket " + options.session->bucket() +
                                   (location.endpoint.empty() ? "" : ", or of another server")};
    return nullptr;
  }
  const AwsEnvironment environment = options.environment ? *options.environment : AwsEnvironment::read();
  const auto path_of = [&environment](std::string_view variable, const char* name) {
    const std::string path = environment.get(variable);
    const std::string home = environment.get("HOME");
    return path.empty() && !home.empty() ? home + name : path;
  };
  const std::array<std::string, 2> files{path_of("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"),
                                         path_of("AWS_CONFIG_FILE", "/.aws/config")};
  AwsProfiles profiles;
  std::error_code ignored;
  if (!files[0].empty()) profiles.add_credentials(detail::read_up_to(files[0], 1 << 20, ignored));
  if (!files[1].empty()) profiles.add_config(detail::read_up_to(files[1], 1 << 20, ignored));
  std::string profile = options.profile.empty() ? environment.get("AWS_PROFILE") : options.profile;
  if (profile.empty()) profile = "default";
  const auto first_of = [](auto... texts) {
    std::string found;
    ((found = found.empty() ? std::string{texts} : found), ...);
    return found;
  };
  std::string region = options.region;
  std::string endpoint = options.endpoint;
  S3Options told = options;
  if (!location.gcs) {  // what the variables say is about Amazon's protocol, not about Google's servers
    region = first_of(region, environment.first("AWS_REGION", "AWS_DEFAULT_REGION"), profiles.get(profile, "region"));
    endpoint = first_of(endpoint, environment.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
                        profiles.get(profile, "endpoint_url"));
    told.dual_stack = options.dual_stack || environment.is_true("AWS_USE_DUALSTACK_ENDPOINT");
    told.fips = options.fips || environment.is_true("AWS_USE_FIPS_ENDPOINT");
  }
  S3Setup setup{.endpoint = S3Endpoint::make(location, told, region, endpoint, error)};
  if (error) return nullptr;
  setup.checksums = options.checksums;
  setup.headers = options.headers;
  setup.tokens_without_tls = options.tokens_without_tls;
  setup.retry = options.retry;
  HttpOptions http = options.http;
  const HttpProxies proxies = environment.proxies();
  if (http.proxies.https.empty() && http.proxies.http.empty() && http.proxies.none.empty()) http.proxies = proxies;
  http.authority = first_of(http.authority, environment.get("AWS_CA_BUNDLE"), profiles.get(profile, "ca_bundle"));
  AwsCredentialSources sources{.keys = options.keys,
                               .profile = options.profile,
                               .region = setup.endpoint.gcs ? "us-east-1" : setup.endpoint.region,
                               .environment = environment};
  sources.gcs = location.gcs;
  sources.tokens_without_tls = options.tokens_without_tls;
  auto credentials = std::make_shared<S3Credentials>(std::move(sources), files, http, options.pool);
  return std::make_shared<S3Session>(std::move(setup), std::move(http), std::move(credentials), options.anonymous);
}

}  // namespace v0
}  // namespace distrib
