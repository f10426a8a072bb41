// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/remote/http_url.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A request. The caller owns the bytes of the body and must keep them until the answer has arrived.
struct HttpRequest {
  std::string method = "GET";
  HttpUrl url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<ByteView> body = {};
  std::string body_type = "application/octet-stream";
  std::size_t max_body_bytes = 1 << 20;  ///< Limit for the answer's body, if it is stored in `HttpAnswer::body`.

  /// Returns "GET http://host:80/path", for messages.
  [[nodiscard]] auto where() const -> std::string { return method + ' ' + url.where(); }
};

/// An answer: its status, its headers, and its body.
struct HttpAnswer {
  int status = 0;  ///< 0: no answer arrived.
  std::optional<std::uint64_t> content_length = {};
  std::string content_range = {};
  std::string location = {};
  std::string etag = {};
  /// All headers: names in small letters, values as received.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};  ///< Empty if the body was passed on while it arrived.

  /// Returns the value of a header; empty if it is missing. `name` is in small letters. Of several headers with one
  /// name, returns the last. Valid as long as the answer.
  [[nodiscard]] auto header(std::string_view name) const noexcept -> std::string_view {
    for (auto at = headers.rbegin(); at != headers.rend(); ++at)
      if (at->first == name) return at->second;
    return {};
  }

  [[nodiscard]] auto good() const noexcept -> bool { return status >= 200 && status < 300; }
};

/// What a core of HTTP wants to be done next.
struct HttpStep {
  enum class Kind : std::uint8_t {
    send,  ///< Send `request`, then report the result to the core.
    wait,  ///< Wait for `pause`, then ask the core again.
    done,  ///< Everything requested has arrived.
    failed,  ///< Failed; the core's `error()` says why.
  };
  Kind kind = Kind::done;
  HttpRequest request = {};
  std::chrono::milliseconds pause{};
};

}  // namespace v0
}  // namespace distrib
