// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "records.hpp"

#include <distrib/core/error.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tools {

/// True if a name is a URL of a file on another machine: hdfs, webhdfs, swebhdfs, http, https, s3, gs, s3+http,
/// s3+https.
[[nodiscard]] auto is_remote(const std::string& name) noexcept -> bool;

/// Returns the files that a URL stands for: for http and https the URL itself, without asking the server. On failure
/// sets `error`, also if this command was built without the component http.
[[nodiscard]] auto find_remote(const std::string& url, const RecordsOptions& options, distrib::Error& error)
    -> std::vector<std::string>;

/// Returns a source of the bytes of one of these files. A failure, also to open the file, is an error of its reads.
[[nodiscard]] auto open_remote(const std::string& url, const RecordsOptions& options) -> distrib::AnyByteSource;

/// Writes records into a file on another machine. Failures are thrown. Without `close` there is no file.
class RemoteOutput {
 public:
  virtual ~RemoteOutput() = default;
  virtual void append(distrib::ByteView payload) = 0;
  virtual void close() = 0;
};

/// Returns a writer for the file of this URL. Throws if that cannot be written, also for http and https.
[[nodiscard]] auto make_remote_output(const std::string& url, const RecordsOptions& options,
                                      const distrib::RecordWriterOptions& writing) -> std::unique_ptr<RemoteOutput>;

/// What `write_remote_index` has written.
struct RemoteIndex {
  std::string name;
  std::size_t records = 0;
};

/// Reads a file in an object store or in HDFS once, and writes its index beside it. On failure sets `error`, also for
/// http and https, whose files can only be read.
[[nodiscard]] auto write_remote_index(const std::string& url, const RecordsOptions& options, distrib::Error& error)
    -> RemoteIndex;

/// True if there is a file with this URL. On failure sets `error`.
[[nodiscard]] auto remote_exists(const std::string& url, const RecordsOptions& options, distrib::Error& error) -> bool;

/// Returns what opens directories in object stores; it sets an error if this command was built without the component
/// http.
[[nodiscard]] auto object_stores() -> distrib::OpenObjectStore;

}  // namespace tools
