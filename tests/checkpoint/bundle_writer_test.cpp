// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/bundle_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"

#include <string>
#include <system_error>
#include <variant>
#include <vector>

using distrib::BundlePart;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::FileAction;
using distrib::FilePlan;
using distrib::Shape;
using distrib::Slice;
using support::whole;

namespace {

// Returns the bytes that a plan writes into file `n`, in the order of the files that it writes.
auto written(const FilePlan& plan, std::size_t n) -> support::Bytes {
  for (const auto& action : plan)
    if (action.kind == FileAction::Kind::write && n-- == 0) {
      support::Bytes bytes;
      for (const auto view : action.views) bytes.insert(bytes.end(), view.begin(), view.end());
      bytes.insert(bytes.end(), action.owned.begin(), action.owned.end());
      return bytes;
    }
  FAIL("no such file in the plan");
  return {};
}

const std::vector<float> table_values = [] {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.push_back(0.125f * static_cast<float>(i));
  return values;
}();

auto rows(std::int64_t first, std::int64_t count) -> distrib::BundlePart::TensorPiece {
  return {"emb/table",
          DType::float32,
          {10, 4},
          Slice::along({10, 4}, 0, first, count),
          support::bytes_of(table_values)
              .subspan(static_cast<std::size_t>(first) * 16, static_cast<std::size_t>(count) * 16)};
}

}  // namespace

TEST_CASE("three scalars make the bytes that TensorFlow wrote", "[checkpoint][bundle_writer]") {
  const std::vector<float> half{0.5f};
  const std::vector<float> three{3.0f};
  const std::vector<BundlePart> parts{{{whole("a", {}, half), whole("b", {}, three), whole("c", {}, three)}, {}}};
  const FilePlan plan = distrib::plan_bundle("/m/c-1", parts);
  CHECK(distrib::to_hex(written(plan, 0)) == "0000003f0000404000004040");
  CHECK(distrib::to_hex(written(plan, 1)) ==
        "00000608011a02080100010b61080112002804350638271f00010d62080112002004280435efd682c300010d6308011200200828"
        "0435efd682c3000000000100000000c1e619df000000000100000000c0f2a1b000010264004200000000010000000058b2e9f747"
        "08540e00000000000000000000000000000000000000000000000000000000000000000000000057fb808b247547db");
}

TEST_CASE("a partitioned variable, texts and all dtypes make the bytes that TensorFlow wrote",
          "[checkpoint][bundle_writer]") {
  const std::vector<std::uint16_t> bf16{0x3f80, 0xc020, 0x4049};
  const std::vector<double> f64{1e300, -1.5};
  const std::vector<std::uint8_t> flag{1, 0, 1};
  const std::vector<std::int64_t> step{1234};
  const std::vector<std::int32_t> i32{1, -2, 3, -4};
  const std::vector<float> scalar{3.5f};
  const support::Bytes data = support::read_file(support::fixtures + "partitioned/model.ckpt-1234.data-00000-of-00001");
  const distrib::ByteView layer{data.data() + 213, 48};
  const std::vector<std::uint8_t> u8{0, 255};

  const std::vector<BundlePart> parts{{{{"bf16", DType::bfloat16, {3}, Slice::whole({3}), support::bytes_of(bf16)},
                                        rows(0, 4),
                                        rows(4, 3),
                                        rows(7, 3),
                                        whole("empty", {0, 3}, std::vector<float>{}),
                                        whole("f64", {2}, f64),
                                        {"flag", DType::boolean, {3}, Slice::whole({3}), support::bytes_of(flag)},
                                        whole("global_step", {}, step),
                                        whole("i32", {2, 2}, i32),
                                        whole("layer/scalar", {}, scalar),
                                        {"layer/w", DType::float32, {3, 4}, Slice::whole({3, 4}), layer},
                                        whole("u8", {2}, u8)},
                                       {{"words", {3}, {"alpha", "", {"\xff\0b", 3}}}}}};
  const FilePlan plan = distrib::plan_bundle("train/model.ckpt-1234", parts);
  CHECK(written(plan, 0) == data);
  CHECK(written(plan, 1) == support::read_file(support::fixtures + "partitioned/model.ckpt-1234.index"));
}

TEST_CASE("a plan writes files, makes them durable and then names them, the index last",
          "[checkpoint][bundle_writer]") {
  const std::vector<BundlePart> parts{{{rows(0, 5)}, {}}, {{rows(5, 5)}, {}}};
  std::string story;
  for (const auto& action : distrib::plan_bundle("d/c-7", parts)) {
    if (action.kind == FileAction::Kind::write) story += "write " + action.path;
    if (action.kind == FileAction::Kind::sync) story += "sync " + action.path;
    if (action.kind == FileAction::Kind::sync_directory) story += "sync directory " + action.path;
    if (action.kind == FileAction::Kind::rename) story += action.from + " -> " + action.path;
    if (action.kind == FileAction::Kind::remove) story += "remove " + action.path;
    story += '\n';
  }
  CHECK(story ==
        "write d/.saving.c.data-00000-of-00002\n"
        "sync d/.saving.c.data-00000-of-00002\n"
        "write d/.saving.c.data-00001-of-00002\n"
        "sync d/.saving.c.data-00001-of-00002\n"
        "write d/.saving.c.index\n"
        "sync d/.saving.c.index\n"
        "remove d/c-7.index\n"
        "sync directory d\n"
        "d/.saving.c.data-00000-of-00002 -> d/c-7.data-00000-of-00002\n"
        "d/.saving.c.data-00001-of-00002 -> d/c-7.data-00001-of-00002\n"
        "sync directory d\n"
        "d/.saving.c.index -> d/c-7.index\n"
        "sync directory d\n");
}

TEST_CASE("tensor bytes are not copied", "[checkpoint][bundle_writer]") {
  const std::vector<BundlePart> parts{{{whole("w", {10, 4}, table_values)}, {}}};
  const FilePlan plan = distrib::plan_bundle("c", parts);
  const auto& write = plan.front();
  CHECK(write.views.front().data() == support::bytes_of(table_values).data());
  CHECK(write.owned.empty());
}

TEST_CASE("tensors that do not fit together are refused with their names", "[checkpoint][bundle_writer]") {
  const auto part = [](std::vector<distrib::BundlePart::TensorPiece> tensors) {
    return BundlePart{std::move(tensors), {}};
  };
  const auto full = whole("emb/table", {10, 4}, table_values);
  const auto outside = [] {
    auto piece = rows(0, 4);
    piece.slice = {{8, 0}, {4, 4}};
    return piece;
  }();
  const auto other_shape = [] {
    auto piece = rows(5, 5);
    piece.shape = {20, 4};
    return piece;
  }();
  const auto short_bytes = [] {
    auto piece = rows(0, 4);
    piece.bytes = piece.bytes.first(60);
    return piece;
  }();
  const struct {
    const char* what;
    std::vector<BundlePart> parts;
    checkpoint_errc expected;
    const char* where;
  } cases[] = {
      {"no parts", {}, checkpoint_errc::mismatch, "0 parts"},
      {"a tensor twice", {part({full, full})}, checkpoint_errc::duplicate, "emb/table"},
      {"a tensor in two parts", {part({full}), part({full})}, checkpoint_errc::duplicate, "emb/table"},
      {"a slice twice", {part({rows(0, 5)}), part({rows(0, 5)})}, checkpoint_errc::duplicate, "slice 0,5:0,4"},
      {"slices that overlap", {part({rows(0, 5), rows(4, 6)})}, checkpoint_errc::duplicate, "emb/table"},
      {"a whole tensor, then a slice", {part({full, rows(0, 5)})}, checkpoint_errc::duplicate, "emb/table"},
      {"a slice, then the whole tensor", {part({rows(0, 5), full})}, checkpoint_errc::duplicate, "emb/table"},
      {"a hole", {part({rows(0, 5), rows(6, 4)})}, checkpoint_errc::incomplete, "emb/table"},
      {"a slice outside its tensor", {part({outside})}, checkpoint_errc::mismatch, "slice 8,4:0,4 of [10,4]"},
      {"slices of two shapes", {part({rows(0, 5), other_shape})}, checkpoint_errc::mismatch, "emb/table"},
      {"too few bytes", {part({short_bytes})}, checkpoint_errc::mismatch, "60 bytes for [4,4] of float32"},
      {"no name", {part({whole("", {10, 4}, table_values)})}, checkpoint_errc::mismatch, "without a name"},
      {"a name that begins with a zero byte",
       {part({whole({"\0x", 2}, {10, 4}, table_values)})},
       checkpoint_errc::mismatch,
       "without a name"},
      {"texts among the tensors of numbers",
       {part({{"t", DType::string, {}, {}, {}}})},
       checkpoint_errc::mismatch,
       "t: dtype"},
      {"too few texts", {{{}, {{"t", {2}, {"one"}}}}}, checkpoint_errc::mismatch, "t: 1 texts for [2]"},
      {"texts without a name", {{{}, {{"", {}, {"one"}}}}}, checkpoint_errc::mismatch, "1 texts"},
      {"texts twice", {{{}, {{"t", {}, {"one"}}, {"t", {}, {"one"}}}}}, checkpoint_errc::duplicate, "t"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Error error;
    CHECK(distrib::plan_bundle("c", c.parts, error).empty());
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
}

TEST_CASE("the throwing overload names the tensor", "[checkpoint][bundle_writer]") {
  const std::vector<float> one{1};
  const std::vector<BundlePart> parts{{{whole("a", {}, one), whole("a", {}, one)}, {}}};
  CHECK_THROWS_WITH(distrib::plan_bundle("c", parts),
                    "a: adding duplicate key: save each tensor once, or use a name that only one tensor has");
}
