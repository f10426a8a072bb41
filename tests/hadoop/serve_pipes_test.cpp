// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/serve_pipes.hpp>

#include "hadoop/conversation.hpp"
#include "hadoop/word_count.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using conversation::answers;
using conversation::bytes_of;
using conversation::MemoryLink;
using conversation::Recorded;
using conversation::Said;
using conversation::stopped;
using conversation::text_of;
using distrib::ByteView;
using distrib::hadoop_errc;
using distrib::hadoop::Bytes;
using distrib::hadoop::KeyValue;
using distrib::hadoop::serve_pipes;
using distrib::hadoop::TaskContext;
using distrib::hadoop::Values;
using word_count::ByLength;
using word_count::Sum;
using word_count::Words;
using Lines = std::vector<std::string>;

namespace {

/// A clock that advances by half a second at each call.
auto ticking() -> std::function<distrib::Instant()> {
  return [now = distrib::Instant{}]() mutable { return now += std::chrono::milliseconds{500}; };
}

template <class... Roles> auto served(const Bytes& down, Roles... roles) -> Lines {
  MemoryLink link{down};
  serve_pipes(link, {}, stopped(), roles...);
  return answers(link.up);
}

template <class... Roles> auto failure_of(const Bytes& down, Roles... roles) -> std::error_code {
  MemoryLink link{down};
  try {
    serve_pipes(link, {}, stopped(), roles...);
  } catch (const std::system_error& failure) {
    REQUIRE(!link.up.empty());
    CHECK(answers(link.up).back() == std::string{"status "} + failure.what());
    return failure.code();
  }
  return {};
}

/// Returns as many keys as the split has bytes: the setting `who` and a number, from 1.
struct Counting {
  void open(ByteView split, TaskContext& context) {
    size = split.size();
    opened_for = context.conf().text("who");
  }
  auto next() -> std::optional<KeyValue> {
    if (at == size) return std::nullopt;
    key = opened_for + std::to_string(++at);
    return KeyValue{distrib::as_bytes(key), {}};
  }
  auto progress() const -> float { return static_cast<float>(at) / static_cast<float>(size); }

  std::size_t size = 0;
  std::size_t at = 0;
  std::string opened_for{};
  std::string key{};
};

/// Stores what is written.
struct Keeping {
  void open(TaskContext&) { lines->push_back("open"); }
  void write(ByteView key, ByteView value) { lines->push_back(text_of(key) + "=" + text_of(value)); }
  void close() { lines->push_back("close"); }
  Lines* lines;
};

struct Partly {  // reads only one value of each key
  void reduce(ByteView key, Values& values, TaskContext& context) {
    if (key.size() == 1) return;
    context.emit(key, *values.next());
  }
};

struct Failing {
  void map(ByteView, ByteView, TaskContext&) { throw std::runtime_error("no such word"); }
};

}  // namespace

TEST_CASE("serve_pipes: a recorded map sends its words to Java", "[hadoop][serve_pipes]") {
  const Recorded recorded{"map_java_reader"};
  std::map<std::string, int> counts;
  for (const std::size_t piece : {3U, 5000U}) {
    MemoryLink link{recorded.down, piece};
    Words words;
    serve_pipes(link, {.token = recorded.token}, stopped(), words);
    const Lines lines = answers(link.up);
    REQUIRE(lines.size() > 100);
    CHECK(lines[0].starts_with("proof "));
    CHECK(lines[1] == "counter 0 words/lines");
    CHECK(lines[2] == "output gamma=1");
    CHECK(lines[3] == "output eta=1");
    CHECK(lines[lines.size() - 2] == "count 0 97");
    CHECK(lines.back() == "done");
    for (const std::string& line : lines) counts[line] += 1;
  }
  CHECK(counts["output alpha=1"] % 2 == 0);

  // With a combiner and a partitioner: each word once, in order, to the chosen reduce.
  MemoryLink link{recorded.down};
  Words words;
  Sum sum;
  ByLength by_length;
  serve_pipes(link, {.token = recorded.token}, stopped(), sum, by_length, words);
  Lines lines = answers(link.up);
  CHECK(std::none_of(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("output"); }));
  const std::string alpha = "partitioned 1 alpha=" + std::to_string(counts["output alpha=1"] / 2);
  CHECK(std::count(lines.begin(), lines.end(), alpha) == 1);
}

TEST_CASE("serve_pipes: a recorded reduce with its own writer, and an empty reduce", "[hadoop][serve_pipes]") {
  const Recorded recorded{"reduce_own_writer"};
  Lines kept;
  MemoryLink link{recorded.down};
  Words words;
  Sum sum;
  Keeping keeping{&kept};
  serve_pipes(link, {.token = recorded.token}, stopped(), words, sum, keeping);
  CHECK(answers(link.up).size() == 2);
  CHECK(answers(link.up).back() == "done");
  REQUIRE(kept.size() > 3);
  CHECK(kept.front() == "open");
  CHECK(kept[1] == "Zürich=" + std::to_string(std::stoi(kept[1].substr(kept[1].find('=') + 1))));
  CHECK(kept.back() == "close");
  int sum_of_all = 0;
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) sum_of_all += std::stoi(kept[i].substr(kept[i].find('=') + 1));
  CHECK(sum_of_all == 478 - static_cast<int>(kept.size() - 2));  // number of values: all messages without the keys

  const Recorded empty{"reduce_empty"};
  MemoryLink quiet{empty.down};
  serve_pipes(quiet, {.token = empty.token}, stopped(), words, sum);
  CHECK(answers(quiet.up).back() == "done");
}

TEST_CASE("serve_pipes: a map with its own reader, and a partition for each pair", "[hadoop][serve_pipes]") {
  Said said{{{"who", "n"}}};
  said.run_map(bytes_of("12345678901"), 2, false);
  CHECK(served(said.said, Words{}, Counting{}, ByLength{}) ==
        Lines{"counter 0 words/lines", "partitioned 0 n1=1", "partitioned 0 n2=1", "partitioned 0 n3=1",
              "partitioned 0 n4=1", "partitioned 0 n5=1", "partitioned 0 n6=1", "partitioned 0 n7=1",
              "partitioned 0 n8=1", "partitioned 0 n9=1", "partitioned 1 n10=1", "partitioned 1 n11=1", "count 0 11",
              "progress 1", "done"});
  MemoryLink link{said.said};
  Words words;
  Counting counting;
  serve_pipes(link, {}, ticking(), words, counting);
  CHECK(counting.progress() == 1);

  // Progress is reported as time passes: the clock is read at every sixteenth pair.
  Said longer;
  longer = Said{{}}.run_map(bytes_of(std::string(64, 'x')), 2, false);
  MemoryLink slow{longer.said};
  Counting more;
  serve_pipes(slow, {}, ticking(), words, more);
  const Lines lines = answers(slow.up);
  CHECK(std::count(lines.begin(), lines.end(), "progress 0.5") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "progress 1") == 2);
}

TEST_CASE("serve_pipes: a map without reduces writes the output itself", "[hadoop][serve_pipes]") {
  Lines kept;
  Said own{{{"mapreduce.pipes.isjavarecordwriter", "false"}}};
  own.run_map({}, 0, true).item("k", "a b").close();
  CHECK(served(own.said, Words{}, Keeping{&kept}).back() == "done");
  CHECK(kept == Lines{"open", "a=1", "b=1", "close"});
  CHECK(failure_of(own.said, Words{}) == hadoop_errc::no_record_writer);
  Said javas{{{"mapreduce.pipes.isjavarecordwriter", "true"}}};
  javas.run_map({}, 0, true).item("k", "a b").close();
  kept.clear();
  CHECK(served(javas.said, Words{}, Keeping{&kept}, ByLength{}) ==
        Lines{"counter 0 words/lines", "output a=1", "output b=1", "count 0 1", "done"});
  CHECK(kept.empty());
}

TEST_CASE("serve_pipes: a combiner reduces the number of pairs", "[hadoop][serve_pipes]") {
  Said said{{{"mapreduce.task.io.sort.mb", "0"}}};  // combines after each pair
  said.run_map({}, 1, true).item("", "b a b").item("", "b").close();
  CHECK(served(said.said, Words{}, Sum{}) ==
        Lines{"counter 0 words/lines", "output b=1", "output a=1", "output b=1", "output b=1", "count 0 2", "done"});
  Said all{{}};
  all.run_map({}, 1, true).item("", "b a b").item("", "b").close();
  CHECK(served(all.said, Words{}, Sum{}) ==
        Lines{"counter 0 words/lines", "output a=1", "output b=3", "count 0 2", "done"});
}

TEST_CASE("serve_pipes: skips values that a reducer does not read", "[hadoop][serve_pipes]") {
  Said said{{}};
  said.run_reduce(true).group("a", {"1", "2"}).group("bb", {"3", "4"}).group("c", {}).group("dd", {"5"}).close();
  CHECK(served(said.said, Words{}, Partly{}) == Lines{"output bb=3", "output dd=5", "done"});
}

TEST_CASE("serve_pipes: fails if the job needs a role that the program does not have", "[hadoop][serve_pipes]") {
  CHECK(failure_of(Said{{}}.run_map({}, 1, false).said, Words{}) == hadoop_errc::no_record_reader);
  CHECK(failure_of(Said{{}}.run_reduce(true).close().said, Words{}) == hadoop_errc::no_reducer);
  CHECK(failure_of(Said{{}}.run_reduce(false).close().said, Words{}, Sum{}) == hadoop_errc::no_record_writer);
  struct Wrong {
    auto partition(ByteView, std::uint32_t reduces) const -> std::uint32_t { return reduces; }
  };
  CHECK(failure_of(Said{{}}.run_map({}, 3, true).item("", "w").close().said, Words{}, Wrong{}) ==
        hadoop_errc::bad_partition);
  struct Wide {
    auto partition(ByteView, std::uint32_t) const -> std::uint64_t { return std::uint64_t{1} << 32; }
  };
  CHECK(failure_of(Said{{}}.run_map({}, 3, true).item("", "w").close().said, Words{}, Wide{}) ==
        hadoop_errc::bad_partition);
  for (const char* const megabytes : {"x", "2048", "17592186044416"})
    CHECK(failure_of(Said{{{"mapreduce.task.io.sort.mb", megabytes}}}.run_map({}, 3, true).said, Words{}, Sum{}) ==
          hadoop_errc::bad_setting);
}

TEST_CASE("serve_pipes: sends a failure as the status of the task", "[hadoop][serve_pipes]") {
  MemoryLink link{Said{{}}.run_map({}, 1, true).item("", "w").close().said};
  Failing failing;
  CHECK_THROWS_AS(serve_pipes(link, {}, stopped(), failing), std::runtime_error);
  CHECK(answers(link.up) == Lines{"status no such word"});
  CHECK(failure_of(Said{{}}.run_map({}, 1, true).item("", "w").said, Words{}) == hadoop_errc::truncated);
  CHECK(failure_of(Said{{}}.run_map({}, 1, true).message(distrib::hadoop::PipesMessage::abort).said, Words{}) ==
        hadoop_errc::aborted);
  CHECK(failure_of({}, Words{}) == hadoop_errc::truncated);

  struct Broken {
    auto read_some(std::span<std::byte>, std::error_code& ec) -> std::size_t {
      ec = std::make_error_code(std::errc::connection_reset);
      return 0;
    }
    void write(ByteView, std::error_code& ec) { ec = std::make_error_code(std::errc::broken_pipe); }
  } broken;
  Words words;
  CHECK_THROWS_WITH(serve_pipes(broken, {}, stopped(), words), ContainsSubstring("what Hadoop sends"));
}
