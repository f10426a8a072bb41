// SPDX-License-Identifier: Apache-2.0
// Writes files of every kind into a directory, and expected.json with their contents, for tensorflow_reads.py.
#include <distrib/checkpoint/merge_parts.hpp>
#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/summary/graph_event.hpp>
#include <distrib/summary/histogram.hpp>
#include <distrib/summary/image_event.hpp>
#include <distrib/summary/png.hpp>
#include <distrib/summary/tensor_event.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using distrib::BundlePart;
using distrib::DType;
using distrib::Shape;
using distrib::Slice;
using Bytes = std::vector<std::byte>;

auto hex(distrib::ByteView bytes) -> std::string { return '"' + distrib::to_hex(bytes) + '"'; }

template <class Items, class Text>
auto list(const Items& items, Text text) -> std::string {
  std::string joined = "[";
  for (const auto& item : items) joined += (joined.size() > 1 ? ", " : "") + text(item);
  return joined += "]";
}

// Returns bytes that are finite numbers in every dtype.
auto some_bytes(DType dtype, std::int64_t elements) -> Bytes {
  Bytes bytes(static_cast<std::size_t>(elements) * size_bytes(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = dtype == DType::boolean ? static_cast<std::byte>(i % 2) : static_cast<std::byte>(i * 37 % 59);
  return bytes;
}

// The tensors of one checkpoint on two shards, and what a reader must find in it.
class Checkpoint {
 public:
  // Adds a tensor, saved in these slices, which alternate between the shards; without slices, saved whole.
  void add(const std::string& name, DType dtype, const Shape& shape, const std::vector<Slice>& slices = {}) {
    const Bytes& whole = bytes_.emplace_back(some_bytes(dtype, shape.elements()));
    for (const Slice& slice : slices.empty() ? std::vector{Slice::whole(shape)} : slices) {
      Bytes& piece = bytes_.emplace_back(static_cast<std::size_t>(slice.extents.elements()) * size_bytes(dtype));
      distrib::detail::copy_overlap(Slice::whole(shape), whole.data(), slice, piece.data(), size_bytes(dtype));
      parts_[next_++ % 2].tensors.push_back({name, dtype, shape, slice, piece});
    }
    expect(name, dtype, shape, "\"bytes\": " + hex(whole));
  }

  void add(const std::string& name, const Shape& shape, const std::vector<std::string>& texts) {
    parts_[next_++ % 2].strings.push_back({name, shape, texts});
    expect(name, DType::string, shape,
           "\"texts\": " + list(texts, [](const std::string& text) { return hex(distrib::as_bytes(text)); }));
  }

  auto parts() const -> const std::vector<BundlePart>& { return parts_; }
  auto expected() const -> std::string {
    return list(expected_, [](const std::string& text) { return text; });
  }

 private:
  void expect(const std::string& name, DType dtype, const Shape& shape, const std::string& content) {
    expected_.push_back("{\"name\": \"" + name + "\", \"dtype\": \"" + std::string{distrib::name(dtype)} +
                        "\", \"shape\": " + to_string(shape) + ", " + content + "}");
  }

  std::deque<Bytes> bytes_;  // a deque: the bytes that the pieces point to must not move
  std::vector<BundlePart> parts_{2};
  std::vector<std::string> expected_;
  std::size_t next_ = 0;
};

auto write_checkpoint(const std::string& directory) -> std::string {
  Checkpoint checkpoint;
  for (const DType dtype :
       {DType::float32, DType::float64, DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8,
        DType::uint16, DType::uint32, DType::uint64, DType::boolean, DType::bfloat16, DType::float16})
    checkpoint.add("dtype/" + std::string{name(dtype)}, dtype, {3, 5});
  checkpoint.add("global_step", DType::int64, {});
  checkpoint.add("empty", DType::float32, {0, 3});
  checkpoint.add("rank8", DType::int32, {1, 2, 1, 2, 1, 2, 1, 3});
  checkpoint.add("rows", DType::float32, {100, 3}, {{{0, 0}, {33, 3}}, {{33, 0}, {33, 3}}, {{66, 0}, {34, 3}}});
  checkpoint.add("columns", DType::float64, {4, 100}, {{{0, 0}, {4, 64}}, {{0, 64}, {4, 36}}});
  checkpoint.add("tiles", DType::bfloat16, {4, 6},
                 {{{0, 0}, {2, 3}}, {{0, 3}, {2, 3}}, {{2, 0}, {2, 2}}, {{2, 2}, {2, 4}}});
  checkpoint.add("vector", DType::int64, {9000}, {{{0}, {1}}, {{1}, {8191}}, {{8192}, {808}}});
  checkpoint.add("distrib/job", {}, {"the job's text"});
  checkpoint.add("words", {2, 2}, {"", "one", std::string(300, 'x'), {"\0\xff", 2}});
  for (int i = 0; i < 5000; ++i)  // so that the index has several blocks
    checkpoint.add("many/variable_" + std::to_string(i), DType::float32, {2}, {{{0}, {1}}, {{1}, {1}}});
  distrib::save_checkpoint(directory, "model.ckpt-7", checkpoint.parts());
  distrib::save_checkpoint(directory, "model.ckpt-42", checkpoint.parts());
  // Each part separately, then merged, as the shards of a cluster do.
  const std::string merged = directory + "/merged/model.ckpt-43";
  std::filesystem::create_directories(directory + "/merged");
  distrib::Error error;
  for (std::size_t shard = 0; shard < 2; ++shard)
    distrib::perform(distrib::plan_part(merged, checkpoint.parts()[shard], shard, 2, nullptr, error));
  distrib::perform(distrib::plan_merge(merged, distrib::read_parts(merged, 2, error), "0", error));
  throw_if(error);
  return "{\"directory\": \"" + directory + "\", \"latest\": \"model.ckpt-42\", \"merged\": \"" + merged +
         "\", \"tensors\": " + checkpoint.expected() + "}";
}

template <class T>
auto shared(const std::vector<T>& items) -> distrib::SharedBuffer {
  auto buffer = std::make_shared<distrib::AlignedBuffer>(items.size() * sizeof(T));
  std::copy(items.begin(), items.end(), buffer->template as<T>().begin());
  return buffer;
}

// The cut of a job with two tables on three shards. The weights of a key are (key % 1000) + 0, 1 ...; its slot has the
// same numbers negated. In the table of any keys, keys that 4 divides are counted but have no row.
auto write_tables(const std::string& directory) -> std::string {
  distrib::Job job;
  job.tables = {{"ids", 2, 10}, {"words", 3, 0}};
  job.shards_per_task = 3;
  const distrib::JobUpdaters updaters{distrib::Momentum{}};
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 40; ++i) words.push_back(~(i * 0x9e3779b97f4a7c15U));
  std::sort(words.begin(), words.end());

  std::vector<distrib::Cut> cuts;
  std::vector<BundlePart> parts;
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    distrib::Cut& cut = cuts.emplace_back(distrib::Cut{70, shared<float>({}), {}, {}});
    const distrib::ShardLayout layout{job, shard};
    for (const distrib::TableShare& share : layout.tables()) {
      std::vector<std::uint64_t> keys;
      std::vector<std::uint64_t> counted;
      for (std::uint64_t i = 0; i < share.rows(); ++i) keys.push_back(share.first() + i);
      for (const std::uint64_t word : words)
        if (share.info().any_key() && share.owns(word)) (word % 4 == 0 ? counted : keys).push_back(word);
      std::vector<float> rows;
      for (const std::uint64_t key : keys)
        for (const float sign : {1.0F, -1.0F})
          for (std::uint32_t i = 0; i < share.info().dim; ++i)
            rows.push_back(sign * static_cast<float>(key % 1000 + i));
      keys.insert(keys.end(), counted.begin(), counted.end());
      std::vector<std::uint32_t> uses;
      for (const std::uint64_t key : keys)
        if (share.info().any_key()) uses.insert(uses.end(), {static_cast<std::uint32_t>(key % 100), 70});
      cut.tables.push_back({shared(keys), shared(uses), shared(rows)});
    }
  }
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    parts.push_back(distrib::CutTensors{job, shard, updaters}.part(cuts[shard]));
  distrib::CutTensors{job, 0, updaters}.describe(cuts[0], parts[0]);
  distrib::save_checkpoint(directory, "model.ckpt-70", parts);
  return "{\"prefix\": \"" + directory +
         "/model.ckpt-70\", \"words\": " + list(words, [](std::uint64_t word) { return std::to_string(word); }) + "}";
}

auto write_records(const std::string& path, const distrib::RecordWriterOptions& options) -> std::string {
  std::vector<Bytes> payloads{{},
                              some_bytes(DType::int8, 1),
                              some_bytes(DType::int8, 1000),
                              some_bytes(DType::int8, 300'000),
                              some_bytes(DType::int8, 7)};
  distrib::RecordWriter writer{path, options};
  for (const Bytes& payload : payloads) writer.append(payload);
  writer.close();
  return "{\"file\": \"" + path + "\", \"compression\": \"" + std::string{compression_name(options.compression)} +
         "\", \"payloads\": " + list(payloads, [](const Bytes& payload) { return hex(payload); }) + "}";
}

struct Row {
  std::span<const std::byte> image;
  std::int64_t label = 0;
  std::array<float, 2> weights{};
  std::span<const std::int64_t> clicks;
};

auto write_examples(const std::string& path) -> std::string {
  using distrib::feature;
  distrib::ExampleWriter writer{distrib::schema<Row>(feature("image", &Row::image), feature("label", &Row::label),
                                                     feature("weights", &Row::weights),
                                                     feature("clicks", &Row::clicks))};
  distrib::RecordWriter file{path};
  std::vector<std::string> rows;
  const Bytes image = some_bytes(DType::uint8, 300);
  const std::vector<std::int64_t> clicks{0, -1, 127, 128, std::int64_t{1} << 40};
  for (std::size_t i = 0; i <= clicks.size(); ++i) {
    const Row row{distrib::ByteView{image}.first(60 * i),
                  static_cast<std::int64_t>(i) - 2,
                  {0.5F, -1.25F * static_cast<float>(i)},
                  std::span{clicks}.first(i)};
    file.append(writer.write(row));
    char weights[60];
    std::snprintf(weights, sizeof weights, "[%.9g, %.9g]", static_cast<double>(row.weights[0]),
                  static_cast<double>(row.weights[1]));
    rows.push_back("{\"image\": " + hex(row.image) + ", \"label\": " + std::to_string(row.label) +
                   ", \"weights\": " + weights +
                   ", \"clicks\": " + list(row.clicks, [](std::int64_t click) { return std::to_string(click); }) + "}");
  }
  file.close();
  return "{\"file\": \"" + path + "\", \"rows\": " + list(rows, [](const std::string& text) { return text; }) + "}";
}

auto write_sequences(const std::string& path) -> std::string {
  distrib::SequenceExampleBuilder builder;
  distrib::RecordWriter file{path};
  std::vector<std::string> rows;
  for (std::int64_t row = 0; row < 5; ++row) {
    builder.clear();
    builder.context().set("id", row - 2);
    builder.list("steps");
    std::vector<std::string> steps;
    for (std::int64_t step = 0; step < row; ++step) {
      const std::vector<std::int64_t> values(static_cast<std::size_t>(step), row * 100 - step);
      builder.add("steps", values);
      steps.push_back(list(values, [](std::int64_t value) { return std::to_string(value); }));
    }
    file.append(builder.build());
    rows.push_back("{\"id\": " + std::to_string(row - 2) +
                   ", \"steps\": " + list(steps, [](const std::string& text) { return text; }) + "}");
  }
  file.close();
  return "{\"file\": \"" + path + "\", \"rows\": " + list(rows, [](const std::string& text) { return text; }) + "}";
}

auto write_events(const std::string& directory) -> std::string {
  std::vector<std::string> points;
  distrib::EventWriter writer{directory};
  writer.session_log(distrib::SessionStatus::start, 1);
  for (int step = 1; step <= 20; ++step)
    for (const char* tag : {"loss", "evaluation/accuracy"}) {
      const float value = (tag[0] == 'l' ? 8.0F : 0.25F) / static_cast<float>(step);
      const double wall_time = 1465000000.5 + step;
      writer.scalar(tag, step, value, wall_time);
      char text[200];
      std::snprintf(text, sizeof text, "{\"tag\": \"%s\", \"step\": %d, \"wall_time\": %.17g, \"value\": %.9g}", tag,
                    step, wall_time, static_cast<double>(value));
      points.emplace_back(text);
    }
  writer.session_log(distrib::SessionStatus::checkpoint, 20, "model.ckpt-20");
  writer.close();

  // The form of TensorFlow 1, which TensorBoard reads too.
  const std::string old = directory + "/old";
  std::filesystem::create_directories(old);
  distrib::RecordWriter old_file{distrib::detail::event_file_name(old, 1465000000, "host")};
  distrib::WireWriter event;
  distrib::write_version_event(event, 1465000000);
  old_file.append(event.view());
  distrib::write_scalar_event(event, 1465000001.5, 100, "loss", 0.25F, distrib::ScalarForm::simple_value);
  old_file.append(event.view());
  old_file.close();
  return "{\"directory\": \"" + directory +
         "\", \"points\": " + list(points, [](const std::string& text) { return text; }) + "}";
}

// Summaries of all other kinds, with the values of a histogram (TensorFlow must make the same one) and pixels.
auto write_kinds(const std::string& directory) -> std::string {
  distrib::EventWriter writer{directory};
  distrib::WireWriter event;
  std::vector<float> values{0.0F, -0.0F, 1e-13F, 1e-12F, -1e-12F, 3e38F, -3e38F, 0.25F};
  for (int i = -200; i < 200; ++i) values.push_back(static_cast<float>(i * i * i) / 1000.0F);
  distrib::Histogram histogram;
  histogram.add(values);
  distrib::write_histogram_event(event, 1465000001, 5, "weights", histogram);
  writer.append(event.view());
  distrib::write_histogram_event(event, 1465000001, 5, "nothing", {});
  writer.append(event.view());
  distrib::write_text_event(event, 1465000002, 6, "remark", "*more* of it");
  writer.append(event.view());
  const Bytes numbers = some_bytes(DType::float64, 6);
  distrib::write_tensor_event(event, 1465000003, 7, "numbers", DType::float64, {2, 3}, numbers);
  writer.append(event.view());
  std::vector<std::string> images;
  for (const std::uint32_t channels : {1U, 2U, 3U, 4U}) {
    const Bytes pixels = some_bytes(DType::uint8, std::int64_t{7} * 11 * channels);
    const auto png = distrib::encode_png(pixels, 7, 11, channels);
    distrib::write_image_event(event, 1465000004, 8, "image" + std::to_string(channels), {7, 11, channels, png});
    writer.append(event.view());
    images.push_back(hex(pixels));
  }
  const std::vector<distrib::GraphVariable> graph{
      {"hidden/weights/part_0", "/job:ps/task:0", DType::float32, {392, 128}},
      {"hidden/weights/part_1", "/job:ps/task:1", DType::float32, {392, 128}},
      {"global_step", "/job:ps/task:0", DType::int64, {}}};
  distrib::write_graph_event(event, 1465000000, graph);
  writer.append(event.view());
  writer.session_log(distrib::SessionStatus::checkpoint, 9, "model.ckpt-9");
  writer.close();
  return "{\"directory\": \"" + directory + "\", \"values\": " + hex(std::as_bytes(std::span{values})) +
         ", \"numbers\": " + hex(numbers) +
         ", \"images\": " + list(images, [](const std::string& text) { return text; }) + ", \"graph\": " +
         list(graph,
              [](const distrib::GraphVariable& variable) {
                return "[\"" + variable.name + "\", \"" + variable.device + "\", \"" +
                       std::string{distrib::name(variable.dtype)} + "\", " + to_string(variable.shape) + "]";
              }) +
         "}";
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_files DIRECTORY\n");
    return 64;
  }
  const std::string directory = argv[1];
  std::filesystem::create_directories(directory);
  const std::string checkpoint = write_checkpoint(directory + "/train");
  const std::string tables = write_tables(directory + "/tables");
  const std::string records =
      "[" + write_records(directory + "/plain", {}) + ", " +
      write_records(directory + "/gzip", {.compression = distrib::Compression::gzip, .member_bytes = 0}) + ", " +
      write_records(directory + "/members", {.compression = distrib::Compression::gzip, .member_bytes = 100}) + ", " +
      write_records(directory + "/zlib", {.compression = distrib::Compression::zlib}) + "]";
  const std::string examples = write_examples(directory + "/examples");
  const std::string sequences = write_sequences(directory + "/sequences");
  const std::string events = write_events(directory + "/events");
  const std::string kinds = write_kinds(directory + "/kinds");
  std::ofstream file{directory + "/expected.json"};
  file << "{\"checkpoint\": " << checkpoint << ",\n\"tables\": " << tables << ",\n\"records\": " << records
       << ",\n\"examples\": " << examples << ",\n\"sequences\": " << sequences << ",\n\"events\": " << events
       << ",\n\"kinds\": " << kinds << "}\n";
  return file.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
