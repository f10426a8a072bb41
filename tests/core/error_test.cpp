// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::failure;

namespace {

enum class fruit_errc { rotten = 1, eaten };

constexpr distrib::detail::ErrorText fruit_texts[] = {
    {1, failure::corrupt, "the fruit is rotten"},
    {2, failure::not_found, "somebody ate it"},
};

auto fruit_category() -> const std::error_category& {
  static const distrib::detail::TableCategory category{"distrib.fruit", fruit_texts};
  return category;
}

auto make(fruit_errc value) -> std::error_code { return {static_cast<int>(value), fruit_category()}; }

}  // namespace

TEST_CASE("TableCategory: a room's codes have words and a shared condition", "[core]") {
  const std::error_code rotten = make(fruit_errc::rotten);
  CHECK(rotten.category().name() == std::string{"distrib.fruit"});
  CHECK(rotten.message() == "the fruit is rotten");
  CHECK(rotten == failure::corrupt);
  CHECK(rotten != failure::not_found);
  CHECK(make(fruit_errc::eaten) == failure::not_found);

  const std::error_code none{77, fruit_category()};
  CHECK(none.message() == "unknown error");
  CHECK(none.default_error_condition() == std::error_condition{77, fruit_category()});
}

TEST_CASE("failure: every one has words", "[core]") {
  struct Row {
    failure value;
    const char* text;
  };
  const Row rows[] = {
      {failure::invalid_argument, "invalid argument"},
      {failure::not_found, "not found"},
      {failure::corrupt, "corrupt"},
      {failure::mismatch, "mismatch"},
      {failure::unsupported, "unsupported"},
      {failure::exhausted, "limit reached"},
      {failure::unavailable, "unavailable"},
      {failure::timeout, "deadline passed"},
      {failure::cancelled, "cancelled"},
      {failure::io, "input or output failed"},
  };
  for (const Row& row : rows) {
    const std::error_condition condition = row.value;
    CHECK(condition.message() == row.text);
    CHECK(condition.category().name() == std::string{"distrib.failure"});
  }
  CHECK(std::error_condition{99, distrib::failure_category()}.message() == "unknown failure");
}

TEST_CASE("Error: a failure and its place; thrown, both are in the text", "[core]") {
  CHECK_FALSE(distrib::Error{});
  CHECK_NOTHROW(distrib::throw_if({}));
  const distrib::Error error{make(fruit_errc::rotten), "basket 3"};
  CHECK(error);
  try {
    distrib::throw_if(error);
    FAIL("nothing was thrown");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == error.code);
    CHECK(thrown.what() == std::string{"basket 3: the fruit is rotten"});
  }
  CHECK_THROWS_AS(distrib::throw_error(error.code, "there"), std::system_error);
}

TEST_CASE("failure: what the operating system says belongs to one", "[core]") {
  struct Row {
    std::errc code;
    failure value;
  };
  for (const Row& row :
       {Row{std::errc::no_such_file_or_directory, failure::not_found},
        Row{std::errc::operation_canceled, failure::cancelled}, Row{std::errc::no_space_on_device, failure::io}}) {
    const std::error_code generic = std::make_error_code(row.code);
    const std::error_code system{static_cast<int>(row.code), std::system_category()};
    for (const failure other : {failure::not_found, failure::cancelled, failure::io, failure::corrupt}) {
      CHECK((generic == other) == (other == row.value));
      CHECK((system == other) == (other == row.value));
    }
  }
}

TEST_CASE("error_of: takes apart what throw_error threw", "[core]") {
  try {
    distrib::throw_error(std::make_error_code(std::errc::no_space_on_device), "/data: part 3");
  } catch (const std::system_error& thrown) {
    const distrib::Error error = distrib::error_of(thrown);
    CHECK(error.code == std::errc::no_space_on_device);
    CHECK(error.where == "/data: part 3");
  }
  CHECK(distrib::error_of(std::system_error{std::make_error_code(std::errc::io_error)}).code == std::errc::io_error);
}
