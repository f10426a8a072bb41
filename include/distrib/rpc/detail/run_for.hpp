// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/rpc/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a handler threw, as its caller is told it. That a call which the handler made was not sent, not carried out or
/// lost says nothing of the caller's own: a pool would repeat that one, although it was carried out in part.
DISTRIB_DECL auto error_of_handler(const std::system_error& thrown) -> Error;

/// Runs `work`; what it throws fails the call that `answer` is for. What is no `std::system_error` is thrown on.
template <class Answer, class Work> void run_for(const Answer& answer, Work work) try {
  work();
} catch (const std::system_error& thrown) {
  const Error error = error_of_handler(thrown);
  answer.fail(error.code, error.where);
} catch (...) {
  answer.fail(std::make_error_code(std::errc::io_error), "the handler ended by an exception");
  throw;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/run_for.ipp>
#endif
