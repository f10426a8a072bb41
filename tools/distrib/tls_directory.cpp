// SPDX-License-Identifier: Apache-2.0
#include "tls_directory.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/net/error.hpp>
#ifdef DISTRIB_TOOLS_TLS
#include <distrib/net/tls/tls.hpp>
#endif

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tools {

auto tls_of(const std::string& directory) -> std::shared_ptr<const distrib::Transport> {
#ifdef DISTRIB_TOOLS_TLS
  if (directory.empty()) return distrib::Tls::of_job();
  return distrib::Tls::from_directory(directory);
#else
  if (directory.empty()) return nullptr;
  distrib::throw_error(distrib::net_errc::no_tls, "this command was built without OpenSSL (Debian: libssl-dev)");
#endif
}

LocalCertificates::LocalCertificates()
    : directory_{(std::filesystem::temp_directory_path() / "distrib-tls-XXXXXX").string()} {
  if (::mkdtemp(directory_.data()) == nullptr) distrib::throw_error(distrib::detail::last_os_error(), directory_);
  // The directory is the variable D of the shell, so that no name can be taken for a part of the script.
  ::setenv("D", directory_.c_str(), 1);
  const int code = std::system(
      "cd \"$D\" && umask 077 && { new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes' && "
      "openssl req -x509 $new -days 30 -subj '/CN=distrib launch' -keyout ca.key -out ca.crt "
      "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign && "
      "openssl req $new -subj /CN=task -keyout tls.key -out tls.csr && "
      "printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n"
      "basicConstraints=CA:FALSE\\n' >names && "
      "openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile names -out tls.crt && "
      "rm -f ca.key ca.srl tls.csr names; } >log 2>&1");
  ::unsetenv("D");
  if (code == 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  distrib::throw_error(distrib::net_errc::bad_tls_file,
                       "the program openssl (Debian: openssl) cannot make certificates");
}

LocalCertificates::~LocalCertificates() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace tools
