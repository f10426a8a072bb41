// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_proxy.hpp>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The environment variables that say where object stores are, and who asks them: those that other clients read too. A
/// value, so that a program or a test may give others than those of its process.
struct AwsEnvironment {
  std::map<std::string, std::string, std::less<>> values = {};

  /// Returns the value of a variable; empty if it is not set.
  [[nodiscard]] auto get(std::string_view name) const -> std::string {
    const auto found = values.find(name);
    return found == values.end() ? std::string{} : found->second;
  }
  /// Returns the value of the first variable that is set and not empty; empty if there is none.
  [[nodiscard]] auto first(std::string_view one, std::string_view other) const -> std::string {
    const std::string value = get(one);
    return value.empty() ? get(other) : value;
  }
  /// True if the variable is "true" in any spelling, or "1".
  [[nodiscard]] auto is_true(std::string_view name) const -> bool {
    const std::string value = detail::lower_case(get(name));
    return value == "true" || value == "1";
  }

  /// Returns the proxies. As in other programs, HTTP_PROXY in capitals is not read: a web server sets it from a header.
  /// This machine is never asked through a proxy.
  [[nodiscard]] auto proxies() const -> HttpProxies {
    return {.https = first("https_proxy", "HTTPS_PROXY"),
            .http = get("http_proxy"),
            .none = first("no_proxy", "NO_PROXY") + ",localhost,127.0.0.0/8,::1"};
  }

  /// Reads the variables of this process. Not while another thread changes them.
  [[nodiscard]] static auto read() -> AwsEnvironment {
    AwsEnvironment environment;
    for (const char* name : {"AWS_ACCESS_KEY_ID",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_SESSION_TOKEN",
                             "AWS_PROFILE",
                             "AWS_CONFIG_FILE",
                             "AWS_SHARED_CREDENTIALS_FILE",
                             "AWS_REGION",
                             "AWS_DEFAULT_REGION",
                             "AWS_ENDPOINT_URL_S3",
                             "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_STS",
                             "AWS_CA_BUNDLE",
                             "AWS_USE_DUALSTACK_ENDPOINT",
                             "AWS_USE_FIPS_ENDPOINT",
                             "AWS_WEB_IDENTITY_TOKEN_FILE",
                             "AWS_ROLE_ARN",
                             "AWS_ROLE_SESSION_NAME",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             "AWS_EC2_METADATA_DISABLED",
                             "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                             "GCE_METADATA_HOST",
                             "HOME",
                             "https_proxy",
                             "HTTPS_PROXY",
                             "http_proxy",
                             "no_proxy",
                             "NO_PROXY"})
      if (const char* value = std::getenv(name)) environment.values.emplace(name, value);
    return environment;
  }
};

}  // namespace v0
}  // namespace distrib
