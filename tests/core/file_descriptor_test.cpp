// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/file_descriptor.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <array>
#include <climits>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::detail::FileDescriptor;

namespace {

auto content(const std::string& path) -> std::string {
  std::error_code ec;
  FileDescriptor file{path, O_RDONLY, ec};
  std::string text(100, '\0');
  text.resize(file.read(std::as_writable_bytes(std::span{text}), ec));
  CHECK_FALSE(ec);
  return text;
}

}  // namespace

TEST_CASE("FileDescriptor: what was written can be read again", "[core]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  std::error_code ec;
  FileDescriptor file{path, O_WRONLY | O_CREAT, ec};
  REQUIRE(file.is_open());
  std::array<char, 5> first{'o', 'n', 'e', ' ', 'a'};
  std::array<char, 8> second{'n', 'd', ' ', 't', 'w', 'o', ' ', '-'};
  std::array<iovec, 4> pieces{iovec{first.data(), first.size()}, iovec{nullptr, 0}, iovec{second.data(), 7}, iovec{}};
  file.write(pieces.data(), pieces.size(), ec);  // skips pieces without bytes
  CHECK_FALSE(ec);
  file.write(std::as_bytes(std::span{second}.last(1)), ec);
  CHECK_FALSE(ec);
  file.close(ec);
  CHECK_FALSE(ec);
  CHECK_FALSE(file.is_open());
  CHECK(content(path) == "one and two -");
}

TEST_CASE("FileDescriptor: write takes more pieces than the system takes in one call", "[core]") {
  const support::TempDirectory directory;
  std::string text;
  for (int i = 0; i < 2'500; ++i) text += std::to_string(i % 10) + "-";
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < text.size(); at += 2) pieces.push_back({text.data() + at, 2});
  REQUIRE(pieces.size() > 2 * IOV_MAX);
  std::error_code ec;
  FileDescriptor file{directory / "file", O_RDWR | O_CREAT, ec};
  file.write(pieces.data(), pieces.size(), ec);
  CHECK_FALSE(ec);
  REQUIRE(::lseek(file.get(), 0, SEEK_SET) == 0);
  std::string read(text.size() + 1, '\0');
  read.resize(file.read(std::as_writable_bytes(std::span{read}), ec));
  CHECK(read == text);
}

TEST_CASE("FileDescriptor: write continues after a part, here with more than a pipe can hold", "[core]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  std::error_code ec;
  FileDescriptor in{"/proc/self/fd/" + std::to_string(ends[0]), O_RDONLY | O_NONBLOCK, ec};
  FileDescriptor out{"/proc/self/fd/" + std::to_string(ends[1]), O_WRONLY | O_NONBLOCK, ec};
  ::close(ends[0]);
  ::close(ends[1]);
  const std::string text(1 << 20, 'x');
  out.write(std::as_bytes(std::span{text}), ec);  // continues until the pipe accepts no more
  CHECK(ec == std::errc::resource_unavailable_try_again);
  std::array<std::byte, 16> some{};
  CHECK(in.read(some, ec) == some.size());
}

TEST_CASE("FileDescriptor: failures", "[core]") {
  std::error_code ec;
  FileDescriptor none{"/no/such/file", O_RDONLY, ec};
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK_FALSE(none.is_open());
  std::array<std::byte, 1> byte{};
  CHECK(none.read(byte, ec) == 0);
  CHECK(ec == std::errc::bad_file_descriptor);
  none.write(byte, ec);
  CHECK(ec == std::errc::bad_file_descriptor);
  FileDescriptor directory{"/", O_RDONLY, ec};
  CHECK(directory.read(byte, ec) == 0);
  CHECK(ec == std::errc::is_a_directory);
}

TEST_CASE("FileDescriptor: after a move the file is closed once", "[core]") {
  std::error_code ec;
  FileDescriptor first{"/dev/null", O_RDONLY, ec};
  const int number = first.get();
  {
    FileDescriptor second{std::move(first)};
    CHECK(second.get() == number);
    FileDescriptor third;
    third = std::move(second);
    CHECK(third.get() == number);
  }
  CHECK(::fcntl(number, F_GETFD) == -1);
}
