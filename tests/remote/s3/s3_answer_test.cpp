// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_answer.hpp>

#include "support/catch.hpp"

using distrib::S3Refusal;

TEST_CASE("S3Refusal: code, region and request id; no message", "[remote][s3]") {
  const auto refusal = S3Refusal::parse(
      "<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is "
      "wrong</Message><Region>eu-west-1</Region><RequestId>4442587FB7D0A2F9</RequestId><HostId>x/y=</HostId></Error>");
  REQUIRE(refusal);
  CHECK(refusal->code == "AuthorizationHeaderMalformed");
  CHECK(refusal->region == "eu-west-1");
  CHECK(refusal->request_id == "4442587FB7D0A2F9");
  CHECK(S3Refusal::parse("<Error><Code>No\nSuch \x1b[31mKey</Code></Error>")->code == "NoSuch31mKey");
  for (const char* body :
       {"", "<html><Code>x</Code></html>", "<Error><Code></Code></Error>", "<Error><Code>x</Code>", "{\"Code\":\"x\"}"})
    CHECK_FALSE(S3Refusal::parse(body));
}

TEST_CASE("parse_s3_list: objects, prefixes, pages, encoded keys", "[remote][s3]") {
  std::error_code ec;
  const std::string body =
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Prefix>a</Prefix>"
      "<KeyCount>2</KeyCount><IsTruncated>true</IsTruncated><NextContinuationToken>1/x==</NextContinuationToken>"
      "<Contents><Key>a+b%2B</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>&quot;e1&quot;</ETag>"
      "<Generation>17</Generation><Size>10</Size><Owner><ID>1</ID></Owner></Contents>"
      "<Contents><Key>a%26</Key><Size>0</Size></Contents><CommonPrefixes><Prefix>a%2Fl/</Prefix></CommonPrefixes>";
  auto page = distrib::parse_s3_list(body + "</ListBucketResult>", false, ec);
  CHECK_FALSE(ec);
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0] == distrib::ObjectInfo{"a+b%2B", 10, "\"e1\"", 1'369'353'600});
  CHECK(page.objects[1].bytes == 0);
  CHECK(page.prefixes == std::vector<std::string>{"a%2Fl/"});
  CHECK(page.next == "1/x==");

  page = distrib::parse_s3_list(body + "<EncodingType>url</EncodingType></ListBucketResult>", true, ec);
  CHECK_FALSE(ec);
  CHECK(page.objects[0].key == "a b+");
  CHECK(page.objects[0].version == "17");
  CHECK(page.objects[1].key == "a&");
  CHECK(page.prefixes == std::vector<std::string>{"a/l/"});

  for (const char* wrong : {"", "<Error><Code>x</Code></Error>", "<ListBucketResult>", "<html></html>",
                            "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
                            "<ListBucketResult><Contents><Key>k</Key></Contents></ListBucketResult>",
                            "<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>",
                            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    CHECK(distrib::parse_s3_list(wrong, false, ec).objects.empty());
    CHECK(ec == distrib::s3_errc::bad_answer);
  }
  page = distrib::parse_s3_list(
      "<ListBucketResult><IsTruncated>false</IsTruncated><NextContinuationToken>t"
      "</NextContinuationToken></ListBucketResult>",
      false, ec);
  CHECK_FALSE(ec);
  CHECK(page.next.empty());
}

TEST_CASE("parse_s3_uploads: pages of uploads", "[remote][s3]") {
  std::error_code ec;
  const auto page = distrib::parse_s3_uploads(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextKeyMarker>a%20b"
      "</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker><Upload><Key>a%20b</Key><UploadId>u2</UploadId>"
      "<Initiator><ID>x</ID></Initiator></Upload></ListMultipartUploadsResult>",
      ec);
  CHECK_FALSE(ec);
  CHECK(page.uploads == std::vector<distrib::ObjectUpload>{{"a b", "u2"}});
  CHECK(page.next_key == "a b");
  CHECK(page.next_id == "u2");
  for (const char* wrong :
       {"", "<ListMultipartUploadsResult><Upload><Key>k</Key></Upload></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>"}) {
    CHECK(distrib::parse_s3_uploads(wrong, ec).uploads.empty());
    CHECK(ec);
  }
}

TEST_CASE("answers to Create, Complete, Copy and DeleteObjects", "[remote][s3]") {
  std::error_code ec;
  CHECK(distrib::parse_s3_upload_id("<InitiateMultipartUploadResult><Bucket>b</Bucket><UploadId>u</UploadId>"
                                    "</InitiateMultipartUploadResult>",
                                    ec) == "u");
  CHECK_FALSE(ec);
  CHECK(distrib::parse_s3_completed("\n <CompleteMultipartUploadResult><ETag>\"e-2\"</ETag>"
                                    "</CompleteMultipartUploadResult>",
                                    ec) == "\"e-2\"");
  CHECK_FALSE(ec);
  CHECK(distrib::parse_s3_copied("<CopyPartResult><ETag>e</ETag></CopyPartResult>", ec) == "e");
  CHECK(distrib::parse_s3_copied("<CopyObjectResult><ETag>e</ETag></CopyObjectResult>", ec) == "e");
  CHECK_FALSE(ec);
  for (const char* wrong : {"", "<Error><Code>InternalError</Code></Error>", "<CopyObjectResult></CopyObjectResult>"}) {
    CHECK(distrib::parse_s3_copied(wrong, ec).empty());
    CHECK(ec == distrib::s3_errc::bad_answer);
    CHECK(distrib::parse_s3_completed(wrong, ec).empty());
    CHECK(ec);
    CHECK(distrib::parse_s3_upload_id(wrong, ec).empty());
    CHECK(ec);
  }
  CHECK(distrib::parse_s3_deleted("<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>", ec).empty());
  CHECK_FALSE(ec);
  CHECK(distrib::parse_s3_deleted("<DeleteResult><Error><Key>n</Key><Code>NoSuchKey</Code></Error><Error><Key>a</Key>"
                                  "<Code>AccessDenied</Code></Error></DeleteResult>",
                                  ec) == "a (AccessDenied)");
  CHECK_FALSE(ec);
  CHECK(distrib::parse_s3_deleted("<DeleteResult>", ec).empty());
  CHECK(ec);
}
