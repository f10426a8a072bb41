// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/remote/http_url.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A request. The body's bytes are the caller's, who keeps them until the answer is there.
struct HttpRequest {
  std::string method = "GET";
  HttpUrl url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<ByteView> body = {};
  std::string body_type = "application/octet-stream";
  std::size_t max_body_bytes = 1 << 20;  ///< Of the answer, where it is kept in `HttpAnswer::body`.

  /// "GET http://host:80/path": for messages.
  [[nodiscard]] auto where() const -> std::string { return method + ' ' + url.where(); }
};

/// What came back: the status and the headers that somebody here looks at.
struct HttpAnswer {
  int status = 0;  ///< 0: none came.
  std::optional<std::uint64_t> content_length = {};
  std::string content_range = {};
  std::string location = {};
  std::string etag = {};
  std::string body = {};  ///< Unless somebody took it while it came.

  [[nodiscard]] auto good() const noexcept -> bool { return status >= 200 && status < 300; }
};

/// What a core of HTTP wants next.
struct HttpStep {
  enum class Kind : std::uint8_t {
    send,    ///< `request`, then tell what came of it.
    wait,    ///< For `pause`, then ask again.
    done,    ///< All that was wanted is there.
    failed,  ///< The core's `error()` says why.
  };
  Kind kind = Kind::done;
  HttpRequest request = {};
  std::chrono::milliseconds pause{};
};

}  // namespace v0
}  // namespace distrib
