// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/file_layout.hpp>

#include "checkpoint/formats/formats_support.hpp"

#include <string>
#include <vector>

using distrib::Error;
using distrib::detail::FileLayout;

namespace {

auto bytes(std::string_view text) -> support::Bytes {
  const auto view = distrib::as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace

TEST_CASE("a layout writes what is before, between and after the bytes of tensors", "[checkpoint][file_layout]") {
  const std::vector<std::uint8_t> abc{'a', 'b', 'c'};
  const std::vector<std::uint8_t> de{'d', 'e'};
  const std::vector<std::uint8_t> none;
  const std::vector tensors{support::named("x", {3}, abc), support::named("y", {2}, de),
                            support::named("z", {0}, none)};
  FileLayout layout;
  layout.files.push_back({"m/one", {{bytes("<"), 1}, {{}, 2}, {bytes("-"), 0}}, bytes(">")});
  layout.files.push_back({"m/two", {}, bytes("!")});
  layout.index_path = "m/index";
  layout.index = "both";
  layout.stale = {"m/old"};
  Error error;
  const auto plan = plan_layout(layout, tensors, error);
  CHECK(support::files_of(plan) ==
        std::map<std::string, std::string>{{"m/index", "both"}, {"m/one", "<de-abc>"}, {"m/two", "!"}});

  // the index gets its name last, and only after everything is durable
  std::string story;
  for (const auto& action : plan) {
    if (action.kind == distrib::FileAction::Kind::sync) story += "s";
    if (action.kind == distrib::FileAction::Kind::remove) story += "-";
    if (action.kind == distrib::FileAction::Kind::rename) story += action.path == "m/index" ? "I" : "r";
    if (action.kind == distrib::FileAction::Kind::sync_directory) story += "d";
  }
  CHECK(story == "sss-drrdId");
  CHECK(layout.files[0].temporary() == "m/.saving.one");
}
