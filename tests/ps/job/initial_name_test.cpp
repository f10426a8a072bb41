// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/initial_name.hpp>

#include "support/catch.hpp"

#include <span>
#include <string>
#include <vector>

using distrib::InitialName;

TEST_CASE("InitialName: is valid with two names, with two prefixes, or without a name in the checkpoint", "[ps]") {
  const struct {
    InitialName entry;
    bool is_valid;
  } cases[] = {
      {{"old/w", "w"}, true},    {{"old/", "new/"}, true}, {{"/", "new/"}, true},  {{"old/", "/"}, true},
      {{"", "w"}, true},         {{"", "head/"}, true},    {{"", "/"}, true},      {{"a b\tc", "w"}, true},
      {{"w/part_*", "w"}, true}, {{"w", ""}, false},       {{"w", "a b"}, false},  {{"w", "a\n"}, false},
      {{"a\nb", "w"}, false},    {{"old/", "w"}, false},   {{"w", "new/"}, false}, {{"/", "w"}, false},
      {{"module.", "/"}, true},  {{"/", "net."}, true},    {{"a.", "b/c."}, true}, {{"module.", "w"}, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.entry.in_checkpoint, c.entry.of_job);
    CHECK(c.entry.is_valid() == c.is_valid);
  }
}

TEST_CASE("find_initial_name: prefers the whole name, then the longest prefix", "[ps]") {
  const std::vector<InitialName> names{{"all/", "/"},  {"linear/", "wide/"},  {"l2/", "wide/deep/"},
                                       {"", "head/"},  {"other", "wide/b"},   {"root", "w"},
                                       {"/", "from/"}, {"p/part_*", "from/t"}};
  const auto stored = [&](const std::string& name) {
    const InitialName* const entry = distrib::detail::find_initial_name(names, name);
    REQUIRE(entry != nullptr);
    return entry->stored_name(name);
  };
  CHECK(stored("x") == "all/x");
  CHECK(stored("x/y") == "all/x/y");
  CHECK(stored("wide") == "all/wide");
  CHECK(stored("wide/w") == "linear/w");
  CHECK(stored("wide/deep/w") == "l2/w");
  CHECK(stored("wide/b") == "other");
  CHECK(stored("wide/b/c") == "linear/b/c");
  CHECK(stored("w") == "root");
  CHECK(stored("w2") == "all/w2");
  CHECK(stored("head/w").empty());
  CHECK(stored("from/a/b") == "a/b");
  CHECK(stored("from/t") == "p/part_*");
  CHECK(distrib::detail::find_initial_name(std::vector<InitialName>{{"a/", "b/"}}, "c") == nullptr);
  CHECK(distrib::detail::find_initial_name({}, "c") == nullptr);
}

TEST_CASE("InitialName: a dot at the end makes a prefix, as in the names of PyTorch", "[ps]") {
  const auto stored = [](const InitialName& entry, const std::string& name) {
    const InitialName* const found = distrib::detail::find_initial_name(std::span{&entry, 1}, name);
    return found == nullptr ? "-" : found->stored_name(name);
  };
  CHECK(stored({"module.", "/"}, "conv.weight") == "module.conv.weight");
  CHECK(stored({"/", "net."}, "net.conv.weight") == "conv.weight");
  CHECK(stored({"features.", "backbone."}, "backbone.0.bias") == "features.0.bias");
  CHECK(stored({"features.", "backbone."}, "backbone") == "-");
  CHECK(stored({"", "head."}, "head.weight").empty());
}
