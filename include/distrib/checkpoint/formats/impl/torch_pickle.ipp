// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/torch_pickle.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A type of elements as PyTorch names it.
struct TorchType {
  std::string_view storage;  // class of its storages; empty: it has none, only `dtype`
  std::string_view dtype;
  DType number;  // TensorFlow's number; 0: TensorFlow has no such type
  std::size_t bytes;
};

inline constexpr std::array<TorchType, 20> torch_types{{
    {"FloatStorage", "float32", DType::float32, 4},
    {"DoubleStorage", "float64", DType::float64, 8},
    {"HalfStorage", "float16", DType::float16, 2},
    {"BFloat16Storage", "bfloat16", DType::bfloat16, 2},
    {"LongStorage", "int64", DType::int64, 8},
    {"IntStorage", "int32", DType::int32, 4},
    {"ShortStorage", "int16", DType::int16, 2},
    {"CharStorage", "int8", DType::int8, 1},
    {"ByteStorage", "uint8", DType::uint8, 1},
    {"BoolStorage", "bool", DType::boolean, 1},
    {"ComplexFloatStorage", "complex64", DType{8}, 8},
    {"ComplexDoubleStorage", "complex128", DType{18}, 16},
    {"", "uint16", DType::uint16, 2},
    {"", "uint32", DType::uint32, 4},
    {"", "uint64", DType::uint64, 8},
    {"", "float8_e5m2", DType{24}, 1},
    {"", "float8_e4m3fn", DType{25}, 1},
    {"", "float8_e5m2fnuz", DType{}, 1},
    {"", "float8_e4m3fnuz", DType{}, 1},
    {"", "float8_e8m0fnu", DType{}, 1},
}};

/// What a name in Python may stand for.
enum class TorchName : std::uint8_t {
  ordered_dict,
  rebuild_tensor,
  rebuild_tensor_v2,
  rebuild_tensor_v3,
  rebuild_parameter,
  size,
  storage,  // of one type of elements
  untyped_storage,
  dtype,
};

/// A name that may occur: what it stands for, and which of `torch_types` it means.
struct TorchGlobal {
  TorchName name{};
  std::size_t type = 0;
};

DISTRIB_DECL auto find_torch_global(std::string_view module, std::string_view name) -> std::optional<TorchGlobal> {
  if (module == "collections" && name == "OrderedDict") return TorchGlobal{TorchName::ordered_dict};
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor") return TorchGlobal{TorchName::rebuild_tensor};
    if (name == "_rebuild_tensor_v2") return TorchGlobal{TorchName::rebuild_tensor_v2};
    if (name == "_rebuild_tensor_v3") return TorchGlobal{TorchName::rebuild_tensor_v3};
    if (name == "_rebuild_parameter") return TorchGlobal{TorchName::rebuild_parameter};
  }
  if (name == "UntypedStorage" && (module == "torch" || module == "torch.storage"))
    return TorchGlobal{TorchName::untyped_storage};
  if (module != "torch") return std::nullopt;
  if (name == "Size") return TorchGlobal{TorchName::size};
  for (std::size_t type = 0; type < torch_types.size(); ++type) {
    if (name == torch_types[type].dtype) return TorchGlobal{TorchName::dtype, type};
    if (!name.empty() && name == torch_types[type].storage) return TorchGlobal{TorchName::storage, type};
  }
  return std::nullopt;
}

/// Executes a pickle that only makes tensors. The stack holds small values; what they refer to lies in lists, so that
/// nothing is nested in memory.
class TorchUnpickler {
 public:
  TorchUnpickler(ByteView pickle, TorchState& state, Error& error) : pickle_{pickle}, state_{state}, error_{error} {}

  DISTRIB_DECL auto run() -> bool;

 private:
  enum class Kind : std::uint8_t {
    absent,  // only in memo_
    plain,  // None, a number with a fraction, or a value whose only use is to be left out
    boolean,
    integer,
    text,  // `at`: a number in texts_
    global,  // a number in globals_
    tuple,  // a number in groups_
    list,  // a number in groups_
    dict,  // a number in groups_: keys and values in turn
    storage,  // a number in storages_
    tensor,  // a number in tensors_
  };
  struct Value {
    Kind kind = Kind::absent;
    std::int64_t at = 0;  // for `boolean` and `integer` the number itself
  };
  struct Storage {
    std::size_t number = 0;  // in state_.storages
    std::optional<std::size_t> type;  // number in torch_types; empty: untyped
    std::uint64_t elements = 0;  // bytes, if it is untyped
  };
  using Group = std::vector<Value>;

  auto refuse(const std::string& what) -> bool {
    error_ = {checkpoint_errc::bad_tensor_file, "the pickle, at " + std::to_string(operation_at_) + ": " + what};
    return false;
  }
  auto unsupported(const std::string& what) -> bool {
    error_ = {checkpoint_errc::unsupported, "the pickle, at " + std::to_string(operation_at_) + ": " + what};
    return false;
  }

  // Takes the next bytes; fewer than wanted are a failure.
  auto take(std::size_t count, ByteView& bytes) -> bool {
    if (count > pickle_.size() - at_) return refuse("it is cut off");
    bytes = pickle_.subspan(at_, count);
    at_ += count;
    return true;
  }
  template <class T>
  auto take_number(T& number) -> bool {
    ByteView bytes;
    if (!take(sizeof number, bytes)) return false;
    number = load_le<T>(bytes.data());
    return true;
  }
  template <class T>
  auto push_integer() -> bool {
    T number{};
    return take_number(number) && push({Kind::integer, static_cast<std::int64_t>(number)});
  }
  auto push(Value value) -> bool {
    stack_.push_back(value);
    return true;
  }
  auto push_group(Kind kind, Group group) -> bool {
    groups_.push_back(std::move(group));
    return push({kind, static_cast<std::int64_t>(groups_.size()) - 1});
  }
  auto pop(Value& value) -> bool {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return refuse("it takes a value that is not there");
    value = stack_.back();
    stack_.pop_back();
    return true;
  }
  auto group_of(const Value& value) -> Group& { return groups_[static_cast<std::size_t>(value.at)]; }
  auto is_text(const Value& value, std::string_view text) const -> bool {
    return value.kind == Kind::text && texts_[static_cast<std::size_t>(value.at)] == text;
  }

  DISTRIB_DECL auto step(unsigned operation) -> bool;
  DISTRIB_DECL auto push_text(std::size_t bytes) -> bool;
  DISTRIB_DECL auto push_long() -> bool;
  DISTRIB_DECL auto push_global() -> bool;
  DISTRIB_DECL auto push_storage() -> bool;
  DISTRIB_DECL auto push_tuple(std::size_t count) -> bool;
  DISTRIB_DECL auto pop_to_mark(Group& values) -> bool;
  DISTRIB_DECL auto add_to_last(Kind kind, const Group& values) -> bool;
  DISTRIB_DECL auto remember(std::size_t number) -> bool;
  DISTRIB_DECL auto recall(std::size_t number) -> bool;
  DISTRIB_DECL auto reduce() -> bool;
  DISTRIB_DECL auto rebuild(TorchName how, const Group& given) -> bool;
  DISTRIB_DECL auto take_view(TorchTensor& tensor, const Group& given, std::uint64_t storage_elements) -> bool;
  DISTRIB_DECL auto take_extents(const Value& value, std::vector<std::int64_t>& extents) -> bool;
  DISTRIB_DECL auto build() -> bool;
  DISTRIB_DECL auto collect(const Value& root) -> bool;
  DISTRIB_DECL auto name_of_key(const Value& key, std::string& name) const -> bool;

  static constexpr std::size_t most_nested = 64;

  ByteView pickle_;
  TorchState& state_;
  Error& error_;
  std::size_t at_ = 0;
  std::size_t operation_at_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<Value> memo_;
  std::vector<std::string_view> texts_;
  std::vector<TorchGlobal> globals_;
  std::vector<Group> groups_;
  std::vector<Storage> storages_;
  std::vector<TorchTensor> tensors_;
};

// The operations that are known are those that PyTorch's own restricted reader knows
// (torch/_weights_only_unpickler.py), less those that make objects.
DISTRIB_DECL auto TorchUnpickler::step(unsigned operation) -> bool {
  Group values;
  Value value;
  std::uint8_t small{};
  std::uint32_t large{};
  ByteView bytes;
  switch (operation) {
    case 0x80:  // PROTO
      if (!take_number(small)) return false;
      return small == 2 || unsupported("protocol " + std::to_string(small) +
                                       "; save it again without pickle_protocol: torch.save(state, FILE)");
    case '(': marks_.push_back(stack_.size()); return true;
    case 'N': return push({Kind::plain});
    case 0x88: return push({Kind::boolean, 1});
    case 0x89: return push({Kind::boolean, 0});
    case 'K': return push_integer<std::uint8_t>();
    case 'M': return push_integer<std::uint16_t>();
    case 'J': return push_integer<std::int32_t>();
    case 0x8A: return push_long();
    case 'G': return take(8, bytes) && push({Kind::plain});  // a number with a fraction
    case 'X': return take_number(large) && push_text(large);
    case 'U': return take_number(small) && push_text(small);
    case 'c': return push_global();
    case 'Q': return push_storage();
    case '}': return push_group(Kind::dict, {});
    case ']': return push_group(Kind::list, {});
    case ')': return push_group(Kind::tuple, {});
    case 't': return pop_to_mark(values) && push_group(Kind::tuple, std::move(values));
    case 0x85: return push_tuple(1);
    case 0x86: return push_tuple(2);
    case 0x87: return push_tuple(3);
    case 'a': return pop(value) && add_to_last(Kind::list, {value});
    case 'e': return pop_to_mark(values) && add_to_last(Kind::list, values);
    case 's': {
      Value key;
      return pop(value) && pop(key) && add_to_last(Kind::dict, {key, value});
    }
    case 'u': return pop_to_mark(values) && add_to_last(Kind::dict, values);
    case 'q': return take_number(small) && remember(small);
    case 'r': return take_number(large) && remember(large);
    case 'h': return take_number(small) && recall(small);
    case 'j': return take_number(large) && recall(large);
    case 'R': return reduce();
    case 'b': return build();
    default: break;
  }
  static constexpr std::string_view digits = "0123456789abcdef";
  return unsupported(std::string{"operation 0x"} + digits[operation / 16] + digits[operation % 16] +
                     ", which tensors do not need; save the state dict alone: torch.save(module.state_dict(), FILE)");
}

DISTRIB_DECL auto TorchUnpickler::run() -> bool {
  while (true) {
    operation_at_ = at_;
    std::uint8_t operation{};
    if (!take_number(operation)) return false;
    if (operation == '.') break;
    if (!step(operation)) return false;
  }
  if (at_ != pickle_.size()) return refuse("more bytes follow it");
  Value root;
  if (!pop(root)) return false;
  if (!stack_.empty() || !marks_.empty()) return refuse("it leaves values that nothing takes");
  return collect(root);
}

DISTRIB_DECL auto TorchUnpickler::push_text(std::size_t bytes) -> bool {
  ByteView text;
  if (!take(bytes, text)) return false;
  texts_.push_back(as_text(text));
  return push({Kind::text, static_cast<std::int64_t>(texts_.size()) - 1});
}

// An integer of any length. Those that tensors need have at most 8 bytes; others become a value that is left out.
DISTRIB_DECL auto TorchUnpickler::push_long() -> bool {
  std::uint8_t count{};
  ByteView bytes;
  if (!take_number(count) || !take(count, bytes)) return false;
  if (count > sizeof(std::int64_t)) return push({Kind::plain});
  const bool is_negative = count != 0 && (bytes.back() & std::byte{0x80}) != std::byte{0};
  std::array<std::byte, sizeof(std::int64_t)> wide{};
  wide.fill(is_negative ? std::byte{0xFF} : std::byte{0});
  std::copy(bytes.begin(), bytes.end(), wide.begin());
  return push({Kind::integer, load_le<std::int64_t>(wide.data())});
}

DISTRIB_DECL auto TorchUnpickler::push_global() -> bool {
  constexpr std::size_t longest_shown = 100;
  std::array<std::string_view, 2> names;  // of the module, and in it
  for (std::string_view& name : names) {
    const std::string_view rest = as_text(pickle_.subspan(at_));
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return refuse("it is cut off");
    name = rest.substr(0, end);
    at_ += end + 1;
  }
  if (const auto known = find_torch_global(names[0], names[1])) {
    globals_.push_back(*known);
    return push({Kind::global, static_cast<std::int64_t>(globals_.size()) - 1});
  }
  std::string shown =
      std::string{names[0].substr(0, longest_shown)} + '.' + std::string{names[1].substr(0, longest_shown)};
  for (char& letter : shown)
    if (static_cast<unsigned char>(letter) < ' ' || static_cast<unsigned char>(letter) > '~') letter = '?';
  return unsupported("it needs " + shown +
                     " of Python, and only tensors are read; save the state dict alone: "
                     "torch.save(module.state_dict(), FILE)");
}

// ('storage', class, key, device, number of elements)
DISTRIB_DECL auto TorchUnpickler::push_storage() -> bool {
  Value id;
  if (!pop(id)) return false;
  if (id.kind != Kind::tuple || group_of(id).size() != 5) return refuse("not the description of a storage");
  const Group& given = group_of(id);
  const Value& elements = given[4];
  if (!is_text(given[0], "storage") || given[1].kind != Kind::global || given[2].kind != Kind::text ||
      elements.kind != Kind::integer || elements.at < 0 || elements.at > std::int64_t{1} << 56)
    return refuse("not the description of a storage");
  const TorchGlobal& type = globals_[static_cast<std::size_t>(given[1].at)];
  if (type.name != TorchName::storage && type.name != TorchName::untyped_storage)
    return refuse("not the description of a storage");
  Storage storage;
  storage.elements = static_cast<std::uint64_t>(elements.at);
  if (type.name == TorchName::storage) storage.type = type.type;
  const std::uint64_t bytes = storage.elements * (storage.type ? torch_types[*storage.type].bytes : 1);
  const std::string_view key = texts_[static_cast<std::size_t>(given[2].at)];
  storage.number = state_.storages.size();
  state_.storages.push_back({std::string{key}, bytes});
  storages_.push_back(storage);
  return push({Kind::storage, static_cast<std::int64_t>(storages_.size()) - 1});
}

DISTRIB_DECL auto TorchUnpickler::push_tuple(std::size_t count) -> bool {
  Group values(count);
  for (std::size_t i = count; i-- > 0;)
    if (!pop(values[i])) return false;
  return push_group(Kind::tuple, std::move(values));
}

DISTRIB_DECL auto TorchUnpickler::pop_to_mark(Group& values) -> bool {
  if (marks_.empty()) return refuse("it takes values up to a mark that is not there");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  values.assign(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return true;
}

DISTRIB_DECL auto TorchUnpickler::add_to_last(Kind kind, const Group& values) -> bool {
  Value last;
  if (!pop(last)) return false;
  if (last.kind != kind || (kind == Kind::dict && values.size() % 2 != 0)) return refuse("it adds to no such object");
  Group& group = group_of(last);
  group.insert(group.end(), values.begin(), values.end());
  return push(last);
}

DISTRIB_DECL auto TorchUnpickler::remember(std::size_t number) -> bool {
  Value value;
  if (!pop(value)) return false;
  // Numbers count up, one for each operation at most: so the memory for them is bounded by the pickle.
  if (number > operation_at_) return refuse("it remembers a value under number " + std::to_string(number));
  if (number >= memo_.size()) memo_.resize(number + 1);
  memo_[number] = value;
  return push(value);
}

DISTRIB_DECL auto TorchUnpickler::recall(std::size_t number) -> bool {
  if (number >= memo_.size() || memo_[number].kind == Kind::absent)
    return refuse("it recalls a value that it did not remember");
  return push(memo_[number]);
}

// Calls what a name stands for.
DISTRIB_DECL auto TorchUnpickler::reduce() -> bool {
  Value given;
  Value callee;
  if (!pop(given) || !pop(callee)) return false;
  if (given.kind != Kind::tuple || callee.kind != Kind::global) return refuse("it calls what cannot be called");
  const Group& values = group_of(given);
  const TorchName name = globals_[static_cast<std::size_t>(callee.at)].name;
  switch (name) {
    case TorchName::ordered_dict:
      return values.empty() ? push_group(Kind::dict, {}) : unsupported("an OrderedDict made of a list");
    case TorchName::rebuild_tensor:
    case TorchName::rebuild_tensor_v2:
    case TorchName::rebuild_tensor_v3: return rebuild(name, values);
    case TorchName::rebuild_parameter:
      if (values.empty() || values.front().kind != Kind::tensor) return refuse("a parameter without a tensor");
      return push(values.front());
    case TorchName::size:
      return values.size() == 1 && values.front().kind == Kind::tuple ? push(values.front()) : refuse("not a size");
    case TorchName::storage:
    case TorchName::untyped_storage:
    case TorchName::dtype: break;
  }
  return refuse("it calls what cannot be called");
}

// _rebuild_tensor(storage, first, extents, strides)
// _rebuild_tensor_v2(the same, requires_grad, backward_hooks[, metadata])
// _rebuild_tensor_v3(the same, requires_grad, backward_hooks, dtype[, metadata])
DISTRIB_DECL auto TorchUnpickler::rebuild(TorchName how, const Group& given) -> bool {
  const std::size_t least = how == TorchName::rebuild_tensor ? 4 : how == TorchName::rebuild_tensor_v2 ? 6 : 7;
  if (given.size() < least || given.size() > least + 1 || given[0].kind != Kind::storage)
    return refuse("not the description of a tensor");
  const Storage& storage = storages_[static_cast<std::size_t>(given[0].at)];
  std::optional<std::size_t> type = storage.type;
  if (how == TorchName::rebuild_tensor_v3) {
    const Value& dtype = given[6];
    if (dtype.kind != Kind::global || globals_[static_cast<std::size_t>(dtype.at)].name != TorchName::dtype)
      return refuse("not the description of a tensor");
    type = globals_[static_cast<std::size_t>(dtype.at)].type;
  }
  if (!type) return refuse("a tensor without a type");
  TorchTensor tensor;
  tensor.dtype = torch_types[*type].number;
  if (tensor.dtype == DType{}) tensor.other_type = torch_types[*type].dtype;
  tensor.element_bytes = torch_types[*type].bytes;
  tensor.storage = storage.number;
  if (!take_view(tensor, given, state_.storages[storage.number].size_bytes / tensor.element_bytes)) return false;
  tensors_.push_back(std::move(tensor));
  return push({Kind::tensor, static_cast<std::int64_t>(tensors_.size()) - 1});
}

// Reads which elements of its storage a tensor has.
DISTRIB_DECL auto TorchUnpickler::take_view(TorchTensor& tensor, const Group& given, std::uint64_t storage_elements)
    -> bool {
  if (given[1].kind != Kind::integer || given[1].at < 0) return refuse("not the description of a tensor");
  tensor.first = static_cast<std::uint64_t>(given[1].at);
  if (!take_extents(given[2], tensor.extents) || !take_extents(given[3], tensor.strides)) return false;
  if (tensor.extents.size() != tensor.strides.size()) return refuse("a tensor with more extents than strides");
  if (tensor.extents.size() > Shape::max_rank)
    return unsupported("a tensor with " + std::to_string(tensor.extents.size()) + " axes; at most " +
                       std::to_string(Shape::max_rank) + " are read");
  if (!Shape::valid(tensor.extents)) return refuse("a tensor whose extents are too large");
  const auto elements = static_cast<std::uint64_t>(Shape{tensor.extents}.elements());
  if (elements == 0) return tensor.first <= storage_elements || refuse("a tensor outside of its storage");
  if (elements > storage_elements)
    return unsupported("a tensor that shows elements of its storage more than once (expand); save a copy: clone()");
  std::uint64_t last = tensor.first;  // each step adds less than 2^64, because it was compared before
  for (std::size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    const auto steps = static_cast<std::uint64_t>(tensor.extents[axis] - 1);
    const auto stride = static_cast<std::uint64_t>(tensor.strides[axis]);
    if (last >= storage_elements || (steps != 0 && stride > storage_elements / steps))
      return refuse("a tensor outside of its storage");
    last += steps * stride;
  }
  return last < storage_elements || refuse("a tensor outside of its storage");
}

DISTRIB_DECL auto TorchUnpickler::take_extents(const Value& value, std::vector<std::int64_t>& extents) -> bool {
  if (value.kind != Kind::tuple) return refuse("not the description of a tensor");
  for (const Value& extent : group_of(value)) {
    if (extent.kind != Kind::integer || extent.at < 0) return refuse("not the description of a tensor");
    extents.push_back(extent.at);
  }
  return true;
}

// The state of a dict is what PyTorch notes beside the tensors, as versions of modules.
DISTRIB_DECL auto TorchUnpickler::build() -> bool {
  Value state;
  Value object;
  if (!pop(state) || !pop(object)) return false;
  if (object.kind != Kind::dict || state.kind != Kind::dict) return unsupported("it sets the state of an object");
  return push(object);
}

DISTRIB_DECL auto TorchUnpickler::name_of_key(const Value& key, std::string& name) const -> bool {
  if (key.kind == Kind::text) name = texts_[static_cast<std::size_t>(key.at)];
  else if (key.kind == Kind::integer) name = std::to_string(key.at);
  else return false;
  return true;
}

// Finds all tensors below `root`, and their names. What is shared is found under each of its names; the names of all
// tensors together are bounded by the pickle, so that nested sharing does not multiply.
DISTRIB_DECL auto TorchUnpickler::collect(const Value& root) -> bool {
  struct Level {
    const Group* group = nullptr;
    bool is_dict = false;
    std::size_t next = 0;
    std::string prefix;
  };
  const auto level = [&](const Value& value, std::string prefix) {
    return Level{&group_of(value), value.kind == Kind::dict, 0, std::move(prefix)};
  };
  const auto is_group = [](const Value& value) {
    return value.kind == Kind::dict || value.kind == Kind::list || value.kind == Kind::tuple;
  };
  if (!is_group(root))
    return unsupported(root.kind == Kind::tensor
                           ? "a tensor without a name; save a dict: torch.save({'name': tensor}, FILE)"
                           : "it holds no tensors");
  std::uint64_t left = 4 * std::uint64_t{pickle_.size()} + 4096;
  std::vector<Level> levels;
  levels.push_back(level(root, {}));
  while (!levels.empty()) {
    Level& top = levels.back();
    if (top.next == top.group->size()) {
      levels.pop_back();
      continue;
    }
    const Value key = top.is_dict ? (*top.group)[top.next] : Value{Kind::integer, static_cast<std::int64_t>(top.next)};
    const Value value = (*top.group)[top.next + (top.is_dict ? 1 : 0)];
    top.next += top.is_dict ? 2 : 1;
    std::string name;
    const bool has_name = name_of_key(key, name);
    name.insert(0, top.prefix);
    if (name.size() + 1 > left) return unsupported("the same dicts in each other, again and again");
    left -= name.size() + 1;
    if (value.kind == Kind::storage) return unsupported("a storage without a tensor: " + name);
    if (value.kind != Kind::tensor && !is_group(value)) continue;
    if (!has_name) return unsupported("a dict in " + top.prefix + " has a key that is neither a text nor a number");
    if (value.kind == Kind::tensor) {
      if (!is_utf8(name)) return refuse("a name that is not UTF-8");
      TorchTensor tensor = tensors_[static_cast<std::size_t>(value.at)];
      tensor.name = std::move(name);
      state_.tensors.push_back(std::move(tensor));
    } else {
      if (levels.size() == most_nested) return unsupported("more than 64 dicts and lists in each other");
      levels.push_back(level(value, name + '/'));
    }
  }
  return true;
}

DISTRIB_DECL auto parse_torch_pickle(ByteView pickle, TorchState& state, Error& error) -> bool {
  state = {};
  return TorchUnpickler{pickle, state, error}.run();
}

/// Writes a pickle.
class TorchPickler {
 public:
  auto raw(std::string_view bytes) -> TorchPickler& {
    bytes_ += bytes;
    return *this;
  }
  auto text(std::string_view text) -> TorchPickler& {
    bytes_ += 'X';
    little(static_cast<std::uint32_t>(text.size()));
    return raw(text);
  }
  auto number(std::int64_t number) -> TorchPickler& {
    if (number >= 0 && number < 256) return raw("K").little(static_cast<std::uint8_t>(number));
    if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max())
      return raw("J").little(static_cast<std::int32_t>(number));
    return raw("\x8A\x08").little(number);
  }
  auto tuple(std::span<const std::int64_t> numbers) -> TorchPickler& {
    raw("(");
    for (const std::int64_t one : numbers) number(one);
    return raw("t");
  }
  auto bytes() && -> std::string { return std::move(bytes_); }

 private:
  template <class T>
  auto little(T number) -> TorchPickler& {
    return raw(as_text(bytes_of(number)));
  }

  std::string bytes_;
};

DISTRIB_DECL auto torch_pickle(std::span<const NamedTensor> tensors) -> std::string {
  TorchPickler pickle;
  pickle.raw("\x80\x02}(");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& tensor = tensors[i];
    const auto type = std::find_if(torch_types.begin(), torch_types.end(),
                                   [&](const TorchType& one) { return one.number == tensor.dtype; });
    const bool is_typed = !type->storage.empty();
    const auto extents = tensor.shape.extents();
    std::vector<std::int64_t> strides(extents.size(), 1);
    for (std::size_t axis = extents.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * std::max<std::int64_t>(extents[axis], 1);
    const auto units = tensor.shape.elements() * (is_typed ? 1 : static_cast<std::int64_t>(type->bytes));
    pickle.text(tensor.name).raw("ctorch._utils\n").raw(is_typed ? "_rebuild_tensor_v2\n" : "_rebuild_tensor_v3\n");
    pickle.raw("((").text("storage").raw(is_typed ? "ctorch\n" : "ctorch.storage\n");
    pickle.raw(is_typed ? type->storage : "UntypedStorage").raw("\n");
    pickle.text(std::to_string(i)).text("cpu").number(units).raw("tQ").number(0).tuple(extents).tuple(strides);
    pickle.raw(
        "\x89"
        "ccollections\nOrderedDict\n)R");
    if (!is_typed) pickle.raw("ctorch\n").raw(type->dtype).raw("\n");
    pickle.raw("tR");
  }
  pickle.raw("u.");
  return std::move(pickle).bytes();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
