// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/perform.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <filesystem>
#include <string>
#include <vector>

using distrib::checkpoint_errc;
using distrib::Error;
using distrib::FileAction;
using distrib::FilePlan;

TEST_CASE("a plan is performed in order", "[checkpoint][perform]") {
  const support::TempDirectory directory;
  const std::string first = directory / "first";
  const std::string second = directory / "second";
  const auto write =
      FileAction::write(first, {distrib::as_bytes("ab"), distrib::as_bytes("")}, support::from_hex("6364"));
  distrib::perform(FilePlan{write, FileAction::sync(first), FileAction::rename(first, second),
                            FileAction::sync_directory(directory.path())});
  CHECK_FALSE(std::filesystem::exists(first));
  CHECK(distrib::as_text(support::read_file(second)) == "abcd");

  // replaces the content, does not append
  distrib::perform(FilePlan{FileAction::write(second, {distrib::as_bytes("x")}, {})});
  CHECK(distrib::as_text(support::read_file(second)) == "x");

  distrib::perform(FilePlan{FileAction::append(second, {distrib::as_bytes("y"), distrib::as_bytes("z")}, {}),
                            FileAction::append(second, {}, support::from_hex("21"))});
  CHECK(distrib::as_text(support::read_file(second)) == "xyz!");
  distrib::perform(FilePlan{FileAction::write(second, {distrib::as_bytes("x")}, {})});

  distrib::perform(FilePlan{FileAction::link(second, first), FileAction::write(directory / "other", {}, {}),
                            FileAction::link(directory / "other", first)});  // a link that exists stays
  CHECK(distrib::as_text(support::read_file(first)) == "x");
  CHECK(std::filesystem::hard_link_count(second) == 2);

  // the second time there is nothing to do
  distrib::perform(FilePlan{FileAction::remove(second), FileAction::remove(second)});
  CHECK_FALSE(std::filesystem::exists(second));
}

TEST_CASE("a plan stops at its first failure, which names the file and the reason", "[checkpoint][perform]") {
  const support::TempDirectory directory;
  const std::string gone = directory / "gone/file";
  const std::string after = directory / "after";
  const FileAction failing[] = {
      FileAction::write(gone, {}, {}),
      FileAction::append(directory / "none", {}, {}),
      FileAction::sync(gone),
      FileAction::sync_directory(gone),
      FileAction::rename(directory / "none", gone),
      FileAction::link(directory / "none", after),
      FileAction::remove(directory.path() / "."),  // a directory
  };
  for (const FileAction& action : failing) {
    const FilePlan plan{action, FileAction::write(after, {}, {})};
    Error error;
    distrib::perform(plan, error);
    CHECK(error.code == checkpoint_errc::cannot_write);
    CHECK_THAT(error.where, ContainsSubstring(directory.path().string()));
    CHECK_THAT(error.where, ContainsSubstring("("));
    CHECK_FALSE(std::filesystem::exists(after));

    std::error_code ec;
    distrib::perform(plan, ec);
    CHECK(ec == distrib::failure::io);
    CHECK_THROWS_WITH(distrib::perform(plan), ContainsSubstring("cannot write"));
  }
}

TEST_CASE("a full disk is reported", "[checkpoint][perform]") {
  if (!std::filesystem::exists("/dev/full")) return;
  Error error;
  distrib::perform(FileAction::write("/dev/full", {distrib::as_bytes("x")}, {}), error);
  CHECK(error.code == checkpoint_errc::no_room);
  CHECK_THAT(error.where, ContainsSubstring("/dev/full (No space left on device)"));
}

TEST_CASE("a plan that fails removes the files that it has not renamed", "[checkpoint][perform]") {
  const support::TempDirectory directory;
  const auto write = [&](const char* name) {
    return FileAction::write(directory / name, {distrib::as_bytes("x")}, {});
  };
  Error error;
  distrib::perform(FilePlan{write("a.tmp"), write("b.tmp"), FileAction::rename(directory / "a.tmp", directory / "a"),
                            FileAction::write(directory / "none/c", {}, {}), write("d")},
                   error);
  CHECK(error.code == checkpoint_errc::cannot_write);
  CHECK(std::filesystem::exists(directory / "a"));
  for (const char* name : {"a.tmp", "b.tmp", "d"}) CHECK_FALSE(std::filesystem::exists(directory / name));
  distrib::perform(FilePlan{write("a"), write("b"), FileAction::rename(directory / "b", directory / "a"),
                            FileAction::write(directory / "none/c", {}, {})},
                   error);
  CHECK(std::filesystem::exists(directory / "a"));  // it has been renamed
}

TEST_CASE("a plan is durable in a directory that may be written and not read", "[checkpoint][perform]") {
  const support::UnreadableDirectory directory;
  const std::string first = directory.path() + "/first";
  const std::string second = directory.path() + "/second";
  const auto sync = FileAction::sync_directory(directory.path());
  Error error;
  distrib::perform(
      FilePlan{FileAction::write(first, {distrib::as_bytes("ab")}, {}), sync, FileAction::link(first, second),
               FileAction::remove(first), sync, FileAction::rename(second, first), sync},
      error);
  CHECK_FALSE(error);
  CHECK(distrib::as_text(support::read_file(first)) == "ab");

  // without a file whose name the plan has just made
  for (const FilePlan& plan :
       {FilePlan{sync}, FilePlan{FileAction::write(second, {}, {}), FileAction::remove(second), sync}}) {
    distrib::perform(plan, error);
    CHECK(error.code == checkpoint_errc::cannot_write);
    CHECK_THAT(error.where, ContainsSubstring("Permission denied"));
  }
}
