// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/json.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/s3_answer.hpp>
#include <distrib/remote/s3/s3_time.hpp>
#include <distrib/remote/s3/xml_reader.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Reads {"AccessKeyId":..,"SecretAccessKey":..,TOKEN_NAME:..,"Expiration":..}, what servers of credentials and
/// commands say. Returns nothing if it is something else, or if a value would end the line of a header.
[[nodiscard]] inline auto keys_of_json(std::string_view text, std::string_view token_name) -> std::optional<AwsKeys> {
  JsonReader reader{text};
  AwsKeys keys;
  bool good = true;
  if (reader.next() != JsonToken::begin_object) return std::nullopt;
  while (reader.next() == JsonToken::name) {
    const std::string name{reader.text()};
    if (reader.next() != JsonToken::string) {
      reader.skip();
      continue;
    }
    std::string value{reader.text()};
    if (value.find_first_of("\r\n") != std::string::npos) return std::nullopt;  // it would end the line of a header
    if (name == "AccessKeyId") keys.access_key = std::move(value);
    else if (name == "SecretAccessKey") keys.secret_key = std::move(value);
    else if (name == token_name) keys.session_token = std::move(value);
    else if (name == "Expiration") good = (keys.expires = parse_iso_time(value)).has_value() && good;
  }
  const bool whole = reader.token() == JsonToken::end_object;
  if (!whole || !good || keys.access_key.empty() || keys.secret_key.empty()) return std::nullopt;
  return keys;
}

/// Reads {"access_token":..,"expires_in":SECONDS}, what Google's metadata server says, at `now`. Returns nothing as
/// `keys_of_json`.
[[nodiscard]] inline auto keys_of_google_json(std::string_view text, UnixTime now) -> std::optional<AwsKeys> {
  JsonReader reader{text};
  AwsKeys keys;
  if (reader.next() != JsonToken::begin_object) return std::nullopt;
  while (reader.next() == JsonToken::name) {
    const std::string name{reader.text()};
    const JsonToken token = reader.next();
    if (name == "access_token" && token == JsonToken::string) keys.bearer = std::string{reader.text()};
    else if (name == "expires_in" && token == JsonToken::number && reader.int64())
      keys.expires = now + std::chrono::seconds{std::clamp<std::int64_t>(*reader.int64(), 0, 1 << 30)};
    else reader.skip();
  }
  const bool whole = reader.token() == JsonToken::end_object;
  if (!whole || keys.bearer.empty() || keys.bearer.text().find_first_of("\r\n") != std::string::npos)
    return std::nullopt;
  return keys;
}

/// Reads the document of Amazon's STS: ROOT, in it an element whose name ends in "Result", in it Credentials. Returns
/// nothing as `keys_of_json`.
[[nodiscard]] inline auto keys_of_xml(std::string_view text, std::string_view root) -> std::optional<AwsKeys> {
  AwsKeys keys;
  bool good = true;
  const bool whole = detail::read_xml(text, root, [&](XmlReader& reader, std::string_view result) {
    if (!result.ends_with("Result")) return reader.skip();
    reader.for_each_child([&](std::string_view name) {
      if (name != "Credentials") return reader.skip();
      reader.for_each_child([&](std::string_view part) {
        std::string value = reader.element_text();
        if (value.find_first_of("\r\n") != std::string::npos) good = false;
        else if (part == "AccessKeyId") keys.access_key = std::move(value);
        else if (part == "SecretAccessKey") keys.secret_key = std::move(value);
        else if (part == "SessionToken") keys.session_token = std::move(value);
        else if (part == "Expiration") good = (keys.expires = parse_iso_time(value)).has_value() && good;
      });
    });
  });
  if (!whole || !good || keys.access_key.empty() || keys.secret_key.empty()) return std::nullopt;
  return keys;
}

/// Returns the code of an error of STS, as letters, digits and points; empty if the text is none.
[[nodiscard]] inline auto sts_error_code(std::string_view text) -> std::string {
  std::string code;
  detail::read_xml(text, "ErrorResponse", [&](XmlReader& reader, std::string_view name) {
    if (name != "Error") return reader.skip();
    reader.for_each_child([&](std::string_view part) {
      if (part == "Code") code = detail::quotable(reader.element_text());
      else reader.skip();
    });
  });
  return code;
}

}  // namespace v0
}  // namespace distrib
