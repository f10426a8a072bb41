// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/slice.hpp>

#include "support/catch.hpp"

#include <numeric>
#include <span>
#include <vector>

using distrib::Shape;
using distrib::Slice;
using distrib::detail::copy_overlap;

namespace {

/// Returns every position in a box, in row-major order.
auto positions(const Slice& box) -> std::vector<std::vector<std::int64_t>> {
  std::vector<std::vector<std::int64_t>> found;
  std::vector<std::int64_t> at(box.start.extents().begin(), box.start.extents().end());
  for (std::int64_t i = 0; i < box.extents.elements(); ++i) {
    found.push_back(at);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < box.start[axis] + box.extents[axis]) break;
      at[axis] = box.start[axis];
    }
  }
  return found;
}

/// The slow way: compares the position of every pair of elements.
void copy_by_position(const Slice& from_slice, std::span<const int> from, const Slice& to_slice, std::span<int> to) {
  const auto sources = positions(from_slice);
  const auto targets = positions(to_slice);
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (std::size_t j = 0; j < targets.size(); ++j)
      if (sources[i] == targets[j]) to[j] = from[i];
}

}  // namespace

TEST_CASE("Slice: whole, along, inside, text", "[core]") {
  const Shape shape{4, 16};
  CHECK(Slice::whole(shape) == Slice{{0, 0}, {4, 16}});
  CHECK(Slice::along(shape, 0, 1, 2) == Slice{{1, 0}, {2, 16}});
  CHECK(Slice::along(shape, 1, 8, 8) == Slice{{0, 8}, {4, 8}});
  CHECK(Slice::whole({}) == Slice{});
  CHECK(to_string(Slice::whole(shape)) == "0,4:0,16");
  CHECK(to_string(Slice::along(shape, 1, 8, 8)) == "0,4:8,8");
  CHECK(to_string(Slice{}).empty());

  struct Row {
    Slice slice;
    bool inside;
  };
  const Row rows[] = {
      {Slice::whole(shape), true},
      {{{4, 0}, {0, 16}}, true},
      {{{3, 15}, {1, 1}}, true},
      {{{3, 15}, {2, 1}}, false},
      {{{0}, {4}}, false},
      {{{0, 0}, {4}}, false},
      {{{5, 0}, {0, 1}}, false},
      {{{1LL << 61, 0}, {1, 1}}, false},
      {{{0, 0}, {1, 1LL << 61}}, false},
  };
  for (const Row& row : rows) CHECK(row.slice.inside(shape) == row.inside);
  CHECK(Slice{}.inside({}));
}

TEST_CASE("copy_overlap: copies the common elements of two boxes and nothing else", "[core]") {
  struct Row {
    Slice from;
    Slice to;
  };
  const Row rows[] = {
      {{}, {}},                                               // scalars
      {{{0}, {7}}, {{0}, {7}}},                               // the same
      {{{0}, {7}}, {{3}, {2}}},                               // one inside the other, both ways
      {{{3}, {2}}, {{0}, {7}}},
      {{{0}, {4}}, {{2}, {5}}},                               // overlapping
      {{{0}, {4}}, {{4}, {3}}},                               // side by side: nothing
      {{{0}, {0}}, {{0}, {3}}},                               // empty
      {{{0, 0}, {4, 5}}, {{1, 0}, {2, 5}}},                   // whole rows: one run
      {{{0, 0}, {4, 5}}, {{0, 1}, {4, 3}}},                   // columns
      {{{0, 0}, {2, 2}}, {{0, 0}, {2, 4}}},  // all of it, into longer rows
      {{{0, 1}, {2, 2}}, {{0, 0}, {2, 4}}},
      {{{0, 0, 0}, {2, 2, 3}}, {{0, 0, 0}, {2, 4, 3}}},       // into more rows
      {{{1, 2}, {3, 3}}, {{0, 0}, {3, 4}}},                   // a corner
      {{{0, 0, 0}, {3, 4, 5}}, {{1, 0, 0}, {2, 4, 5}}},
      {{{0, 0, 0}, {3, 4, 5}}, {{0, 1, 0}, {3, 2, 5}}},
      {{{1, 1, 1}, {2, 3, 4}}, {{0, 2, 0}, {3, 2, 3}}},
      {{{0, 0, 0}, {3, 1, 5}}, {{1, 0, 2}, {2, 1, 9}}},
      {{{0, 0, 0, 0}, {2, 2, 2, 2}}, {{1, 0, 1, 0}, {1, 2, 1, 2}}},
  };
  for (const Row& row : rows) {
    CAPTURE(to_string(row.from), to_string(row.to));
    std::vector<int> from(static_cast<std::size_t>(row.from.extents.elements()));
    std::iota(from.begin(), from.end(), 100);
    std::vector<int> expected(static_cast<std::size_t>(row.to.extents.elements()), -1);
    std::vector<int> to = expected;
    copy_by_position(row.from, from, row.to, expected);
    const auto copied = copy_overlap(row.from, std::as_bytes(std::span{from}).data(), row.to,
                                     std::as_writable_bytes(std::span{to}).data(), sizeof(int));
    CHECK(to == expected);
    CHECK(copied == static_cast<std::int64_t>(expected.size()) - std::count(expected.begin(), expected.end(), -1));
  }
}

TEST_CASE("parse_slice: the inverse of to_string", "[core]") {
  for (const Slice& slice : {Slice{}, Slice{{0, 0}, {4, 16}}, Slice{{400, 0}, {384, 128}}, Slice{{7}, {0}},
                             Slice{{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}}})
    CHECK(distrib::detail::parse_slice(to_string(slice)) == slice);
}

TEST_CASE("parse_slice: refuses every other text", "[core]") {
  for (const char* text : {"0",
                           "0,",
                           ",4",
                           "0,4:",
                           ":0,4",
                           "0,4::0,4",
                           "0:4",
                           "0,4,5",
                           "-1,4",
                           "0,-4",
                           "00,4",
                           "0,+4",
                           "0, 4",
                           "0,4 ",
                           "a,4",
                           ":",
                           ",",
                           "0,1:0,1:0,1:0,1:0,1:0,1:0,1:0,1:0,1",
                           "9223372036854775808,1",
                           "0,4294967296:0,4294967296",
                           "4294967296,0:4294967296,0"}) {
    CAPTURE(text);
    CHECK_FALSE(distrib::detail::parse_slice(text));
  }
}

TEST_CASE("copy_overlap: if only the target is wider, each row goes to the beginning of a row", "[core]") {
  const int from[] = {1, 2, 3, 4};
  int to[8] = {};
  CHECK(copy_overlap(Slice{{0, 0}, {2, 2}}, std::as_bytes(std::span{from}).data(), Slice{{0, 0}, {2, 4}},
                     std::as_writable_bytes(std::span{to}).data(), sizeof(int)) == 4);
  CHECK(std::vector<int>(std::begin(to), std::end(to)) == std::vector<int>{1, 2, 0, 0, 3, 4, 0, 0});
}
