// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_url.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An operation of WebHDFS, not yet addressed to a server. A value, made by one of its static functions. The caller
/// owns the bytes of a file and must keep them until the operation has ended.
struct WebHdfsRequest {
  std::string method;
  std::string op;
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::optional<ByteView> body = {};  ///< For CREATE: the content, sent to the server that stores it.
  std::uint64_t first = 0;  ///< For OPEN: the first byte.
  std::uint64_t bytes = 0;  ///< For OPEN: the number of bytes.

  /// Reads `bytes` bytes of a file from `first` on. They must lie inside the file: HDFS refuses an OPEN at its end.
  [[nodiscard]] static auto open(std::string path, std::uint64_t first, std::uint64_t bytes) -> WebHdfsRequest {
    WebHdfsRequest request{"GET", "OPEN", std::move(path)};
    request.first = first;
    request.bytes = bytes;
    return request;
  }
  [[nodiscard]] static auto status(std::string path) -> WebHdfsRequest {
    return {"GET", "GETFILESTATUS", std::move(path)};
  }
  [[nodiscard]] static auto list(std::string path) -> WebHdfsRequest { return {"GET", "LISTSTATUS", std::move(path)}; }
  [[nodiscard]] static auto make_directories(std::string path) -> WebHdfsRequest {
    return {"PUT", "MKDIRS", std::move(path)};
  }
  [[nodiscard]] static auto remove(std::string path, bool recursive) -> WebHdfsRequest {
    return {"DELETE", "DELETE", std::move(path), {{"recursive", recursive ? "true" : "false"}}};
  }
  /// Writes a whole file; an existing file is replaced.
  [[nodiscard]] static auto create(std::string path, ByteView bytes) -> WebHdfsRequest {
    WebHdfsRequest request{"PUT", "CREATE", std::move(path), {{"overwrite", "true"}}};
    request.body = bytes;
    return request;
  }
  /// Renames a file. `replace`: an existing file `to` is replaced; otherwise the server refuses.
  [[nodiscard]] static auto rename(std::string from, std::string to, bool replace) -> WebHdfsRequest {
    return {"PUT",
            "RENAME",
            std::move(from),
            {{"destination", std::move(to)}, {"renameoptions", replace ? "OVERWRITE" : "NONE"}}};
  }
  /// Appends the contents of `sources` to `path` and removes the sources. No source may contain a comma.
  [[nodiscard]] static auto concat(std::string path, std::span<const std::string> sources) -> WebHdfsRequest {
    std::string list;
    for (const std::string& source : sources) (list += list.empty() ? "" : ",") += source;
    return {"POST", "CONCAT", std::move(path), {{"sources", std::move(list)}}};
  }

  /// Returns path and query for `server`. `more`: further parameters.
  [[nodiscard]] auto target(const HttpUrl& server, const WebHdfsOptions& options,
                            std::span<const std::pair<std::string, std::string>> more = {}) const -> std::string {
    std::string text = server.target.substr(0, server.target.find('?'));
    while (text.ends_with('/')) text.pop_back();
    // Characters that RFC 3986 allows in a path stay unescaped, except the semicolon: older name nodes cut a path
    // there.
    text += "/webhdfs/v1" + percent_encode(path, "/!$&'()*+,=:@") + "?op=" + op;
    const auto add = [&text](std::string_view name, std::string_view value) {
      ((text += '&') += name) += '=';
      text += percent_encode(value, "/,");
    };
    for (const auto& [name, value] : parameters) add(name, value);
    for (const auto& [name, value] : more) add(name, value);
    if (!options.token.empty()) add("delegation", options.token);
    else if (!options.user.empty()) add("user.name", options.user);
    if (!options.act_as.empty()) add("doas", options.act_as);
    return text;
  }
};

}  // namespace v0
}  // namespace distrib
