// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_upload_core.hpp>

#include "support/catch.hpp"

using distrib::S3UploadCore;

TEST_CASE("S3UploadCore: parts in any order, each as often as necessary", "[remote][s3]") {
  S3UploadCore upload{"k", "n"};
  CHECK(upload.create().nonce == "n");
  upload.begun("id");
  CHECK_FALSE(upload.is_whole());
  CHECK(upload.add(5) == 1);
  CHECK(upload.add(3) == 2);
  CHECK(upload.bytes() == 8);
  upload.sent(2, "\"b\"", 7U);
  CHECK_FALSE(upload.is_whole());
  upload.sent(1, "\"x\"", std::nullopt);
  upload.sent(1, "\"a\"", std::nullopt);  // sent once more
  CHECK(upload.is_whole());
  const auto complete = upload.complete(9U);
  CHECK(complete.query == distrib::NamedTexts{{"uploadId", "id"}});
  CHECK(complete.crc == 9U);
  CHECK_THAT(complete.text,
             ContainsSubstring("<PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>") &&
                 ContainsSubstring("<PartNumber>2</PartNumber><ETag>&quot;b&quot;</ETag><ChecksumCRC32C>"));
  CHECK(upload.abort().method() == "DELETE");
}

TEST_CASE("S3UploadCore: at most 10,000 parts", "[remote][s3]") {
  S3UploadCore upload{"k", "n"};
  for (std::size_t i = 1; i <= S3UploadCore::most_parts; ++i) REQUIRE(upload.add(1) == i);
  CHECK(upload.add(1) == 0);
  CHECK(upload.parts() == 10'000);
}
