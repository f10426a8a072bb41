// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/shared_secret.hpp>

#include <distrib/core/file_descriptor.hpp>
#include <distrib/rpc/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <span>
#include <string_view>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto SharedSecret::from_bytes(ByteView bytes, std::error_code& ec) -> SharedSecret {
  ec.clear();
  if (bytes.size() < min_bytes || bytes.size() > max_bytes) {
    ec = rpc_errc::bad_secret;
    return {};
  }
  return SharedSecret{bytes};
}

DISTRIB_DECL auto SharedSecret::from_bytes(ByteView bytes) -> SharedSecret {
  std::error_code ec;
  auto secret = from_bytes(bytes, ec);
  if (ec) throw_error(ec, "a shared secret");
  return secret;
}

DISTRIB_DECL auto SharedSecret::from_file(const std::string& path, std::error_code& ec) -> SharedSecret {
  detail::FileDescriptor file{path, O_RDONLY | O_NONBLOCK, ec};  // does not wait if the path is a pipe
  struct ::stat status{};
  if (!ec && ::fstat(file.get(), &status) != 0) ec = detail::last_os_error();
  if (!ec && !S_ISREG(status.st_mode)) ec = rpc_errc::bad_secret;
  if (!ec && (status.st_mode & (S_IROTH | S_IWOTH)) != 0) ec = rpc_errc::secret_exposed;
  if (ec) return {};

  Buffer buffer;
  std::size_t size = 0;
  while (!ec && size < buffer.bytes.size()) {
    const std::size_t count = file.read(std::span{buffer.bytes}.subspan(size), ec);
    if (count == 0) break;
    size += count;
  }
  if (ec) return {};
  std::string_view text = as_text(ByteView{buffer.bytes}.first(size));
  if (text.ends_with('\n')) text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  return from_bytes(as_bytes(text), ec);
}

DISTRIB_DECL auto SharedSecret::from_file(const std::string& path) -> SharedSecret {
  std::error_code ec;
  auto secret = from_file(path, ec);
  if (ec) throw_error(ec, path);
  return secret;
}

DISTRIB_DECL auto SharedSecret::from_environment(const std::string& name, std::error_code& ec) -> SharedSecret {
  const char* const text = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): before threads, in main
  if (text != nullptr) return from_bytes(as_bytes(text), ec);
  ec = rpc_errc::no_secret;
  return {};
}

DISTRIB_DECL auto SharedSecret::from_environment(const std::string& name) -> SharedSecret {
  std::error_code ec;
  auto secret = from_environment(name, ec);
  if (ec) throw_error(ec, name);
  return secret;
}

DISTRIB_DECL auto SharedSecret::of_job(ErrorRef to) -> SharedSecret {
  detail::ErrorOut error{to};
    // NOLINTBEGIN(concurrency-mt-unsafe): before threads, in main
  const std::string_view path = std::getenv("DISTRIB_SECRET_FILE") ? std::getenv("DISTRIB_SECRET_FILE") : "";
  const std::string_view text = std::getenv("DISTRIB_SECRET") ? std::getenv("DISTRIB_SECRET") : "";
    // NOLINTEND(concurrency-mt-unsafe)
  error = {{}, path.empty() ? "DISTRIB_SECRET" : std::string{path}};
  SharedSecret secret;
  if (!path.empty()) secret = from_file(error.where, error.code);
  else if (!text.empty()) secret = from_bytes(as_bytes(text), error.code);
  if (!error) error = {};
  return secret;
}

}  // namespace v0
}  // namespace distrib
