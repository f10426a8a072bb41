// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/s3/s3_answer.hpp>
#include <distrib/remote/s3/s3_core.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_session.hpp>
#include <distrib/remote/s3/s3_upload_core.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Operations on the objects of a bucket, on the caller's thread: an `ObjectStore`. Keys do not begin with the bucket.
///
/// Errors: an `s3_errc`, or an `http_errc` if the store cannot be reached. The place names the request, the object and
/// the host, and quotes the store's status, code and request id. A function with a last argument of type `ErrorRef`
/// sets it; what it returns after a failure has no meaning. The constructor and the functions without it throw
/// `std::system_error`.
///
/// After a lost answer a write is repeated, and then it is found out by HEAD whether the first attempt has landed: each
/// write has a nonce in its metadata. So `put_if_absent` and `replace_if_version` do not fail because of themselves.
///
/// Threads: one at a time. Movable. Several clients may share a session.
class S3Client {
 public:
  /// For the bucket of `url`, whose key is not used; sends no request yet. Throws `std::system_error` with the errors
  /// of `S3Location::parse` and `S3Session::open`.
  explicit S3Client(std::string_view url, const S3Options& options = {}) {
    Error error;
    const S3Location location = S3Location::parse(url, error);
    if (!error) session_ = S3Session::open(location, options, error);
    throw_if(error);
    http_ = std::make_unique<HttpClient>(session_->http());
  }
  /// For the bucket of a session.
  explicit S3Client(std::shared_ptr<S3Session> session)
      : session_{std::move(session)}, http_{std::make_unique<HttpClient>(session_->http())} {}

  /// Returns what this client shares: for `S3Options::session`.
  [[nodiscard]] auto session() const noexcept -> const std::shared_ptr<S3Session>& { return session_; }

  /// Returns size, version and time of an object.
  [[nodiscard]] auto info(const std::string& key, ErrorRef to) -> ObjectInfo {
    detail::ErrorOut error{to};
    return run(S3Request::head(key), error).info();
  }
  [[nodiscard]] auto info(const std::string& key) -> ObjectInfo {
    Error error;
    return detail::or_throw(info(key, error), error);
  }

  /// Returns a whole object. One with more than `most_bytes` bytes is `s3_errc::too_large`, and is not read.
  [[nodiscard]] auto get(const std::string& key, std::uint64_t most_bytes, ErrorRef to) -> std::vector<std::byte> {
    detail::ErrorOut error{to};
    return collect(S3Request::get_all(key, most_bytes), error);
  }
  [[nodiscard]] auto get(const std::string& key, std::uint64_t most_bytes) -> std::vector<std::byte> {
    Error error;
    return detail::or_throw(get(key, most_bytes, error), error);
  }

  /// Fills `to` with the bytes of an object from `first` on; they must lie inside it. `wanted`, from `info`: another
  /// version of the object is `s3_errc::changed`; empty: any version.
  void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> into, const std::string& wanted,
                 ErrorRef to) {
    detail::ErrorOut error{to};
    const auto take = [&into](ByteView bytes) {
      std::memcpy(into.data(), bytes.data(), bytes.size());
      into = into.subspan(bytes.size());
    };
    session_->run(*http_, S3Request::get(key, first, into.size(), wanted), take, error);
  }

  /// Returns the last `bytes` bytes of an object, or all of it if it is shorter; `info` gets its size and version. 0
  /// counts as 1.
  [[nodiscard]] auto get_end(const std::string& key, std::uint64_t bytes, ObjectInfo& info, ErrorRef to)
      -> std::vector<std::byte> {
    detail::ErrorOut error{to};
    return collect(S3Request::get_end(key, std::max<std::uint64_t>(bytes, 1)), error, &info);
  }

  /// Writes an object of at most 5 GiB; an existing one is replaced. Returns its version.
  auto put(const std::string& key, ByteView bytes, ErrorRef to) -> std::string {
    detail::ErrorOut error{to};
    return write(key, bytes, {}, error);
  }
  auto put(const std::string& key, ByteView bytes) -> std::string {
    Error error;
    return detail::or_throw(put(key, bytes, error), error);
  }
  /// Writes an object; an existing one is `s3_errc::condition_failed`. Trap: there are stores that ignore this, and
  /// replace the object; `distrib store check` tells.
  auto put_if_absent(const std::string& key, ByteView bytes, ErrorRef to) -> std::string {
    detail::ErrorOut error{to};
    return write(key, bytes, {.absent = true}, error);
  }
  /// Replaces an object that has the version `replaced`, as `info`, `list` and the writing functions return it; another
  /// version is `s3_errc::condition_failed`, no object that or `no_such_object`.
  auto replace_if_version(const std::string& key, ByteView bytes, const std::string& replaced, ErrorRef to)
      -> std::string {
    detail::ErrorOut error{to};
    return write(key, bytes, {.version = replaced}, error);
  }

  /// Copies an object inside the bucket, whatever its size, without sending its bytes over the network. One of more
  /// than `part_bytes` (5 MiB to 5 GiB) is copied in parts of this size, more if it has more than 10,000 of them. If
  /// the source is replaced meanwhile, that is `s3_errc::changed`, and nothing is copied.
  void copy(const std::string& from, const std::string& to, ErrorRef told,
            std::uint64_t part_bytes = std::uint64_t{1} << 30);

  /// Deletes an object. Success also if there is none.
  void remove(const std::string& key, ErrorRef to) {
    detail::ErrorOut error{to};
    run(S3Request::remove(key), error);
    if (error.code == s3_errc::no_such_object) error = {};
  }
  /// Deletes objects, 1000 with one request (on GCS one by one). Success also for objects that do not exist. Stops at
  /// the first failure.
  void remove_all(std::span<const std::string> keys, ErrorRef to);

  /// Returns the objects whose keys begin with `prefix`, sorted by the bytes of their keys. Memory: about 150 bytes
  /// each. More than 10 million are `s3_errc::too_large`: list a longer prefix.
  [[nodiscard]] auto list(const std::string& prefix, ErrorRef to) -> std::vector<ObjectInfo> {
    detail::ErrorOut error{to};
    std::vector<ObjectInfo> all;
    list_pages(prefix, {}, error, [&all](S3ListPage& page) {
      std::move(page.objects.begin(), page.objects.end(), std::back_inserter(all));
    });
    return all;
  }
  [[nodiscard]] auto list(const std::string& prefix) -> std::vector<ObjectInfo> {
    Error error;
    return detail::or_throw(list(prefix, error), error);
  }
  /// Returns the first of the objects that `list` returns, as many as one answer of the store has: at most 1000.
  [[nodiscard]] auto list_first(const std::string& prefix, ErrorRef to) -> std::vector<ObjectInfo> {
    detail::ErrorOut error{to};
    std::vector<ObjectInfo> first;
    list_pages(prefix, {}, error, [&first](S3ListPage& page) {
      first = std::move(page.objects);
      if (!first.empty()) page.next.clear();
    });
    return first;
  }
  /// Returns the "directories" below `prefix`: what keys begin with up to the next `delimiter` after the prefix.
  [[nodiscard]] auto list_prefixes(const std::string& prefix, const std::string& delimiter, ErrorRef to)
      -> std::vector<std::string> {
    detail::ErrorOut error{to};
    std::vector<std::string> all;
    list_pages(prefix, delimiter, error, [&all](S3ListPage& page) {
      std::move(page.prefixes.begin(), page.prefixes.end(), std::back_inserter(all));
    });
    return all;
  }

  /// Returns the unfinished uploads of keys that begin with `prefix`.
  [[nodiscard]] auto uploads(const std::string& prefix, ErrorRef to) -> std::vector<ObjectUpload>;
  /// Ends an upload without an object, and frees its parts. Success also if there is none.
  void abort(const ObjectUpload& upload, ErrorRef to) {
    detail::ErrorOut error{to};
    run(S3Request::abort(upload.key, upload.id), error);
    if (error.code == s3_errc::no_such_upload || error.code == s3_errc::no_such_object) error = {};
  }

  /// Returns a nonce as writes carry it.
  [[nodiscard]] static auto draw() -> std::string { return to_hex(ByteView{draw_nonce()}.first(16)); }

  /// True if the object `key` was written with this nonce and has `bytes` bytes; `info` gets what is known about it.
  /// For writes whose answer was lost.
  [[nodiscard]] auto is_written(const std::string& key, const std::string& nonce, std::uint64_t bytes, ObjectInfo& info)
      -> bool {
    Error error;
    const S3Core core = run(S3Request::head(key), error);
    info = core.info();
    const std::string name = std::string{session_->gcs() ? "x-goog-" : "x-amz-"} + "meta-distrib-nonce";
    return !error && info.bytes == bytes && core.answer().header(name) == nonce;
  }

 private:
  static constexpr std::size_t most_removed = 1000;
  static constexpr std::size_t most_pages = 10'000;  // of 1000 entries each: a listing that is longer than all that fit
  static constexpr std::size_t most_empty = 100;

  friend class S3Writer;

  auto run(S3Request request, Error& error) -> S3Core {
    return session_->run(*http_, std::move(request), [](ByteView) {}, error);
  }

  auto collect(S3Request request, Error& error, ObjectInfo* info = nullptr) -> std::vector<std::byte> {
    std::vector<std::byte> all;
    const auto take = [&all](ByteView bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); };
    const S3Core core = session_->run(*http_, std::move(request), take, error);
    if (info != nullptr) *info = core.info();
    if (error) all.clear();
    return all;
  }

  auto write(const std::string& key, ByteView bytes, S3Condition condition, Error& error) -> std::string {
    const std::string nonce = draw();
    const S3Core core = run(S3Request::put(key, bytes, crc32c(bytes), nonce, std::move(condition)), error);
    if (!error) return core.info().version;
    ObjectInfo info;
    const bool own = error.code == s3_errc::condition_failed || error.code == s3_errc::no_such_object;
    if (own && core.maybe_done() && is_written(key, nonce, bytes.size(), info)) error = {};
    return info.version;
  }

  /// Calls `take(page)` for each page of a listing. The token of the page itself, or keys that do not go forward, end
  /// it with `s3_errc::bad_answer`, too many pages with `too_large`: it might never end. A page may be empty and not
  /// the last, because stores leave out what was deleted, but not 100 in a row.
  template <class Take>
  void list_pages(const std::string& prefix, const std::string& delimiter, Error& error, Take take) {
    std::string token;
    std::string last;
    std::size_t pages = 0;
    std::size_t empty = 0;  // empty pages in a row
    do {
      const S3Core core = run(S3Request::list(prefix, token, delimiter), error);
      if (error) return;
      std::error_code ec;
      S3ListPage page = parse_s3_list(core.answer().body, session_->gcs(), ec);
      for (const ObjectInfo& info : page.objects) {
        if (!info.key.starts_with(prefix) || (!last.empty() && info.key <= last)) ec = s3_errc::bad_answer;
        last = info.key;
      }
      empty = page.objects.empty() && page.prefixes.empty() ? empty + 1 : 0;
      if (!page.next.empty() && (page.next == token || empty == most_empty)) ec = s3_errc::bad_answer;
      if (!ec && !page.next.empty() && ++pages == most_pages) ec = s3_errc::too_large;
      if (ec) error = {ec, core.where()};
      if (error) return;
      take(page);
      token = page.next;
    } while (!token.empty());
  }

  void copy_parts(const ObjectInfo& source, const std::string& to, std::uint64_t part_bytes, Error& error);

  /// Begins an upload.
  void begin(S3UploadCore& upload, Error& error);
  /// Makes the object of an upload visible and returns its version. `crc`: of all bytes, if one is to be sent.
  auto complete(const S3UploadCore& upload, std::optional<std::uint32_t> crc, Error& error) -> std::string;

  std::shared_ptr<S3Session> session_;
  std::unique_ptr<HttpClient> http_;
};

inline void S3Client::copy(const std::string& from, const std::string& to, ErrorRef told, std::uint64_t part_bytes) {
  detail::ErrorOut error{told};
  const ObjectInfo source = info(from, error);
  if (error) return;
  if (source.bytes > part_bytes) {
    copy_parts(source, to, part_bytes, error);
  } else {
    const S3Core core = run(S3Request::copy(session_->bucket(), from, to, source.version), error);
    std::error_code ec;
    if (!error) static_cast<void>(parse_s3_copied(core.answer().body, ec));
    if (ec) error = {ec, core.where()};
  }
  if (error.code == s3_errc::condition_failed) error.code = s3_errc::changed;  // the condition is about the source
}

inline void S3Client::copy_parts(const ObjectInfo& source, const std::string& to, std::uint64_t part_bytes,
                                 Error& error) {
  S3UploadCore upload{to, draw()};
  begin(upload, error);
  const std::uint64_t most = S3UploadCore::most_parts;
  part_bytes = std::max(part_bytes, source.bytes / most + (source.bytes % most != 0 ? 1 : 0));
  for (std::uint64_t first = 0; first < source.bytes && !error; first += part_bytes) {
    const std::uint64_t count = std::min(part_bytes, source.bytes - first);
    const std::size_t number = upload.add(count);
    const S3Core core =
        run(S3Request::copy_part(session_->bucket(), source.key, to, upload.id(), number, first, count, source.version),
            error);
    if (error) break;
    std::error_code ec;
    upload.sent(number, parse_s3_copied(core.answer().body, ec), std::nullopt);
    if (ec) error = {ec, core.where()};
  }
  if (!error) complete(upload, std::nullopt, error);
  Error ignored;
  if (error && !upload.id().empty()) abort({to, upload.id()}, ignored);
}

inline void S3Client::begin(S3UploadCore& upload, Error& error) {
  const S3Core core = run(upload.create(), error);
  if (error) return;
  std::error_code ec;
  upload.begun(parse_s3_upload_id(core.answer().body, ec));
  if (ec) error = {ec, core.where()};
}

inline auto S3Client::complete(const S3UploadCore& upload, std::optional<std::uint32_t> crc, Error& error)
    -> std::string {
  const S3Core core = run(upload.complete(crc), error);
  // After a lost answer the upload may be over because it is done.
  ObjectInfo info;
  const bool over = error.code == s3_errc::no_such_upload || error.code == s3_errc::no_such_object;
  if (over && core.maybe_done() && is_written(upload.key(), upload.nonce(), upload.bytes(), info)) {
    error = {};
    return info.version;
  }
  if (error) return {};
  std::error_code ec;
  std::string etag = parse_s3_completed(core.answer().body, ec);
  if (ec) error = {ec, core.where()};
  return session_->gcs() ? std::string{core.answer().header("x-goog-generation")} : etag;
}

inline void S3Client::remove_all(std::span<const std::string> keys, ErrorRef to) {
  detail::ErrorOut error{to};
  if (session_->gcs()) {
    for (const std::string& key : keys) {
      remove(key, error);
      if (error) return;
    }
    return;
  }
  while (!keys.empty() && !error) {
    const std::size_t count = std::min(keys.size(), most_removed);
    const S3Core core = run(S3Request::remove_many(keys.first(count)), error);
    if (error) return;
    std::error_code ec;
    const std::string failed = parse_s3_deleted(core.answer().body, ec);
    if (ec) error = {ec, core.where()};
    else if (!failed.empty()) error = {s3_errc::refused, core.where() + ": " + failed};
    keys = keys.subspan(count);
  }
}

inline auto S3Client::uploads(const std::string& prefix, ErrorRef to) -> std::vector<ObjectUpload> {
  detail::ErrorOut error{to};
  std::vector<ObjectUpload> all;
  S3UploadPage page;
  std::size_t pages = 0;
  do {
    const S3Core core = run(S3Request::uploads(prefix, page.next_key, page.next_id), error);
    if (error) return {};
    std::error_code ec;
    S3UploadPage next = parse_s3_uploads(core.answer().body, ec);
    const bool stands = next.next_key == page.next_key && next.next_id == page.next_id && !next.next_key.empty();
    if (ec || stands) error = {s3_errc::bad_answer, core.where()};
    else if (++pages > most_pages) error = {s3_errc::too_large, core.where()};
    if (error) return {};
    page = std::move(next);
    for (ObjectUpload& upload : page.uploads)
      if (upload.key.starts_with(prefix)) all.push_back(std::move(upload));
  } while (!page.next_key.empty());
  return all;
}

}  // namespace v0
}  // namespace distrib
