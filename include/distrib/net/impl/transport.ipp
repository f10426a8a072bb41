// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/transport.hpp>

#include <distrib/net/error.hpp>

#include <cstdlib>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void check_transport_of_job(const std::shared_ptr<const Transport>& transport, Error& error) {
  const char* const directory = std::getenv("DISTRIB_TLS_DIRECTORY");  // NOLINT(concurrency-mt-unsafe): never changed
  if (transport != nullptr || directory == nullptr || *directory == '\0') return;
  error = {net_errc::no_tls,
           "DISTRIB_TLS_DIRECTORY is set, and this program speaks no TLS: link distrib::tls, and use Tls::of_job()"};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
