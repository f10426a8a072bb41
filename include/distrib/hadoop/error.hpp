// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a MapReduce task failed. Failures of files and sockets keep the error codes of their own rooms.
enum class hadoop_errc {
  not_a_task = 1,  ///< The environment names neither a port nor a command file. Let Hadoop Pipes start the program.
  bad_port,  ///< `mapreduce.pipes.command.port` is not 1 .. 65535. Let Hadoop Pipes start the program.
  /// The environment names no file of the job's token, or that file is empty or over 512 bytes. Use the file that
  /// Hadoop wrote.
  bad_secret,
  wrong_digest,  ///< The other side does not know the job's token. Check which other programs can reach the port.
  unknown_digest,  ///< The length of a digest fits no known hash. Use HmacSHA1, HmacSHA256, HmacSHA384 or HmacSHA512.
  unauthenticated,  ///< A message arrived before authentication. Check which other programs can reach the port.
  /// The other side uses another version of the protocol. Use Hadoop up to 3.5, which uses version 0.
  unknown_version,
  unknown_message,  ///< No message has this code: damage, or not Hadoop Pipes. Run the task again.
  unexpected_message,  ///< A message arrived where the protocol does not allow it. Run the task again.
  bad_number,  ///< A number or a length is out of range: damage. Run the task again.
  /// A key, a value or the job's settings exceed the limits of `PipesOptions` or of `serve_streaming`: raise the limit.
  /// Or typed values are nested more than 32 levels deep.
  too_large,
  truncated,  ///< The received data end too early: the other side died. Read its log.
  aborted,  ///< Hadoop aborted the task. Read the log of this attempt.
  bad_setting,  ///< A setting of the job is missing or has a wrong value. The message names it; correct the job.
  bad_split,  ///< The split of the input is not a part of a file. Use a FileInputFormat.
  no_record_reader,  ///< The job says isjavarecordreader=false. Pass a RecordReader to `run_task`, or set true.
  no_record_writer,  ///< The job says isjavarecordwriter=false. Pass a RecordWriter to `run_task`, or set true.
  no_reducer,  ///< The job has reduces. Pass a Reducer to `run_task`, or set mapreduce.job.reduces to 0.
  bad_partition,  ///< A Partitioner returned a number that is not below the number of reduces. Correct it.
  /// The name of a file to read or write has a scheme that the task's `TaskFiles` do not know, or is a relative path.
  /// Use file:/DIRECTORY or an absolute path; for hdfs:// pass `WebHdfsTaskFiles`.
  unsupported_path,
  bad_type,  ///< A typed value has an unknown code: damage, or not typedbytes. Start the job with `-io typedbytes`.
};

namespace detail {

inline constexpr ErrorText hadoop_texts[] = {
    {hadoop_errc::not_a_task, failure::invalid_argument,
     "neither of the environment variables mapreduce.pipes.command.port and mapreduce.pipes.commandfile is set: let "
     "Hadoop start this program, with mapred pipes -program"},
    {hadoop_errc::bad_port, failure::invalid_argument,
     "not a port number from 1 to 65535: let Hadoop Pipes start this program"},
    {hadoop_errc::bad_secret, failure::invalid_argument,
     "the environment names no file of the job's token, or that file does not have 1 to 512 bytes: use the file that "
     "Hadoop wrote"},
    {hadoop_errc::wrong_digest, failure::mismatch,
     "the other side does not know the job's token: check that Hadoop started this program for this job, and which "
     "other programs can reach the port"},
    {hadoop_errc::unknown_digest, failure::unsupported,
     "a digest must have 28, 44, 64 or 88 characters: use HmacSHA1, HmacSHA256, HmacSHA384 or HmacSHA512"},
    {hadoop_errc::unauthenticated, failure::mismatch,
     "a message arrived before authentication: check which other programs can reach the port"},
    {hadoop_errc::unknown_version, failure::unsupported,
     "the other side uses another version of Hadoop Pipes than 0: use Hadoop up to 3.5"},
    {hadoop_errc::unknown_message, failure::corrupt,
     "no message has this code: the data are damaged, or not from Hadoop Pipes"},
    {hadoop_errc::unexpected_message, failure::corrupt,
     "the protocol of Hadoop Pipes does not allow this message here: run the task again"},
    {hadoop_errc::bad_number, failure::corrupt,
     "a number or a length in the data from Hadoop is out of range: run the task again"},
    {hadoop_errc::too_large, failure::exhausted,
     "a key, a value or the settings from Hadoop are longer than the limit, or typed values are nested too deep: raise "
     "the limit"},
    {hadoop_errc::truncated, failure::corrupt, "the data from Hadoop end too early: read Hadoop's log of this attempt"},
    {hadoop_errc::aborted, failure::cancelled, "Hadoop aborted the task: read the log of this attempt"},
    {hadoop_errc::bad_setting, failure::invalid_argument,
     "a setting of the Hadoop job is missing or has a wrong value: set it when you submit the job, as with -D "
     "NAME=VALUE"},
    {hadoop_errc::bad_split, failure::invalid_argument, "not a part of a file: use a FileInputFormat"},
    {hadoop_errc::no_record_reader, failure::invalid_argument,
     "isjavarecordreader=false, and the program has no RecordReader: pass one to run_task, or set it to true"},
    {hadoop_errc::no_record_writer, failure::invalid_argument,
     "isjavarecordwriter=false, and the program has no RecordWriter: pass one to run_task, or set it to true"},
    {hadoop_errc::no_reducer, failure::invalid_argument,
     "the job has reduces, and the program has no Reducer: pass one to run_task, or set mapreduce.job.reduces to 0"},
    {hadoop_errc::bad_partition, failure::invalid_argument,
     "the Partitioner returned a number that is not below the number of reduces: correct the Partitioner"},
    {hadoop_errc::unsupported_path, failure::unsupported,
     "this task cannot read or write files with such a name: use file:/DIRECTORY or an absolute path, or pass "
     "WebHdfsTaskFiles for hdfs://"},
    {hadoop_errc::bad_type, failure::corrupt, "no type has this code: start the job with -io typedbytes"},
};

/// Category "distrib.hadoop".
[[nodiscard]] inline auto hadoop_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.hadoop", hadoop_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(hadoop_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::hadoop_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::hadoop_errc> : std::true_type {};
