// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/object_access.hpp>

#include <distrib/net/address.hpp>

#include <unistd.h>

#include <array>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto this_process(std::string task, std::string address) -> ClaimOwner {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {};
  return {std::move(task), host.data(), std::to_string(::getpid()), std::move(address)};
}

DISTRIB_DECL auto still_answers(const ClaimOwner& owner, std::uint64_t nonce, const AskOptions& how) -> bool {
  std::error_code ec;
  const Address address = Address::parse(owner.address, ec);
  if (ec) return false;
  Error error;
  return detail::ask_shard(address, 0, how, error).nonce == nonce && !error;
}

}  // namespace v0
}  // namespace distrib
