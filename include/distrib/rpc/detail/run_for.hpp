// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/rpc/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the error with which a call fails if its handler threw `thrown`. A code that speaks about a call of the
/// handler itself (`not_sent`, `closed`, `lost`, ...) becomes a code of `remote_category()` with the same condition:
/// otherwise a pool would repeat the outer call, although the handler had already started to carry it out.
DISTRIB_DECL auto error_of_handler(const std::system_error& thrown) -> Error;

/// Runs `work`. If it throws, fails the call of `answer`; an exception that is not a `std::system_error` is then thrown
/// again.
template <class Answer, class Work> void run_for(const Answer& answer, Work work) try {
  work();
} catch (const std::system_error& thrown) {
  const Error error = error_of_handler(thrown);
  answer.fail(error.code, error.where);
} catch (...) {
  answer.fail(std::make_error_code(std::errc::io_error), "the handler threw an exception");
  throw;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/run_for.ipp>
#endif
