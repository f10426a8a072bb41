// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_answer.hpp>

#include "support/catch.hpp"

using distrib::RemoteException;
using distrib::webhdfs_errc;
using distrib::WebHdfsStatus;

TEST_CASE("parse_webhdfs_status: a file and a directory", "[hadoop]") {
  std::error_code ec;
  const WebHdfsStatus file = distrib::parse_webhdfs_status(
      R"({"FileStatus":{"accessTime":1,"blockSize":134217728,"childrenNum":0,"fileId":16390,"group":"supergroup",
          "length":9007199254740993,"modificationTime":1760000000000,"owner":"me","pathSuffix":"","permission":"644",
          "replication":3,"storagePolicy":0,"type":"FILE"}})",
      ec);
  CHECK_FALSE(ec);
  CHECK(file.type == WebHdfsStatus::Type::file);
  CHECK(file.bytes == 9007199254740993);
  CHECK(file.block_bytes == 134217728);
  CHECK(file.replication == 3);
  CHECK(file.modified_ms == 1760000000000);
  CHECK(file.owner == "me");
  CHECK(file.group == "supergroup");
  CHECK(file.permission == "644");
  const WebHdfsStatus directory =
      distrib::parse_webhdfs_status(R"({"FileStatus":{"length":0,"type":"DIRECTORY","new":{"x":[1,2]}}})", ec);
  CHECK_FALSE(ec);
  CHECK(directory.type == WebHdfsStatus::Type::directory);
}

TEST_CASE("parse_webhdfs_status: refuses other answers", "[hadoop]") {
  for (const char* body :
       {"", "<html>", "{}", "[]", R"({"FileStatus":3})", R"({"FileStatus":{"type":"FILE"}})",
        R"({"FileStatus":{"length":-1,"type":"FILE"}})", R"({"FileStatus":{"length":"1","type":"FILE"}})",
        R"({"FileStatus":{"length":1.5,"type":"FILE"}})", R"({"FileStatus":{"length":1,"type":"PIPE"}})",
        R"({"FileStatus":{"length":1,"type":"FILE"})", R"({"FileStatus":{"length":1,"type":"FILE"}}x)"}) {
    CAPTURE(body);
    std::error_code ec;
    static_cast<void>(distrib::parse_webhdfs_status(body, ec));
    CHECK(ec == webhdfs_errc::bad_answer);
  }
}

TEST_CASE("parse_webhdfs_list: a directory, an empty one, and a file", "[hadoop]") {
  std::error_code ec;
  auto list = distrib::parse_webhdfs_list(
      R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a b","length":400,"type":"FILE"},
          {"pathSuffix":"\u00e9+x","length":0,"type":"DIRECTORY"}]}})",
      ec);
  CHECK_FALSE(ec);
  REQUIRE(list.size() == 2);
  CHECK(list[0].name == "a b");
  CHECK(list[0].bytes == 400);
  CHECK(list[1].name == "\xc3\xa9+x");
  CHECK(list[1].type == WebHdfsStatus::Type::directory);
  CHECK(distrib::parse_webhdfs_list(R"({"FileStatuses":{"FileStatus":[]}})", ec).empty());
  CHECK_FALSE(ec);
  list = distrib::parse_webhdfs_list(R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"","length":1,"type":"FILE"}]}})",
                                     ec);
  CHECK_FALSE(ec);
  REQUIRE(list.size() == 1);
  CHECK(list[0].name.empty());
}

TEST_CASE("parse_webhdfs_list: refuses other answers", "[hadoop]") {
  for (const char* body :
       {"", "{}", R"({"FileStatuses":[]})", R"({"FileStatuses":{}})", R"({"FileStatuses":{"FileStatus":{}}})",
        R"({"FileStatuses":{"FileStatus":[1]}})", R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"x"}]}})",
        R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"../x","length":1,"type":"FILE"}]}})",
        R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"x","length":1,"type":"FILE"})",
        R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"x","length":1,"type":"FILE"}]}})"
        "]"}) {
    CAPTURE(body);
    std::error_code ec;
    CHECK(distrib::parse_webhdfs_list(body, ec).empty());
    CHECK(ec == webhdfs_errc::bad_answer);
  }
}

TEST_CASE("parse_webhdfs_boolean: true, false, and other answers", "[hadoop]") {
  std::error_code ec;
  CHECK(distrib::parse_webhdfs_boolean(R"({"boolean":true})", ec));
  CHECK_FALSE(ec);
  CHECK_FALSE(distrib::parse_webhdfs_boolean(R"({"boolean":false})", ec));
  CHECK_FALSE(ec);
  for (const char* body : {"", "true", "{}", R"({"boolean":"true"})", R"({"boolean":true)", R"({"boolean":true}1)"}) {
    CAPTURE(body);
    ec.clear();
    static_cast<void>(distrib::parse_webhdfs_boolean(body, ec));
    CHECK(ec == webhdfs_errc::bad_answer);
  }
}

TEST_CASE("RemoteException: class and the first line of the message, of limited length", "[hadoop]") {
  auto found = RemoteException::parse(
      R"({"RemoteException":{"exception":"FileNotFoundException","javaClassName":"java.io.FileNotFoundException",)"
      R"-("message":"File does not exist: /x\n\tat org.apache.Deep.trace(Deep.java:1)"}})-");
  REQUIRE(found);
  CHECK(found->exception == "FileNotFoundException");
  CHECK(found->text() == "FileNotFoundException: File does not exist: /x");
  found = RemoteException::parse(
      R"({"RemoteException":{"javaClassName":"org.apache.hadoop.security.token.SecretManager$InvalidToken",)"
      R"("message":"\u0007x"}})");
  REQUIRE(found);
  CHECK(found->text() == "InvalidToken:  x");
  found =
      RemoteException::parse(R"({"RemoteException":{"exception":"E","message":")" + std::string(5000, 'm') + "\"}}");
  REQUIRE(found);
  CHECK(found->message.size() == 400);
  for (const char* body :
       {"", "<html>404</html>", "{}", R"({"RemoteException":1})", R"({"RemoteException":{}})",
        R"({"RemoteException":{"message":"x"}})", R"({"RemoteException":{"exception":"org.apache."}})"}) {
    CAPTURE(body);
    CHECK_FALSE(RemoteException::parse(body));
  }
}
