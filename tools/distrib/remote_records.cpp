// SPDX-License-Identifier: Apache-2.0
// Files in HDFS, on HTTP servers and in object stores.
#include "remote_records.hpp"

#include <distrib/core/paths.hpp>

#ifdef DISTRIB_TOOLS_HTTP
#include <distrib/core/files.hpp>
#include <distrib/data/remote_ranges.hpp>
#include <distrib/data/url_files.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/index_object.hpp>
#include <distrib/record/sink_record_writer.hpp>
#include <distrib/remote/http_file.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_files.hpp>
#include <distrib/remote/s3/s3_stores.hpp>
#include <distrib/remote/s3/s3_writer.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_writer.hpp>
#endif

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

namespace tools {

namespace {

auto is_http(std::string_view name) noexcept -> bool {
  return name.starts_with("http://") || name.starts_with("https://");
}

auto is_in_object_store(std::string_view name) noexcept -> bool {
  return name.starts_with("s3://") || name.starts_with("gs://") || name.starts_with("s3+http://") ||
         name.starts_with("s3+https://");
}

}  // namespace

auto is_remote(const std::string& name) noexcept -> bool {
  return is_http(name) || is_in_object_store(name) || name.starts_with("hdfs://") || name.starts_with("webhdfs://") ||
         name.starts_with("swebhdfs://");
}

#ifdef DISTRIB_TOOLS_HTTP

namespace {

constexpr std::size_t threads = 4;  // they only wait for the network

auto pool() -> distrib::IoPool& {
  static distrib::IoPool waiting{threads};
  return waiting;
}

/// One set of files, so that all objects of a bucket share the credentials.
auto object_store() -> distrib::S3Files& {
  static distrib::S3Files files{{}, {.pool = &pool()}};
  return files;
}

auto webhdfs_options(const RecordsOptions& options, distrib::Error& error) -> distrib::WebHdfsOptions {
  distrib::WebHdfsOptions to{.namenodes = options.namenodes, .user = options.hdfs_user};
  if (options.httpfs) to.server = distrib::WebHdfsServer::httpfs;
  if (!options.hdfs_token_file.empty()) {
    constexpr std::size_t longest = 64 << 10;
    to.token = distrib::detail::read_up_to(options.hdfs_token_file, longest, error.code);
    if (error) error.where = options.hdfs_token_file;
    while (!to.token.empty() && static_cast<unsigned char>(to.token.back()) <= ' ') to.token.pop_back();
  }
  to.pool = &pool();
  return to;
}

/// Stands for a file whose options could not be read: reading it fails with that error.
struct Failed {
  distrib::Error why;
  auto read(std::span<std::byte>, distrib::Error& error) const -> std::size_t {
    error = why;
    return 0;
  }
};

}  // namespace

auto find_remote(const std::string& url, const RecordsOptions& options, distrib::Error& error)
    -> std::vector<std::string> {
  error = {};
  if (is_http(url)) return {url};
  if (is_in_object_store(url)) return distrib::s3(url, {.pool = &pool()}).find(error);
  const auto to = webhdfs_options(options, error);
  return error ? std::vector<std::string>{} : distrib::webhdfs(url, to).find(error);
}

auto open_remote(const std::string& url, const RecordsOptions& options) -> distrib::AnyByteSource {
  if (is_http(url)) return distrib::AnyByteSource{distrib::HttpFile{url, {.pool = &pool()}}};
  if (is_in_object_store(url)) return distrib::AnyByteSource{object_store().open(url)};
  distrib::Error error;
  auto to = webhdfs_options(options, error);
  if (error) return distrib::AnyByteSource{Failed{error}};
  return distrib::AnyByteSource{distrib::WebHdfsFile{url, std::move(to)}};
}

namespace {

template <class Sink> class OutputTo final : public RemoteOutput {
 public:
  OutputTo(Sink sink, const std::string& url, const distrib::RecordWriterOptions& writing)
      : writer_{std::move(sink), url, writing} {}
  void append(distrib::ByteView payload) override { writer_.append(payload); }
  void close() override { writer_.close(); }

 private:
  distrib::SinkRecordWriter<Sink> writer_;
};

void refuse_http(const std::string& url, distrib::Error& error) {
  error = {std::make_error_code(std::errc::not_supported),
           distrib::detail::shown_name(url) + " (files on HTTP servers can only be read)"};
}

}  // namespace

auto make_remote_output(const std::string& url, const RecordsOptions& options,
                        const distrib::RecordWriterOptions& writing) -> std::unique_ptr<RemoteOutput> {
  distrib::Error error;
  if (is_http(url)) refuse_http(url, error);
  throw_if(error);
  if (is_in_object_store(url)) {
    distrib::S3Writer sink{url, {.pool = &pool()}};
    throw_if(sink.error());
    return std::make_unique<OutputTo<distrib::S3Writer>>(std::move(sink), url, writing);
  }
  auto to = webhdfs_options(options, error);
  throw_if(error);
  distrib::WebHdfsWriter sink{url, std::move(to)};
  throw_if(sink.error());
  return std::make_unique<OutputTo<distrib::WebHdfsWriter>>(std::move(sink), url, writing);
}

auto write_remote_index(const std::string& url, const RecordsOptions& options, distrib::Error& error) -> RemoteIndex {
  RemoteIndex made{distrib::index_object_name(url)};
  error = {};
  if (is_http(url)) refuse_http(url, error);
  distrib::UrlOptions reading;
  if (!error && !is_in_object_store(url)) reading.webhdfs = webhdfs_options(options, error);
  if (error) return made;
  reading.pool = &pool();
  auto file = distrib::files_at({}, reading).ranged(url, error);
  if (error) return made;
  const std::string version = file->version;
  distrib::detail::RemoteReads reads{nullptr};
  const std::size_t number = reads.add(std::move(*file), url);
  const auto offsets = distrib::detail::index_remote(reads, number, url, error);
  if (error) return made;
  made.records = offsets.size() - 1;
  const auto bytes = distrib::encode_index_object(version, offsets);
  const auto write = [&](auto sink) {
    sink.write(bytes, error);
    sink.close(error);
  };
  if (is_in_object_store(url)) write(distrib::S3Writer{made.name, {.pool = &pool()}});
  else write(distrib::WebHdfsWriter{made.name, reading.webhdfs});
  return made;
}

auto remote_exists(const std::string& url, const RecordsOptions& options, distrib::Error& error) -> bool {
  error = {};
  if (is_http(url)) refuse_http(url, error);
  if (error) return false;
  if (is_in_object_store(url)) {
    const auto location = distrib::S3Location::parse(url, error);
    if (error) return false;
    static_cast<void>(distrib::S3Client{url}.info(location.key, error));
  } else {
    const auto to = webhdfs_options(options, error);
    if (error) return false;
    const auto location = distrib::WebHdfsLocation::parse(url, to, error);
    if (error) return false;
    static_cast<void>(distrib::WebHdfsClient{location, to}.status(location.path, error));
  }
  if (!error) return true;
  if (error.code == distrib::failure::not_found) error = {};
  return false;
}

auto object_stores() -> distrib::OpenObjectStore { return distrib::s3_stores(); }

#else

namespace {

struct NotBuilt {
  std::string url;
  auto read(std::span<std::byte>, distrib::Error& error) const -> std::size_t {
    error = {std::make_error_code(std::errc::not_supported),
             distrib::detail::shown_name(url) +
                 " (built without the component http: install libcpp-httplib-dev and pkg-config, then build again)"};
    return 0;
  }
};

}  // namespace

auto find_remote(const std::string& url, const RecordsOptions&, distrib::Error& error) -> std::vector<std::string> {
  static_cast<void>(NotBuilt{url}.read({}, error));
  return {};
}

auto open_remote(const std::string& url, const RecordsOptions&) -> distrib::AnyByteSource {
  return distrib::AnyByteSource{NotBuilt{url}};
}

auto make_remote_output(const std::string& url, const RecordsOptions&, const distrib::RecordWriterOptions&)
    -> std::unique_ptr<RemoteOutput> {
  distrib::Error error;
  static_cast<void>(NotBuilt{url}.read({}, error));
  throw distrib::ThrownError{error};
}

auto write_remote_index(const std::string& url, const RecordsOptions&, distrib::Error& error) -> RemoteIndex {
  static_cast<void>(NotBuilt{url}.read({}, error));
  return {};
}

auto remote_exists(const std::string& url, const RecordsOptions&, distrib::Error& error) -> bool {
  static_cast<void>(NotBuilt{url}.read({}, error));
  return false;
}

auto object_stores() -> distrib::OpenObjectStore {
  return [](const std::string& url, distrib::Error& error) {
    static_cast<void>(NotBuilt{url}.read({}, error));
    return distrib::ObjectDirectory{};
  };
}

#endif

}  // namespace tools
