// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_core.hpp>

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <fstream>
#include <map>

using distrib::Error;
using distrib::http_errc;
using distrib::HttpAnswer;
using distrib::HttpStep;
using distrib::HttpUrl;
using distrib::webhdfs_errc;
using distrib::WebHdfsCore;
using distrib::WebHdfsOptions;
using distrib::WebHdfsRequest;
using distrib::WebHdfsServer;
using Kind = HttpStep::Kind;

namespace {

const std::vector<HttpUrl> one_server{HttpUrl::parse("http://nn:9870")};
const std::vector<HttpUrl> two{HttpUrl::parse("http://nn1:9870"), HttpUrl::parse("http://nn2:9870")};
const WebHdfsOptions me{.user = "me", .retry = {.attempts = 4}};
const Error lost{http_errc::ended_early, "GET http://dn1:9864/x"};
const Error down{http_errc::unreachable, "GET http://nn:9870/x"};

auto exception(int status, const std::string& name) -> HttpAnswer {
  return {.status = status, .body = R"({"RemoteException":{"exception":")" + name + R"(","message":"because"}})"};
}
auto redirect(const std::string& to) -> HttpAnswer { return {.status = 307, .location = to}; }

/// Returns the next request, after a pause if there is one.
auto sent(WebHdfsCore& core) -> distrib::HttpRequest {
  HttpStep step = core.next();
  if (step.kind == Kind::wait) step = core.next();
  CHECK(step.kind == Kind::send);
  return step.request;
}

auto ends(WebHdfsCore& core, webhdfs_errc code) {
  CHECK(core.next().kind == Kind::failed);
  CHECK(core.error().code == code);
}

}  // namespace

TEST_CASE("WebHdfsCore: OPEN reads from the data node that the name node names", "[hadoop]") {
  WebHdfsCore core{WebHdfsRequest::open("/a b", 10, 5), one_server, me};
  CHECK(core.streams());
  CHECK(sent(core).url.text() == "http://nn:9870/webhdfs/v1/a%20b?op=OPEN&offset=10&length=5&user.name=me");
  const std::string location =
      "http://dn1:9864/webhdfs/v1/a%20b?op=OPEN&user.name=me&namenoderpcaddress=nn:8020&length=5&offset=10";
  core.ended(redirect(location), {});
  const auto second = sent(core);
  CHECK(second.method == "GET");
  CHECK(second.url.text() == location);
  CHECK(core.accept({.status = 200, .content_length = 5}, 5) == 5);
  core.ended({.status = 200, .content_length = 5}, {});
  CHECK(core.next().kind == Kind::done);
}

TEST_CASE("WebHdfsCore: OPEN continues at the same byte, without the lost data node", "[hadoop]") {
  WebHdfsCore core{WebHdfsRequest::open("/f", 100, 50), one_server, {.retry = {.attempts = 4}}};
  static_cast<void>(sent(core));
  core.ended(redirect("http://dn1:9864/x"), {});
  static_cast<void>(sent(core));
  CHECK(core.accept({.status = 200, .content_length = 50}, 20) == 20);
  core.ended({.status = 200, .content_length = 50}, lost);
  CHECK(core.next().kind == Kind::wait);
  CHECK(core.next().request.url.text() ==
        "http://nn:9870/webhdfs/v1/f?op=OPEN&offset=120&length=30&excludedatanodes=dn1");
  core.ended(redirect("http://dn2:9864/x"), {});
  static_cast<void>(sent(core));
  core.ended({}, down);
  CHECK_THAT(sent(core).url.text(), ContainsSubstring("&excludedatanodes=dn1,dn2"));
  core.ended(exception(403, "IOException"), {});  // all are excluded: try all of them once more
  CHECK(sent(core).url.text() == "http://nn:9870/webhdfs/v1/f?op=OPEN&offset=120&length=30");
  core.ended(redirect("http://dn1:9864/x"), {});
  static_cast<void>(sent(core));
  CHECK(core.accept({.status = 200}, 60) == 30);  // more than was requested
}

TEST_CASE("WebHdfsCore: asks again for the end of a short body, refuses a long one", "[hadoop]") {
  WebHdfsCore core{WebHdfsRequest::open("/f", 0, 50), one_server, {.retry = {.attempts = 2}}};
  static_cast<void>(sent(core));
  CHECK(core.accept({.status = 200, .content_length = 20}, 20) == 20);
  core.ended({.status = 200, .content_length = 20}, {});
  CHECK_THAT(sent(core).url.text(), ContainsSubstring("offset=20&length=30"));
  core.ended({.status = 200, .content_length = 0}, {});
  CHECK(core.next().kind == Kind::failed);
  CHECK(core.error().code == http_errc::short_body);
  CHECK(core.error().where == "http://nn:9870 OPEN /f (30 bytes are missing)");

  WebHdfsCore lied{WebHdfsRequest::open("/f", 0, 50), one_server, {}};
  static_cast<void>(sent(lied));
  CHECK(lied.accept({.status = 200, .content_length = 51}, 10) == 0);
  lied.ended({.status = 200, .content_length = 51}, {});
  ends(lied, webhdfs_errc::bad_answer);
}

TEST_CASE("WebHdfsCore: CREATE sends the bytes to the data node only", "[hadoop]") {
  const std::string bytes = "content";
  WebHdfsCore core{WebHdfsRequest::create("/f", distrib::as_bytes(bytes)), one_server, me};
  const auto first = sent(core);
  CHECK(first.method == "PUT");
  CHECK(first.url.text() == "http://nn:9870/webhdfs/v1/f?op=CREATE&overwrite=true&user.name=me");
  CHECK_FALSE(first.body);
  core.ended(redirect("http://dn1:9864/f?op=CREATE&createflag=&x"), {});
  const auto second = sent(core);
  CHECK(second.url.text() == "http://dn1:9864/f?op=CREATE&createflag=&x");
  REQUIRE(second.body);
  CHECK(distrib::as_text(*second.body) == "content");
  core.ended({}, lost);
  CHECK(core.maybe_done());
  const auto again = sent(core);
  CHECK_FALSE(again.body);
  CHECK_THAT(again.url.text(), ContainsSubstring("excludedatanodes=dn1"));
  core.ended(redirect("http://dn2:9864/f"), {});
  CHECK(sent(core).body);
  core.ended({.status = 201}, {});
  CHECK(core.next().kind == Kind::done);

  WebHdfsCore taken{WebHdfsRequest::create("/f", distrib::as_bytes(bytes)), one_server, me};
  static_cast<void>(sent(taken));
  taken.ended({.status = 201}, {});  // a server that does not redirect has made an empty file
  ends(taken, webhdfs_errc::bad_answer);
}

TEST_CASE("WebHdfsCore: HttpFS gets the bytes with the first request", "[hadoop]") {
  const WebHdfsOptions httpfs{.server = WebHdfsServer::httpfs, .user = "me"};
  const std::string bytes = "content";
  WebHdfsCore create{WebHdfsRequest::create("/f", distrib::as_bytes(bytes)), one_server, httpfs};
  const auto request = sent(create);
  CHECK(request.url.text() == "http://nn:9870/webhdfs/v1/f?op=CREATE&overwrite=true&data=true&user.name=me");
  REQUIRE(request.body);
  CHECK(request.body_type == "application/octet-stream");
  create.ended({.status = 201}, {});
  CHECK(create.next().kind == Kind::done);

  WebHdfsCore open{WebHdfsRequest::open("/f", 0, 3), one_server, httpfs};
  CHECK_THAT(sent(open).url.text(), !ContainsSubstring("data="));
  CHECK(open.accept({.status = 200}, 3) == 3);
  open.ended({.status = 200}, {});
  CHECK(open.next().kind == Kind::done);
}

TEST_CASE("WebHdfsCore: after a standby or an unreachable name node, asks the next one", "[hadoop]") {
  WebHdfsCore core{WebHdfsRequest::status("/f"), two, {.retry = {.attempts = 5}}};
  CHECK(sent(core).url.host == "nn1");
  core.ended(exception(403, "StandbyException"), {});
  HttpStep step = core.next();
  REQUIRE(step.kind == Kind::wait);
  CHECK(step.pause.count() == 0);  // no pause in the first round
  CHECK(sent(core).url.host == "nn2");
  core.ended({}, down);
  step = core.next();
  REQUIRE(step.kind == Kind::wait);
  CHECK(step.pause.count() > 0);
  CHECK(sent(core).url.host == "nn1");
  core.ended(exception(403, "StandbyException"), {});
  CHECK(sent(core).url.host == "nn2");
  core.ended({.status = 200, .body = "{}"}, {});
  CHECK(core.next().kind == Kind::done);
  CHECK(core.active() == 1);
  CHECK(core.body() == "{}");
  WebHdfsCore next{WebHdfsRequest::status("/f"), two, {}, core.active()};
  CHECK(sent(next).url.host == "nn2");

  WebHdfsCore none{WebHdfsRequest::status("/f"), two, {.retry = {.attempts = 3}}};
  for (const char* host : {"nn1", "nn2", "nn1"}) {
    CHECK(sent(none).url.host == host);
    none.ended(exception(403, "StandbyException"), {});
  }
  ends(none, webhdfs_errc::standby);
  CHECK(none.error().where == "http://nn1:9870 GETFILESTATUS /f (StandbyException: because)");
}

TEST_CASE("WebHdfsCore: repeats after busy answers, but not after final ones", "[hadoop]") {
  for (const HttpAnswer& busy :
       {exception(403, "RetriableException"), exception(403, "SafeModeException"), HttpAnswer{.status = 503},
        HttpAnswer{.status = 502}, HttpAnswer{.status = 500}, HttpAnswer{.status = 429}}) {
    CAPTURE(busy.status, busy.body);
    WebHdfsCore core{WebHdfsRequest::list("/"), one_server, {.retry = {.attempts = 3}}};
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(sent(core));
      core.ended(busy, {});
    }
    ends(core, webhdfs_errc::not_ready);
  }
  for (const auto& [answer, code] : {std::pair{exception(403, "AccessControlException"), webhdfs_errc::denied},
                                     {exception(404, "FileNotFoundException"), webhdfs_errc::no_such_file},
                                     {exception(401, "AuthenticationException"), webhdfs_errc::unauthenticated},
                                     {exception(403, "InvalidToken"), webhdfs_errc::unauthenticated},
                                     {exception(400, "IllegalArgumentException"), webhdfs_errc::refused},
                                     {exception(500, "SomethingException"), webhdfs_errc::refused},
                                     {HttpAnswer{.status = 401}, webhdfs_errc::unauthenticated},
                                     {HttpAnswer{.status = 403}, webhdfs_errc::denied},
                                     {HttpAnswer{.status = 404, .body = "<html>"}, webhdfs_errc::bad_answer},
                                     {HttpAnswer{.status = 400}, webhdfs_errc::bad_answer}}) {
    CAPTURE(answer.status, answer.body);
    WebHdfsCore core{WebHdfsRequest::list("/"), one_server, {}};
    static_cast<void>(sent(core));
    core.ended(answer, {});
    ends(core, code);
  }
}

TEST_CASE("WebHdfsCore: refuses redirects in a circle, without a target, or from https to http", "[hadoop]") {
  WebHdfsCore loop{WebHdfsRequest::open("/f", 0, 1), one_server, {}};
  const auto first = sent(loop);
  loop.ended(redirect("http://dn:1/a"), {});
  static_cast<void>(sent(loop));
  loop.ended(redirect(first.url.text()), {});
  CHECK(loop.next().kind == Kind::failed);
  CHECK(loop.error().code == http_errc::redirect_loop);

  WebHdfsCore far{WebHdfsRequest::open("/f", 0, 1), one_server, {}};
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(sent(far));
    far.ended(redirect("http://dn:1/" + std::to_string(i)), {});
  }
  CHECK(far.next().kind == Kind::failed);
  CHECK(far.error().code == http_errc::redirect_loop);

  WebHdfsCore nowhere{WebHdfsRequest::open("/f", 0, 1), one_server, {}};
  static_cast<void>(sent(nowhere));
  nowhere.ended(redirect(""), {});
  CHECK(nowhere.next().kind == Kind::failed);
  CHECK(nowhere.error().code == http_errc::bad_redirect);

  WebHdfsCore out{WebHdfsRequest::open("/f", 0, 1), {HttpUrl::parse("https://nn:9871")}, {.token = "secret"}};
  CHECK_THAT(sent(out).url.text(), ContainsSubstring("delegation=secret"));
  out.ended(redirect("http://dn:1/a"), {});
  CHECK(out.next().kind == Kind::failed);
  CHECK(out.error().code == http_errc::bad_redirect);
  CHECK_THAT(out.error().where, !ContainsSubstring("secret"));
}

TEST_CASE("WebHdfsCore: an empty part needs no request", "[hadoop]") {
  CHECK(WebHdfsCore{WebHdfsRequest::open("/f", 7, 0), one_server, {}}.next().kind == Kind::done);
}

// One line per case: name, status (of both steps), framing, connection, answer. Recorded with Hadoop 3.4.2.
TEST_CASE("WebHdfsCore: understands the answers of Hadoop 3.4.2", "[hadoop]") {
  const std::map<std::string, webhdfs_errc> meanings{
      {"FileAlreadyExistsException", webhdfs_errc::exists},
      {"ParentNotDirectoryException", webhdfs_errc::not_directory},
      {"IOException", webhdfs_errc::refused},
      {"IllegalArgumentException", webhdfs_errc::refused},
      {"FileNotFoundException", webhdfs_errc::no_such_file},
      {"PathIsNotEmptyDirectoryException", webhdfs_errc::not_empty},
  };
  std::ifstream contract{support::test_dir() + "/remote/webhdfs_contract.txt"};
  int cases = 0;
  int refusals = 0;
  for (std::string name, status, framing, connection, answer; contract >> name >> status >> framing >> connection;) {
    std::getline(contract, answer);
    answer.erase(0, answer.find_first_not_of(' '));
    CAPTURE(name, status, answer);
    ++cases;
    const std::string bytes = "x";
    const bool creates = name.starts_with("create");
    WebHdfsCore core{creates                    ? WebHdfsRequest::create("/f", distrib::as_bytes(bytes))
                     : name.starts_with("open") ? WebHdfsRequest::open("/f", 0, 1)
                                                : WebHdfsRequest::list("/f"),
                     one_server,
                     {.retry = {.attempts = 1}}};
    static_cast<void>(sent(core));
    int last = std::stoi(status);
    if (const std::size_t second = status.find('>'); second != std::string::npos) {
      CHECK(last == 307);
      core.ended(redirect("http://dn:9864/f"), {});
      static_cast<void>(sent(core));
      last = std::stoi(status.substr(second + 1));
    }
    if (!answer.starts_with("RemoteException:")) {
      CHECK(last < 300);
      continue;
    }
    ++refusals;
    const std::string java = answer.substr(16, answer.find(':', 16) - 16);
    core.ended(exception(last, java), {});
    ends(core, meanings.at(java));
    CHECK_THAT(core.error().where, ContainsSubstring(java + ": because"));
  }
  CHECK(cases == 40);
  CHECK(refusals == 14);
}
