// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/pipes_link.hpp>

#include "hadoop/conversation.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <array>
#include <fstream>
#include <string>
#include <thread>

using conversation::text_of;
using distrib::as_bytes;
using distrib::ByteView;
using distrib::Error;
using distrib::hadoop::ReplayLink;
using distrib::hadoop::SocketLink;

TEST_CASE("SocketLink: reads what arrives, writes everything, waits for the end", "[hadoop][pipes_link]") {
  asio::io_context context;
  support::Acceptor acceptor{context, support::loopback()};
  std::string heard;
  std::thread hadoop{[&] {
    auto socket = acceptor.accept();
    asio::write(socket, asio::buffer(std::string{"hello"}));
    std::string text(1'000'000, '\0');
    asio::read(socket, asio::buffer(text));
    heard = text;
    asio::write(socket, asio::buffer(std::string{"rest"}));
  }};
  Error error;
  SocketLink link{acceptor.local_endpoint().port(), error};
  REQUIRE(!error);
  std::array<std::byte, 100> space;
  std::string read;
  std::error_code ec;
  while (read.size() < 5) read += text_of(ByteView{space}.first(link.read_some(space, ec)));
  CHECK(read == "hello");
  const std::string long_text(1'000'000, 'x');
  link.write(as_bytes(long_text), ec);
  CHECK(!ec);
  link.finish();
  hadoop.join();
  CHECK(heard == long_text);
  CHECK(link.read_some(space, ec) == 0);
}

TEST_CASE("ReplayLink: reads one file and writes another", "[hadoop][pipes_link]") {
  const support::TempDirectory directory;
  const std::string path = directory / "downlink.data";
  Error error;
  const ReplayLink none{path, error};
  CHECK(error.code == distrib::failure::not_found);
  CHECK(error.where == path);
  std::ofstream{path} << "abc";
  error = {};
  ReplayLink link{path, error};
  REQUIRE(!error);
  std::array<std::byte, 100> space;
  std::error_code ec;
  CHECK(link.read_some(space, ec) == 3);
  CHECK(link.read_some(space, ec) == 0);
  link.write(as_bytes("de"), ec);
  link.write(as_bytes("f"), ec);
  link.finish();
  CHECK(!ec);
  CHECK(conversation::file_text(path + ".out") == "def");
}
