// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/serve_streaming.hpp>

#include <distrib/hadoop/typed_bytes.hpp>

#include "hadoop/conversation.hpp"
#include "hadoop/word_count.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using conversation::bytes_of;
using conversation::MemoryLink;
using conversation::stopped;
using conversation::text_of;
using distrib::as_bytes;
using distrib::ByteView;
using distrib::hadoop_errc;
using distrib::hadoop::detail::append_big_endian;
using distrib::hadoop::detail::append_raw;
using namespace distrib::hadoop;
using word_count::Sum;
using word_count::Words;
using Lines = std::vector<std::string>;

namespace {

struct Streams : MemoryLink {
  Lines told{};
  void tell(std::string_view line) { told.emplace_back(line); }
};

auto pairs(std::initializer_list<std::pair<const char*, const char*>> list) -> Bytes {
  Bytes bytes;
  for (const auto& [key, value] : list) {
    RawBytes::append(bytes, as_bytes(key));
    RawBytes::append(bytes, as_bytes(value));
  }
  return bytes;
}

auto lines_of(ByteView bytes) -> Lines {
  Lines lines;
  WritableReader reader{bytes};
  while (reader.used() != bytes.size() && !reader.error()) {
    const std::string key = text_of(RawBytes::read(reader, bytes.size()));
    lines.push_back(key + "=" + text_of(RawBytes::read(reader, bytes.size())));
  }
  REQUIRE(!reader.error());
  return lines;
}

template <class... Roles>
auto streamed(Bytes in, bool is_map, std::size_t piece, Roles... roles) -> std::pair<Lines, Lines> {
  Streams link{{std::move(in), piece}};
  serve_streaming(link, JobConf{{{"mapreduce.task.ismap", is_map ? "true" : "false"}}}, stopped(), 1000, roles...);
  return {lines_of(link.up), link.told};
}

}  // namespace

TEST_CASE("serve_streaming: one program is both mapper and reducer", "[hadoop][serve_streaming]") {
  for (const std::size_t piece : {1U, 7U, 1000U}) {
    const auto mapped = streamed(pairs({{"k", "b a"}, {"a b", ""}}), true, piece, Words{}, Sum{});
    CHECK(mapped.first == Lines{"b=1", "a=1", "a=1", "b=1"});
    CHECK(mapped.second == Lines{"reporter:counter:words,lines,2"});
    const Bytes sorted = pairs({{"a", "1"}, {"a", "2"}, {"b", "5"}, {"", "1"}, {"", "1"}});
    const auto reduced = streamed(sorted, false, piece, Words{}, Sum{});
    CHECK(reduced.first == Lines{"a=3", "b=5", "=2"});
  }
  CHECK(streamed(pairs({{"a", "1"}}), true, 9, Sum{}).first == Lines{"a=1"});  // only one role, so no choice
  CHECK(streamed(pairs({{"a", "b"}}), false, 9, Words{}).first == Lines{"b=1"});
  CHECK(streamed({}, true, 9, Words{}, Sum{}).first.empty());
  CHECK(streamed({}, false, 9, Words{}, Sum{}).first.empty());
}

TEST_CASE("serve_streaming: skips values that a reducer does not read; large values arrive whole",
          "[hadoop][serve_streaming]") {
  struct First {
    void reduce(ByteView key, Values& values, TaskContext& context) {
      if (key.size() == 2) return;
      context.emit(key, *values.next());
    }
  };
  CHECK(streamed(pairs({{"a", "1"}, {"a", "2"}, {"bb", "3"}, {"bb", "4"}, {"c", "5"}}), false, 5, First{}).first ==
        Lines{"a=1", "c=5"});
  Bytes large;
  RawBytes::append(large, as_bytes("k"));
  RawBytes::append(large, as_bytes(std::string(300'000, 'x')));
  Streams link{{large, 1000}};
  First first;
  serve_streaming(link, {}, stopped(), 300'000, first);
  CHECK(link.up == large);
}

TEST_CASE("serve_streaming: status and counters are lines that Hadoop understands", "[hadoop][serve_streaming]") {
  struct Talks {
    void map(ByteView, ByteView, TaskContext& context) {
      context.status("one\ntwo");
      context.increment(context.counter("a,b", "c"), 5);
      context.progress(0.25F);
    }
  } talks;
  Streams link{{pairs({{"", ""}})}};
  serve_streaming(link, {}, stopped(), 9, talks);
  CHECK(link.told == Lines{"reporter:status:one two", "reporter:counter:a;b,c,5", "reporter:status:25 %"});

  Bytes many;
  for (int i = 0; i < 64; ++i) append_raw(many, pairs({{"", "w"}}));
  Streams slow{{many}};
  Words words;
  const auto ticking = [now = distrib::Instant{}]() mutable { return now += std::chrono::milliseconds{600}; };
  serve_streaming(slow, {}, ticking, 9, words);
  CHECK(slow.told == Lines{"reporter:counter:words,lines,32", "reporter:counter:words,lines,32"});
}

TEST_CASE("serve_streaming: typed bytes", "[hadoop][serve_streaming]") {
  struct Doubles {
    void map(ByteView key, ByteView value, TaskContext& context) {
      Bytes twice;
      append_typed(twice, 2 * *typed_value(value).integer());
      context.emit(key, twice);
    }
  } doubles;
  Streams link;
  append_typed(link.down, std::string_view{"k"});
  append_typed(link.down, std::int32_t{21});
  serve_streaming<TypedBytes>(link, {}, stopped(), 100, doubles);
  WritableReader reader{link.up};
  CHECK(text_of(typed_value(TypedBytes{}.read(reader, 100)).bytes()) == "k");
  CHECK(typed_value(TypedBytes{}.read(reader, 100)).integer() == 42);
}

TEST_CASE("serve_streaming: an endless value of typed bytes is refused before it takes memory",
          "[hadoop][serve_streaming]") {
  struct Endless {
    std::size_t given = 0;
    std::size_t largest = 0;  // room
    auto read_some(std::span<std::byte> space, std::error_code&) -> std::size_t {
      largest = std::max(largest, space.size());
      for (std::byte& byte : space) byte = given++ == 0 ? std::byte{9} : std::byte{1};  // a list of 1, 1, 1, ...
      return space.size();
    }
    void write(ByteView, std::error_code&) {}
    void tell(std::string_view) {}
  } link;
  Words words;
  CHECK_THROWS_WITH(serve_streaming<TypedBytes>(link, {}, stopped(), 300'000, words),
                    ContainsSubstring("pair 0 of the input"));
  CHECK(link.given < 600'000);
  CHECK(link.largest < 600'000);
}

TEST_CASE("serve_streaming: refuses input with wrong lengths, and input that ends early", "[hadoop][serve_streaming]") {
  const auto failure_of = [](Bytes in) -> std::error_code {
    try {
      streamed(std::move(in), true, 3, Words{});
    } catch (const std::system_error& failure) {
      CHECK_THAT(failure.what(), ContainsSubstring("pair 1 of the input"));
      return failure.code();
    }
    return {};
  };
  const Bytes good = pairs({{"k", "v"}, {"kk", "vv"}});
  for (std::size_t size = 11; size < good.size(); ++size)
    CHECK(failure_of({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}) == hadoop_errc::truncated);
  Bytes lie = pairs({{"k", "v"}});
  append_big_endian(lie, std::uint32_t{1001});
  CHECK(failure_of(lie) == hadoop_errc::too_large);
  Bytes negative = pairs({{"k", "v"}});
  append_big_endian(negative, std::uint32_t{0xFFFFFFFF});
  CHECK(failure_of(negative) == hadoop_errc::bad_number);
}
