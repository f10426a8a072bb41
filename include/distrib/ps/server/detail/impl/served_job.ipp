// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/detail/served_job.hpp>

#include <distrib/ps/server/adopt_job.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto ServedJob::adopt(const JoinRequest& request) -> Error {
  Error error;
  AdoptedJob adopted = adopt_job(request, job_, identity_, kinds_, options_, error);
  if (error) return error;
  kind_ = std::move(adopted.kind);
  hash_ = request.job_hash;
  job_ = std::move(adopted.job);
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
