// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/find_program.hpp"

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

TEST_CASE("find_program: finds programs as a shell does", "[tools]") {
  const support::TempDirectory temp;
  for (const char* folder : {"a", "b", "b/folder"}) std::filesystem::create_directory(temp / folder);
  const auto make = [&](const std::string& name, std::filesystem::perms perms) {
    std::ofstream{temp / name} << "#!/bin/sh\n";
    std::filesystem::permissions(temp / name, perms);
    return (temp / name).string();
  };
  using std::filesystem::perms;
  const std::string good = make("b/good", perms::owner_all);
  const std::string also = make("a/twice", perms::owner_all);
  make("b/twice", perms::owner_all);
  const std::string text = make("a/text", perms::owner_read);
  make("a/later", perms::owner_read);
  const std::string later = make("b/later", perms::owner_all);
  const std::string a = (temp / "a").string(), b = (temp / "b").string();

  struct Case {
    std::string name, search_path, path;
    int code;
    std::string reason;
  };
  const Case cases[] = {
      {good, "", good, 0, ""},
      {"good", a + ":" + b, good, 0, ""},
      {"twice", a + ":" + b, also, 0, ""},   // the first one counts
      {"later", a + ":" + b, later, 0, ""},  // the first one cannot be executed, so it is skipped
      {"text", a + ":" + b, "", 126, "is not executable"},
      {text, "", "", 126, "is not executable"},
      {"folder", b, "", 126, "is a directory"},
      {b, "", "", 126, "is a directory"},
      {"nowhere", a + ":" + b, "", 127, "not found in PATH"},
      {a + "/nowhere", b, "", 127, "not found"},
      {good + "/x", b, "", 127, "Not a directory"},
      {"good", "", "", 127, "not found in PATH"},
      {"", a, "", 127, "not found in PATH"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name, c.search_path);
    const tools::FoundProgram found = tools::find_program(c.name, c.search_path);
    CHECK(found.path == c.path);
    CHECK(found.code == c.code);
    CHECK(found.reason == c.reason);
  }
}
