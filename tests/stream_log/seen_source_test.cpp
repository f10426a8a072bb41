// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/seen_source.hpp>

#include "support/catch.hpp"

#include <distrib/stream_log/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace {

using distrib::SourceNews;

auto sum_before_record(std::uint64_t n) -> distrib::StreamSum { return {n, 7}; }

auto log_of_source() -> distrib::StreamLog {
  distrib::StreamLog log{2, {0}};
  log.append(distrib::StreamRange{"events", 0, 5, sum_before_record(0), sum_before_record(5)});
  return log;
}

}  // namespace

TEST_CASE("what a source has beyond the log is proposed with what the log has of it") {
  const distrib::StreamLog log = log_of_source();
  const auto more = look_at_source(log, {"events", 0, 9}, sum_before_record);
  REQUIRE(more.news == SourceNews::more);
  CHECK(more.proposal == distrib::ProposedRange{{"events", 5, 9, sum_before_record(5), sum_before_record(9)}, true});
  const auto few = look_at_source(log, {"events", 0, 9}, sum_before_record, 2);
  CHECK(few.proposal->range.end == 7);
  const auto other = look_at_source(log, {"other", 3, 4}, sum_before_record);
  CHECK(other.proposal == distrib::ProposedRange{{"other", 3, 4, sum_before_record(3), sum_before_record(4)}, false});
}

TEST_CASE("of a source without more, or with other records, nothing is proposed") {
  const distrib::StreamLog log = log_of_source();
  CHECK(look_at_source(log, {"events", 0, 5}, sum_before_record).news == SourceNews::none);
  CHECK(look_at_source(log, {"events", 0, 3}, sum_before_record).news == SourceNews::none);
  CHECK(look_at_source(log, {"other", 0, 0}, sum_before_record).news == SourceNews::none);
  CHECK(look_at_source(log, {"events", 0, 9}, sum_before_record, 0).news == SourceNews::none);
  CHECK(look_at_source(log, {"events", 6, 9}, sum_before_record).news == SourceNews::expired);
  CHECK(look_at_source(log, {"events", 5, 9}, sum_before_record).news == SourceNews::more);
  const auto other_sum = [](std::uint64_t n) { return distrib::StreamSum{n, 8}; };
  CHECK(look_at_source(log, {"events", 0, 9}, other_sum).news == SourceNews::replaced);
  CHECK_FALSE(look_at_source(log, {"events", 0, 9}, other_sum).proposal);
}

TEST_CASE("records that cannot be read any more are named with source, numbers and what was found") {
  const distrib::StreamRange range{"events-0007", 4096, 8192, {}, {1, 2}};
  const distrib::SeenSource whole{"events-0007", 0, 9000};
  CHECK_FALSE(distrib::check_source(range, 4096, &whole, distrib::StreamSum{1, 2}));
  const distrib::Error other = distrib::check_source(range, 4096, &whole, distrib::StreamSum{1, 3});
  CHECK(other.code == distrib::stream_errc::source_replaced);
  CHECK(other.where == "events-0007: the log has its records 4096 to 8191, and it has other ones");
  distrib::StreamRange of_object = range;
  of_object.version = "v1";
  const distrib::SeenSource written_again{"events-0007", 0, 9000, "v2"};
  CHECK_FALSE(distrib::check_source(of_object, 4096, &written_again, distrib::StreamSum{1, 2}));  // by the same records
  CHECK(distrib::check_source(of_object, 4096, &written_again, distrib::StreamSum{1, 3}).where ==
        "events-0007: the log has its records 4096 to 8191, and it has other ones: it was v1, and is v2 now");
  const distrib::Error gone = distrib::check_source(range, 4096, nullptr, std::nullopt);
  CHECK(gone.code == distrib::stream_errc::source_gone);
  const distrib::SeenSource shorter{"events-0007", 0, 5000};
  const distrib::Error few = distrib::check_source(range, 4096, &shorter, std::nullopt);
  CHECK(few.code == distrib::stream_errc::source_gone);
  CHECK(few.where.ends_with("it has only 5000"));
  const distrib::SeenSource late{"events-0007", 5000, 9000};
  CHECK(distrib::check_source(range, 4096, &late, distrib::StreamSum{1, 2}).code ==
        distrib::stream_errc::records_expired);
  CHECK_FALSE(distrib::check_source(range, 5000, &late, distrib::StreamSum{1, 2}));
}
