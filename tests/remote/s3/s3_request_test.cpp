// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_request.hpp>

#include "support/catch.hpp"

#include <distrib/remote/s3/xml_reader.hpp>

using distrib::S3Request;

TEST_CASE("S3Request: methods and queries", "[remote][s3]") {
  CHECK(S3Request::get("k", 0, 1).method() == "GET");
  CHECK(S3Request::head("k").method() == "HEAD");
  CHECK(S3Request::put("k", {}, 0, "n").method() == "PUT");
  CHECK(S3Request::copy("b", "from", "to").method() == "PUT");
  CHECK(S3Request::remove("k").method() == "DELETE");
  CHECK(S3Request::abort("k", "u").method() == "DELETE");
  CHECK(S3Request::create("k", "n").method() == "POST");
  const auto query = [](const S3Request& request) { return distrib::canonical_query(request.query); };
  CHECK(query(S3Request::list("p/é", "t+k=", "/")) ==
        "continuation-token=t%2Bk%3D&delimiter=%2F&encoding-type=url&list-type=2&prefix=p%2F%C3%A9");
  CHECK(query(S3Request::list("", "")) == "encoding-type=url&list-type=2&prefix=");
  CHECK(query(S3Request::uploads("p", "k", "u")) ==
        "encoding-type=url&key-marker=k&prefix=p&upload-id-marker=u&uploads=");
  CHECK(query(S3Request::part("k", "u/+", 7, {}, 0)) == "partNumber=7&uploadId=u%2F%2B");
  CHECK(S3Request::copy("b", "x y/ü", "to").headers == distrib::NamedTexts{{"copy-source", "/b/x%20y/%C3%BC"}});
  CHECK(S3Request::copy_part("b", "f", "t", "u", 2, 10, 5).headers.back().second == "bytes=10-14");
}

TEST_CASE("S3Request: XML bodies", "[remote][s3]") {
  const std::vector<distrib::S3Part> parts{{1, "\"a&b\"", 0xE3069283U}, {2, "\"c\"", std::nullopt}};
  CHECK(S3Request::complete("k", "u", parts, 1).text ==
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Part><PartNumber>1</PartNumber>"
        "<ETag>&quot;a&amp;b&quot;</ETag><ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part><Part><PartNumber>2"
        "</PartNumber><ETag>&quot;c&quot;</ETag></Part></CompleteMultipartUpload>");
  const std::vector<std::string> keys{"a<b", "c\r&\"d"};
  const std::string text = S3Request::remove_many(keys).text;
  distrib::XmlReader reader{text};
  std::vector<std::string> read;
  reader.next();
  REQUIRE(reader.for_each_child([&](std::string_view name) {
    if (name == "Object") reader.for_each_child([&](std::string_view) { read.push_back(reader.element_text()); });
    else reader.skip();
  }));
  CHECK(read == keys);
}

TEST_CASE("S3Request: which headers of the options belong to a kind", "[remote][s3]") {
  CHECK(S3Request::put("k", {}, 0, "").makes_object());
  CHECK(S3Request::create("k", "").makes_object());
  CHECK_FALSE(S3Request::part("k", "u", 1, {}, 0).makes_object());
  CHECK(S3Request::part("k", "u", 1, {}, 0).touches_bytes());
  CHECK_FALSE(S3Request::list("", "").touches_bytes());
  CHECK(S3Request::create("k", "").answer_root() == "InitiateMultipartUploadResult");
  CHECK(S3Request::head("k").answer_root().empty());
}
