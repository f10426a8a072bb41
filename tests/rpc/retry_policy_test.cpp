// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/retry_policy.hpp>

#include <distrib/rpc/error.hpp>

#include "support/catch.hpp"

using distrib::RetryPolicy;
using distrib::rpc_errc;

TEST_CASE("RetryPolicy: repeats calls that were not carried out; those that may have been, only if idempotent",
          "[rpc]") {
  RetryPolicy policy;
  for (const bool idempotent : {false, true}) {
    CHECK(policy.again(rpc_errc::not_sent, idempotent, 1));
    CHECK(policy.again(rpc_errc::closed, idempotent, 1));
    CHECK(policy.again(rpc_errc::lost, idempotent, 1) == idempotent);
    CHECK(policy.again(rpc_errc::silent, idempotent, 1) == idempotent);
    for (const rpc_errc answer : {rpc_errc::deadline_passed, rpc_errc::cancelled, rpc_errc::exhausted,
                                  rpc_errc::unknown_method, rpc_errc::bad_message, rpc_errc::corrupt})
      CHECK_FALSE(policy.again(answer, idempotent, 1));
    CHECK_FALSE(policy.again(make_error_code(std::errc::connection_reset), idempotent, 1));
  }
}

TEST_CASE("RetryPolicy: never more than most_attempts attempts", "[rpc]") {
  RetryPolicy policy{{.most_attempts = 3}};
  CHECK(policy.may_repeat(1));
  CHECK(policy.again(rpc_errc::not_sent, false, 2));
  CHECK_FALSE(policy.may_repeat(3));
  CHECK_FALSE(policy.again(rpc_errc::not_sent, false, 3));
  CHECK_FALSE(RetryPolicy{{.most_attempts = 1}}.may_repeat(1));
  CHECK_FALSE(RetryPolicy{{.most_attempts = 0}}.may_repeat(1));
}

TEST_CASE("RetryPolicy: repeats of calls that may have been carried out take tokens, answers add some", "[rpc]") {
  RetryPolicy policy{{.most_tokens = 2, .per_success = 0.5}};
  CHECK(policy.again(rpc_errc::lost, true, 1));
  CHECK(policy.again(rpc_errc::silent, true, 1));
  CHECK_FALSE(policy.again(rpc_errc::lost, true, 1));
  CHECK(policy.again(rpc_errc::not_sent, false, 1));  // takes no token
  policy.succeeded();
  CHECK_FALSE(policy.again(rpc_errc::lost, true, 1));
  policy.succeeded();
  CHECK(policy.again(rpc_errc::lost, true, 1));
  for (int i = 0; i < 100; ++i) policy.succeeded();
  CHECK(policy.again(rpc_errc::lost, true, 1));
  CHECK(policy.again(rpc_errc::lost, true, 1));
  CHECK_FALSE(policy.again(rpc_errc::lost, true, 1));  // no more than most_tokens
}
