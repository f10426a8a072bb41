// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/aws_credentials_core.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using distrib::AwsCredentialsCore;
using distrib::AwsCredentialSources;
using distrib::AwsCredentialStep;
using distrib::HttpAnswer;
using distrib::HttpRequest;
using distrib::s3_errc;
using distrib::UnixTime;
using Kind = distrib::AwsCredentialStep::Kind;

namespace {

constexpr UnixTime credentials_start{1'800'000'000s};

auto sources_with(std::map<std::string, std::string, std::less<>> environment, const std::string& credentials = {},
                  const std::string& config = {}) -> AwsCredentialSources {
  AwsCredentialSources sources{.environment = {std::move(environment)}};
  sources.profiles.add_config(config);
  sources.profiles.add_credentials(credentials);
  return sources;
}

auto said(int status, std::string body) -> HttpAnswer {
  HttpAnswer answer{.status = status};
  answer.body = std::move(body);
  return answer;
}

auto requested(AwsCredentialsCore& core) -> AwsCredentialStep {
  AwsCredentialStep step = core.next(credentials_start);
  INFO(core.error().where);
  REQUIRE(step.kind == Kind::send);
  return step;
}

auto body_of(const HttpRequest& request) -> std::string { return std::string{distrib::as_text(*request.body)}; }

auto header_in(const HttpRequest& request, const std::string& name) -> std::string {
  for (const auto& [found, value] : request.headers)
    if (found == name) return value;
  return "";
}

auto failed_with(AwsCredentialsCore& core) -> s3_errc {
  REQUIRE(core.next(credentials_start).kind == Kind::failed);
  CHECK_THAT(core.error().where, !ContainsSubstring("SECRET"));
  return static_cast<s3_errc>(core.error().code.value());
}

auto role_answer(const std::string& action, const std::string& key) -> std::string {
  return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
         "Result><Credentials><AccessKeyId>" + key +
         "</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey><SessionToken>SECRET-T</SessionToken><Expiration>"
         "2027-01-15T09:00:00Z</Expiration></Credentials></" +
         action + "Result><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></" + action + "Response>";
}

constexpr const char* json_keys =
    R"({"Code":"Success","Version":1,"AccessKeyId":"J","SecretAccessKey":"SECRET","Token":"T","SessionToken":"S",)"
    R"("Expiration":"2027-01-15T09:00:00Z"})";

}  // namespace

TEST_CASE("AwsCredentialsCore: the order of the sources", "[remote][s3]") {
  const std::string file =
      "[default]\naws_access_key_id=F\naws_secret_access_key=SECRET\n"
      "[other]\naws_access_key_id=O\naws_secret_access_key=SECRET\n";
  std::map<std::string, std::string, std::less<>> all{
      {"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", "SECRET"},
      {"AWS_SESSION_TOKEN", "T"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
      {"AWS_ROLE_ARN", "arn"},    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/c"}};
  AwsCredentialSources sources = sources_with(all, file);
  sources.keys = distrib::AwsKeys{.access_key = "P", .secret_key = "SECRET"};
  CHECK(AwsCredentialsCore{sources}.keys().access_key == "P");
  sources.keys.reset();
  AwsCredentialsCore environment{sources};
  CHECK(environment.next(credentials_start).kind == Kind::done);
  CHECK(environment.keys().access_key == "E");
  CHECK(environment.keys().session_token.text() == "T");
  sources.profile = "other";  // named by the program: before the environment
  CHECK(AwsCredentialsCore{sources}.keys().access_key == "O");
  sources.profile.clear();
  all.erase("AWS_ACCESS_KEY_ID");
  sources.environment.values = all;
  AwsCredentialsCore web{sources};
  const auto reads = web.next(credentials_start);
  CHECK(reads.kind == Kind::read);
  CHECK(reads.name == "/token");
  all.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  sources.environment.values = all;
  CHECK(AwsCredentialsCore{sources}.keys().access_key == "F");
  all["AWS_PROFILE"] = "other";
  sources.environment.values = all;
  CHECK(AwsCredentialsCore{sources}.keys().access_key == "O");
  all.erase("AWS_PROFILE");
  sources = sources_with(all, "[default]\nregion=x\n");
  AwsCredentialsCore container{sources};
  CHECK(requested(container).request.url.text() == "http://169.254.170.2:80/v2/c");
  all.clear();
  sources.environment.values = all;
  AwsCredentialsCore machine{sources};
  CHECK(requested(machine).request.url.text() == "http://169.254.169.254:80/latest/api/token");
  sources.environment.values = {{"AWS_EC2_METADATA_DISABLED", "true"}};
  AwsCredentialsCore none{sources};
  CHECK(failed_with(none) == s3_errc::no_credentials);
  CHECK_THAT(none.error().where, ContainsSubstring("AWS_ACCESS_KEY_ID") && ContainsSubstring("~/.aws/credentials"));
}

TEST_CASE("AwsCredentialsCore: a web identity", "[remote][s3]") {
  AwsCredentialsCore core{
      sources_with({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}, {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"}})};
  CHECK(core.next(credentials_start).kind == Kind::read);
  core.has_read("SECRET-JWT\n", {});
  const HttpRequest request = requested(core).request;
  CHECK(request.url.text() == "https://sts.us-east-1.amazonaws.com:443/");
  CHECK(request.method == "POST");
  CHECK(header_in(request, "Authorization").empty());  // not signed
  CHECK(body_of(request) ==
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName="
        "distrib&Version=2011-06-15&WebIdentityToken=SECRET-JWT");
  core.answered(said(503, ""), {});
  CHECK(core.next(credentials_start).kind == Kind::wait);
  static_cast<void>(requested(core));
  core.answered(said(200, role_answer("AssumeRoleWithWebIdentity", "W")), {});
  CHECK(core.next(credentials_start).kind == Kind::done);
  CHECK(core.keys().access_key == "W");
  CHECK(core.keys().session_token.text() == "SECRET-T");
  CHECK(core.keys().expires == credentials_start + 1h);

  AwsCredentialsCore refused{sources_with({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}, {"AWS_ROLE_ARN", "arn"}})};
  static_cast<void>(refused.next(credentials_start));
  refused.has_read("SECRET-JWT", {});
  static_cast<void>(requested(refused));
  refused.answered(said(403,
                        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>SECRET</Message></Error>"
                        "</ErrorResponse>"),
                   {});
  CHECK(failed_with(refused) == s3_errc::bad_credentials);
  CHECK_THAT(refused.error().where, ContainsSubstring("AWS_ROLE_ARN: status 403 AccessDenied"));
  for (const char* text : {"", "a\nb"}) {
    AwsCredentialsCore wrong{sources_with({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}, {"AWS_ROLE_ARN", "arn"}})};
    static_cast<void>(wrong.next(credentials_start));
    wrong.has_read(text, {});
    CHECK(failed_with(wrong) == s3_errc::bad_credentials);
    CHECK_THAT(wrong.error().where, ContainsSubstring("token file /t"));
  }
}

TEST_CASE("AwsCredentialsCore: a server of roles is asked over TLS, or at this machine", "[remote][s3]") {
  const auto code_at = [](const std::string& server, bool allowed) {
    AwsCredentialSources sources = sources_with(
        {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}, {"AWS_ROLE_ARN", "arn"}, {"AWS_ENDPOINT_URL_STS", server}});
    sources.tokens_without_tls = allowed;
    AwsCredentialsCore core{sources};
    static_cast<void>(core.next(credentials_start));
    core.has_read("SECRET-JWT", {});
    return core.next(credentials_start).kind == Kind::send ? std::error_code{} : core.error().code;
  };
  CHECK(code_at("http://sts.example", false) == s3_errc::no_tls);
  CHECK(code_at("http://127.sts.example", false) == s3_errc::no_tls);
  CHECK_FALSE(code_at("http://sts.example", true));
  CHECK_FALSE(code_at("http://127.0.0.1:1", false));
  CHECK_FALSE(code_at("https://sts.example", false));
  CHECK(code_at("sts.example", false) == s3_errc::bad_credentials);
}

TEST_CASE("AwsCredentialsCore: roles of profiles, one from another", "[remote][s3]") {
  const std::string config =
      "[profile base]\nregion=x\n[profile one]\nrole_arn=arn:1\nsource_profile=base\nexternal_id=ex\n"
      "[profile two]\nrole_arn=arn:2\nsource_profile=one\nrole_session_name=me\n"
      "[profile self]\nrole_arn=arn:3\nsource_profile=self\naws_access_key_id=S\naws_secret_access_key=SECRET\n"
      "[profile a]\nrole_arn=r\nsource_profile=b\n[profile b]\nrole_arn=r\nsource_profile=a\n"
      "[profile lost]\nrole_arn=r\nsource_profile=nowhere\n[profile bare]\nrole_arn=r\n"
      "[profile sso]\nsso_start_url=https://x\n[profile tool]\ncredential_process=/bin/tool --json\n"
      "[profile web]\nrole_arn=arn:w\nweb_identity_token_file=/jwt\n";
  const std::string credentials = "[base]\naws_access_key_id=B\naws_secret_access_key=SECRET\n";
  const auto core_for = [&](const std::string& profile) {
    AwsCredentialSources sources = sources_with({{"AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1"}}, credentials, config);
    sources.profile = profile;
    return AwsCredentialsCore{sources};
  };
  AwsCredentialsCore two = core_for("two");
  HttpRequest request = requested(two).request;
  CHECK_THAT(body_of(request), ContainsSubstring("ExternalId=ex&RoleArn=arn%3A1&RoleSessionName=me"));
  CHECK_THAT(header_in(request, "Authorization"),
             ContainsSubstring("Credential=B/20270115/us-east-1/sts/aws4_request"));
  two.answered(said(200, role_answer("AssumeRole", "R1")), {});
  request = requested(two).request;
  CHECK_THAT(body_of(request), ContainsSubstring("RoleArn=arn%3A2"));
  CHECK_THAT(header_in(request, "Authorization"), ContainsSubstring("Credential=R1/"));
  CHECK(header_in(request, "x-amz-security-token") == "SECRET-T");
  two.answered(said(200, role_answer("AssumeRole", "R2")), {});
  CHECK(two.next(credentials_start).kind == Kind::done);
  CHECK(two.keys().access_key == "R2");

  AwsCredentialsCore self = core_for("self");
  CHECK_THAT(header_in(requested(self).request, "Authorization"), ContainsSubstring("Credential=S/"));
  AwsCredentialsCore web = core_for("web");
  CHECK(web.next(credentials_start).name == "/jwt");
  for (const auto& [profile, told] : std::map<std::string, std::string>{{"a", "circle"},
                                                                        {"lost", "no profile \"nowhere\""},
                                                                        {"bare", "without source_profile"},
                                                                        {"sso", "aws configure export-credentials"},
                                                                        {"missing", "\"missing\""}}) {
    AwsCredentialsCore core = core_for(profile);
    CHECK(failed_with(core) == s3_errc::bad_credentials);
    CHECK_THAT(core.error().where, ContainsSubstring(told));
  }
  AwsCredentialsCore tool = core_for("tool");
  const auto runs = tool.next(credentials_start);
  CHECK(runs.kind == Kind::run);
  CHECK(runs.name == "/bin/tool --json");
  tool.has_read(json_keys, {});
  CHECK(tool.next(credentials_start).kind == Kind::done);
  CHECK(tool.keys().session_token.text() == "S");
  AwsCredentialsCore broken = core_for("tool");
  static_cast<void>(broken.next(credentials_start));
  broken.has_read("SECRET", {});
  CHECK(failed_with(broken) == s3_errc::bad_credentials);
}

TEST_CASE("AwsCredentialsCore: a container's server", "[remote][s3]") {
  AwsCredentialsCore core{sources_with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
                                        {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/pod"}})};
  CHECK(core.next(credentials_start).name == "/pod");
  core.has_read("SECRET-POD\n", {});
  const auto step = requested(core);
  CHECK(step.at_once);
  CHECK(header_in(step.request, "Authorization") == "SECRET-POD");
  core.answered(said(200, json_keys), {});
  CHECK(core.next(credentials_start).kind == Kind::done);
  CHECK(core.keys().session_token.text() == "T");
  CHECK(core.keys().expires == credentials_start + 1h);

  for (const char* uri : {"http://10.0.0.1/x", "ftp://localhost", "http://evil.com/?http://127.0.0.1"}) {
    AwsCredentialsCore far{sources_with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", uri}})};
    CHECK(failed_with(far) == s3_errc::bad_credentials);
  }
  AwsCredentialsCore secure{sources_with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://10.0.0.1/x"}})};
  CHECK_FALSE(requested(secure).at_once);
  secure.answered(said(200, "<html>"), {});
  CHECK(failed_with(secure) == s3_errc::bad_credentials);
}

TEST_CASE("AwsCredentialsCore: the machine's server, IMDSv2", "[remote][s3]") {
  AwsCredentialsCore core{sources_with({})};
  HttpRequest request = requested(core).request;
  CHECK(request.method == "PUT");
  CHECK(header_in(request, "X-aws-ec2-metadata-token-ttl-seconds") == "21600");
  core.answered(said(200, "IMDS-TOKEN"), {});
  request = requested(core).request;
  CHECK(request.url.target == "/latest/meta-data/iam/security-credentials/");
  CHECK(header_in(request, "X-aws-ec2-metadata-token") == "IMDS-TOKEN");
  core.answered(said(200, "my-role\n"), {});
  CHECK(requested(core).request.url.target == "/latest/meta-data/iam/security-credentials/my-role");
  core.answered(said(200, json_keys), {});
  CHECK(core.next(credentials_start).kind == Kind::done);
  CHECK(core.keys().access_key == "J");

  AwsCredentialsCore silent{sources_with({})};
  static_cast<void>(requested(silent));
  silent.answered({}, {distrib::http_errc::timed_out, "h"});
  CHECK(failed_with(silent) == s3_errc::no_credentials);  // after one try
  CHECK_THAT(silent.error().where, ContainsSubstring("hop limit"));
  AwsCredentialsCore roleless{sources_with({})};
  static_cast<void>(requested(roleless));
  roleless.answered(said(200, "T"), {});
  static_cast<void>(requested(roleless));
  roleless.answered(said(404, ""), {});
  CHECK(failed_with(roleless) == s3_errc::no_credentials);
}

TEST_CASE("AwsCredentialsCore: Google's metadata server", "[remote][s3]") {
  AwsCredentialSources sources = sources_with({{"GCE_METADATA_HOST", "127.0.0.1:81"}, {"AWS_ACCESS_KEY_ID", "E"}});
  sources.gcs = true;
  AwsCredentialsCore core{sources};
  const HttpRequest request = requested(core).request;
  CHECK(request.url.text() == "http://127.0.0.1:81/computeMetadata/v1/instance/service-accounts/default/token");
  CHECK(header_in(request, "Metadata-Flavor") == "Google");
  core.answered(said(200, R"({"access_token":"ya29.SECRET","expires_in":3599,"token_type":"Bearer"})"), {});
  CHECK(core.next(credentials_start).kind == Kind::done);
  CHECK(core.keys().bearer.text() == "ya29.SECRET");
  CHECK(core.keys().expires == credentials_start + 3599s);
  for (const char* body : {"", "{}", R"({"access_token":"a\nb"})", R"({"access_token":7})"}) {
    AwsCredentialsCore wrong{sources};
    static_cast<void>(requested(wrong));
    wrong.answered(said(200, body), {});
    CHECK(failed_with(wrong) == s3_errc::bad_credentials);
  }
}

TEST_CASE("AwsCredentialsCore: credentials that could end a header's line are refused", "[remote][s3]") {
  AwsCredentialsCore core{sources_with({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}})};
  static_cast<void>(requested(core));
  core.answered(said(200, R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T\r\nX: y"})"), {});
  CHECK(failed_with(core) == s3_errc::bad_credentials);
}
