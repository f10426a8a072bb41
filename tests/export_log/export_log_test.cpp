// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/export_log.hpp>

#include <distrib/export_log/error.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/record/error.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

using distrib::Error;
using distrib::export_errc;
using distrib::ExportLog;

TEST_CASE("ExportLog: a path is a directory, a URL is a place in a store") {
  const support::TempDirectory directory;
  const auto bucket = std::make_shared<support::MapObjects>();
  const std::string path = (directory / "log").string();
  for (const std::string& name : {path, std::string{"map://bucket/run/log"}}) {
    CAPTURE(name);
    ExportLog log{name, support::map_stores(bucket)};
    CHECK(log.name() == name);
    Error error;
    CHECK(log.swap_head("", {7, 0, {}, {1}}, error));
    const auto head = log.read_head(error);
    REQUIRE(head);
    CHECK(head->head == distrib::LogHead{7, 0, {}, {1}});
    CHECK_FALSE(log.swap_head("another", {7, 0, {}, {2}}, error));
    CHECK_FALSE(error);
    log.put("votes/1", distrib::as_bytes("vote"), error);
    CHECK_FALSE(error);
    CHECK(distrib::as_text(distrib::ByteView{log.get("votes/1", 100, error)}) == "vote");
    log.remove("votes/1", error);
    CHECK_FALSE(error);
    CHECK(log.get("votes/1", 100, error).empty());
    CHECK(error.code == export_errc::missing_object);
    CHECK_THAT(error.where, ContainsSubstring(name) && ContainsSubstring("votes/1"));
    CHECK(distrib::list_log(log, 10, error).empty());
    CHECK(error.code == export_errc::no_log);
  }
  CHECK(bucket->objects.contains("run/log/head"));
  CHECK(std::filesystem::exists(path + "/head"));
}

TEST_CASE("ExportLog: a store that cannot be opened, or is away") {
  const auto bucket = std::make_shared<support::MapObjects>();
  Error error;
  ExportLog without{"s3://user:secret@bucket/log"};
  CHECK_FALSE(without.read_head(error));
  CHECK(error.code == distrib::record_errc::no_object_store);
  CHECK_THAT(error.where, !ContainsSubstring("secret"));
  CHECK_FALSE(without.swap_head("", {}, error));
  CHECK(error.code == distrib::record_errc::no_object_store);
  without.put("a", {}, error);
  CHECK(error.code == distrib::record_errc::no_object_store);

  ExportLog wrong{"s3://bucket/log", support::map_stores(bucket)};
  CHECK(wrong.get("a", 10, error).empty());
  CHECK(error.code == std::errc::invalid_argument);

  ExportLog log{"map://bucket/log", support::map_stores(bucket)};
  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK_FALSE(log.read_head(error));
  CHECK(error.code == distrib::failure::unavailable);
  CHECK(error.where == "map://bucket/log: info log/head");
  bucket->fail = nullptr;
  CHECK_FALSE(log.read_head(error));
  CHECK_FALSE(error);
}
