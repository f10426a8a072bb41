// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/transport.hpp>

#include <memory>
#include <string>

namespace tools {

/// Returns the TLS of a directory with tls.crt, tls.key and ca.crt; of DISTRIB_TLS_DIRECTORY if `directory` is empty;
/// null if neither is there. Throws what `distrib::Tls` throws, or `net_errc::no_tls` if this command was built without
/// OpenSSL.
[[nodiscard]] auto tls_of(const std::string& directory) -> std::shared_ptr<const distrib::Transport>;

/// An authority for one local cluster, and a certificate of it for this machine: tls.crt, tls.key and ca.crt in a
/// directory that only this user can read, and that is removed with this object. The key of the authority is not kept.
class LocalCertificates {
 public:
  /// Runs the program openssl. Throws `net_errc::bad_tls_file` if it cannot make them.
  LocalCertificates();
  LocalCertificates(const LocalCertificates&) = delete;
  auto operator=(const LocalCertificates&) -> LocalCertificates& = delete;
  ~LocalCertificates();

  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }

 private:
  std::string directory_;
};

}  // namespace tools
