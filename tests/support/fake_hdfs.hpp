// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/remote/webhdfs_url.hpp>

#include "support/http_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace support {

/// Options that give up soon, for tests of failures.
inline auto hasty_webhdfs(std::size_t attempts, std::size_t piece_bytes = distrib::WebHdfsOptions{}.piece_bytes)
    -> distrib::WebHdfsOptions {
  using namespace std::chrono_literals;
  return {.user = "me",
          .http = {.idle_timeout = 500ms, .timeout = 3s},
          .retry = {.attempts = attempts, .first_pause = 1ms, .longest_pause = 2ms},
          .piece_bytes = piece_bytes};
}

/// Files in memory behind a name node and a data node. They answer as the nodes of Hadoop 3.4.2 do (as far as
/// tests/remote/webhdfs_contract.txt describes it), or, with `httpfs`, as HttpFS does.
class FakeHdfs {
 public:
  explicit FakeHdfs(bool httpfs = false)
      : httpfs_{httpfs},
        data_{[this](const HttpAsked& asked) { return fault(asked, true, [&] { return at_data_node(asked); }); }},
        name_{[this](const HttpAsked& asked) { return fault(asked, false, [&] { return at_name_node(asked); }); }} {}

  std::map<std::string, std::string> files;
  std::set<std::string> directories{"/"};
  /// Returns an answer to send instead of `right`, or empty to send `right`. `data_node`: true if the data node was
  /// asked.
  std::function<std::optional<HttpSaid>(const HttpAsked&, bool data_node, const HttpSaid& right)> instead;

  [[nodiscard]] auto url() const -> std::string { return name_.url(); }
  /// Returns "webhdfs://127.0.0.1:PORT" + `path`.
  [[nodiscard]] auto file(const std::string& path) const -> std::string {
    return "webhdfs" + name_.url().substr(4) + path;
  }
  [[nodiscard]] auto asked() -> std::vector<HttpAsked> { return name_.asked(); }
  [[nodiscard]] auto data_asked() -> std::vector<HttpAsked> { return data_.asked(); }

  static auto unescape(const std::string& text) -> std::string {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') plain += text[i];
      else plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)), i += 2;
    }
    return plain;
  }

 private:
  template <class Right> auto fault(const HttpAsked& asked, bool data_node, Right right) -> HttpSaid {
    const std::lock_guard lock{mutex_};
    HttpSaid said = right();
    if (instead)
      if (const auto other = instead(asked, data_node, said)) return *other;
    return said;
  }

  static auto path_of(const HttpAsked& asked) -> std::string { return unescape(asked.path().substr(11)); }
  static auto boolean(bool value) -> HttpSaid {
    return HttpSaid::chunked(200, std::string{R"({"boolean":)"} + (value ? "true}" : "false}"));
  }
  static auto missing(const std::string& path) -> HttpSaid {
    return HttpSaid::exception(404, "FileNotFoundException", "File does not exist: " + path);
  }

  auto status_of(const std::string& path, const std::string& suffix) -> std::string {
    const bool file = files.count(path) != 0;
    return R"({"pathSuffix":")" + suffix + R"(","type":")" + (file ? "FILE" : "DIRECTORY") + R"(","length":)" +
           std::to_string(file ? files[path].size() : 0) + R"(,"modificationTime":7,"owner":"me","permission":"644"})";
  }

  auto at_name_node(const HttpAsked& asked) -> HttpSaid {
    const std::string path = path_of(asked);
    const std::string op = asked.parameter("op");
    const bool is_file = files.count(path) != 0;
    const bool there = is_file || directories.count(path) != 0;
    if (op == "GETFILESTATUS")
      return there ? HttpSaid::chunked(200, R"({"FileStatus":)" + status_of(path, "") + "}") : missing(path);
    if (op == "LISTSTATUS") return there ? list(path) : missing(path);
    if (op == "MKDIRS") {
      for (std::size_t i = path.find('/', 1); i != std::string::npos; i = path.find('/', i + 1))
        directories.insert(path.substr(0, i));
      directories.insert(path);
      return boolean(true);
    }
    if (op == "DELETE") return boolean(files.erase(path) + directories.erase(path) != 0);
    if (op == "RENAME") return rename(path, unescape(asked.parameter("destination")), asked.parameter("renameoptions"));
    if (op == "CONCAT") return concat(path, unescape(asked.parameter("sources")));
    if (op == "OPEN") {
      if (!is_file) return missing(path);
      const std::size_t offset = std::stoul(asked.parameter("offset"));
      if (offset >= files[path].size() && offset != 0)
        return HttpSaid::exception(403, "IOException", "Offset out of the range");
    } else if (op != "CREATE") {
      return HttpSaid::exception(400, "IllegalArgumentException", "Invalid value for webhdfs parameter");
    }
    if (httpfs_ && (op == "OPEN" || asked.parameter("data") == "true")) return at_data_node(asked);
    if (!asked.body.empty()) return {.bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"};
    return HttpSaid::redirect((httpfs_ ? name_.url() + asked.target + "&data=true" : data_.url() + asked.target) +
                              "&namenoderpcaddress=nn:8020&createflag=&createparent=true");
  }

  auto at_data_node(const HttpAsked& asked) -> HttpSaid {
    const std::string path = path_of(asked);
    HttpSaid said;
    if (asked.parameter("op") == "CREATE") {
      files[path] = asked.body;
      said = HttpSaid::answer(201, "", "location: hdfs://nn" + path + "\r\nConnection: close\r\n");
    } else {
      const std::size_t length = std::stoul(asked.parameter("length"));
      const std::size_t offset = std::stoul(asked.parameter("offset"));
      said = HttpSaid::answer(200, files[path].substr(offset, length), "Connection: close\r\n");
    }
    said.close = !httpfs_;
    return said;
  }

  auto list(const std::string& path) -> HttpSaid {
    std::string all;
    const auto add = [&](const std::string& full, const std::string& suffix) {
      all += (all.empty() ? "" : ",") + status_of(full, suffix);
    };
    if (files.count(path) != 0) add(path, "");
    const std::string inside = path == "/" ? path : path + "/";
    const auto child = [&](const std::string& full) {
      if (full.size() > inside.size() && full.starts_with(inside) && full.find('/', inside.size()) == std::string::npos)
        add(full, full.substr(inside.size()));
    };
    for (const auto& [full, bytes] : files) child(full);
    for (const std::string& full : directories) child(full);
    return HttpSaid::chunked(200, R"({"FileStatuses":{"FileStatus":[)" + all + "]}}");
  }

  auto rename(const std::string& from, const std::string& to, const std::string& options) -> HttpSaid {
    const bool knows = !httpfs_ && !options.empty();
    if (files.count(from) == 0) return knows ? missing(from) : boolean(false);
    if (files.count(to) != 0 && !knows) return boolean(false);
    if (files.count(to) != 0 && options == "NONE")
      return HttpSaid::exception(403, "FileAlreadyExistsException", "rename destination " + to + " already exists");
    files[to] = files[from];
    files.erase(from);
    return knows ? HttpSaid::answer(200, "") : boolean(true);
  }

  auto concat(const std::string& path, const std::string& sources) -> HttpSaid {
    std::istringstream list{sources};
    for (std::string source; std::getline(list, source, ',');) {
      if (files.count(source) == 0) return missing(source);
      files[path] += files[source];
      files.erase(source);
    }
    return HttpSaid::answer(200, "");
  }

  bool httpfs_;
  std::recursive_mutex mutex_;
  HttpServer data_;
  HttpServer name_;
};

}  // namespace support
