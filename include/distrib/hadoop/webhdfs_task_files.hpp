// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/hadoop/file_split.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/remote/webhdfs_file.hpp>
#include <distrib/remote/webhdfs_url.hpp>
#include <distrib/remote/webhdfs_writer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// `TaskFiles` in HDFS, over WebHDFS, and in local file systems. A file of HDFS is copied to the current directory
/// (where Hadoop started the task) to read it; a file to write is made there and sent to HDFS when it is complete. Each
/// map fetches the whole file to which its split belongs, so a job should not divide large files
/// (`mapreduce.input.fileinputformat.split.minsize`).
///
/// Without options, the name node and the user are those of the job: `dfs.namenode.http-address`,
/// `mapreduce.job.user.name`.
///
/// Movable. The destructor removes the copies.
///
///     run_task(Words{}, Sum{}, BasicTFRecordInput{WebHdfsTaskFiles{}}, BasicTFRecordOutput{WebHdfsTaskFiles{}});
class WebHdfsTaskFiles {
 public:
  /// With the default options. Contacts no server.
  WebHdfsTaskFiles() = default;
  /// `options`: user, authentication and times of the connections. Contacts no server.
  explicit WebHdfsTaskFiles(WebHdfsOptions options) : options_{std::move(options)} {}
  WebHdfsTaskFiles(WebHdfsTaskFiles&&) noexcept = default;
  auto operator=(WebHdfsTaskFiles&&) -> WebHdfsTaskFiles& = delete;
  ~WebHdfsTaskFiles() {
    for (const std::string& path : copies_) ::unlink(path.c_str());
  }

  /// Returns the path of a local file with the content of the file `name`: of a file of HDFS a new copy in the current
  /// directory, of a local file its own path.
  ///
  /// Errors: those of `WebHdfsFile`, or the operating system's reason with the path; `hadoop_errc::unsupported_path`
  /// for a scheme that is neither of HDFS nor "file:". The result then has no meaning.
  [[nodiscard]] auto fetch(const std::string& name, const TaskContext& context, Error& error) -> std::string {
    if (!is_webhdfs_url(name)) return detail::local_path(name, error);
    auto [path, file] = make_copy(error);
    WebHdfsFile source{name, options_of(name, context)};
    std::vector<std::byte> block(block_bytes);
    while (!error) {
      const std::size_t count = source.read(block, error);
      if (error || count == 0) break;
      file.write(ByteView{block}.first(count), error.code);
      if (error) error.where = path;
    }
    return path;
  }

  /// Returns the path of the local file into which the caller writes what `publish` then makes the file `name`. `name`
  /// has a scheme. For a file of HDFS: a new, empty file in the current directory; HDFS is not contacted. For a local
  /// file: its own path, which need not exist. Only one file can be written at a time: a second `begin` before
  /// `publish` takes the place of the first.
  ///
  /// Errors: the operating system's reason, with the path, if the file cannot be made; `hadoop_errc::unsupported_path`
  /// for another scheme. The result then has no meaning.
  [[nodiscard]] auto begin(const std::string& name, const TaskContext&, Error& error) -> std::string {
    if (!is_webhdfs_url(name)) return detail::local_path(name, error);
    written_ = make_copy(error).path;
    return written_;
  }

  /// Sends the file that the last `begin` returned, and makes it appear as `name` in one step. Local files: does
  /// nothing. Errors as in `WebHdfsWriter`, or the operating system's reason.
  void publish(const std::string& name, const TaskContext& context, Error& error) {
    if (!is_webhdfs_url(name)) return;
    const distrib::detail::FileDescriptor opened{written_, O_RDONLY, error.code};
    if (error) error.where = written_;
    WebHdfsWriter writer{name, options_of(name, context)};
    std::vector<std::byte> block(block_bytes);
    while (!error) {
      const ssize_t count = ::read(opened.get(), block.data(), block.size());
      if (count < 0) error = {distrib::detail::last_os_error(), written_};
      if (count <= 0) break;
      writer.write(ByteView{block}.first(static_cast<std::size_t>(count)), error);
    }
    if (!error) writer.close(error);
  }

 private:
  static constexpr std::size_t block_bytes = 1 << 20;

  /// Makes an empty file for a copy, which no other object and no other task uses.
  [[nodiscard]] auto make_copy(Error& error) -> distrib::detail::NewFile {
    const std::string stem = "./distrib-" + std::to_string(::getpid()) + "-";
    distrib::detail::NewFile copy = distrib::detail::create_new_file(stem, error.code);
    if (error) error.where = copy.path;
    else copies_.push_back(copy.path);
    return copy;
  }

  /// Returns the options for a file. The job's address is that of the name node, or only its port: 0.0.0.0 stands for
  /// all interfaces of that machine.
  [[nodiscard]] auto options_of(std::string_view name, const TaskContext& context) const -> WebHdfsOptions {
    WebHdfsOptions options = options_;
    const JobConf& conf = context.conf();
    if (options.user.empty() && options.token.empty()) options.user = conf.text("mapreduce.job.user.name");
    const std::string_view address = conf.text("dfs.namenode.http-address");
    if (!options.namenodes.empty() || address.empty() || !name.starts_with("hdfs://")) return options;
    std::string_view host = name.substr(name.find("://") + 3);
    host = host.substr(0, host.find('/'));
    if (!host.ends_with(']')) host = host.substr(0, host.rfind(':'));
    const std::string_view port = address.substr(address.rfind(':') + 1);
    const bool any = address.starts_with("0.0.0.0:");
    options.namenodes = {"http://" + (any ? distrib::detail::host_port(host, port) : std::string{address})};
    return options;
  }

  WebHdfsOptions options_;
  std::vector<std::string> copies_;
  std::string written_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
