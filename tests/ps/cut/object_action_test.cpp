// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_action.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace distrib;

TEST_CASE("Each action on objects has what its kind needs") {
  using Kind = ObjectAction::Kind;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(3);
  CHECK(ObjectAction::list("a/").kind == Kind::list);
  CHECK(ObjectAction::uploads("a/").kind == Kind::uploads);
  CHECK(ObjectAction::remove("a").kind == Kind::remove);
  CHECK(ObjectAction::remove_all({"a", "b"}).kind == Kind::remove_all);
  CHECK(ObjectAction::remove_all({"a", "b"}).keys == std::vector<std::string>{"a", "b"});
  CHECK(ObjectAction::get("a", 7).kind == Kind::get);
  CHECK(ObjectAction::get("a", 7).most_bytes == 7);
  CHECK(ObjectAction::get_end("a", 8).kind == Kind::get_end);
  CHECK(ObjectAction::get_end("a", 8).most_bytes == 8);
  CHECK(ObjectAction::put("a", bytes).kind == Kind::put);
  CHECK(ObjectAction::put("a", bytes).bytes == bytes);
  CHECK(ObjectAction::ask("a", bytes).kind == Kind::ask);
  CHECK(ObjectAction::ask("a", bytes).key == "a");
  const ObjectAction abort = ObjectAction::abort({"a", "u"});
  CHECK(abort.kind == Kind::abort);
  CHECK(abort.key == "a");
  CHECK(abort.upload.id == "u");
}
