// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/pool_ahead.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_core.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_session.hpp>
#include <distrib/remote/s3/s3_upload_core.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Writes an object, a sink of bytes. An object of less than one part is one request; a longer one is an upload in
/// parts of `S3Options::part_bytes`, which threads of the pool send while the caller fills the next ones. Only `close`
/// makes the object visible, whole; an object of the same key is replaced then, and readers see the old one or the new
/// one.
///
/// Errors: as in `S3Client`: set in `to`, or thrown as `std::system_error` by the overload without `to`. After the
/// first failure every later call reports the same failure. If the writer is destroyed before a successful `close`, it
/// tries once to abort the upload; what stays of one is invisible, and costs storage until `S3Client::abort` or a
/// lifecycle rule of the bucket removes it.
///
/// Threads: one at a time. Movable.
class S3Writer {
 public:
  /// For the object of this URL; sends no request yet. A wrong URL is reported by `error` and by every later call.
  /// Throws `std::system_error` if the operating system has no random numbers.
  explicit S3Writer(const std::string& url, const S3Options& options = {})
      : part_bytes_{std::max(options.part_bytes, least_part_bytes)} {
    const S3Location location = S3Location::parse(url, error_);
    if (!error_ && location.key.empty()) error_ = {s3_errc::bad_url, detail::shown_url(url)};
    if (!error_) session_ = S3Session::open(location, options, error_);
    if (error_) return;
    upload_ = std::make_unique<S3UploadCore>(location.key, S3Client::draw());
    const std::size_t ahead = options.pool == nullptr ? 1 : std::max<std::size_t>(options.parts_ahead, 1);
    parts_ = {options.pool, ahead, Work{session_}};
  }
  /// For the object `key` in the bucket of a session; the caller's thread sends the parts.
  S3Writer(std::shared_ptr<S3Session> session, std::string key, std::size_t part_bytes)
      : part_bytes_{std::max(part_bytes, least_part_bytes)},
        session_{std::move(session)},
        upload_{std::make_unique<S3UploadCore>(std::move(key), S3Client::draw())},
        parts_{nullptr, 1, Work{session_}} {}
  S3Writer(S3Writer&&) noexcept = default;
  auto operator=(S3Writer&&) -> S3Writer& = delete;
  ~S3Writer() {
    if (upload_ && !upload_->id().empty()) drop();
  }

  /// Appends bytes to the object. They are copied or sent before it returns. After `close`: `s3_errc::closed`.
  void write(ByteView bytes, ErrorRef to) {
    if (closed_ && !error_) error_ = {s3_errc::closed, session_->bucket() + '/' + upload_->key()};
    while (!bytes.empty() && !error_) {
      const std::size_t count = std::min(bytes.size(), part_bytes_ - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      if (buffer_.size() == part_bytes_) send_part();
    }
    to.set(Error{error_});
  }
  void write(ByteView bytes) {
    Error error;
    write(bytes, error);
    throw_if(error);
  }

  /// Sends the remaining bytes and makes the object visible. A second call sends nothing: after a failure it reports
  /// that failure again.
  void close(ErrorRef to) {
    if (!error_ && !closed_) {
      if (upload_->parts() == 0) put();
      else complete();
      closed_ = true;
    }
    to.set(Error{error_});
  }
  void close() {
    Error error;
    close(error);
    throw_if(error);
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the number of bytes passed to `write` so far.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t {
    return (upload_ ? upload_->bytes() : 0) + buffer_.size();
  }
  /// Returns the version of the object after a successful `close`; empty if the store did not tell it.
  [[nodiscard]] auto version() const noexcept -> const std::string& { return version_; }

 private:
  static constexpr std::size_t least_part_bytes = 5 << 20;  // of all parts but the last, at Amazon and others

  struct Work {
    struct Piece {
      std::unique_ptr<HttpClient> client;
      S3Request request;
      std::vector<std::byte> bytes;
      std::size_t number = 0;  // 0: nothing was sent with it yet
      std::string etag;
      Error error;
    };
    static constexpr bool is_waited_for = true;

    void operator()(Piece& piece, const std::atomic<bool>& dropped) const {
      if (!piece.client) piece.client = std::make_unique<HttpClient>(session->http());
      const S3Core core = session->run(*piece.client, piece.request, [](ByteView) {}, piece.error, &dropped);
      piece.etag = core.answer().etag;
      if (!piece.error && piece.etag.empty()) piece.error = {s3_errc::bad_answer, core.where()};
    }

    std::shared_ptr<S3Session> session;
  };

  /// Hands the buffer over as a part, after the part that had its place was sent.
  void send_part() {
    if (upload_->id().empty()) S3Client{session_}.begin(*upload_, error_);
    const std::size_t slot = upload_->parts() % parts_.size();
    if (!error_ && upload_->parts() >= parts_.size()) take(slot);
    if (error_) return;
    const std::size_t number = upload_->add(buffer_.size());
    if (number == 0) {
      error_ = {s3_errc::too_large, session_->bucket() + '/' + upload_->key() + ": " +
                                        std::to_string(S3UploadCore::most_parts) +
                                        " parts of part_bytes = " + std::to_string(part_bytes_)};
      return;
    }
    Work::Piece& piece = parts_[slot];
    piece.bytes.swap(buffer_);
    buffer_.clear();
    const std::uint32_t crc = crc32c(piece.bytes);
    whole_crc_ = number == 1 ? crc : detail::crc32c_extend(whole_crc_, piece.bytes);
    piece.number = number;
    piece.error = {};
    piece.request = upload_->part(number, piece.bytes, crc);
    parts_.want_ahead(slot);
  }

  /// Waits for the part in this place and notes that the store has it.
  void take(std::size_t slot) {
    Work::Piece& piece = parts_.finish(slot);
    if (piece.error) {
      if (!error_) error_ = piece.error;
      return;
    }
    const bool summed = session_->sums_parts();
    upload_->sent(piece.number, piece.etag, summed ? piece.request.crc : std::nullopt);
  }

  void put() {
    S3Client client{session_};
    version_ = client.put(upload_->key(), buffer_, error_);
  }

  void complete() {
    if (!buffer_.empty()) send_part();
    const std::size_t sent = upload_->parts();
    for (std::size_t i = sent - std::min(sent, parts_.size()); i < sent; ++i) take(i % parts_.size());
    if (error_) return;
    const bool summed = session_->sums_parts();
    version_ = S3Client{session_}.complete(*upload_, summed ? std::optional{whole_crc_} : std::nullopt, error_);
    if (!error_) upload_->begun({});  // nothing is left to abort
  }

  /// Aborts the upload, without repeating failed requests.
  void drop() noexcept {
    try {
      parts_ = PoolAhead<Work>{};  // stops them: a part that lands after the end of its upload would stay
      HttpOptions once = session_->http();
      once.timeout = once.idle_timeout = once.connect_timeout = std::chrono::seconds{5};
      HttpClient client{once};
      Error error;
      session_->run(client, upload_->abort(), [](ByteView) {}, error, nullptr, 1);
    } catch (...) {  // a destructor cannot report it
    }
  }

  std::size_t part_bytes_;
  std::shared_ptr<S3Session> session_;
  std::unique_ptr<S3UploadCore> upload_;  // null if the writer could not begin, or was moved from
  PoolAhead<Work> parts_;
  std::vector<std::byte> buffer_;
  std::uint32_t whole_crc_ = 0;
  std::string version_;
  Error error_;
  bool closed_ = false;
};

}  // namespace v0
}  // namespace distrib
