// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/shared_secret.hpp>

#include <distrib/rpc/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using distrib::as_bytes;
using distrib::rpc_errc;
using distrib::SharedSecret;

namespace {

constexpr std::string_view good = "sixteen bytes ok";

struct Files {
  support::TempDirectory directory;

  auto write(const std::string& name, std::string_view content, ::mode_t mode = 0600) const -> std::string {
    const std::string path = (directory / name).string();
    std::ofstream{path} << content;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
};

auto is_made_of(const SharedSecret& secret, std::string_view bytes) -> bool {
  return secret.sign({as_bytes("me"), {}, as_bytes("ssage")}) ==
         distrib::hmac_sha256(as_bytes(bytes), as_bytes("message"));
}

auto failure_of(const std::string& path) -> std::error_code {
  std::error_code ec;
  CHECK_FALSE(SharedSecret::from_file(path, ec));
  try {
    static_cast<void>(SharedSecret::from_file(path));
    FAIL("nothing was thrown");
  } catch (const std::system_error& error) {
    CHECK(error.code() == ec);
    CHECK_THAT(error.what(), ContainsSubstring(path));
  }
  return ec;
}

}  // namespace

TEST_CASE("SharedSecret: no secret, and a secret from bytes", "[rpc]") {
  CHECK_FALSE(SharedSecret{});
  static_assert(sizeof(SharedSecret) <= 16);  // copied for each connection
  const SharedSecret secret = SharedSecret::from_bytes(as_bytes(good));
  CHECK(secret);
  CHECK(is_made_of(secret, good));
  const SharedSecret copy = secret;
  CHECK(is_made_of(copy, good));

  for (const std::size_t size : {0U, 1U, 15U, 16U, 4096U, 4097U}) {
    std::error_code ec;
    const bool right = size >= 16 && size <= 4096;
    CHECK(static_cast<bool>(SharedSecret::from_bytes(as_bytes(std::string(size, 's')), ec)) == right);
    CHECK((ec == rpc_errc::bad_secret) == !right);
  }
  CHECK_THROWS_AS(SharedSecret::from_bytes({}), std::system_error);
}

TEST_CASE("SharedSecret: from a file, without the newline at its end", "[rpc]") {
  const Files files;
  const std::string text{good};
  CHECK(is_made_of(SharedSecret::from_file(files.write("plain", text)), text));
  CHECK(is_made_of(SharedSecret::from_file(files.write("line", text + "\n")), text));
  CHECK(is_made_of(SharedSecret::from_file(files.write("dos", text + "\r\n")), text));
  CHECK(is_made_of(SharedSecret::from_file(files.write("two", text + "\n\n")), text + "\n"));
  CHECK(is_made_of(SharedSecret::from_file(files.write("group", text, 0440)), text));
  const std::string longest(4096, 'l');
  CHECK(is_made_of(SharedSecret::from_file(files.write("long", longest + "\r\n")), longest));
}

TEST_CASE("SharedSecret: files that are refused", "[rpc]") {
  const Files files;
  CHECK(failure_of(files.write("empty", "")) == rpc_errc::bad_secret);
  CHECK(failure_of(files.write("short", std::string{good.substr(1)} + "\n")) == rpc_errc::bad_secret);
  CHECK(failure_of(files.write("long", std::string(4097, 'l'))) == rpc_errc::bad_secret);
  CHECK(failure_of(files.write("huge", std::string(1 << 20, 'h'))) == rpc_errc::bad_secret);
  CHECK(failure_of(files.write("read", good, 0604)) == rpc_errc::secret_exposed);
  CHECK(failure_of(files.write("written", good, 0602)) == rpc_errc::secret_exposed);
  CHECK(failure_of((files.directory / "missing").string()) == distrib::failure::not_found);
  CHECK(failure_of(files.directory.path().string()) == rpc_errc::bad_secret);
  const std::string pipe = (files.directory / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(failure_of(pipe) == rpc_errc::bad_secret);  // without waiting for a process that writes to the pipe
}

TEST_CASE("SharedSecret: from an environment variable", "[rpc]") {
  const std::string name = "DISTRIB_TEST_SECRET";
  std::error_code ec;
  REQUIRE(::unsetenv(name.c_str()) == 0);
  CHECK_FALSE(SharedSecret::from_environment(name, ec));
  CHECK(ec == rpc_errc::no_secret);
  REQUIRE(::setenv(name.c_str(), std::string{good}.c_str(), 1) == 0);
  CHECK(is_made_of(SharedSecret::from_environment(name, ec), good));
  CHECK_FALSE(ec);
  REQUIRE(::setenv(name.c_str(), "short", 1) == 0);
  try {
    static_cast<void>(SharedSecret::from_environment(name));
    FAIL("nothing was thrown");
  } catch (const std::system_error& error) {
    CHECK(error.code() == rpc_errc::bad_secret);
    CHECK_THAT(error.what(), ContainsSubstring(name));
    CHECK_THAT(error.what(), !ContainsSubstring("short"));
  }
  REQUIRE(::unsetenv(name.c_str()) == 0);
}

TEST_CASE("SharedSecret: from the environment of a job: the file first, then the text", "[rpc]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "secret").string();
  std::ofstream{path} << good << '\n';
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  const std::string other = "another secret, sixteen and more bytes";
  distrib::Error error;
  REQUIRE(::setenv("DISTRIB_SECRET_FILE", "", 1) == 0);
  REQUIRE(::setenv("DISTRIB_SECRET", "", 1) == 0);
  CHECK_FALSE(SharedSecret::of_job(error));
  CHECK_FALSE(error);
  REQUIRE(::setenv("DISTRIB_SECRET", other.c_str(), 1) == 0);
  CHECK(is_made_of(SharedSecret::of_job(error), other));
  CHECK_FALSE(error);
  REQUIRE(::setenv("DISTRIB_SECRET_FILE", path.c_str(), 1) == 0);
  CHECK(is_made_of(SharedSecret::of_job(), good));
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  CHECK_FALSE(SharedSecret::of_job(error));
  CHECK(error.code == rpc_errc::secret_exposed);
  CHECK(error.where == path);
  REQUIRE(::unsetenv("DISTRIB_SECRET_FILE") == 0);
  REQUIRE(::setenv("DISTRIB_SECRET", "short", 1) == 0);
  std::error_code ec;
  CHECK_FALSE(SharedSecret::of_job(ec));
  CHECK(ec == rpc_errc::bad_secret);
  CHECK_THROWS_WITH(SharedSecret::of_job(), ContainsSubstring("DISTRIB_SECRET"));
  REQUIRE(::unsetenv("DISTRIB_SECRET") == 0);
}
