// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/error.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

using distrib::failure;

namespace {

enum class fruit_errc { rotten = 1, eaten };

constexpr distrib::detail::ErrorText fruit_texts[] = {
    {1, failure::corrupt, "the fruit is rotten"},
    {2, failure::not_found, "the fruit was eaten"},
};

auto fruit_category() -> const std::error_category& {
  static const distrib::detail::TableCategory category{"distrib.fruit", fruit_texts};
  return category;
}

auto make(fruit_errc value) -> std::error_code { return {static_cast<int>(value), fruit_category()}; }

}  // namespace

TEST_CASE("TableCategory: each code of a room has a message and a shared condition", "[core]") {
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

TEST_CASE("failure: every value has a message", "[core]") {
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

TEST_CASE("Error: a failure and its place; when thrown, the text contains both", "[core]") {
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

TEST_CASE("failure: codes of the operating system map to a failure", "[core]") {
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

TEST_CASE("throw_error: the exception carries its Error, whatever the text", "[core]") {
  const std::error_code code = std::make_error_code(std::errc::no_space_on_device);
  for (const std::string& where : {std::string{"/data: part 3"}, std::string{}, "/data: " + code.message(),
                                   "a: " + code.message() + ": " + code.message()}) {
    CAPTURE(where);
    try {
      distrib::throw_error(code, where);
    } catch (const std::system_error& thrown) {
      CHECK(std::string_view{thrown.what()} == std::system_error{code, where}.what());
      const distrib::Error error = distrib::error_of(thrown);
      CHECK(error.code == code);
      CHECK(error.where == where);
    }
    try {
      distrib::throw_if({code, where});
      FAIL("nothing was thrown");
    } catch (const distrib::ThrownError& thrown) {
      const distrib::ThrownError copy{thrown};
      CHECK(copy.error().code == code);
      CHECK(copy.error().where == where);
    }
  }
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<distrib::ThrownError>);
  CHECK_NOTHROW(distrib::throw_if({}));
}

namespace {

// Returns another message each time, as the system does when the language changes in between.
struct ChangingCategory final : std::error_category {
  auto name() const noexcept -> const char* override { return "changing"; }
  auto message(int) const -> std::string override { return "message " + std::to_string(++asked); }
  mutable int asked = 0;
};

}  // namespace

TEST_CASE("error_of: does not search the text of a ThrownError for the place", "[core]") {
  const ChangingCategory category;
  try {
    distrib::throw_error({1, category}, "/data");
  } catch (const std::system_error& thrown) {
    CHECK(std::string_view{thrown.what()} == "/data: message 1");
    CHECK(distrib::error_of(thrown).where == "/data");
  }
}

TEST_CASE("error_of: a std::system_error that this library did not throw", "[core]") {
  const std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(distrib::error_of(std::system_error{code}).code == code);
  CHECK(distrib::error_of(std::system_error{code, "read"}).code == code);
  CHECK(distrib::error_of(std::system_error{code, "read"}).where == "read");
}

namespace {

auto half(int number, distrib::ErrorRef to) -> int {
  distrib::detail::ErrorOut error{to};
  if (number % 2 != 0) error = {std::make_error_code(std::errc::argument_out_of_domain), std::to_string(number)};
  return number / 2;
}

auto quarter(int number, distrib::ErrorRef to) -> int {
  distrib::detail::ErrorOut error{to};
  const int first = half(number, error);
  if (error) error.where = "half of " + error.where;
  return error ? 0 : half(first, error);
}

// Has the form of the library's functions: options that may be omitted, an overload that throws, and one that does not.
struct Rounding {
  bool up = false;
};

auto third(int number, const Rounding& rounding, distrib::ErrorRef to) -> int {
  distrib::detail::ErrorOut error{to};
  if (number < 0) error = {std::make_error_code(std::errc::result_out_of_range), "third of " + std::to_string(number)};
  return (number + (rounding.up ? 2 : 0)) / 3;
}

auto third(int number, const Rounding& rounding = {}) -> int {
  distrib::Error error;
  return distrib::detail::or_throw(third(number, rounding, error), error);
}

// Reads `text`, which may be the text of the caller's own `Error`, after it has set its own failure.
auto repeat(const std::string& text, distrib::ErrorRef to) -> std::string {
  distrib::detail::ErrorOut error{to};
  error = {std::make_error_code(std::errc::io_error), "repeat"};
  error.where += " " + text;
  return text + text;
}

void leave_by_exception(distrib::ErrorRef to) {
  distrib::detail::ErrorOut error{to};
  error = {std::make_error_code(std::errc::io_error), "before the exception"};
  throw 1;
}

}  // namespace

TEST_CASE("ErrorRef: an Error or only its code; success clears it", "[core]") {
  const std::error_code odd = std::make_error_code(std::errc::argument_out_of_domain);
  distrib::Error error{std::make_error_code(std::errc::io_error), "before"};
  std::error_code ec = error.code;
  CHECK((half(4, error) == 2 && !error && error.where.empty()));
  CHECK((half(4, ec) == 2 && !ec));
  CHECK((half(5, error) == 2 && error.code == odd && error.where == "5"));
  CHECK((half(5, ec) == 2 && ec == odd));
}

TEST_CASE("ErrorRef: an ErrorOut can be passed on as the Error of the next function", "[core]") {
  const std::error_code odd = std::make_error_code(std::errc::argument_out_of_domain);
  distrib::Error error;
  std::error_code ec;
  CHECK(quarter(8, error) == 2);
  CHECK_FALSE(error);
  CHECK(quarter(7, error) == 0);
  CHECK((error.code == odd && error.where == "half of 7"));
  CHECK(quarter(6, ec) == 1);
  CHECK(ec == odd);
}

TEST_CASE("ErrorOut: reports only when the function returns, so an argument may refer to the caller's Error",
          "[core]") {
  distrib::Error error{std::make_error_code(std::errc::not_a_directory), "place"};
  CHECK(repeat(error.where, error) == "placeplace");
  CHECK((error.code == std::errc::io_error && error.where == "repeat place"));
  // only the code of the same Error is passed: its place stays
  CHECK(repeat(error.where, error.code) == "repeat placerepeat place");
  CHECK((error.code == std::errc::io_error && error.where == "repeat place"));
}

TEST_CASE("ErrorOut: also reports when an exception leaves the function", "[core]") {
  distrib::Error error;
  CHECK_THROWS_AS(leave_by_exception(error), int);
  CHECK((error.code == std::errc::io_error && error.where == "before the exception"));
}

TEST_CASE("ErrorRef, ErrorOut: only making the text of a place can throw", "[core]") {
  using distrib::Error;
  using distrib::ErrorRef;
  using distrib::detail::ErrorOut;
  STATIC_REQUIRE(std::is_nothrow_constructible_v<ErrorRef, Error&>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<ErrorRef, std::error_code&>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<ErrorRef, ErrorOut&>);
  STATIC_REQUIRE(std::is_trivially_copyable_v<ErrorRef>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<ErrorOut, ErrorRef>);
  STATIC_REQUIRE(std::is_nothrow_destructible_v<ErrorOut>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<Error>);  // as the destructor does
  STATIC_REQUIRE(noexcept(std::declval<const ErrorRef&>().set(Error{})));
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<ErrorOut>);  // the copy would report too
  STATIC_REQUIRE_FALSE(std::is_assignable_v<ErrorOut&, const ErrorOut&>);
}

TEST_CASE("ErrorRef: cannot be made from {}, so {} means the options and no call is ambiguous", "[core]") {
  CHECK(third(7, {}) == 2);
  CHECK(third(7, {.up = true}) == 3);
  CHECK_THROWS_AS(third(-3, {}), distrib::ThrownError);
  std::error_code ec;
  CHECK(third(-3, {}, ec) == -1);
  CHECK(ec == std::errc::result_out_of_range);
  distrib::Error error;
  CHECK(third(-3, {.up = true}, error) == 0);
  CHECK(error.where == "third of -3");

  const auto takes_braces = [](auto number) { return requires { half(number, {}); }; };
  const auto takes = [](auto&& told) { return requires { half(1, std::forward<decltype(told)>(told)); }; };
  CHECK_FALSE(takes_braces(1));
  CHECK(takes(error));
  CHECK(takes(ec));
  CHECK_FALSE(takes(distrib::Error{}));  // a temporary, which no code could read afterwards
  CHECK_FALSE(takes(std::error_code{}));
  CHECK_FALSE(takes(std::as_const(error)));
  CHECK_FALSE(takes(std::as_const(ec)));
}
