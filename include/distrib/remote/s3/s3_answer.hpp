// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_time.hpp>
#include <distrib/remote/s3/xml_reader.hpp>

#include <algorithm>
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

/// An error that an object store sends as XML. A value.
struct S3Refusal {
  std::string code;  ///< "NoSuchKey": letters, digits and points, at most 64.
  std::string region = {};  ///< The region that the server expects; empty: not told.
  std::string request_id = {};  ///< For questions to the operator of the store.

  /// Parses the body of an answer. Returns nothing if it is no such error. The message of the server is left out: it
  /// may quote what was sent.
  [[nodiscard]] static auto parse(std::string_view body) -> std::optional<S3Refusal>;
};

/// A page of a listing. A value.
struct S3ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;  ///< With a delimiter: what keys begin with that contain it.
  std::string next;  ///< Token for the next page; empty: this page is the last one.
};

/// A page of unfinished uploads. A value.
struct S3UploadPage {
  std::vector<ObjectUpload> uploads;
  std::string next_key;  ///< Marks for the next page; both empty: this page is the last one.
  std::string next_id;
};

namespace detail {

/// Returns `text` without what is no letter, digit, point, minus or underscore: safe to quote.
inline auto quotable(std::string_view text, std::size_t most = 64) -> std::string {
  std::string safe;
  constexpr std::string_view kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
  for (const char c : text.substr(0, most))
    if (kept.find(c) != std::string_view::npos) safe += c;
  return safe;
}

/// Returns the name of the document's element; empty if `body` does not begin as XML.
inline auto xml_root(std::string_view body) -> std::string {
  XmlReader reader{body};
  return reader.next() == XmlToken::begin ? std::string{reader.name()} : std::string{};
}

/// Reads a document whose element is called `root`; `child(reader, name)` is called for each element in it, and must
/// read that element or skip it. Returns false if the text is another document, or none.
template <class F> auto read_xml(std::string_view body, std::string_view root, F child) -> bool {
  XmlReader reader{body};
  if (reader.next() != XmlToken::begin || reader.name() != root) return false;
  if (!reader.for_each_child([&](std::string_view name) { child(reader, name); })) return false;
  return reader.next() == XmlToken::done;
}

/// Returns the text of the first element `name` below the element `root`; empty if there is none.
inline auto xml_child(std::string_view body, std::string_view root, std::string_view name, std::error_code& ec)
    -> std::string {
  std::string found;
  const bool good = read_xml(body, root, [&](XmlReader& reader, std::string_view child) {
    if (child == name && found.empty()) found = reader.element_text();
    else reader.skip();
  });
  ec = good && !found.empty() ? std::error_code{} : s3_errc::bad_answer;
  return good ? found : std::string{};
}

/// Decodes a key of a listing whose EncodingType is "url": %XX, and "+" for a blank.
inline auto decoded_key(std::string text) -> std::string {
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decode(text);
}

}  // namespace detail

inline auto S3Refusal::parse(std::string_view body) -> std::optional<S3Refusal> {
  S3Refusal refusal;
  const bool good = detail::read_xml(body, "Error", [&](XmlReader& reader, std::string_view name) {
    if (name == "Code") refusal.code = detail::quotable(reader.element_text());
    else if (name == "Region") refusal.region = detail::quotable(reader.element_text());
    else if (name == "RequestId") refusal.request_id = detail::quotable(reader.element_text());
    else reader.skip();
  });
  if (!good || refusal.code.empty()) return std::nullopt;
  return refusal;
}

/// Parses a page of ListObjectsV2. `by_generation`: the versions are GCS's generations, not ETags.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_list(std::string_view body, bool by_generation, std::error_code& ec) -> S3ListPage {
  S3ListPage page;
  bool encoded = false;
  bool truncated = false;
  bool good = true;
  const auto object = [&](XmlReader& reader) {
    ObjectInfo& info = page.objects.emplace_back();
    bool has_size = false;
    good = reader.for_each_child([&](std::string_view name) {
      if (name == "Key") {
        info.key = reader.element_text();
      } else if (name == "Size") {
        const auto size = detail::parse_whole<std::uint64_t>(reader.element_text());
        has_size = size.has_value();
        info.bytes = size.value_or(0);
      } else if (name == (by_generation ? "Generation" : "ETag")) {
        info.version = reader.element_text();
      } else if (name == "LastModified") {
        const auto time = parse_iso_time(reader.element_text());
        if (time) info.modified_seconds = time->time_since_epoch().count();
      } else {
        reader.skip();
      }
    }) && has_size &&
           !info.key.empty() && good;
  };
  const bool whole = detail::read_xml(body, "ListBucketResult", [&](XmlReader& reader, std::string_view name) {
    if (name == "Contents") object(reader);
    else if (name == "IsTruncated") truncated = reader.element_text() == "true";
    else if (name == "NextContinuationToken") page.next = reader.element_text();
    else if (name == "EncodingType") encoded = reader.element_text() == "url";
    else if (name == "CommonPrefixes")
      good = reader.for_each_child([&](std::string_view part) {
        if (part == "Prefix") page.prefixes.push_back(reader.element_text());
        else reader.skip();
      }) && good;
    else reader.skip();
  });
  if (!whole || !good || (truncated && page.next.empty())) {
    ec = s3_errc::bad_answer;
    return {};
  }
  ec.clear();
  if (!truncated) page.next.clear();
  if (encoded) {
    for (ObjectInfo& info : page.objects) info.key = detail::decoded_key(std::move(info.key));
    for (std::string& prefix : page.prefixes) prefix = detail::decoded_key(std::move(prefix));
  }
  return page;
}

/// Parses a page of ListMultipartUploads.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_uploads(std::string_view body, std::error_code& ec) -> S3UploadPage {
  S3UploadPage page;
  bool encoded = false;
  bool truncated = false;
  bool good = true;
  const bool whole =
      detail::read_xml(body, "ListMultipartUploadsResult", [&](XmlReader& reader, std::string_view name) {
        if (name == "Upload") {
          ObjectUpload& upload = page.uploads.emplace_back();
          good = reader.for_each_child([&](std::string_view part) {
            if (part == "Key") upload.key = reader.element_text();
            else if (part == "UploadId") upload.id = reader.element_text();
            else reader.skip();
          }) && !upload.key.empty() &&
                 !upload.id.empty() && good;
        } else if (name == "IsTruncated") {
          truncated = reader.element_text() == "true";
        } else if (name == "NextKeyMarker") {
          page.next_key = reader.element_text();
        } else if (name == "NextUploadIdMarker") {
          page.next_id = reader.element_text();
        } else if (name == "EncodingType") {
          encoded = reader.element_text() == "url";
        } else {
          reader.skip();
        }
      });
  if (!whole || !good || (truncated && page.next_key.empty())) {
    ec = s3_errc::bad_answer;
    return {};
  }
  ec.clear();
  if (!truncated) page.next_key = page.next_id = {};
  if (encoded) {
    for (ObjectUpload& upload : page.uploads) upload.key = detail::decoded_key(std::move(upload.key));
    page.next_key = detail::decoded_key(std::move(page.next_key));
  }
  return page;
}

/// Parses the answer to CreateMultipartUpload: returns the id of the upload.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_upload_id(std::string_view body, std::error_code& ec) -> std::string {
  return detail::xml_child(body, "InitiateMultipartUploadResult", "UploadId", ec);
}

/// Parses the answer to CompleteMultipartUpload: returns the ETag of the object.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_completed(std::string_view body, std::error_code& ec) -> std::string {
  return detail::xml_child(body, "CompleteMultipartUploadResult", "ETag", ec);
}

/// Parses the answer to CopyObject ("CopyObjectResult") or UploadPartCopy ("CopyPartResult"): returns the ETag.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_copied(std::string_view body, std::error_code& ec) -> std::string {
  const std::string root = detail::xml_root(body);
  return detail::xml_child(body, root == "CopyPartResult" ? root : "CopyObjectResult", "ETag", ec);
}

/// Parses the answer to DeleteObjects: returns the first object that could not be deleted, as "KEY (CODE)"; empty if
/// all are gone.
///
/// Errors: `ec` is `s3_errc::bad_answer`; the result is then empty.
[[nodiscard]] inline auto parse_s3_deleted(std::string_view body, std::error_code& ec) -> std::string {
  std::string failed;
  bool good = true;
  const bool whole = detail::read_xml(body, "DeleteResult", [&](XmlReader& reader, std::string_view name) {
    if (name != "Error") return reader.skip();
    std::string key;
    std::string code;
    good = reader.for_each_child([&](std::string_view part) {
      if (part == "Key") key = reader.element_text();
      else if (part == "Code") code = detail::quotable(reader.element_text());
      else reader.skip();
    }) && good;
    if (failed.empty() && code != "NoSuchKey") failed = key.substr(0, 200) + " (" + code + ")";
  });
  ec = whole && good ? std::error_code{} : s3_errc::bad_answer;
  return ec ? std::string{} : failed;
}

}  // namespace v0
}  // namespace distrib
