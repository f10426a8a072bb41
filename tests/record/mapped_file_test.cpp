// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/mapped_file.hpp>

#include <distrib/record/error.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <sys/stat.h>

TEST_CASE("MappedFile: the bytes of a file", "[record][mapped_file]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", "hello");
  const distrib::MappedFile file{directory / "file"};
  CHECK(distrib::as_text(file.bytes()) == "hello");
}

TEST_CASE("MappedFile: an empty file has no bytes", "[record][mapped_file]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", "");
  CHECK(distrib::MappedFile{directory / "file"}.bytes().empty());
  CHECK(distrib::MappedFile{}.bytes().empty());
}

TEST_CASE("MappedFile: a move keeps the addresses", "[record][mapped_file]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", "hello");
  distrib::MappedFile first{directory / "file"};
  const std::byte* address = first.bytes().data();
  distrib::MappedFile second{std::move(first)};
  CHECK(second.bytes().data() == address);
  distrib::MappedFile third;
  third = std::move(second);
  CHECK(third.bytes().data() == address);
}

TEST_CASE("MappedFile: files that cannot be mapped", "[record][mapped_file]") {
  const support::TempDirectory directory;
  std::error_code ec;
  distrib::MappedFile{directory / "missing", ec};
  CHECK(ec == std::errc::no_such_file_or_directory);
  distrib::MappedFile{directory.path(), ec};
  CHECK(ec == distrib::record_errc::not_regular);
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  distrib::MappedFile{directory / "pipe", ec};  // does not wait for a writer
  CHECK(ec == distrib::record_errc::not_regular);
  CHECK_THROWS_WITH(distrib::MappedFile{directory / "missing"},
                    ContainsSubstring("missing: No such file or directory"));
}

TEST_CASE("MappedFile: recognises file systems of other machines and processes", "[record][mapped_file]") {
  for (const std::uint32_t number : {0x6969U, 0xFF534D42U, 0xFE534D42U, 0x65735546U, 0x01021997U})  // NFS .. 9P
    CHECK(distrib::detail::is_remote_file_system(number));
  for (const std::uint32_t number : {0xEF53U, 0x01021994U, 0x58465342U, 0x9123683EU, 0x794C7630U})  // ext4 .. overlay
    CHECK_FALSE(distrib::detail::is_remote_file_system(number));
  CHECK_FALSE(distrib::detail::is_on_remote_file_system("/no/such/place"));
  CHECK_FALSE(distrib::detail::is_on_remote_file_system("/proc"));
}
