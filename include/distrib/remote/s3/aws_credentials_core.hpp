// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/aws_answer.hpp>
#include <distrib/remote/s3/aws_environment.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/aws_profile.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_signature.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Where credentials are looked for. A value.
struct AwsCredentialSources {
  std::optional<AwsKeys> keys = {};  ///< From the program: they win.
  std::string profile = {};  ///< Named by the program: then keys in the environment are not used.
  std::string region = "us-east-1";  ///< For the server that gives credentials of roles.
  AwsEnvironment environment = {};
  AwsProfiles profiles = {};
  bool gcs = false;  ///< True: Google's metadata server instead of Amazon's sources.
  bool tokens_without_tls = false;  ///< True: servers of roles may be asked over plain HTTP.
};

/// What a core of credentials wants to be done next.
struct AwsCredentialStep {
  enum class Kind : std::uint8_t {
    send,  ///< Send `request`, then call `answered`. `at_once`: a server of this machine, which answers within a second.
    wait,  ///< Wait for `pause`, then ask the core again.
    read,  ///< Read the file `name`, at most 64 KiB, then call `has_read`.
    run,  ///< Run the command `name` in a shell, then call `has_read` with its output, or with an error.
    done,  ///< `keys()` are the credentials.
    failed,  ///< There are none; `error()` says why.
  };
  Kind kind = Kind::done;
  HttpRequest request = {};
  std::string name = {};
  std::chrono::milliseconds pause{};
  bool at_once = false;
};

/// Finds credentials, in the order in which other clients do: the program's; the environment's; a web identity; the
/// files of profiles, with roles and commands; a container's server; the machine's server. A source that is set and
/// gives no
/// credentials is a failure: the sources after it are not asked. A core: it does no I/O and reads no clock.
///
/// Threads: one at a time.
class AwsCredentialsCore {
 public:
  explicit AwsCredentialsCore(AwsCredentialSources sources) : sources_{std::move(sources)} { begin(); }

  /// Returns what to do now. `now`: this machine's time.
  [[nodiscard]] auto next(UnixTime now) -> AwsCredentialStep;
  /// Called when a request has ended. `answer`: what arrived. `lost`: what ended it early, if anything.
  void answered(const HttpAnswer& answer, const Error& lost);
  /// Called when a file was read or a command has ended.
  void has_read(std::string text, std::error_code ec);

  [[nodiscard]] auto keys() const noexcept -> const AwsKeys& { return keys_; }
  /// Returns the failure; it names the source, and no secret.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

 private:
  enum class Stage : std::uint8_t {
    token_file,  // reads the token of a web identity
    web_identity,
    assume_role,
    command,
    container_token,  // reads the token of a container
    container,
    machine_token,
    machine_role,
    machine_keys,
    google,
    done,
  };

  void begin();
  void begin_profile(const std::string& profile);
  void begin_container();
  void begin_machine();
  void give_up(s3_errc code, std::string where) {
    error_ = {code, std::move(where)};
    stage_ = Stage::done;
  }
  void finish(AwsKeys keys) {
    keys_ = std::move(keys);
    stage_ = Stage::done;
  }
  auto sts_request(const std::string& query) const -> HttpRequest;
  void machine_answered(const HttpAnswer& answer);
  void no_machine(const std::string& why);

  AwsCredentialSources sources_;
  HttpRetries retries_{{.attempts = 3}};
  std::optional<std::chrono::milliseconds> pause_;
  Stage stage_ = Stage::done;
  std::deque<std::pair<std::string, std::string>> roles_;  // role and its external id, the next one first
  std::string role_session_;
  std::string path_;  // a file, or a command
  std::string where_;  // of the source
  std::string sent_body_;
  HttpUrl url_;
  SecretText token_;
  std::string role_;
  AwsKeys keys_;
  Error error_;
  UnixTime now_{};
};

inline void AwsCredentialsCore::begin() {
  const AwsEnvironment& environment = sources_.environment;
  const auto set = [&environment](std::string_view name) { return !environment.get(name).empty(); };
  if (sources_.keys) return finish(*sources_.keys);
  if (sources_.gcs) {
    if (!sources_.profile.empty()) return begin_profile(sources_.profile);
    where_ = "Google's metadata server";
    const std::string host = environment.get("GCE_METADATA_HOST");
    std::error_code ec;
    url_ = HttpUrl::parse("http://" + (host.empty() ? std::string{"metadata.google.internal"} : host) +
                              "/computeMetadata/v1/instance/service-accounts/default/token",
                          ec);
    stage_ = Stage::google;
    if (ec) give_up(s3_errc::bad_credentials, "GCE_METADATA_HOST");
    return;
  }
  if (sources_.profile.empty() && set("AWS_ACCESS_KEY_ID")) {
    if (!set("AWS_SECRET_ACCESS_KEY"))
      return give_up(s3_errc::bad_credentials, "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY");
    return finish({.access_key = environment.get("AWS_ACCESS_KEY_ID"),
                   .secret_key = environment.get("AWS_SECRET_ACCESS_KEY"),
                   .session_token = environment.get("AWS_SESSION_TOKEN")});
  }
  if (sources_.profile.empty() && set("AWS_WEB_IDENTITY_TOKEN_FILE")) {
    where_ = "web identity of AWS_ROLE_ARN";
    if (!set("AWS_ROLE_ARN"))
      return give_up(s3_errc::bad_credentials, "AWS_WEB_IDENTITY_TOKEN_FILE without AWS_ROLE_ARN");
    path_ = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE");
    role_ = environment.get("AWS_ROLE_ARN");
    role_session_ = environment.get("AWS_ROLE_SESSION_NAME");
    stage_ = Stage::token_file;
    return;
  }
  const bool named = !sources_.profile.empty() || set("AWS_PROFILE");
  const std::string profile = !sources_.profile.empty() ? sources_.profile
                              : set("AWS_PROFILE")      ? environment.get("AWS_PROFILE")
                                                        : "default";
  if (sources_.profiles.find(profile) != nullptr) {
    begin_profile(profile);
    if (stage_ != Stage::done || error_ || !keys_.access_key.empty()) return;
  } else if (named) {
    return give_up(s3_errc::bad_credentials, "profile \"" + profile + "\", which is in no file");
  }
  if (set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || set("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
    return begin_container();
  if (environment.is_true("AWS_EC2_METADATA_DISABLED")) return no_machine("AWS_EC2_METADATA_DISABLED is set");
  begin_machine();
}

/// Goes from the profile back to the one that has keys, a command or a token, and notes the roles on the way.
inline void AwsCredentialsCore::begin_profile(const std::string& profile) {
  const AwsProfiles& profiles = sources_.profiles;
  std::string at = profile;
  where_ = "profile \"" + profile + '"';
  for (int steps = 0; steps < 10; ++steps) {
    const auto value = [&](std::string_view name) { return profiles.get(at, name); };
    if (profiles.find(at) == nullptr) return give_up(s3_errc::bad_credentials, where_ + ": no profile \"" + at + '"');
    const bool is_source = at != profile;
    const AwsKeys keys{.access_key = value("aws_access_key_id"),
                       .secret_key = value("aws_secret_access_key"),
                       .session_token = value("aws_session_token")};
    const bool has_keys = !keys.access_key.empty() && !keys.secret_key.empty();
    const std::string role = value("role_arn");
    if (!role.empty() && (steps == 0 || !has_keys)) {
      if (role_session_.empty()) role_session_ = value("role_session_name");
      if (!value("web_identity_token_file").empty()) {
        path_ = value("web_identity_token_file");
        role_ = role;
        stage_ = Stage::token_file;
        return;
      }
      roles_.emplace_front(role, value("external_id"));
      const std::string source = value("source_profile");
      if (source.empty())
        return give_up(s3_errc::bad_credentials,
                       where_ + ": role_arn without source_profile or web_identity_token_file");
      if (source == at) {
        if (!has_keys)
          return give_up(s3_errc::bad_credentials, where_ + ": its source_profile is itself, without keys");
      } else {
        at = source;
        continue;
      }
    }
    if (has_keys) {
      if (roles_.empty()) return finish(keys);
      keys_ = keys;
      stage_ = Stage::assume_role;
      return;
    }
    if (!value("credential_process").empty()) {
      path_ = value("credential_process");
      stage_ = Stage::command;
      return;
    }
    if (!value("sso_session").empty() || !value("sso_start_url").empty())
      return give_up(s3_errc::bad_credentials,
                     where_ + " uses SSO: run `aws configure export-credentials --profile " + at + " --format env`");
    if (is_source || at == sources_.profile)
      return give_up(s3_errc::bad_credentials, where_ + ": no keys in \"" + at + '"');
    return;  // a profile with a region only
  }
  give_up(s3_errc::bad_credentials, where_ + ": its source_profile form a circle");
}

inline void AwsCredentialsCore::begin_container() {
  const AwsEnvironment& environment = sources_.environment;
  const std::string relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  where_ = relative.empty() ? "AWS_CONTAINER_CREDENTIALS_FULL_URI" : "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  const std::string text =
      relative.empty() ? environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") : "http://169.254.170.2" + relative;
  std::error_code ec;
  url_ = HttpUrl::parse(text, ec);
  const std::string& host = url_.host;
  const bool local =
      detail::is_this_machine(host) || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23";
  if (ec || (!url_.tls && !local))
    return give_up(s3_errc::bad_credentials, where_ + ", which is neither https nor at this machine");
  path_ = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  token_ = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  stage_ = path_.empty() ? Stage::container : Stage::container_token;
}

inline void AwsCredentialsCore::begin_machine() {
  const std::string endpoint = sources_.environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  std::error_code ec;
  url_ = HttpUrl::parse(endpoint.empty() ? "http://169.254.169.254" : endpoint, ec);
  if (ec) return give_up(s3_errc::bad_credentials, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  where_ = "the machine's metadata server at " + url_.origin();
  stage_ = Stage::machine_token;
}

inline void AwsCredentialsCore::no_machine(const std::string& why) {
  give_up(s3_errc::no_credentials,
          "AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, ~/.aws/credentials, ~/.aws/config, "
          "AWS_CONTAINER_CREDENTIALS_*_URI: not set; the machine's metadata server: " +
              why);
}

inline auto AwsCredentialsCore::sts_request(const std::string& query) const -> HttpRequest {
  const std::string endpoint = sources_.environment.get("AWS_ENDPOINT_URL_STS");
  std::error_code ec;
  HttpRequest request{.method = "POST"};
  request.url = HttpUrl::parse(endpoint.empty() ? "https://sts." + sources_.region + ".amazonaws.com" +
                                                      (sources_.region.starts_with("cn-") ? ".cn" : "")
                                                : endpoint,
                               ec);
  request.body_type = "application/x-www-form-urlencoded";
  request.body = as_bytes(query);
  return request;
}

inline auto AwsCredentialsCore::next(UnixTime now) -> AwsCredentialStep {
  using Kind = AwsCredentialStep::Kind;
  now_ = now;
  if (pause_) return {.kind = Kind::wait, .pause = *std::exchange(pause_, std::nullopt)};
  AwsCredentialStep step{.kind = Kind::send};
  HttpRequest& sent = step.request;
  const std::string session = role_session_.empty() ? "distrib" : role_session_;
  switch (stage_) {
    case Stage::done: return {.kind = error_ ? Kind::failed : Kind::done};
    case Stage::token_file:
    case Stage::container_token: return {.kind = Kind::read, .name = path_};
    case Stage::command: return {.kind = Kind::run, .name = path_};
    case Stage::web_identity:
      sent_body_ = canonical_query({{"Action", "AssumeRoleWithWebIdentity"},
                                    {"Version", "2011-06-15"},
                                    {"RoleArn", role_},
                                    {"RoleSessionName", session},
                                    {"WebIdentityToken", token_.text()}});
      sent = sts_request(sent_body_);
      break;
    case Stage::assume_role: {
      NamedTexts parameters{{"Action", "AssumeRole"},
                            {"Version", "2011-06-15"},
                            {"RoleArn", roles_.front().first},
                            {"RoleSessionName", session}};
      if (!roles_.front().second.empty()) parameters.emplace_back("ExternalId", roles_.front().second);
      sent_body_ = canonical_query(parameters);
      sent = sts_request(sent_body_);
      sign_request(sent, to_hex(sha256(as_bytes(sent_body_))), keys_, {.region = sources_.region, .service = "sts"},
                   now);
      break;
    }
    case Stage::container:
      sent.url = url_;
      if (!token_.empty()) sent.headers.emplace_back("Authorization", token_.text());
      step.at_once = !url_.tls;
      break;
    case Stage::machine_token:
      sent.method = "PUT";
      sent.url = url_;
      sent.url.target = "/latest/api/token";
      sent.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", "21600");
      sent.body = ByteView{};
      step.at_once = true;
      break;
    case Stage::machine_role:
    case Stage::machine_keys:
      sent.url = url_;
      sent.url.target = "/latest/meta-data/iam/security-credentials/";
      if (stage_ == Stage::machine_keys) sent.url.target += percent_encode(role_);
      sent.headers.emplace_back("X-aws-ec2-metadata-token", token_.text());
      step.at_once = true;
      break;
    case Stage::google:
      sent.url = url_;
      sent.headers.emplace_back("Metadata-Flavor", "Google");
      step.at_once = true;
      break;
  }
  // What a server of roles is asked and answers are secrets; other servers that are asked without TLS are this
  // machine's.
  const bool of_roles = stage_ == Stage::web_identity || stage_ == Stage::assume_role;
  if (sent.url.host.empty()) give_up(s3_errc::bad_credentials, "AWS_ENDPOINT_URL_STS");
  else if (of_roles && !sent.url.tls && !sources_.tokens_without_tls && !detail::is_this_machine(sent.url.host))
    give_up(s3_errc::no_tls, where_ + ": AWS_ENDPOINT_URL_STS");
  if (error_) return {.kind = Kind::failed};
  return step;
}

inline void AwsCredentialsCore::has_read(std::string text, std::error_code ec) {
  if (stage_ == Stage::command) {
    auto keys = keys_of_json(text, "SessionToken");
    const SecretText wiped{std::move(text)};
    if (ec == std::errc::timed_out)
      return give_up(s3_errc::bad_credentials, where_ + ": its credential_process did not end in time");
    if (ec || !keys) return give_up(s3_errc::bad_credentials, where_ + ": its credential_process gave no credentials");
    if (roles_.empty()) return finish(std::move(*keys));
    keys_ = std::move(*keys);
    stage_ = Stage::assume_role;
    return;
  }
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.pop_back();
  token_ = std::move(text);
  const bool clean = token_.text().find_first_of("\r\n") == std::string::npos;
  if (ec || token_.empty() || !clean)
    return give_up(s3_errc::bad_credentials,
                   where_ + ": token file " + path_ + (ec ? " (" + ec.message() + ")" : " (not a token)"));
  stage_ = stage_ == Stage::token_file ? Stage::web_identity : Stage::container;
}

inline void AwsCredentialsCore::answered(const HttpAnswer& answer, const Error& lost) {
  const bool machine = stage_ == Stage::machine_token || stage_ == Stage::machine_role || stage_ == Stage::machine_keys;
  const bool again = (lost && (lost.code == failure::unavailable || lost.code == failure::timeout)) ||
                     answer.status >= 500 || answer.status == 429;
  if (again && stage_ != Stage::machine_token) {
    pause_ = retries_.failed();
    if (pause_) return;
  }
  if (lost || !answer.good()) {
    const std::string code = sts_error_code(answer.body);
    const std::string why =
        lost ? lost.code.message() : "status " + std::to_string(answer.status) + (code.empty() ? "" : ' ' + code);
    if (stage_ == Stage::machine_token) return no_machine(why + " (on EC2 in a container: its hop limit must be 2)");
    if (machine && answer.status == 404) return no_machine("the machine has no role");
    return give_up(s3_errc::bad_credentials, where_ + ": " + why);
  }
  if (machine) return machine_answered(answer);
  std::optional<AwsKeys> keys;
  switch (stage_) {
    case Stage::web_identity: keys = keys_of_xml(answer.body, "AssumeRoleWithWebIdentityResponse"); break;
    case Stage::assume_role: keys = keys_of_xml(answer.body, "AssumeRoleResponse"); break;
    case Stage::google: keys = keys_of_google_json(answer.body, now_); break;
    default: keys = keys_of_json(answer.body, "Token"); break;
  }
  if (!keys) return give_up(s3_errc::bad_credentials, where_ + ": the answer has no credentials");
  if (stage_ == Stage::assume_role) {
    roles_.pop_front();
    if (!roles_.empty()) {
      keys_ = std::move(*keys);
      return;
    }
  }
  finish(std::move(*keys));
}

inline void AwsCredentialsCore::machine_answered(const HttpAnswer& answer) {
  if (stage_ == Stage::machine_keys) {
    auto keys = keys_of_json(answer.body, "Token");
    if (!keys) return give_up(s3_errc::bad_credentials, where_ + ": the answer has no credentials");
    return finish(std::move(*keys));
  }
  const std::string line = answer.body.substr(0, answer.body.find_first_of("\r\n"));
  if (line.empty() || line.size() > 4096) return no_machine("an answer that is none of a metadata server");
  if (stage_ == Stage::machine_token) token_ = line;
  else role_ = line;
  stage_ = stage_ == Stage::machine_token ? Stage::machine_role : Stage::machine_keys;
}

}  // namespace v0
}  // namespace distrib
