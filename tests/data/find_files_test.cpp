// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <string>
#include <vector>

using distrib::data_errc;
using distrib::Error;
using distrib::find_files;

namespace {

struct Tree {
  support::TempDirectory directory;

  Tree() {
    for (const char* sub : {"more", "train-dir", "empty"}) std::filesystem::create_directory(directory / sub);
    for (const char* name : {"train-2", "train-10", "train-1", "TRAIN-1", "test-0", ".train-hidden", "_SUCCESS",
                             "train-1.crc", "more/train-0", "odd[1]*"})
      std::ofstream{directory / name} << name;
  }

  /// The found files, with paths relative to the tree.
  auto names(const std::vector<std::string>& sources) const -> std::vector<std::string> {
    std::vector<std::string> whole;
    for (const auto& source : sources) whole.push_back(directory.path() / source);
    std::vector<std::string> found;
    for (const auto& path : find_files(whole)) found.push_back(path.substr(directory.path().string().size() + 1));
    return found;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("find_files: matches of a pattern are sorted as text, without side files", "[data]") {
  const Tree tree;
  CHECK(tree.names({"train-*"}) == Names{"train-1", "train-10", "train-2"});
  CHECK(tree.names({"train-?"}) == Names{"train-1", "train-2"});
  CHECK(tree.names({"*"}) == Names{"TRAIN-1", "odd[1]*", "test-0", "train-1", "train-10", "train-2"});
  CHECK(tree.names({"*/train-[0-9]"}) == Names{"more/train-0"});
}

TEST_CASE("find_files: files and directories", "[data]") {
  const Tree tree;
  CHECK(tree.names({"train-2", "_SUCCESS", "train-2"}) == Names{"train-2", "_SUCCESS", "train-2"});  // in this order
  CHECK(tree.names({"odd[1]*"}) == Names{"odd[1]*"});
  CHECK(tree.names({"more", "test-*"}) == Names{"more/train-0", "test-0"});
}

TEST_CASE("find_files: if nothing matches, the error names pattern and directory", "[data]") {
  const Tree tree;
  Error error;
  const std::string wrong[] = {tree.directory / "train-1", tree.directory / "valid-*"};
  CHECK(find_files(wrong, error).empty());
  CHECK(error.code == data_errc::no_files);
  CHECK(error.where == "\"valid-*\" in directory \"" + tree.directory.path().string() + '"');

  const std::string nowhere[] = {tree.directory / "nowhere/x"};
  CHECK_THROWS_WITH(find_files(nowhere), ContainsSubstring("nowhere\" (which does not exist): no file matches"));
  const std::string empty[] = {tree.directory / "empty"};
  std::error_code ec;
  CHECK(find_files(empty, ec).empty());
  CHECK(ec == data_errc::no_files);
  CHECK(find_files({}, ec).empty());
  CHECK(ec == data_errc::no_files);
  CHECK(find_files(std::span{wrong}.first(1), ec).size() == 1);
  CHECK(!ec);
}

TEST_CASE("find_files: a URL, which is no local file, is named without its secrets", "[data]") {
  Error error;
  CHECK(distrib::find_files(std::vector<std::string>{"https://me:SECRET@h/a?sig=SECRET"}, error).empty());
  CHECK(error.code == data_errc::is_url);
  CHECK(error.where == "\"https://h/a\"");
}

TEST_CASE("find_files: a directory whose name looks like a pattern stands for itself", "[data]") {
  const support::TempDirectory directory;
  for (const char* name : {"run[1]", "a*b", "what?", "back\\slash"}) {
    std::filesystem::create_directory(directory / name);
    std::ofstream{directory / name / "part-0"} << "x";
    const std::vector<std::string> sources{directory / name};
    CHECK(distrib::find_files(sources) == std::vector<std::string>{directory / name / "part-0"});
  }
}
