// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_directory.hpp"

#include <distrib/net/tls/tls.hpp>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// Certificates that are made while the test runs.
namespace support {

template <auto Free>
struct Freed {
  void operator()(auto* pointer) const { Free(pointer); }
};
using Key = std::unique_ptr<::EVP_PKEY, Freed<::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<::X509, Freed<::X509_free>>;

/// What a certificate is made for.
struct CertificateWish {
  std::string names;  // "DNS:localhost,IP:127.0.0.1"
  long from_days = -2;  // from now
  long to_days = 1;
  std::string uses = "serverAuth,clientAuth";  // empty: not said
  long from_seconds = 0;  // added to `from_days`
  unsigned rsa_bits = 0;  // 0: a key of P-256
};

/// Signs certificates, including its own.
class Authority {
 public:
  explicit Authority(const std::string& name) : key_{::EVP_EC_gen("P-256")} {
    certificate_ = certificate(name, key_.get(), {{NID_basic_constraints, "critical,CA:TRUE"}}, 1);
    write(file(), certificate_.get(), nullptr);
  }

  /// Returns the file of its own certificate.
  [[nodiscard]] auto file() const -> std::string { return (directory_ / "authority.pem").string(); }

  /// Writes the file of its own certificate again.
  void renew() const { write(file(), certificate_.get(), nullptr); }

  /// Makes a certificate and a key for `names` ("DNS:localhost,IP:127.0.0.1"), in files named after `stem`.
  [[nodiscard]] auto issue(const std::string& stem, const std::string& names) const -> distrib::TlsFiles {
    return issue(stem, CertificateWish{names});
  }
  [[nodiscard]] auto issue(const std::string& stem, const CertificateWish& wish) const -> distrib::TlsFiles {
    distrib::TlsFiles files{path(stem + ".pem"), path(stem + ".key"), file()};
    issue(files, wish);
    return files;
  }
  /// Makes them in the files of a task's directory.
  void issue_in(const std::string& directory, const CertificateWish& wish) const {
    std::filesystem::create_directories(directory);
    issue({directory + "/tls.crt", directory + "/tls.key", {}}, wish);
    write(directory + "/ca.crt", certificate_.get(), nullptr);
  }

  [[nodiscard]] auto path(const std::string& name) const -> std::string { return (directory_ / name).string(); }

 private:
  struct Extension {
    int nid;
    const char* value;
  };

  void issue(const distrib::TlsFiles& files, const CertificateWish& wish) const {
    const Key key{wish.rsa_bits == 0 ? ::EVP_EC_gen("P-256") : ::EVP_RSA_gen(wish.rsa_bits)};
    std::vector<Extension> extensions;
    if (!wish.names.empty()) extensions.push_back({NID_subject_alt_name, wish.names.c_str()});
    if (!wish.uses.empty()) extensions.push_back({NID_ext_key_usage, wish.uses.c_str()});
    constexpr long day = 86400;
    const Certificate made =
        certificate("task", key.get(), extensions, wish.to_days, wish.from_days * day + wish.from_seconds);
    write(files.certificate, made.get(), nullptr);
    write(files.key, nullptr, key.get());
    std::filesystem::permissions(files.key, std::filesystem::perms{0600});
  }

  static void must(bool right) {
    if (!right) throw std::runtime_error{"OpenSSL cannot make the test's certificates"};
  }

  auto certificate(const std::string& name, ::EVP_PKEY* key, const std::vector<Extension>& extensions, long to_days,
                   long from_seconds = -172800) const -> Certificate {
    Certificate made{::X509_new()};
    must(made && key_ && key != nullptr);
    must(::X509_set_version(made.get(), 2) == 1);
    static long serial = 1;
    must(::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), ++serial) == 1);
    constexpr long day = 86400;
    must(::X509_gmtime_adj(::X509_getm_notBefore(made.get()), from_seconds) != nullptr);
    must(::X509_gmtime_adj(::X509_getm_notAfter(made.get()), to_days * day) != nullptr);
    must(::X509_set_pubkey(made.get(), key) == 1);
    ::X509_NAME* const subject = ::X509_get_subject_name(made.get());
    must(::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                                      -1, -1, 0) == 1);
    ::X509* const issuer = certificate_ ? certificate_.get() : made.get();
    must(::X509_set_issuer_name(made.get(), ::X509_get_subject_name(issuer)) == 1);
    ::X509V3_CTX context;
    ::X509V3_set_ctx(&context, issuer, made.get(), nullptr, nullptr, 0);
    for (const Extension& extension : extensions) {
      ::X509_EXTENSION* const added = ::X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value);
      must(added != nullptr && ::X509_add_ext(made.get(), added, -1) == 1);
      ::X509_EXTENSION_free(added);
    }
    must(::X509_sign(made.get(), key_.get(), ::EVP_sha256()) > 0);
    return made;
  }

  static void write(const std::string& path, ::X509* certificate, ::EVP_PKEY* key) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    must(file != nullptr);
    if (certificate != nullptr) must(::PEM_write_X509(file, certificate) == 1);
    if (key != nullptr) must(::PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    must(std::fclose(file) == 0);
  }

  TempDirectory directory_;
  Key key_;
  Certificate certificate_;
};

}  // namespace support
