// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/client_rules.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

TEST_CASE("client_rules: the hosts of all tasks, each once", "[ps]") {
  const distrib::ClusterSpec cluster{{"ps", {"b.example:2222", "[::1]:2222"}},
                                     {"worker", {"b.example:2223", "a.example:2222"}},
                                     {"evaluator", {"10.0.0.1:1"}}};
  const distrib::ClientRules rules = distrib::client_rules(cluster);
  CHECK(rules.hosts == std::vector<std::string>{"10.0.0.1", "::1", "a.example", "b.example"});
  CHECK(rules.needs_certificate);
}
