// SPDX-License-Identifier: Apache-2.0 Compares parsing Examples into columns, and writing them, with protobuf's
// generated code and a reused message, and with a model of TensorFlow's parser. The row numbers are used by
// benchmarks/records.py: 6 (40 numbers), 7 (a picture; 1024 floats), 8 (from file to batch), 9 (encode and frame).
// Items are Examples.
#include "records.hpp"

#include <distrib/example.pb.h>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>

#include <benchmark/benchmark.h>
#include <google/protobuf/io/coded_stream.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using distrib::FeatureKind;
using distrib::proto::Example;
using google::protobuf::io::CodedInputStream;

struct Embedding {
  std::array<float, 1024> values{};
};
constexpr auto embeddings = distrib::schema<Embedding>(distrib::feature("values", &Embedding::values));

constexpr std::size_t numbers = 40;

/// Serialized records, and views of them.
struct Records {
  std::vector<std::string> bytes;
  std::vector<distrib::ByteView> views;

  // The features are in the order in which protobuf serializes its maps.
  void add(const Example& example) { bytes.push_back(example.SerializeAsString()); }
  void finish() {
    for (const std::string& record : bytes) views.push_back(distrib::as_bytes(record));
  }
};

auto random_click(distrib::Philox& random) -> Example {
  Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  for (int i = 1; i <= 13; ++i)
    features["I" + std::to_string(i)].mutable_float_list()->add_value(static_cast<float>(random()) * 0x1p-20F);
  for (int i = 1; i <= 26; ++i)
    features["C" + std::to_string(i)].mutable_int64_list()->add_value(random() >> (random() % 4 * 4));
  features["label"].mutable_int64_list()->add_value(random() % 2);
  return example;
}

auto click_records(std::size_t count) -> Records {
  distrib::Philox random{6, 0, 0};
  Records records;
  for (std::size_t i = 0; i < count; ++i) records.add(random_click(random));
  records.finish();
  return records;
}

auto picture_records() -> Records {
  Records records;
  for (int i = 0; i < 200; ++i) {
    Example example;
    auto& features = *example.mutable_features()->mutable_feature();
    features["image"].mutable_bytes_list()->add_value(std::string(100 << 10, static_cast<char>(i)));
    features["label"].mutable_int64_list()->add_value(i);
    records.add(example);
  }
  records.finish();
  return records;
}

auto embedding_records() -> Records {
  Records records;
  for (int i = 0; i < 64; ++i) {
    Example example;
    auto& list = *(*example.mutable_features()->mutable_feature())["values"].mutable_float_list();
    for (int j = 0; j < 1024; ++j) list.add_value(static_cast<float>(i + j));
    records.add(example);
  }
  records.finish();
  return records;
}

void count(benchmark::State& state, const Records& records) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(records.views.size()));
}

template <class Schema>
void ours(benchmark::State& state, const Records& records, const Schema& schema) {
  distrib::Batch<typename Schema::Record> batch;
  for ([[maybe_unused]] auto iteration : state) {
    distrib::parse_examples(schema, records.views, batch);
    benchmark::ClobberMemory();
  }
  count(state, records);
}

void protobuf(benchmark::State& state, const Records& records) {
  Example example;
  for ([[maybe_unused]] auto iteration : state)
    for (const std::string& record : records.bytes)
      if (!example.ParseFromString(record)) state.SkipWithError("an Example is malformed");
  count(state, records);
}

/// A parser with the structure of TensorFlow's: a first pass collects (key, bytes) of every entry; a second pass goes
/// over them from the last to the first, hashes each key, looks it up, and reads the list with another stream.
class TwoPassParser {
 public:
  TwoPassParser(const std::vector<std::pair<std::string, FeatureKind>>& wanted, std::size_t width)
      : wanted_{wanted}, width_{width} {
    for (std::size_t i = 0; i < wanted.size(); ++i) by_hash_.emplace(hash(wanted[i].first), i);
  }

  /// Parses a record. The values of feature i go to `row[i]` (`width` numbers) or `texts[i]` (a copy of the bytes).
  /// Returns false if the record is malformed or a feature is missing.
  auto parse(std::string_view record, std::vector<std::vector<double>>& row, std::vector<std::string>& texts) -> bool {
    std::vector<std::pair<std::string_view, std::string_view>> entries;
    if (!collect(record, entries)) return false;
    std::vector<bool> seen(wanted_.size());
    for (std::size_t n = entries.size(); n-- > 0;) {
      const auto found = by_hash_.find(hash(entries[n].first));
      if (found == by_hash_.end() || wanted_[found->second].first != entries[n].first || seen[found->second]) continue;
      seen[found->second] = true;
      if (!read(entries[n].second, wanted_[found->second].second, row[found->second].data(), texts[found->second]))
        return false;
    }
    return std::find(seen.begin(), seen.end(), false) == seen.end();
  }

 private:
  static auto hash(std::string_view key) -> std::uint64_t { return std::hash<std::string_view>{}(key); }

  static auto stream(std::string_view bytes) -> CodedInputStream {
    return CodedInputStream{reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())};
  }

  static auto take(CodedInputStream& in, std::string_view bytes, std::string_view& piece) -> bool {
    std::uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return false;
    piece = bytes.substr(static_cast<std::size_t>(in.CurrentPosition()), size);
    return in.Skip(static_cast<int>(size));
  }

  static auto collect(std::string_view record, std::vector<std::pair<std::string_view, std::string_view>>& entries)
      -> bool {
    auto example = stream(record);
    while (example.ReadTag() == 10) {
      std::string_view features;
      if (!take(example, record, features)) return false;
      auto map = stream(features);
      while (map.ReadTag() == 10) {
        std::string_view entry;
        if (!take(map, features, entry)) return false;
        auto fields = stream(entry);
        std::pair<std::string_view, std::string_view> one;
        for (std::uint32_t tag = fields.ReadTag(); tag != 0; tag = fields.ReadTag())
          if (!take(fields, entry, tag == 10 ? one.first : one.second)) return false;
        entries.push_back(one);
      }
    }
    return true;
  }

  auto read(std::string_view bytes, FeatureKind kind, void* row, std::string& text) const -> bool {
    auto in = stream(bytes);
    std::uint32_t size = 0;
    if (in.ReadTag() != (static_cast<std::uint32_t>(kind) << 3 | 2) || !in.ReadVarint32(&size)) return false;
    const auto list = in.PushLimit(static_cast<int>(size));
    if (in.ReadTag() != 10 || !in.ReadVarint32(&size)) return false;
    if (kind == FeatureKind::bytes) return in.ReadString(&text, static_cast<int>(size));
    if (kind == FeatureKind::floats) return size == width_ * sizeof(float) && in.ReadRaw(row, static_cast<int>(size));
    const auto packed = in.PushLimit(static_cast<int>(size));
    std::size_t values = 0;
    while (in.BytesUntilLimit() > 0) {
      std::uint64_t value = 0;
      if (!in.ReadVarint64(&value) || values == width_) return false;
      std::memcpy(static_cast<char*>(row) + 8 * values++, &value, sizeof value);
    }
    in.PopLimit(packed);
    in.PopLimit(list);
    return values == width_;
  }

  std::vector<std::pair<std::string, FeatureKind>> wanted_;
  std::unordered_map<std::uint64_t, std::size_t> by_hash_;
  std::size_t width_;
};

auto click_names() -> std::vector<std::pair<std::string, FeatureKind>> {
  std::vector<std::pair<std::string, FeatureKind>> names;
  for (int i = 1; i <= 13; ++i) names.emplace_back("I" + std::to_string(i), FeatureKind::floats);
  for (int i = 1; i <= 26; ++i) names.emplace_back("C" + std::to_string(i), FeatureKind::int64s);
  names.emplace_back("label", FeatureKind::int64s);
  return names;
}

void two_pass(benchmark::State& state, const Records& records,
              const std::vector<std::pair<std::string, FeatureKind>>& names, std::size_t width) {
  TwoPassParser parser{names, width};
  std::vector<std::vector<double>> row(names.size(), std::vector<double>(width));
  std::vector<std::string> texts(names.size());
  for ([[maybe_unused]] auto iteration : state)
    for (const std::string& record : records.bytes)
      if (!parser.parse(record, row, texts)) state.SkipWithError("an Example is malformed");
  count(state, records);
}

void copy(benchmark::State& state, const Records& records) {
  std::vector<std::byte> to(1 << 20);  // as large as the batch that the library fills
  for ([[maybe_unused]] auto iteration : state) {
    std::byte* row = to.data();
    for (const distrib::ByteView record : records.views) {
      std::memcpy(row, record.data(), record.size());
      row += 4096;
    }
    benchmark::ClobberMemory();
  }
  count(state, records);
}

constexpr std::size_t in_batch = 4096;

/// A file of clicks that is removed when the program ends.
struct ClickFile {
  std::string path = "/tmp/distrib_example_benchmark_" + std::to_string(getpid());
  std::size_t records = 100'000;

  ClickFile() {
    const Records some = click_records(in_batch);
    distrib::RecordWriter writer{path};
    for (std::size_t i = 0; i < records; ++i) writer.append(some.views[i % some.views.size()]);
    writer.close();
  }
  ~ClickFile() { std::remove(path.c_str()); }
  ClickFile(const ClickFile&) = delete;
  auto operator=(const ClickFile&) -> ClickFile& = delete;
};

void file_ours(benchmark::State& state, const ClickFile& file) {
  distrib::Batch<Click> batch;
  for ([[maybe_unused]] auto iteration : state) {
    distrib::RecordReader reader{file.path};
    bool more = true;
    while (more) {
      distrib::ExampleParser parser{clicks, batch, in_batch};
      distrib::Error error;
      while (parser.size() < in_batch) {
        const auto record = reader.try_next();
        more = static_cast<bool>(record);
        if (!more) break;
        parser.add(record->bytes, error);
        if (error) state.SkipWithError("an Example is malformed");
      }
      parser.finish();
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(file.records));
}

/// Reads a file as most readers do: copies each record into a string, verifies both checksums, and calls `parse` with
/// it.
template <class Parse>
void file_copied(benchmark::State& state, const ClickFile& file, Parse&& parse) {
  std::string record;
  for ([[maybe_unused]] auto iteration : state) {
    std::FILE* const in = std::fopen(file.path.c_str(), "rb");
    std::array<std::byte, 12> head{};
    while (std::fread(head.data(), 1, head.size(), in) == head.size()) {
      const auto length = distrib::load_le<std::uint64_t>(head.data());
      record.resize(length + 4);
      if (std::fread(record.data(), 1, record.size(), in) != record.size())
        state.SkipWithError("the file ends inside of a record");
      const auto bytes = distrib::as_bytes(record);
      if (distrib::mask_crc(distrib::crc32c(distrib::ByteView{head}.first(8))) !=
              distrib::load_le<std::uint32_t>(head.data() + 8) ||
          distrib::mask_crc(distrib::crc32c(bytes.first(length))) !=
              distrib::load_le<std::uint32_t>(bytes.data() + length))
        state.SkipWithError("a checksum does not match");
      record.resize(length);
      if (!parse(record)) state.SkipWithError("an Example is malformed");
    }
    std::fclose(in);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(file.records));
}

void file_protobuf(benchmark::State& state, const ClickFile& file) {
  Example example;
  std::array<double, numbers> row{};
  const auto names = click_names();
  file_copied(state, file, [&](const std::string& record) {
    if (!example.ParseFromString(record)) return false;
    const auto& features = example.features().feature();
    for (std::size_t i = 0; i < numbers; ++i) {
      const auto found = features.find(names[i].first);
      if (found == features.end()) return false;
      row[i] = i < 13 ? static_cast<double>(found->second.float_list().value(0))
                      : static_cast<double>(found->second.int64_list().value(0));
    }
    benchmark::DoNotOptimize(row);
    return true;
  });
}

void file_two_pass(benchmark::State& state, const ClickFile& file) {
  TwoPassParser parser{click_names(), 1};
  std::vector<std::vector<double>> row(numbers, std::vector<double>(1));
  std::vector<std::string> texts(numbers);
  file_copied(state, file, [&](const std::string& record) { return parser.parse(record, row, texts); });
}

/// Writes length, payload and both checksums to memory, as a record writer does with its buffer.
void frame(distrib::ByteView payload, std::vector<std::byte>& buffer) {
  if (buffer.size() < payload.size() + distrib::record_frame_bytes) return;
  const auto header = distrib::encode_record_header(payload.size());
  const auto footer = distrib::encode_record_footer(payload);
  std::memcpy(buffer.data(), header.data(), header.size());
  std::memcpy(buffer.data() + header.size(), payload.data(), payload.size());
  std::memcpy(buffer.data() + header.size() + payload.size(), footer.data(), footer.size());
}

constexpr std::size_t frame_room = 4096;

auto some_rows(const Records& records) -> std::vector<Click> {
  distrib::Batch<Click> batch;
  distrib::parse_examples(clicks, records.views, batch);
  std::vector<Click> rows;
  for (std::size_t i = 0; i < batch.size(); ++i) rows.push_back(batch[i]);
  return rows;
}

void encode_ours(benchmark::State& state, const Records& records) {
  const std::vector<Click> rows = some_rows(records);
  distrib::ExampleWriter writer{clicks};
  std::vector<std::byte> framed(frame_room);
  for ([[maybe_unused]] auto iteration : state)
    for (const Click& row : rows) {
      frame(writer.write(row), framed);
      benchmark::ClobberMemory();
    }
  count(state, records);
}

/// What a careful user of protobuf writes: one message and one string, which keep their memory from row to row. The
/// lists in the message do not move, so each is looked up by name only once.
void encode_protobuf(benchmark::State& state, const Records& records) {
  const std::vector<Click> rows = some_rows(records);
  Example example = [] {
    distrib::Philox random{6, 0, 0};
    return random_click(random);
  }();
  const auto names = click_names();
  auto& features = *example.mutable_features()->mutable_feature();
  std::array<distrib::proto::FloatList*, 13> floats{};
  std::array<distrib::proto::Int64List*, 27> ints{};
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = features[names[i].first].mutable_float_list();
  for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = features[names[13 + i].first].mutable_int64_list();
  std::string bytes;
  std::vector<std::byte> framed(frame_room);
  for ([[maybe_unused]] auto iteration : state)
    for (const Click& row : rows) {
      for (std::size_t i = 0; i < floats.size(); ++i) floats[i]->set_value(0, (&row.i1)[i]);
      for (std::size_t i = 0; i < ints.size(); ++i) ints[i]->set_value(0, (&row.c1)[i]);
      if (!example.SerializeToString(&bytes)) state.SkipWithError("an Example was not serialized");
      frame(distrib::as_bytes(bytes), framed);
      benchmark::ClobberMemory();
    }
  count(state, records);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Records some_clicks = click_records(1024);
  const Records some_pictures = picture_records();
  const Records some_embeddings = embedding_records();
  const ClickFile file;
  const std::vector<std::pair<std::string, FeatureKind>> picture_names{{"image", FeatureKind::bytes},
                                                                       {"label", FeatureKind::int64s}};
  const std::vector<std::pair<std::string, FeatureKind>> embedding_names{{"values", FeatureKind::floats}};
  const auto add = [](const char* name, auto&& run) { benchmark::RegisterBenchmark(name, run); };

  add("row6/criteo/ours", [&](benchmark::State& state) { ours(state, some_clicks, clicks); });
  add("row6/criteo/protobuf", [&](benchmark::State& state) { protobuf(state, some_clicks); });
  add("row6/criteo/two_pass", [&](benchmark::State& state) { two_pass(state, some_clicks, click_names(), 1); });
  add("row7/image/ours", [&](benchmark::State& state) { ours(state, some_pictures, pictures); });
  add("row7/image/protobuf", [&](benchmark::State& state) { protobuf(state, some_pictures); });
  add("row7/image/two_pass", [&](benchmark::State& state) { two_pass(state, some_pictures, picture_names, 1); });
  add("row7/floats/ours", [&](benchmark::State& state) { ours(state, some_embeddings, embeddings); });
  add("row7/floats/protobuf", [&](benchmark::State& state) { protobuf(state, some_embeddings); });
  add("row7/floats/two_pass",
      [&](benchmark::State& state) { two_pass(state, some_embeddings, embedding_names, 1024); });
  add("row7/floats/memcpy", [&](benchmark::State& state) { copy(state, some_embeddings); });
  add("row8/criteo/ours", [&](benchmark::State& state) { file_ours(state, file); });
  add("row8/criteo/protobuf", [&](benchmark::State& state) { file_protobuf(state, file); });
  add("row8/criteo/two_pass", [&](benchmark::State& state) { file_two_pass(state, file); });
  add("row9/criteo/ours", [&](benchmark::State& state) { encode_ours(state, some_clicks); });
  add("row9/criteo/protobuf", [&](benchmark::State& state) { encode_protobuf(state, some_clicks); });

  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
