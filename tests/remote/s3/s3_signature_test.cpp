// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_signature.hpp>

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <distrib/core/json.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>

using distrib::AwsKeys;
using distrib::CanonicalRequest;
using distrib::HttpRequest;
using distrib::HttpUrl;
using distrib::JsonReader;
using distrib::JsonToken;
using distrib::NamedTexts;
using distrib::SignatureScope;
using distrib::UnixTime;

namespace {

/// A published signature: names of sigv4_vectors.json.
struct SignatureVector {
  std::map<std::string, std::string> texts;
  NamedTexts query;
  NamedTexts headers;
};

auto read_pairs(JsonReader& reader) -> NamedTexts {
  NamedTexts pairs;
  reader.next();
  while (reader.next() == JsonToken::begin_array) {
    reader.next();
    std::string name{reader.text()};
    reader.next();
    pairs.emplace_back(std::move(name), std::string{reader.text()});
    reader.next();
  }
  return pairs;
}

auto signature_vectors() -> std::vector<SignatureVector> {
  std::ifstream file{support::test_dir() + "/remote/s3/sigv4_vectors.json"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<SignatureVector> all;
  JsonReader reader{text};
  REQUIRE(reader.next() == JsonToken::begin_array);
  while (reader.next() == JsonToken::begin_object) {
    SignatureVector& vector = all.emplace_back();
    while (reader.next() == JsonToken::name) {
      const std::string name{reader.text()};
      if (name == "query") vector.query = read_pairs(reader);
      else if (name == "headers") vector.headers = read_pairs(reader);
      else if (reader.next() == JsonToken::string) vector.texts[name] = reader.text();
      else reader.skip();
    }
  }
  return all;
}

constexpr UnixTime may_2013{std::chrono::seconds{1'369'353'600}};  // 2013-05-24T00:00:00Z

auto header_of(const HttpRequest& request, const std::string& name) -> std::string {
  for (const auto& [found, value] : request.headers)
    if (found == name) return value;
  return "";
}

}  // namespace

TEST_CASE("signatures: ten published ones", "[remote][s3]") {
  const auto vectors = signature_vectors();
  REQUIRE(vectors.size() == 10);
  for (const SignatureVector& vector : vectors) {
    const auto& texts = vector.texts;
    INFO(texts.at("name"));
    const auto canonical =
        CanonicalRequest::make(texts.at("method"), texts.at("canonical_uri"), distrib::canonical_query(vector.query),
                               vector.headers, texts.at("payload_hash"));
    CHECK(canonical.text == texts.at("canonical_request"));
    CHECK(canonical.signed_headers == texts.at("signed_headers"));
    const SignatureScope scope{.region = texts.at("region"), .service = texts.at("service")};
    const std::string to_sign = distrib::string_to_sign(canonical, scope, texts.at("time"));
    CHECK(to_sign == texts.at("string_to_sign"));
    CHECK(distrib::signature_of(to_sign, texts.at("secret_key"), scope, texts.at("time")) == texts.at("signature"));
    if (texts.contains("key")) CHECK('/' + distrib::percent_encode(texts.at("key"), "/") == texts.at("canonical_uri"));
  }
}

TEST_CASE("sign_request: the request of the first published example", "[remote][s3]") {
  const AwsKeys keys{.access_key = "AKIAIOSFODNN7EXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  HttpRequest request{.url = HttpUrl::parse("https://examplebucket.s3.amazonaws.com/test.txt")};
  request.headers = {{"Range", "bytes=0-9"}, {"Accept-Encoding", "identity"}};  // the second one may change on the way
  distrib::sign_request(request, distrib::to_hex(distrib::sha256({})), keys, {}, may_2013);
  CHECK(header_of(request, "Host") == "examplebucket.s3.amazonaws.com");
  CHECK(header_of(request, "x-amz-date") == "20130524T000000Z");
  CHECK(header_of(request, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("sign_request: ports, tokens, nobody", "[remote][s3]") {
  HttpRequest request{.url = HttpUrl::parse("http://[::1]:9000/b/k?x=")};
  distrib::sign_request(request, distrib::unsigned_payload,
                        {.access_key = "A", .secret_key = "S", .session_token = "T"},
                        {.scheme = distrib::SignatureScheme::goog4}, may_2013);
  CHECK(header_of(request, "Host") == "[::1]:9000");
  CHECK(header_of(request, "x-goog-security-token") == "T");
  CHECK(header_of(request, "x-goog-content-sha256") == "UNSIGNED-PAYLOAD");
  CHECK_THAT(header_of(request, "Authorization"),
             ContainsSubstring("GOOG4-HMAC-SHA256 Credential=A/20130524/us-east-1/s3/goog4_request, SignedHeaders=host;"
                               "x-goog-content-sha256;x-goog-date;x-goog-security-token, Signature="));

  HttpRequest bearer{.url = HttpUrl::parse("https://storage.googleapis.com/b/k")};
  distrib::sign_request(bearer, "", {.bearer = "ya29.x"}, {}, may_2013);
  CHECK(header_of(bearer, "Authorization") == "Bearer ya29.x");
  CHECK(header_of(bearer, "Host") == "storage.googleapis.com");
  HttpRequest anonymous{.url = HttpUrl::parse("http://h/b/k")};
  distrib::sign_request(anonymous, "", {}, {}, may_2013);
  CHECK(anonymous.headers.size() == 1);
}

TEST_CASE("canonical headers: values are trimmed, runs of blanks are one", "[remote][s3]") {
  const auto canonical = CanonicalRequest::make("GET", "/", "", {{"X-Amz-B", "  a   b\t c "}, {"x-amz-a", ""}}, "p");
  CHECK(canonical.text == "GET\n/\n\nx-amz-a:\nx-amz-b:a b c\n\nx-amz-a;x-amz-b\np");
}
