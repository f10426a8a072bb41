// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/tls/detail/openssl.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The paths of the certificate files, in PEM.
struct TlsFiles {
  /// The certificate of this end, followed by the certificates that lead to its authority. Empty: this end has none; it
  /// can then only connect to servers that need none.
  std::string certificate;
  /// The private key of the certificate, without a passphrase.
  std::string key;
  /// The certificates of the authorities that sign the certificates of the peers, in one file. Empty: those of the
  /// system.
  std::string authority;
};

namespace detail {

/// Which version of a file was read.
struct FileStamp {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  std::int64_t changed = 0;  // nanoseconds
  ::off_t bytes = 0;

  auto operator==(const FileStamp&) const -> bool = default;
};
using TlsStamps = std::array<FileStamp, 3>;

/// What the certificate files contain.
struct TlsKeys {
  X509Certificate certificate;  // null: none
  std::vector<X509Certificate> chain;
  PrivateKey key;
  X509Store authorities;
  std::string exposed;  // the path of a key file that other users may read
};

/// Reads the certificate files as one set.
class TlsFileReader {
 public:
  /// `directory`: where the names of `files` are; empty: they are paths. If it contains a link "..data", as volumes of
  /// Kubernetes do, the files are those behind that link.
  TlsFileReader(std::string directory, TlsFiles files)
      : directory_{std::move(directory)}, names_{files.certificate, files.key, files.authority} {}

  /// Returns the path of a file, for messages.
  [[nodiscard]] auto path(std::size_t which) const -> std::string {
    return directory_.empty() ? names_[which] : directory_ + "/" + names_[which];
  }

  /// Returns the versions of the files that are there now; those of missing files are empty.
  [[nodiscard]] auto stamps() const -> TlsStamps {
    const std::string from = resolved();
    TlsStamps found{};
    for (std::size_t i = 0; i < names_.size(); ++i) {
      struct ::stat about{};
      if (!names_[i].empty() && ::stat(from_path(from, i).c_str(), &about) == 0) found[i] = stamp_of(about);
    }
    return found;
  }

  /// Reads the files. If a key does not fit its certificate, or a file is missing or incomplete, the files may be
  /// changing now: it tries three times.
  ///
  /// Errors: the system's; `net_errc::bad_tls_file`. The place is the path and the reason.
  [[nodiscard]] auto read(Error& error) const -> TlsKeys {
    constexpr int tries = 3;
    TlsKeys keys;
    for (int i = 0; i < tries; ++i) {
      keys = read_once(error = {});
      if (!error) break;
    }
    return keys;
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of a file: authorities of a system have 200 KiB

  static auto stamp_of(const struct ::stat& about) -> FileStamp {
    return {about.st_dev, about.st_ino, about.st_mtim.tv_sec * std::int64_t{1'000'000'000} + about.st_mtim.tv_nsec,
            about.st_size};
  }

  /// Returns the directory with all links resolved, so that all files are of one version.
  [[nodiscard]] auto resolved() const -> std::string {
    if (directory_.empty()) return {};
    for (const std::string& path : {directory_ + "/..data", directory_}) {
      const std::unique_ptr<char, decltype(&std::free)> real{::realpath(path.c_str(), nullptr), &std::free};
      if (real != nullptr) return real.get();
    }
    return directory_;
  }
  [[nodiscard]] auto from_path(const std::string& resolved, std::size_t which) const -> std::string {
    return resolved.empty() ? names_[which] : resolved + "/" + names_[which];
  }

  [[nodiscard]] auto read_once(Error& error) const -> TlsKeys {
    const std::string from = resolved();
    TlsKeys keys;
    std::array<std::string, 3> texts;
    for (std::size_t i = 0; i < names_.size() && !error; ++i)
      if (!names_[i].empty()) texts[i] = read_file(from_path(from, i), i, keys, error);
    if (!error && !names_[0].empty()) parse_chain(texts[0], keys, error);
    if (!error && !names_[1].empty()) parse_key(texts[1], keys, error);
    if (!error && keys.certificate &&
        (!keys.key || ::X509_check_private_key(keys.certificate.get(), keys.key.get()) != 1))
      fail(1, keys.key ? "it is not the key of " + path(0) : "the private key of " + path(0) + " is missing", error);
    if (!error) parse_authorities(texts[2], keys, error);
    ::OPENSSL_cleanse(texts[1].data(), texts[1].size());
    ::ERR_clear_error();
    return keys;
  }

  void fail(std::size_t which, const std::string& why, Error& error) const {
    error = {net_errc::bad_tls_file, path(which) + " (" + why + ")"};
  }

  auto read_file(const std::string& from, std::size_t which, TlsKeys& keys, Error& error) const -> std::string {
    std::error_code ec;
    FileDescriptor file{from, O_RDONLY | O_NONBLOCK, ec};
    struct ::stat about{};
    if (!ec && ::fstat(file.get(), &about) != 0) ec = last_os_error();
    if (!ec && !S_ISREG(about.st_mode)) fail(which, "it is no regular file", error);
    else if (!ec && static_cast<std::size_t>(about.st_size) > most_bytes) fail(which, "it is larger than 1 MiB", error);
    if (error) return {};
    std::string text(static_cast<std::size_t>(about.st_size), '\0');
    std::size_t size = 0;
    while (!ec && size < text.size()) {
      const std::size_t count = file.read(std::as_writable_bytes(std::span{text}).subspan(size), ec);
      if (count == 0) break;
      size += count;
    }
    if (ec) error = {ec, path(which)};
    text.resize(size);
    if (which == 1 && (about.st_mode & (S_IROTH | S_IWOTH)) != 0) keys.exposed = path(which);
    return text;
  }

  static auto bio_of(const std::string& text) -> MemoryBio {
    return MemoryBio{::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
  }
  /// Without this function OpenSSL would ask for a passphrase at the terminal.
  static auto no_passphrase(char*, int, int, void*) -> int { return 0; }

  /// Reads certificates until the end of the text. Anything else in it is an error.
  static auto certificates_in(const std::string& text) -> std::vector<X509Certificate> {
    const MemoryBio bio = bio_of(text);
    std::vector<X509Certificate> all;
    ::ERR_clear_error();
    while (X509Certificate one{::PEM_read_bio_X509_AUX(bio.get(), nullptr, &no_passphrase, nullptr)})
      all.push_back(std::move(one));
    const bool is_end = ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (!is_end) all.clear();
    return all;
  }

  void parse_chain(const std::string& text, TlsKeys& keys, Error& error) const {
    keys.chain = certificates_in(text);
    if (keys.chain.empty()) return fail(0, "it has no certificate in PEM", error);
    keys.certificate = std::move(keys.chain.front());
    keys.chain.erase(keys.chain.begin());
  }
  void parse_key(const std::string& text, TlsKeys& keys, Error& error) const {
    const MemoryBio bio = bio_of(text);
    keys.key.reset(::PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_passphrase, nullptr));
    if (keys.key == nullptr) fail(1, "it has no private key in PEM without a passphrase", error);
  }
  void parse_authorities(const std::string& text, TlsKeys& keys, Error& error) const {
    keys.authorities.reset(::X509_STORE_new());
    if (names_[2].empty()) {
      if (keys.authorities == nullptr || ::X509_STORE_set_default_paths(keys.authorities.get()) != 1)
        error = {net_errc::bad_tls_file, "the authorities of the system (" + take_openssl_error() + ")"};
      return;
    }
    const std::vector<X509Certificate> all = certificates_in(text);
    if (all.empty()) return fail(2, "it has no certificate of an authority in PEM", error);
    for (const X509Certificate& one : all) ::X509_STORE_add_cert(keys.authorities.get(), one.get());
  }

  std::string directory_;
  std::array<std::string, 3> names_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
