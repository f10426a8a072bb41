// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/json.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_status.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An exception that Hadoop sends as an answer.
struct RemoteException {
  std::string exception;  ///< The name of its class, without the package.
  std::string message;  ///< The first line of its message, at most 400 bytes.

  /// Parses the body of an answer. Returns nothing if it has no exception.
  [[nodiscard]] static auto parse(std::string_view body) -> std::optional<RemoteException>;

  /// Returns, for example, "AccessControlException: Permission denied".
  [[nodiscard]] auto text() const -> std::string { return exception + (message.empty() ? "" : ": " + message); }
};

namespace detail {

/// Reads the members of the next object. Calls `member(name)` at each name, which must read or skip the value. Returns
/// false if the next value is not an object, or is malformed.
template <class F> auto for_each_member(JsonReader& reader, F member) -> bool {
  if (reader.next() != JsonToken::begin_object) return false;
  while (reader.next() == JsonToken::name) {
    const std::string name{reader.text()};
    member(name);
  }
  return reader.token() == JsonToken::end_object;
}

/// Reads a FileStatus. Returns false if type or length are missing or wrong.
inline auto read_status(JsonReader& reader, WebHdfsStatus& status) -> bool {
  bool has_type = false;
  bool has_length = false;
  const auto text = [&reader](std::string& to) {
    if (reader.next() == JsonToken::string) to = reader.text();
    else reader.skip();
  };
  const auto number = [&reader]() -> std::optional<std::int64_t> {
    if (reader.next() == JsonToken::number) return reader.int64();
    reader.skip();
    return std::nullopt;
  };
  const auto unsigned_number = [&number](std::uint64_t& to) {
    const auto value = number();
    if (value && *value >= 0) to = static_cast<std::uint64_t>(*value);
    return value && *value >= 0;
  };
  const bool whole = for_each_member(reader, [&](std::string_view name) {
    if (name == "pathSuffix") return text(status.name);
    if (name == "owner") return text(status.owner);
    if (name == "group") return text(status.group);
    if (name == "permission") return text(status.permission);
    if (name == "length") return void(has_length = unsigned_number(status.bytes));
    if (name == "blockSize") return void(unsigned_number(status.block_bytes));
    if (name == "replication") return void(unsigned_number(status.replication));
    if (name == "modificationTime") return void(status.modified_ms = number().value_or(0));
    if (name != "type") return reader.skip();
    std::string type;
    text(type);
    has_type = type == "FILE" || type == "DIRECTORY" || type == "SYMLINK";
    status.type = type == "DIRECTORY" ? WebHdfsStatus::Type::directory
                  : type == "SYMLINK" ? WebHdfsStatus::Type::symlink
                                      : WebHdfsStatus::Type::file;
  });
  return whole && has_type && has_length;
}

}  // namespace detail

inline auto RemoteException::parse(std::string_view body) -> std::optional<RemoteException> {
  JsonReader reader{body};
  RemoteException found;
  bool is_one = false;
  detail::for_each_member(reader, [&](std::string_view outer) {
    if (outer != "RemoteException") return reader.skip();
    is_one = detail::for_each_member(reader, [&](std::string_view name) {
      const bool text = reader.next() == JsonToken::string;
      if (text && name == "exception") found.exception = reader.text();
      if (text && name == "message") found.message = reader.text();
      if (text && name == "javaClassName" && found.exception.empty()) found.exception = reader.text();
      reader.skip();
    });
  });
  found.exception.erase(0, found.exception.find_last_of(".$") + 1);  // npos + 1 is 0
  if (!is_one || found.exception.empty()) return std::nullopt;
  found.message.resize(std::min(found.message.find('\n'), found.message.size()));
  constexpr std::size_t most = 400;
  if (found.message.size() > most) found.message.resize(most);
  for (char& c : found.message)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return found;
}

/// Parses the answer to GETFILESTATUS.
///
/// Errors: `ec` is `webhdfs_errc::bad_answer`; the result is then what could be read.
[[nodiscard]] inline auto parse_webhdfs_status(std::string_view body, std::error_code& ec) -> WebHdfsStatus {
  JsonReader reader{body};
  WebHdfsStatus status;
  bool good = false;
  const bool whole = detail::for_each_member(reader, [&](std::string_view name) {
    if (name == "FileStatus") good = detail::read_status(reader, status);
    else reader.skip();
  });
  ec = good && whole && reader.next() == JsonToken::end ? std::error_code{} : webhdfs_errc::bad_answer;
  return status;
}

/// Parses the answer to LISTSTATUS; the files keep the server's order.
///
/// Errors: `ec` is `webhdfs_errc::bad_answer`, also for a name with a "/"; the result is then empty.
[[nodiscard]] inline auto parse_webhdfs_list(std::string_view body, std::error_code& ec) -> std::vector<WebHdfsStatus> {
  JsonReader reader{body};
  std::vector<WebHdfsStatus> list;
  bool good = false;
  const bool whole = detail::for_each_member(reader, [&](std::string_view outer) {
    if (outer != "FileStatuses") return reader.skip();
    detail::for_each_member(reader, [&](std::string_view name) {
      if (name != "FileStatus") return reader.skip();
      good = reader.next() == JsonToken::begin_array;
      while (good) {
        JsonReader before = reader;
        if (before.next() == JsonToken::end_array) {
          reader.next();
          return;
        }
        WebHdfsStatus status;
        good = detail::read_status(reader, status) && status.name.find('/') == std::string::npos;
        list.push_back(std::move(status));
      }
    });
  });
  ec = good && whole && reader.next() == JsonToken::end ? std::error_code{} : webhdfs_errc::bad_answer;
  if (ec) list.clear();
  return list;
}

/// Parses the answer to MKDIRS, DELETE and RENAME: {"boolean":true}.
///
/// Errors: `ec` is `webhdfs_errc::bad_answer`; the result then has no meaning.
[[nodiscard]] inline auto parse_webhdfs_boolean(std::string_view body, std::error_code& ec) -> bool {
  JsonReader reader{body};
  std::optional<bool> value;
  const bool whole = detail::for_each_member(reader, [&](std::string_view name) {
    if (reader.next() == JsonToken::boolean && name == "boolean") value = reader.boolean();
    else reader.skip();
  });
  ec = value && whole && reader.next() == JsonToken::end ? std::error_code{} : webhdfs_errc::bad_answer;
  return value.value_or(false);
}

}  // namespace v0
}  // namespace distrib
