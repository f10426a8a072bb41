// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/torch_pickle.hpp>

#include <distrib/checkpoint/error.hpp>

#include "checkpoint/formats/formats_support.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::detail::parse_torch_pickle;
using distrib::detail::TorchState;

namespace {

template <class T>
auto little(T value) -> std::string {
  return std::string{distrib::as_text(distrib::detail::bytes_of(value))};
}
auto text(std::string_view value) -> std::string {
  return "X" + little(static_cast<std::uint32_t>(value.size())) + std::string{value};
}
auto number(int value) -> std::string { return "J" + little(std::int32_t{value}); }
auto tuple(const std::vector<int>& values) -> std::string {
  std::string all = "(";
  for (const int value : values) all += number(value);
  return all + "t";
}
auto global(std::string_view module, std::string_view name) -> std::string {
  return "c" + std::string{module} + "\n" + std::string{name} + "\n";
}
const std::string hooks = global("collections", "OrderedDict") + ")R";

auto storage(const std::string& key, int elements, const char* type = "FloatStorage") -> std::string {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") + number(elements) + "tQ";
}
auto tensor(const std::string& of, int first, const std::vector<int>& extents, const std::vector<int>& strides)
    -> std::string {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + of + number(first) + tuple(extents) + tuple(strides) +
         "\x89" + hooks + "tR";
}
auto pickle(const std::string& value) -> std::string { return "\x80\x02" + value + "."; }
auto dict(const std::string& items) -> std::string { return "}(" + items + "u"; }

auto parsed(const std::string& bytes) -> TorchState {
  TorchState state;
  Error error;
  const bool good = parse_torch_pickle(distrib::as_bytes(bytes), state, error);
  CAPTURE(error.where);
  REQUIRE(good);
  return state;
}
auto names(const TorchState& state) -> std::string {
  std::string all;
  for (const auto& one : state.tensors) all += (all.empty() ? "" : " ") + one.name;
  return all;
}
auto pickle_refusal(const std::string& bytes) -> Error {
  TorchState state;
  Error error;
  CHECK_FALSE(parse_torch_pickle(distrib::as_bytes(bytes), state, error));
  return error;
}

const std::string small = tensor(storage("0", 6), 0, {2, 3}, {3, 1});

}  // namespace

TEST_CASE("torch pickle: what is written is read again", "[checkpoint][torch_pickle]") {
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> k{7};
  const std::vector<std::uint64_t> u{8, 9};
  const std::vector<float> none;
  const std::vector tensors{support::named("conv.weight", {2, 3}, w), support::named("n", {}, k),
                            support::named("keys", {2}, u), support::named("none", {0, 4}, none)};
  const auto state = parsed(distrib::detail::torch_pickle(tensors));
  REQUIRE(state.tensors.size() == 4);
  CHECK(names(state) == "conv.weight n keys none");
  CHECK(state.tensors[0].dtype == DType::float32);
  CHECK(state.tensors[0].extents == std::vector<std::int64_t>{2, 3});
  CHECK(state.tensors[0].strides == std::vector<std::int64_t>{3, 1});
  CHECK(state.tensors[1].dtype == DType::int64);
  CHECK(state.tensors[1].extents.empty());
  CHECK(state.tensors[2].dtype == DType::uint64);
  CHECK(state.storages[2].key == "2");
  CHECK(state.storages[2].size_bytes == 16);
  CHECK(state.storages[3].size_bytes == 0);
}

TEST_CASE("torch pickle: dicts and lists in dicts give names with slashes; other values are left out",
          "[checkpoint][torch_pickle]") {
  const std::string numbers = "G" + std::string(8, '\0') + "N\x88K\x05M\x05\x01\x8a\x02\xff\xff";
  const std::string inner = dict(text("w") + small + text("epoch") + "K\x03");
  const std::string all =
      dict(text("model") + inner + text("betas") + "(" + numbers + "t" + text("list") + "](" + small + small + "e" +
           text("state") + dict("K\x07" + small) + text("pair") + small + small + "\x86");
  CHECK(names(parsed(pickle(all))) == "model/w list/0 list/1 state/7 pair/0 pair/1");
}

TEST_CASE("torch pickle: an OrderedDict with attributes, a parameter, values used again",
          "[checkpoint][torch_pickle]") {
  const std::string parameter =
      global("torch._utils", "_rebuild_parameter") + "(" + small + "q\x05" + "\x88" + hooks + "tR";
  const std::string ordered = hooks + std::string{"q\0", 2} + "(" + text("p") + parameter + text("same") + "h\x05" +
                              "u}" + text("_metadata") + hooks + "sb";
  const auto state = parsed(pickle(ordered));
  CHECK(names(state) == "p same");
  CHECK(state.tensors[0].storage == state.tensors[1].storage);
}

TEST_CASE("torch pickle: views of one storage, in any order of its elements", "[checkpoint][torch_pickle]") {
  const std::string shared = storage("0", 12);
  const std::string again = "h\x01";
  const auto state = parsed(pickle(dict(text("a") + tensor(shared + "q\x01", 0, {2, 2}, {2, 1}) + text("b") +
                                        tensor(again, 4, {2, 3}, {1, 2}) + text("last") + tensor(again, 11, {}, {}) +
                                        text("end") + tensor(again, 12, {0}, {1}))));
  REQUIRE(state.storages.size() == 1);
  CHECK(state.tensors[1].first == 4);
  CHECK(state.tensors[1].strides == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("torch pickle: every type of storage, and types without one", "[checkpoint][torch_pickle]") {
  const struct {
    const char* storage;
    DType dtype;
    std::size_t bytes;
  } typed[] = {{"DoubleStorage", DType::float64, 8},    {"HalfStorage", DType::float16, 2},
               {"BFloat16Storage", DType::bfloat16, 2}, {"LongStorage", DType::int64, 8},
               {"IntStorage", DType::int32, 4},         {"ShortStorage", DType::int16, 2},
               {"CharStorage", DType::int8, 1},         {"ByteStorage", DType::uint8, 1},
               {"BoolStorage", DType::boolean, 1},      {"ComplexFloatStorage", DType{8}, 8},
               {"ComplexDoubleStorage", DType{18}, 16}};
  for (const auto& c : typed) {
    const auto state = parsed(pickle(dict(text("t") + tensor(storage("0", 6, c.storage), 0, {6}, {1}))));
    CHECK(state.tensors.front().dtype == c.dtype);
    CHECK(state.tensors.front().element_bytes == c.bytes);
    CHECK(state.storages.front().size_bytes == 6 * c.bytes);
  }
  const auto untyped = [](const char* dtype) {
    return global("torch._utils", "_rebuild_tensor_v3") + "(" + storage("0", 8, "UntypedStorage") + number(0) +
           tuple({2}) + tuple({1}) + "\x89" + hooks + global("torch", dtype) + "tR";
  };
  const auto state = parsed(pickle(dict(text("t") + untyped("uint32"))));
  CHECK(state.tensors.front().dtype == DType::uint32);
  CHECK(state.storages.front().size_bytes == 8);
  CHECK(parsed(pickle(dict(text("t") + untyped("float8_e8m0fnu")))).tensors.front().other_type == "float8_e8m0fnu");
  CHECK_THAT(pickle_refusal(pickle(dict(text("t") + untyped("uint128")))).where, ContainsSubstring("torch.uint128"));
}

TEST_CASE("torch pickle: no code runs; what it would call is named", "[checkpoint][torch_pickle]") {
  const struct {
    std::string value;
    const char* where;
  } cases[] = {
      {global("posix", "system") + text("rm") + "\x85R", "it needs posix.system of Python"},
      {global("builtins", "eval") + text("1") + "\x85R", "builtins.eval"},
      {dict(text("w") + global("numpy.core.multiarray", "scalar")), "numpy.core.multiarray.scalar"},
      {global("torch", "load"), "torch.load"},
      {global("torch._utils", "_rebuild_sparse_tensor"), "torch._utils._rebuild_sparse_tensor"},
      {global("a\x1b[2J", std::string(500, 'b')), "a?[2J.bbbb"},
      {"\x8c\x05posix\x8c\x06system\x93", "operation 0x8c"},
      {global("collections", "OrderedDict") + ")\x81", "operation 0x81"},
      {"(" + text("x") + "iposix\nsystem\n", "operation 0x69"},
      {"\x82\x01", "operation 0x82"},
  };
  for (const auto& c : cases) {
    const Error error = pickle_refusal(pickle(c.value));
    CHECK(error.code == checkpoint_errc::unsupported);
    CHECK_THAT(error.where, ContainsSubstring(c.where) && ContainsSubstring("torch.save(module.state_dict(), FILE)"));
  }
  CHECK_THAT(pickle_refusal("\x80\x04}.").where, ContainsSubstring("protocol 4"));
}

TEST_CASE("torch pickle: damage is refused, and tensors outside of their storage", "[checkpoint][torch_pickle]") {
  const auto with = [](const std::string& value) { return pickle(dict(text("t") + value)); };
  const struct {
    std::string bytes;
    const char* where;
  } cases[] = {
      {"", "it is cut off"},
      {"\x80\x02", "it is cut off"},
      {"\x80\x02X\xff\xff\xff\xff"
       "a.",
       "it is cut off"},
      {"\x80\x02"
       "ctorch",
       "it is cut off"},
      {pickle(""), "a value that is not there"},
      {pickle("}") + "x", "more bytes follow"},
      {pickle("}}"), "leaves values"},
      {pickle("u"), "a mark that is not there"},
      {pickle("}(" + text("x") + "u"), "adds to no such object"},
      {pickle("](" + text("x") + "u"), "adds to no such object"},
      {pickle("(}"), "leaves values"},
      {pickle("}h\x01"), "did not remember"},
      {pickle("}r\xff\xff\xff\x7f"), "under number 2147483647"},
      {pickle("}}R"), "cannot be called"},
      {pickle(global("torch", "FloatStorage") + ")R"), "cannot be called"},
      {with(tensor(storage("0", 5), 0, {2, 3}, {3, 1})), "shows elements of its storage more than once"},
      {with(tensor(storage("0", 6), 1, {2, 3}, {3, 1})), "outside of its storage"},
      {with(tensor(storage("0", 6), 0, {2, 3}, {4, 1})), "outside of its storage"},
      {with(tensor(storage("0", 6), 7, {0}, {1})), "outside of its storage"},
      {with(tensor(storage("0", 6), 0, {2}, {2147483647})), "outside of its storage"},
      {with(tensor(storage("0", 6), -1, {2}, {1})), "not the description of a tensor"},
      {with(tensor(storage("0", 6), 0, {-2}, {1})), "not the description of a tensor"},
      {with(tensor(storage("0", 6), 0, {2}, {-1})), "not the description of a tensor"},
      {with(tensor(storage("0", 6), 0, {2}, {1, 1})), "more extents than strides"},
      {with(tensor(storage("0", 6), 0, {2147483647, 2147483647, 2147483647}, {1, 1, 1})), "extents are too large"},
      {with(tensor("N", 0, {2}, {1})), "not the description of a tensor"},
      {with(tensor(storage("0", -1), 0, {2}, {1})), "not the description of a storage"},
      {pickle(dict(text("\xff") + small)), "not UTF-8"},
  };
  for (const auto& c : cases) {
    const Error error = pickle_refusal(c.bytes);
    CHECK((error.code == checkpoint_errc::bad_tensor_file || error.code == checkpoint_errc::unsupported));
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
  // of one of 64 axes and more
  CHECK_THAT(pickle_refusal(with(tensor(storage("0", 6), 0, std::vector<int>(9, 1), std::vector<int>(9, 1)))).where,
             ContainsSubstring("9 axes; at most 8 are read"));
}

TEST_CASE("torch pickle: what is no dict of tensors is refused with words", "[checkpoint][torch_pickle]") {
  CHECK_THAT(pickle_refusal(pickle(small)).where, ContainsSubstring("a tensor without a name; save a dict"));
  CHECK_THAT(pickle_refusal(pickle("N")).where, ContainsSubstring("holds no tensors"));
  CHECK_THAT(pickle_refusal(pickle(dict("N" + small))).where,
             ContainsSubstring("a key that is neither a text nor a number"));
  CHECK_THAT(pickle_refusal(pickle(dict(text("s") + storage("0", 6)))).where,
             ContainsSubstring("a storage without a tensor: s"));
  CHECK(parsed(pickle("}")).tensors.empty());
}

TEST_CASE("torch pickle: sharing and nesting do not multiply", "[checkpoint][torch_pickle]") {
  // Each dict has the one before it twice: 2^30 tensors.
  std::string doubled = "](" + dict(text("w") + small) + "q\x01";
  for (int i = 0; i < 30; ++i)
    doubled +=
        "](h\x01h\x01"
        "eq\x01";
  const Error error = pickle_refusal(pickle(doubled + "e"));
  CHECK_THAT(error.where, ContainsSubstring("again and again"));

  // A list that has itself.
  CHECK_THAT(pickle_refusal(pickle("]q\x01"
                                   "h\x01"
                                   "a"))
                 .where,
             ContainsSubstring("in each other"));
  CHECK_THAT(pickle_refusal(pickle(std::string(100000, ']') + std::string(99999, 'a'))).where,
             ContainsSubstring("more than 64 dicts and lists"));
}
