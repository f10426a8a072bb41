// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program that measures TLS includes this before everything else; the other programs are built without OpenSSL.

#include <distrib/net/tls/tls.hpp>

#include <memory>
#include <string>

#define BENCHMARK_SECURED  // methods.hpp: connections may be secure

/// Returns the TLS of both ends; null without a directory.
inline auto transport_of(const std::string& directory) -> std::shared_ptr<const distrib::Transport> {
  if (directory.empty()) return nullptr;
  distrib::TlsOptions options;
  options.peers = {"*"};
  return distrib::Tls::from_directory(directory, options);
}
