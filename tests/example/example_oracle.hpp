// SPDX-License-Identifier: Apache-2.0
// Protobuf's own parser as the oracle: our parsers must accept what it accepts, with the same values, and refuse what
// it refuses. There is one exception: names that are not UTF-8, which we accept and it does not. The oracle gets the
// records with ASCII names in their place. `example_disagreement` and `sequence_disagreement` are for a fuzzer; the
// rest makes random bytes for them.
#pragma once

#include <distrib/example.pb.h>
#include <distrib/core/philox.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/utf8.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/parse_example.hpp>
#include <distrib/example/parse_sequence_example.hpp>
#include <distrib/example/sequence_example_view.hpp>

#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION < 4000000
#include <google/protobuf/stubs/logging.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace example_oracle {

using distrib::ByteView;
using distrib::example_errc;
using distrib::feature;
using distrib::FeatureKind;
using distrib::schema;
using distrib::WireWriter;

struct Row {
  std::int64_t label = 0;
  float weight = 0;
  std::array<float, 3> dense{};
  std::array<std::int64_t, 2> pair{};
  std::span<const std::byte> image;
  std::span<const float> floats;
  std::span<const std::int64_t> ids;
  std::span<const std::span<const std::byte>> words;
};

constexpr auto everything =
    schema<Row>(feature("a", &Row::label), feature("b", &Row::weight).otherwise(9), feature("c", &Row::dense),
                feature("d", &Row::pair).otherwise({1, 2}), feature("e", &Row::image), feature("f", &Row::floats),
                feature("g", &Row::ids), feature("words_of_the_text", &Row::words));

/// Returns the error that our parser must report for an Example that protobuf has parsed, and fills `row` with
/// protobuf's values.
template <class M>
auto expect(const distrib::proto::Example& example, const distrib::Feature<Row, M>& f, Row& row) -> std::error_code {
  using Traits = distrib::detail::MemberTraits<M>;
  constexpr bool ragged = Traits::list;
  const auto& map = example.features().feature();
  const auto found = map.find(std::string{f.name()});
  if (found == map.end() || found->second.kind_case() == distrib::proto::Feature::KIND_NOT_SET) {
    if (f.fallback()) row.*f.member() = *f.fallback();
    return f.fallback() || ragged ? std::error_code{} : example_errc::missing_feature;
  }
  const auto& feature = found->second;
  if (static_cast<int>(feature.kind_case()) != static_cast<int>(Traits::kind)) return example_errc::wrong_kind;
  const auto take = [&](const auto& values) -> std::error_code {
    const auto count = static_cast<std::size_t>(values.size());
    if constexpr (Traits::kind == distrib::FeatureKind::bytes) {
      if constexpr (ragged) {  // compared value by value elsewhere
        return {};
      } else {
        if (count != 1) return example_errc::wrong_count;
        row.*f.member() = distrib::as_bytes(values[0]);
      }
    } else if constexpr (ragged) {
      row.*f.member() = M{values.data(), count};
    } else {
      if (count != Traits::count) return example_errc::wrong_count;
      std::memcpy(&(row.*f.member()), values.data(), sizeof(M));
    }
    return {};
  };
  if constexpr (Traits::kind == distrib::FeatureKind::bytes) return take(feature.bytes_list().value());
  if constexpr (Traits::kind == distrib::FeatureKind::floats) return take(feature.float_list().value());
  if constexpr (Traits::kind == distrib::FeatureKind::int64s) return take(feature.int64_list().value());
}

inline auto same(ByteView a, ByteView b) -> bool { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// Compares bytes, so that NaN equals NaN.
inline auto same(const Row& a, const Row& b) -> bool {
  return a.label == b.label && std::memcmp(&a.weight, &b.weight, sizeof a.weight) == 0 &&
         std::memcmp(&a.dense, &b.dense, sizeof a.dense) == 0 && a.pair == b.pair && same(a.image, b.image) &&
         same(std::as_bytes(a.floats), std::as_bytes(b.floats)) && same(std::as_bytes(a.ids), std::as_bytes(b.ids));
}

template <class Message>
auto parse(Message& message, ByteView bytes) -> bool {
#if GOOGLE_PROTOBUF_VERSION < 4000000
  const google::protobuf::LogSilencer silence;  // protobuf writes a line about each name that is not UTF-8
#endif
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

/// A record whose names protobuf accepts, and the original of each name that was replaced.
struct PlainNames {
  std::vector<std::byte> bytes;
  std::map<std::string, std::string> names;

  [[nodiscard]] auto original(const std::string& name) const -> std::string {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  }
};

/// Copies the fields of a message. If `replace(reader, to)` returns true, it has written the field in its own way.
/// Returns false if the message is malformed.
template <class Replace>
auto copy_fields(ByteView message, unsigned levels, WireWriter& to, Replace replace) -> bool {
  distrib::detail::FieldReader reader{message, levels};
  for (const std::byte* begin = message.data(); reader.next(); begin = reader.position())
    if (!replace(reader, to)) to.raw({begin, reader.position()});
  return reader.ok();
}

/// Returns `record` with ASCII names; unchanged if it is malformed around the names. `sequence`: also the names of
/// feature lists.
inline auto plain_names(ByteView record, bool sequence) -> PlainNames {
  using distrib::detail::FieldReader;
  using distrib::detail::first_message;
  using distrib::detail::most_levels;
  PlainNames plain;
  WireWriter wire;
  bool good = true;
  const auto key = [&](const FieldReader& field, WireWriter& to) {
    if (field.tag() != first_message || distrib::detail::is_utf8(field.text())) return false;
    std::string name = "odd";
    for (const char byte : field.text()) name += ' ' + std::to_string(static_cast<unsigned char>(byte));
    plain.names[name] = field.text();
    to.text(1, name);
    return true;
  };
  const auto entry = [&](const FieldReader& field, WireWriter& to) {
    if (field.tag() != first_message) return false;
    to.message(1, [&](WireWriter& w) { good = copy_fields(field.bytes(), most_levels - 2, w, key) && good; });
    return true;
  };
  const auto map = [&](const FieldReader& field, WireWriter& to) {
    const bool is_map = field.tag() == first_message || (sequence && field.tag() == distrib::detail::second_message);
    if (is_map)
      to.message(field.tag() >> 3,
                 [&](WireWriter& w) { good = copy_fields(field.bytes(), most_levels - 1, w, entry) && good; });
    return is_map;
  };
  good = copy_fields(record, most_levels, wire, map) && good;
  plain.bytes = good ? wire.take() : std::vector<std::byte>{record.begin(), record.end()};
  return plain;
}

/// True if these are protobuf's values of a feature, with the same count and kind.
inline auto same_values(const distrib::FeatureView& ours, const distrib::proto::Feature& theirs) -> bool {
  if (static_cast<int>(ours.kind()) != static_cast<int>(theirs.kind_case())) return false;
  std::size_t i = 0;
  bool same_so_far = true;
  const auto compare = [&](const auto& values, auto&& equal) {
    return [&, equal](const auto& value) {
      same_so_far = same_so_far && i < static_cast<std::size_t>(values.size()) && equal(value, values.data()[i]);
      ++i;
    };
  };
  const auto bits = [](const auto& a, const auto& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  const auto& texts = theirs.bytes_list().value();
  ours.for_each<float>(compare(theirs.float_list().value(), bits));
  ours.for_each<std::int64_t>(compare(theirs.int64_list().value(), bits));
  ours.for_each<ByteView>([&](ByteView value) {
    same_so_far = same_so_far && i < static_cast<std::size_t>(texts.size()) &&
                  same(value, distrib::as_bytes(texts[static_cast<int>(i)]));
    ++i;
  });
  const int count =
      theirs.bytes_list().value_size() + theirs.float_list().value_size() + theirs.int64_list().value_size();
  return same_so_far && i == ours.size() && i == static_cast<std::size_t>(count);
}

/// True if the `count` values of a tensor from `begin` on are protobuf's.
inline auto same_slice(const distrib::ParsedFeature& ours, std::size_t begin, std::size_t count,
                       const distrib::proto::Feature& theirs) -> bool {
  const auto is = [&](const auto& values) { return static_cast<std::size_t>(values.size()) == count; };
  switch (theirs.kind_case()) {
    case distrib::proto::Feature::kBytesList:
      if (!is(theirs.bytes_list().value())) return false;
      for (std::size_t i = 0; i < count; ++i)
        if (!same(ours.values<ByteView>()[begin + i],
                  distrib::as_bytes(theirs.bytes_list().value(static_cast<int>(i)))))
          return false;
      return true;
    case distrib::proto::Feature::kFloatList:
      return is(theirs.float_list().value()) &&
             (count == 0 || std::memcmp(ours.values<float>().data() + begin, theirs.float_list().value().data(),
                                        count * sizeof(float)) == 0);
    case distrib::proto::Feature::kInt64List:
      return is(theirs.int64_list().value()) &&
             (count == 0 || std::memcmp(ours.values<std::int64_t>().data() + begin, theirs.int64_list().value().data(),
                                        count * sizeof(std::int64_t)) == 0);
    case distrib::proto::Feature::KIND_NOT_SET: break;
  }
  return count == 0;
}

/// Copies `record` without the entries that `everything` does not name: the parser never examines those. Returns false
/// if it is malformed outside these entries.
inline auto only_named(ByteView record, std::vector<std::byte>& to) -> bool {
  WireWriter wire;
  distrib::detail::FieldReader example{record, distrib::detail::most_levels};
  struct Name {
    std::string_view text;
    auto begin(std::string_view key) -> bool {
      text = key;
      return false;
    }
    static auto value(ByteView, unsigned) -> bool { return true; }
  };
  while (example.next()) {
    if (example.tag() != distrib::detail::first_message) continue;
    distrib::detail::FieldReader map{example.bytes(), distrib::detail::most_levels - 1};
    while (map.next()) {
      if (map.tag() != distrib::detail::first_message) continue;
      Name name;
      if (!distrib::detail::read_entry(map.bytes(), distrib::detail::most_levels - 2, name)) return false;
      bool named = false;
      std::apply([&](const auto&... f) { named = ((f.name() == name.text) || ...); }, everything.features());
      if (named) wire.message(1, [&](WireWriter& features) { features.bytes(1, map.bytes()); });
    }
    if (!map.ok()) return false;
  }
  to = wire.take();
  return example.ok();
}

/// Returns how the parser of a schema and protobuf disagree about the named features of a record; empty: they agree.
inline auto schema_disagreement(ByteView record) -> std::string {
  distrib::Batch<Row> batch;
  distrib::Error error;
  parse_examples(everything, std::span{&record, 1}, batch, error);
  std::vector<std::byte> named;
  distrib::proto::Example example;
  if (!only_named(record, named) || !parse(example, plain_names(named, false).bytes))
    return error.code == example_errc::malformed ? "" : "the schema's parser accepts a malformed record";
  if (error.code == example_errc::malformed) return "the schema's parser refuses a well-formed record";
  Row row;
  std::error_code first;
  std::apply([&](const auto&... f) { (void)((first = expect(example, f, row), !first) && ...); },
             everything.features());
  if (first != error.code) return "the schema's parser says " + error.code.message() + ", not " + first.message();
  if (first) return "";
  const Row ours = batch[0];
  const auto found = example.features().feature().find("words_of_the_text");
  const int words = found == example.features().feature().end() ? 0 : found->second.bytes_list().value_size();
  if (ours.words.size() != static_cast<std::size_t>(words)) return "other words";
  for (int i = 0; i < words; ++i)
    if (!same(ours.words[static_cast<std::size_t>(i)], distrib::as_bytes(found->second.bytes_list().value(i))))
      return "other words";
  return same(ours, row) ? "" : "the schema's parser has other values";
}

/// Returns how one of our parsers and protobuf disagree about these bytes; empty: they agree.
inline auto example_disagreement(ByteView record) -> std::string {
  distrib::proto::Example example;
  const PlainNames plain = plain_names(record, false);
  const bool taken = parse(example, plain.bytes);
  std::error_code ec;
  const distrib::ExampleView view{record, ec};
  if (taken != !ec) return taken ? "we refuse what protobuf accepts" : "we accept what protobuf refuses";
  if (auto disagreement = schema_disagreement(record); !disagreement.empty()) return disagreement;
  if (!taken) return "";

  std::map<std::string, int> names;
  view.for_each([&](const distrib::FeatureView& f) { ++names[std::string{f.name()}]; });
  if (names.size() != example.features().feature().size()) return "other names";
  std::vector<distrib::NamedSpec> specs;
  for (const auto& [plain_name, theirs] : example.features().feature()) {
    const std::string name = plain.original(plain_name);
    if (!view.contains(name) || !same_values(view.find(name), theirs)) return "the view has other values of " + name;
    if (theirs.kind_case() != distrib::proto::Feature::KIND_NOT_SET)
      specs.push_back({name, distrib::VarLen{static_cast<FeatureKind>(theirs.kind_case())}});
  }
  const auto parsed = distrib::parse_example(specs, std::span{&record, 1});
  for (const auto& [plain_name, theirs] : example.features().feature())
    for (const distrib::ParsedFeature& ours : parsed)
      if (ours.name == plain.original(plain_name) && !same_slice(ours, 0, ours.count, theirs))
        return "parse_example has other values of " + ours.name;
  return parsed.size() == specs.size() ? "" : "parse_example has other names";
}

/// Returns the same for a SequenceExample.
inline auto sequence_disagreement(ByteView record) -> std::string {
  distrib::proto::SequenceExample sequence;
  const PlainNames plain = plain_names(record, true);
  const bool taken = parse(sequence, plain.bytes);
  std::error_code ec;
  const distrib::SequenceExampleView view{record, ec};
  if (taken != !ec) return taken ? "we refuse what protobuf accepts" : "we accept what protobuf refuses";
  if (!taken) {  // our parsers must not crash
    (void)distrib::parse_sequence_example({{"a", distrib::VarLen{FeatureKind::int64s}}},
                                          {{"b", distrib::VarLen{FeatureKind::floats}}}, std::span{&record, 1}, ec);
    return "";
  }
  for (const auto& [name, theirs] : sequence.context().feature())
    if (!same_values(view.context().find(plain.original(name)), theirs)) return "other values in the context: " + name;
  std::map<std::string, distrib::FeatureListView, std::less<>> lists;
  view.for_each_list([&](const distrib::FeatureListView& list) { lists[std::string{list.name()}] = list; });
  const auto& theirs = sequence.feature_lists().feature_list();
  if (lists.size() != theirs.size()) return "other lists";
  std::vector<distrib::NamedSpec> specs;
  std::map<std::string, std::string> plain_of;
  for (const auto& [plain_name, list] : theirs) {
    const std::string name = plain.original(plain_name);
    plain_of[name] = plain_name;
    if (lists.count(name) == 0 || lists[name].size() != static_cast<std::size_t>(list.feature_size()))
      return "another number of steps: " + name;
    int i = 0;
    bool good = true;
    lists[name].for_each([&](const distrib::FeatureView& f) { good = good && same_values(f, list.feature(i++)); });
    if (!good) return "other values of " + name;
    auto kind = distrib::proto::Feature::KIND_NOT_SET;
    bool one_kind = true;
    for (const auto& step : list.feature()) {
      if (step.kind_case() == distrib::proto::Feature::KIND_NOT_SET) continue;
      one_kind = one_kind && (kind == distrib::proto::Feature::KIND_NOT_SET || kind == step.kind_case());
      kind = step.kind_case();
    }
    if (one_kind && kind != distrib::proto::Feature::KIND_NOT_SET)
      specs.push_back({name, distrib::Ragged{.kind = static_cast<FeatureKind>(kind)}});
  }
  const auto parsed = distrib::parse_sequence_example({}, specs, std::span{&record, 1});
  for (const distrib::ParsedFeature& ours : parsed.feature_lists) {
    const auto& list = theirs.at(plain_of[ours.name]);
    if (ours.row_splits[0] != std::vector<std::int64_t>{0, list.feature_size()}) return "other steps of " + ours.name;
    for (int i = 0; i < list.feature_size(); ++i) {
      const auto begin = static_cast<std::size_t>(ours.row_splits[1][static_cast<std::size_t>(i)]);
      const auto end = static_cast<std::size_t>(ours.row_splits[1][static_cast<std::size_t>(i) + 1]);
      if (!same_slice(ours, begin, end - begin, list.feature(i))) return "other values in steps of " + ours.name;
    }
  }
  return "";
}

/// Writes random messages in every way that protobuf allows: names in random order and repeated, lists packed or not
/// and in pieces, several kinds, unknown fields and groups. Names and kinds mostly fit `everything`.
class RandomEncoding {
 public:
  explicit RandomEncoding(distrib::Philox& random) : random_{random} {}

  auto example() -> std::vector<std::byte> {
    WireWriter wire;
    maybe_unknown(wire, 3);
    do wire.message(1, [this](WireWriter& w) { features(w); });
    while (one_in(12));
    maybe_unknown(wire, 3);
    return wire.take();
  }

  auto sequence() -> std::vector<std::byte> {
    WireWriter wire;
    maybe_unknown(wire, 3);
    if (!one_in(4)) wire.message(1, [this](WireWriter& w) { features(w); });
    do
      wire.message(2, [this](WireWriter& w) {
        for (std::uint32_t i = random_() % 5; i > 0; --i)
          entry(w, name(), [this](WireWriter& v, std::size_t) { steps(v); });
      });
    while (one_in(6));
    return wire.take();
  }

 private:
  auto one_in(std::uint32_t n) -> bool { return random_() % n == 0; }

  static constexpr const char* names[] = {"a",
                                          "b",
                                          "c",
                                          "d",
                                          "e",
                                          "f",
                                          "g",
                                          "words_of_the_text",
                                          "other",
                                          "",
                                          "names that are longer than 8 bytes",
                                          "h\xc3\xa4h",
                                          "words_of_the_tExt",
                                          "verl\xfcst",
                                          "names that are longer than 8 bytes\xc3"};
  static constexpr std::uint32_t kinds[] = {3, 2, 2, 3, 1, 2, 3, 1};
  static constexpr std::uint32_t counts[] = {1, 1, 3, 2, 1};

  auto name() -> std::size_t { return random_() % std::size(names); }

  void features(WireWriter& wire) {
    std::array<std::size_t, std::size(names)> order{};
    for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i] = i, order[random_() % (i + 1)]);
    for (const std::size_t i : order) {
      if (i < 8 ? one_in(30) : !one_in(5)) continue;
      entry(wire, one_in(20) ? name() : i, [this](WireWriter& w, std::size_t n) { one_feature(w, n); });
      if (one_in(20)) entry(wire, i, [this](WireWriter& w, std::size_t n) { one_feature(w, n); });
      maybe_unknown(wire, 2);
    }
  }

  template <class Value>
  void entry(WireWriter& wire, std::size_t which, Value&& value) {
    wire.message(1, [&](WireWriter& w) {
      maybe_unknown(w, 3);
      const bool value_first = one_in(15);
      if (value_first) w.message(2, [&](WireWriter& v) { value(v, which); });
      if (one_in(30)) w.text(1, names[name()]);
      w.text(1, names[which]);
      maybe_unknown(w, 3);
      if (!value_first || one_in(10)) w.message(2, [&](WireWriter& v) { value(v, which); });
      if (one_in(20)) w.message(2, [&](WireWriter& v) { value(v, which); });
      maybe_unknown(w, 3);
    });
  }

  void steps(WireWriter& wire) {
    maybe_unknown(wire, 2);
    const std::size_t which = name();
    for (std::uint32_t i = random_() % 4; i > 0; --i)
      wire.message(1, [&](WireWriter& w) { one_feature(w, one_in(9) ? name() : which); });
  }

  void one_feature(WireWriter& wire, std::size_t which) {
    maybe_unknown(wire, 4);
    if (one_in(40)) return;
    const std::uint32_t usual = which < std::size(kinds) ? kinds[which] : 1 + random_() % 3;
    if (one_in(20)) list(wire, 1 + random_() % 3, random_() % 4);
    const std::uint32_t kind = one_in(40) ? 1 + random_() % 3 : usual;
    std::uint32_t count = which < std::size(counts) && !one_in(40) ? counts[which] : random_() % 12;
    if (one_in(15) && count > 0) {  // in two parts
      const std::uint32_t first = random_() % count;
      list(wire, kind, first);
      count -= first;
    }
    list(wire, kind, count);
    maybe_unknown(wire, 4);
  }

  void list(WireWriter& wire, std::uint32_t kind, std::uint32_t count) {
    wire.message(kind, [&](WireWriter& w) {
      const bool usual = !one_in(6);
      if (!usual) maybe_unknown(w, 2);
      while (count > 0) {
        const std::uint32_t piece = usual ? count : 1 + random_() % count;
        if (kind == 1 || (!usual && one_in(2)))
          for (std::uint32_t i = 0; i < piece; ++i) single(w, kind);
        else
          w.message(1, [&](WireWriter& p) {
            for (std::uint32_t i = 0; i < piece; ++i) packed(p, kind);
          });
        count -= piece;
        if (!usual) maybe_unknown(w, 2);
      }
    });
  }

  auto bits() -> std::uint64_t {
    const std::uint64_t high = random_();
    return (high << 32 | random_()) >> random_() % 64;
  }
  void single(WireWriter& wire, std::uint32_t kind) {
    if (kind == 1) wire.text(1, std::string(one_in(9) ? random_() % 300 : random_() % 12, static_cast<char>(bits())));
    if (kind == 2) wire.fixed32(1, random_());
    if (kind == 3) wire.varint(1, bits());
  }
  void packed(WireWriter& wire, std::uint32_t kind) {
    if (kind == 2) wire.raw_number(random_());
    if (kind != 3) return;
    const std::uint64_t value = bits();
    wire.raw_varint(value);
  }

  void maybe_unknown(WireWriter& wire, std::uint32_t first_free) {
    if (!one_in(25)) return;
    const std::uint32_t field = one_in(9) ? first_free + 20'000 : first_free + random_() % 14;
    switch (random_() % 5) {
      case 0: wire.varint(field, bits()); break;
      case 1: wire.fixed32(field, random_()); break;
      case 2: wire.fixed64(field, bits()); break;
      case 3: wire.text(field, "unknown"); break;
      default: group(wire, field, one_in(50) ? 110 : random_() % 3);
    }
  }
  void group(WireWriter& wire, std::uint32_t field, std::uint32_t levels) {
    wire.raw_varint(field << 3 | 3);
    if (levels > 0) group(wire, 1 + random_() % 9, levels - 1);
    if (one_in(2)) wire.varint(1, bits());
    wire.raw_varint(field << 3 | 4);
  }

  distrib::Philox& random_;
};

/// Flips, cuts off, inserts and erases bytes, as a bad disk or a faulty writer does.
inline void damage(std::vector<std::byte>& bytes, distrib::Philox& random) {
  for (std::uint32_t n = 1 + random() % 3; n > 0 && !bytes.empty(); --n) {
    const auto at = random() % bytes.size();
    const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 5) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(here, static_cast<std::byte>(random())); break;
      case 2: bytes.erase(here); break;
      case 3: *here = static_cast<std::byte>(random()); break;
      default: *here ^= static_cast<std::byte>(1U << random() % 8);
    }
  }
}

}  // namespace example_oracle
