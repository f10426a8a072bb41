// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/hadoop/task_files.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// Returns the name of the file of a reduce or a map, by its number: "part-r-00003", "part-m-00000".
[[nodiscard]] inline auto part_name(bool is_map, std::uint32_t index) -> std::string {
  const std::string digits = std::to_string(index);
  const std::string zeros(digits.size() < 5 ? 5 - digits.size() : 0, '0');
  return (is_map ? "part-m-" : "part-r-") + zeros + digits;
}

/// A RecordWriter of TFRecord files: the key of a pair becomes a record, and the value is dropped, as in the
/// OutputFormat of TensorFlow's ecosystem project.
///
/// Writes `part-r-00003`, or for a map `part-m-00003`, into `mapreduce.task.output.dir`, the directory of this attempt.
/// Hadoop's committer moves the files of a successful attempt to the output and drops all others, so an attempt that
/// fails or loses a race leaves nothing. The file appears under its name when it is complete.
///
/// Compression is set by the job: `mapreduce.output.fileoutputformat.compress`, and `.codec`: GzipCodec (".gz"; also if
/// there is no such setting), or DefaultCodec or DeflateCodec (".deflate", which is zlib).
///
/// `Files` writes the file; the default writes local files ("file:").
///
/// Errors: each function throws `std::system_error`, as it says.
template <TaskFiles Files = detail::LocalTaskFiles> class BasicTFRecordOutput {
 public:
  /// For local files. Opens nothing.
  BasicTFRecordOutput() = default;

  /// For other files than local ones. Opens nothing.
  explicit BasicTFRecordOutput(Files files) : files_{std::move(files)} {}

  /// Begins the file of this task. `context` must live until `close`. The file before it must be closed (programmer
  /// error, which is not checked).
  ///
  /// Errors: throws `hadoop_errc::bad_setting` if the job names no directory, no number of the task, or another codec;
  /// what `begin` of `Files` reports, for local files `unsupported_path` for a name that is no absolute path, with or
  /// without "file:"; the system's error, with the path, if the directory or the file cannot be made.
  void open(TaskContext& context) {
    constexpr std::string_view directory = "mapreduce.task.output.dir";
    const JobConf& conf = context.conf();
    if (!conf.find(directory)) throw_error(hadoop_errc::bad_setting, directory);
    const Compression compression = compression_of(conf);
    constexpr std::string_view endings[] = {"", ".gz", ".deflate"};
    const std::size_t ending = compression == Compression::gzip ? 1 : compression == Compression::zlib ? 2 : 0;
    const bool is_map = conf.flag("mapreduce.task.ismap", false);
    name_ = std::string{conf.text(directory)} + "/" + part_name(is_map, context.task_index()) +
            std::string{endings[ending]};
    context_ = &context;
    Error error;
    const std::string path = files_.begin(name_, context, error);
    throw_if(error);
    distrib::detail::make_directories(distrib::detail::directory_of(path), error.code);
    if (error) throw_error(error.code, path);
    writer_.emplace(path, RecordWriterOptions{.compression = compression, .rename_on_close = true});
  }

  /// Appends the key as a record; the bytes may change after the call. Must be called between `open` and `close` (not
  /// checked). Throws the system's error, with file and record, if the file cannot be written; that failure is final.
  void write(ByteView key, ByteView) { writer_->append(key); }

  /// Completes the file and makes it appear under its name. Must be called once, after `open` (not checked). Throws the
  /// system's error, or the first failure of `write` again, with file and record. Also throws what `publish` of `Files`
  /// reports, for local files nothing.
  void close() {
    writer_->close();
    Error error;
    files_.publish(name_, *context_, error);
    throw_if(error);
  }

 private:
  static auto compression_of(const JobConf& conf) -> Compression {
    constexpr std::string_view setting = "mapreduce.output.fileoutputformat.compress";
    if (!conf.flag(setting, false)) return Compression::none;
    const std::string name = std::string{setting} + ".codec";
    const std::string_view codec = conf.text(name, "org.apache.hadoop.io.compress.GzipCodec");
    if (codec.ends_with(".GzipCodec")) return Compression::gzip;
    if (codec.ends_with(".DefaultCodec") || codec.ends_with(".DeflateCodec")) return Compression::zlib;
    throw_error(hadoop_errc::bad_setting, name + "=" + std::string{codec});
  }

  Files files_;
  TaskContext* context_ = nullptr;  // from `open` to `close`
  std::string name_;
  std::optional<distrib::RecordWriter> writer_;
};

/// Writes local files.
using TFRecordOutput = BasicTFRecordOutput<>;

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
