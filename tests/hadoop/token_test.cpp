// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/token.hpp>

#include <distrib/hadoop/error.hpp>

#include "support/catch.hpp"

#include <string>
#include <system_error>

using distrib::as_bytes;
using distrib::hadoop_errc;
using distrib::hadoop::token_digest;
using distrib::hadoop::token_digest_matches;

TEST_CASE("token: the first case of RFC 4231 and a key longer than a block, by each hash", "[hadoop][token]") {
  const std::string key(20, '\x0b');
  const std::string long_key(200, 'k');
  const char* const right[][2] = {
      {"thcxhlUFcmTii8C2+zeMjvFGvgA=", "onELAuRtDvr1p+iHUBgK52ibHyE="},
      {"sDRMYdjbOFNcqK/OrwvxK4gdwgDJgz2nJuk3bC4yz/c=", "lj/NsrBQJapBJ21jMP5t7CGUon8PYCKKF5BDwVAOWLs="},
      {"r9A5RNhIlWJrCCX0q0aQfxX52tvkEB7GgqoDTHzrxZz66p6pB27ef0rxUuiy+py2",
       "pgiXmGxMuNnfxlUbUqmoOT6/hbs9hroQtuhJ/pw0BkV6UuOz3S6YpfWfXGQI0Qj0"},
      {"h6p83qXvYZ1P8LQkGh1ssCN59OLOTsJ4etCzBUXhfN7aqDO31rinAgOLJ06uo/Tkvp2RTuth8XAuaWwgOhJoVA==",
       "AQFr7aZeWSAuUWjraOlMu4wX0wS9hpS9/h72C+6w2usgxFnpSHoiHFn/Z4aFazJ1cbh2PpEkp8DDOa6RSfFctA=="}};
  for (const auto& [digest, of_long] : right) {
    const std::size_t characters = std::string{digest}.size();
    CHECK(token_digest(as_bytes(key), "Hi There", characters) == digest);
    CHECK(token_digest(as_bytes(long_key), "Hi There", characters) == of_long);
    std::error_code ec;
    CHECK(token_digest_matches(as_bytes(key), "Hi There", digest, ec));
    CHECK(!token_digest_matches(as_bytes(key), "Hi there", digest, ec));
    CHECK(!token_digest_matches(as_bytes(long_key), "Hi There", digest, ec));
    std::string other = digest;
    other.back() ^= 1;
    CHECK(!token_digest_matches(as_bytes(key), "Hi There", other, ec));
    CHECK(!ec);
  }
}

TEST_CASE("token: digests of any other length are refused", "[hadoop][token]") {
  for (const std::size_t characters : {0U, 1U, 27U, 29U, 40U, 87U, 89U, 1000U}) {
    std::error_code ec;
    CHECK(token_digest({}, "", characters, ec).empty());
    CHECK(ec == hadoop_errc::unknown_digest);
    ec.clear();
    CHECK(!token_digest_matches({}, "", std::string(characters, 'a'), ec));
    CHECK(ec == hadoop_errc::unknown_digest);
  }
  CHECK_THROWS_AS(token_digest({}, "", 3), std::system_error);
}
