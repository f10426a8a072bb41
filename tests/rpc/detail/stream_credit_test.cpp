// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/detail/stream_credit.hpp>

#include "support/catch.hpp"

#include <limits>

using distrib::initial_credit;
using distrib::detail::StreamCredit;

TEST_CASE("StreamCredit: no more is sent than was granted", "[rpc]") {
  StreamCredit credit;
  for (unsigned i = 0; i < initial_credit; ++i) CHECK(credit.send());
  CHECK_FALSE(credit.send());
  CHECK(credit.add(2));
  CHECK(credit.send());
  CHECK_FALSE(credit.add(1));  // no item was refused
  CHECK(credit.send());
  CHECK(credit.send());
  CHECK_FALSE(credit.send());
}

TEST_CASE("StreamCredit: the credit that a peer grants is limited", "[rpc]") {
  StreamCredit credit;
  for (int i = 0; i < 3; ++i) credit.add(std::numeric_limits<std::uint32_t>::max());
  unsigned sent = 0;
  while (credit.send()) ++sent;
  CHECK(sent == 1U << 20);
}

TEST_CASE("StreamCredit: the peer may send more when received items have been used", "[rpc]") {
  StreamCredit credit;
  for (unsigned i = 0; i < initial_credit; ++i) CHECK(credit.receive());
  CHECK_FALSE(credit.receive());
  for (unsigned i = 1; i < initial_credit / 2; ++i) CHECK(credit.take() == 0);
  CHECK(credit.take() == initial_credit / 2);
  for (unsigned i = 0; i < initial_credit / 2; ++i) CHECK(credit.receive());
  CHECK_FALSE(credit.receive());
}
