// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/tls/detail/openssl.hpp>
#include <distrib/net/transport.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// True if `host` is an IP address.
inline auto is_ip_address(const std::string& host) noexcept -> bool {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// True if a certificate is for this host: a name is compared with the certificate's names, an address with its
/// addresses. A wildcard stands for one whole label; a dot at the end of the host does not count; the common name is
/// not looked at.
inline auto is_certificate_for(::X509* certificate, std::string host) -> bool {
  if (is_ip_address(host)) return ::X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  if (host.ends_with('.')) host.pop_back();
  constexpr unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return !host.empty() && ::X509_check_host(certificate, host.data(), host.size(), flags, nullptr) == 1;
}

/// A name in a certificate.
struct CertificateName {
  std::string text;
  bool is_address = false;
};

/// Returns the host names and IP addresses of a certificate, at most 100.
inline auto names_of(::X509* certificate) -> std::vector<CertificateName> {
  constexpr int most_names = 100;
  std::vector<CertificateName> names;
  auto* const all =
      static_cast<::GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < std::min(sk_GENERAL_NAME_num(all), most_names); ++i) {
    const ::GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    int type = 0;
    const auto* const value = static_cast<const ::ASN1_STRING*>(::GENERAL_NAME_get0_value(name, &type));
    if (type != GEN_DNS && type != GEN_IPADD) continue;
    const unsigned char* const bytes = ::ASN1_STRING_get0_data(value);
    const int size = ::ASN1_STRING_length(value);
    if (type == GEN_DNS) {
      names.push_back({std::string{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)}, false});
      continue;
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = size == 4 ? AF_INET : AF_INET6;
    if ((size == 4 || size == 16) && ::inet_ntop(family, bytes, text.data(), text.size()) != nullptr)
      names.push_back({text.data(), true});
  }
  ::GENERAL_NAMES_free(all);
  return names;
}

/// Returns the names of a certificate for a message. Bytes that cannot be shown become '?'.
inline auto text_of_names(::X509* certificate) -> std::string {
  constexpr std::size_t most_bytes = 300;
  std::string text;
  for (const CertificateName& name : names_of(certificate)) {
    text.append(text.empty() ? "" : ", ").append(name.text);
    if (text.size() > most_bytes) break;
  }
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text.empty() ? "no name" : text;
}

/// True if a name of the certificate matches `pattern`, a name or address as in `is_certificate_for`, "*.REST" for all
/// names of one label before REST, or "*" for every certificate.
inline auto matches_pattern(::X509* certificate, const std::string& pattern) -> bool {
  if (pattern == "*") return true;
  if (!pattern.starts_with("*.")) return is_certificate_for(certificate, pattern);
  const std::string_view rest = std::string_view{pattern}.substr(1);
  return std::ranges::any_of(names_of(certificate), [&](const CertificateName& name) {
    const std::string_view text = name.text;
    const std::size_t label = text.find('.');
    // A name may contain a zero byte, at which a comparison of C strings would end.
    return !name.is_address && label != std::string_view::npos && label != 0 && text.size() - label == rest.size() &&
           ::OPENSSL_strncasecmp(text.data() + label, rest.data(), rest.size()) == 0;
  });
}

/// True if a server with these rules accepts the client's certificate. `peers`: the patterns that are allowed besides
/// the hosts.
inline auto accepts_client(::X509* certificate, const ClientRules& rules, const std::vector<std::string>& peers)
    -> bool {
  return std::ranges::any_of(peers, [&](const auto& pattern) { return matches_pattern(certificate, pattern); }) ||
         std::ranges::any_of(rules.hosts, [&](const auto& host) { return is_certificate_for(certificate, host); });
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
