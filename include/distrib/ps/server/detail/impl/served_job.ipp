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

DISTRIB_DECL auto ServedJob::unlike_arithmetic(const JoinRequest& request) const -> std::string {
  if (request.arithmetic == job_->arithmetic) return {};
  const auto told = [](const std::string& arithmetic) {
    return arithmetic.empty() ? "nothing (its model has no describe(), or its version of this library knows none)"
                              : "'" + arithmetic + "'";
  };
  return "rank " + std::to_string(request.rank) + " says that it computes with " + told(request.arithmetic) +
         ", the worker that brought the job with " + told(job_->arithmetic);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
