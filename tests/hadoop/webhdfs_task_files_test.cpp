// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/webhdfs_task_files.hpp>

#include <distrib/hadoop/tfrecord_input.hpp>
#include <distrib/hadoop/tfrecord_output.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

using distrib::as_bytes;
using distrib::as_text;
using distrib::Error;
using distrib::hadoop::BasicTFRecordInput;
using distrib::hadoop::BasicTFRecordOutput;
using distrib::hadoop::FileSplit;
using distrib::hadoop::JobConf;
using distrib::hadoop::KeyValue;
using distrib::hadoop::TaskContext;
using distrib::hadoop::WebHdfsTaskFiles;
using support::FakeHdfs;

namespace {

/// Makes a new directory the current one, as Hadoop does for a task.
class InDirectory {
 public:
  InDirectory() : before_{std::filesystem::current_path()} { std::filesystem::current_path(directory_.path()); }
  ~InDirectory() { std::filesystem::current_path(before_); }
  [[nodiscard]] auto is_empty() const -> bool { return std::filesystem::is_empty(directory_.path()); }

 private:
  support::TempDirectory directory_;
  std::filesystem::path before_;
};

/// The settings of a job: the address of the name node is "127.0.0.1:PORT", or "0.0.0.0:PORT" for any interface.
auto conf_of(const FakeHdfs& hdfs, bool any_interface) -> JobConf {
  const std::string port = hdfs.url().substr(hdfs.url().rfind(':') + 1);
  return JobConf{{{"dfs.namenode.http-address", (any_interface ? "0.0.0.0:" : "127.0.0.1:") + port},
                  {"mapreduce.job.user.name", "alice"},
                  {"mapreduce.task.output.dir", "hdfs://127.0.0.1:19000/out/_temporary/attempt_0"},
                  {"mapreduce.task.partition", "4"}}};
}

}  // namespace

TEST_CASE("WebHdfsTaskFiles: writes TFRecords to HDFS and reads them again", "[hadoop][webhdfs_task_files]") {
  STATIC_REQUIRE(distrib::hadoop::TaskFiles<WebHdfsTaskFiles>);
  const InDirectory here;
  FakeHdfs hdfs;
  hdfs.directories.insert({"/out", "/out/_temporary", "/out/_temporary/attempt_0"});
  const std::string path = "/out/_temporary/attempt_0/part-r-00004";
  {
    TaskContext context{conf_of(hdfs, true)};
    BasicTFRecordOutput output{WebHdfsTaskFiles{}};
    output.open(context);
    output.write(as_bytes("one"), {});
    output.write(as_bytes(std::string(3'000'000, 'x')), {});
    CHECK(hdfs.files.empty());
    output.close();
  }
  REQUIRE(hdfs.files.size() == 1);
  REQUIRE(hdfs.files.begin()->first == path);
  CHECK(hdfs.asked().at(0).target.find("user.name=alice") != std::string::npos);
  TaskContext context{conf_of(hdfs, false)};
  {
    BasicTFRecordInput input{WebHdfsTaskFiles{}};
    input.open(FileSplit{"hdfs://127.0.0.1:19000" + path, 0, hdfs.files[path].size()}.encode(), context);
    CHECK(as_text(input.next().value().key) == "one");
    CHECK(input.next().value().key.size() == 3'000'000);
    CHECK(!input.next());
  }
  CHECK(here.is_empty());
}

TEST_CASE("WebHdfsTaskFiles: two objects of one process use different files", "[hadoop][webhdfs_task_files]") {
  const InDirectory here;
  FakeHdfs hdfs;
  hdfs.files["/in"] = "input";
  const TaskContext context{conf_of(hdfs, false)};
  const auto content = [](const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  {
    // As in a map that reads a file of HDFS and writes one.
    WebHdfsTaskFiles input;
    WebHdfsTaskFiles output;
    Error error;
    const std::string read = input.fetch("hdfs://127.0.0.1:19000/in", context, error);
    const std::string written = output.begin("hdfs://127.0.0.1:19000/out", context, error);
    REQUIRE(!error);
    std::ofstream{written} << "output";
    CHECK(content(read) == "input");
    const std::string again = output.fetch("hdfs://127.0.0.1:19000/in", context, error);
    REQUIRE(!error);
    CHECK(content(again) == "input");
    output.publish("hdfs://127.0.0.1:19000/out", context, error);
    CHECK(!error);
    CHECK(hdfs.files["/out"] == "output");
  }
  CHECK(here.is_empty());
}

TEST_CASE("WebHdfsTaskFiles: reports a missing file; local files are used directly", "[hadoop][webhdfs_task_files]") {
  const InDirectory here;
  FakeHdfs hdfs;
  const TaskContext context{conf_of(hdfs, false)};
  WebHdfsTaskFiles files;
  Error error;
  CHECK(files.fetch("file:/a/b", context, error) == "/a/b");
  CHECK(files.begin("/a/c", context, error) == "/a/c");
  files.publish("/a/c", context, error);
  CHECK(!error);
  CHECK(!files.fetch("hdfs://127.0.0.1:19000/none", context, error).empty());
  CHECK(error.code == distrib::webhdfs_errc::no_such_file);
  error = {};
  CHECK(files.fetch("s3a://b/none", context, error).empty());
  CHECK(error.code == distrib::hadoop_errc::unsupported_path);
}
