// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/detail/run_for.hpp>

#include <distrib/rpc/remote_error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto error_of_handler(const std::system_error& thrown) -> Error {
  Error error = error_of(thrown);
  for (const rpc_errc of_another : {rpc_errc::not_sent, rpc_errc::closed, rpc_errc::exhausted, rpc_errc::unknown_method,
                                    rpc_errc::unauthorized, rpc_errc::lost, rpc_errc::silent})
    if (error.code == of_another) {
      error.code = {static_cast<int>(condition_of(of_another)), remote_category()};
      break;
    }
  return error;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
