// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http: not in the facade.
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

/// An operation of WebHDFS, before it is known whom to ask. A value, made by the function of its kind. Bytes of a file
/// are the caller's, who keeps them until it is done.
struct WebHdfsRequest {
  std::string method;
  std::string op;
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::optional<ByteView> body = {};  ///< Of CREATE: for whoever takes the file.
  std::uint64_t first = 0;            ///< Of OPEN: the part.
  std::uint64_t bytes = 0;

  /// Bytes of a file. They must lie in it: HDFS refuses an OPEN at the end.
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
  /// In place of what has that name; a whole file.
  [[nodiscard]] static auto create(std::string path, ByteView bytes) -> WebHdfsRequest {
    WebHdfsRequest request{"PUT", "CREATE", std::move(path), {{"overwrite", "true"}}};
    request.body = bytes;
    return request;
  }
  /// Gives a file another name: in place of what has it, or only if nothing has.
  [[nodiscard]] static auto rename(std::string from, std::string to, bool replace) -> WebHdfsRequest {
    return {"PUT",
            "RENAME",
            std::move(from),
            {{"destination", std::move(to)}, {"renameoptions", replace ? "OVERWRITE" : "NONE"}}};
  }
  /// Puts the content of `sources`, which are gone then, behind that of `path`. No path with a comma.
  [[nodiscard]] static auto concat(std::string path, std::span<const std::string> sources) -> WebHdfsRequest {
    std::string list;
    for (const std::string& source : sources) (list += list.empty() ? "" : ",") += source;
    return {"POST", "CONCAT", std::move(path), {{"sources", std::move(list)}}};
  }

  /// Path and query for `server`. `more`: further parameters.
  [[nodiscard]] auto target(const HttpUrl& server, const WebHdfsOptions& options,
                            std::span<const std::pair<std::string, std::string>> more = {}) const -> std::string {
    std::string text = server.target.substr(0, server.target.find('?'));
    while (text.ends_with('/')) text.pop_back();
    // What RFC 3986 allows in a path stays as it is, but for the semicolon: older name nodes cut a path there.
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
