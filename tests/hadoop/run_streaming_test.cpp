// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/run_streaming.hpp>

#include "hadoop/conversation.hpp"
#include "hadoop/word_count.hpp"
#include "support/catch.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <system_error>

using conversation::text_of;
using distrib::as_bytes;
using distrib::ByteView;
using distrib::hadoop::detail::DescriptorLink;

TEST_CASE("DescriptorLink: reads and writes pairs, and writes lines to standard error", "[hadoop][run_streaming]") {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  REQUIRE((::pipe(in.data()) == 0 && ::pipe(out.data()) == 0 && ::pipe(err.data()) == 0));
  distrib::hadoop::Bytes pair;
  distrib::hadoop::RawBytes::append(pair, as_bytes("k"));
  distrib::hadoop::RawBytes::append(pair, as_bytes("a"));
  REQUIRE(::write(in[1], pair.data(), pair.size()) == static_cast<ssize_t>(pair.size()));
  ::close(in[1]);
  DescriptorLink link{in[0], out[1], err[1]};
  word_count::Words words;
  distrib::hadoop::serve_streaming(link, {}, [] { return distrib::Instant{}; }, 100, words);
  std::array<std::byte, 100> space;
  const auto text = [&](int from) {
    return text_of(ByteView{space}.first(static_cast<std::size_t>(::read(from, space.data(), space.size()))));
  };
  CHECK(text(out[0]) == std::string("\0\0\0\1a\0\0\0\1"
                                    "1",
                                    10));
  CHECK(text(err[0]) == "reporter:counter:words,lines,1\n");
  std::error_code ec;
  CHECK(link.read_some(space, ec) == 0);
  CHECK(!ec);
  for (const int descriptor : {in[0], out[0], out[1], err[0], err[1]}) ::close(descriptor);
  CHECK(link.read_some(space, ec) == 0);
  CHECK(ec == std::errc::bad_file_descriptor);
  link.write(as_bytes("x"), ec);
  CHECK(ec == std::errc::bad_file_descriptor);
}
