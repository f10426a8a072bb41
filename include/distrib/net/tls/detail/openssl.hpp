// SPDX-License-Identifier: Apache-2.0
// The only header that includes OpenSSL. An optional component: not in any facade; link distrib::tls.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

template <auto Free> struct OpensslFree {
  void operator()(auto* pointer) const noexcept { Free(pointer); }
};

using SslContext = std::unique_ptr<::SSL_CTX, OpensslFree<::SSL_CTX_free>>;
using Ssl = std::unique_ptr<::SSL, OpensslFree<::SSL_free>>;
using X509Certificate = std::unique_ptr<::X509, OpensslFree<::X509_free>>;
using X509Store = std::unique_ptr<::X509_STORE, OpensslFree<::X509_STORE_free>>;
using PrivateKey = std::unique_ptr<::EVP_PKEY, OpensslFree<::EVP_PKEY_free>>;
using MemoryBio = std::unique_ptr<::BIO, OpensslFree<::BIO_free_all>>;

/// Returns the reason of OpenSSL's newest error on this thread, and clears all of them.
inline auto take_openssl_error() -> std::string {
  const unsigned long code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
