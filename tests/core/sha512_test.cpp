// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/sha512.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("sha512: vectors of FIPS 180-4, and lengths around a block", "[core][sha512]") {
  struct Row {
    std::string text;
    const char* digest;
    const char* short_digest;
  };
  const Row rows[] = {
      {"",
       "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
       "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
       "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
       "274edebfe76f65fbd51ad2f14898b95b"},
      {"abc",
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
       "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
       "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
       "8086072ba1e7cc2358baeca134c825a7"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
       "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445",
       "3391fdddfc8dc7393707a65b1b4709397cf8b1d162af05abfe8f450de5f36bc6"
       "b0455a8520bc4e6f5fe95b1fe3c8452b"},
      {std::string(111, 'x'),
       "9a2a120825c2319867758ec277924f6faa254968bf752046dacdd948d8ad299b"
       "10359fd04bfd7d3810b5fa1b16a294236138baff981cbb85248478053ac4d3dd",
       "dfec6588f894c2b089119e1884a23941e5aa69ed38702839cf7352ac6d155d31"
       "5693bb5d26b7468d8b69ecf4631ef419"},
      {std::string(112, 'x'),
       "a3722b515ef40c910f2419f6e0da8ca51d410114ce6272faae64045f9e9f630e"
       "7fa8dd5a3243c9860b899d148c3da4bc0f9e07454542604d030bb55531fe0d5b",
       "d8489693bc428374931aedf508740398d9d4a92887116fecb2fcdd91c68b9db3"
       "29fc4a474e05e78c3eb34e649a6b5c77"},
      {std::string(127, 'x'),
       "1d5a8893e7b7ed83d485d26f88cfb846f3760279916976fe538e539fc16f7cd1"
       "9ba3e1c2cd5fda78749a74205755cdf694e8fa90b2bfed8815f406af76c1d7bf",
       "7f90015607d4c124f9b89bea8aa5b246ebfc792cda7ddf8bd6dcf69f9ff8bbdc"
       "cbcbb32cebaa0b03fc93f10b61bde2a5"},
      {std::string(128, 'x'),
       "e2e22f8422b54b06e35c3ea30a383d1de7a8fbc27992923074103117020d8dd7"
       "024c3ecf7d6d1a15a6de5a75ff32fb486b9e8ced4c02ffe05822bf2cb734d0e0",
       "e660584956c8b1df44c92acb7c8eccfe0dca5255627c9fb44637c15363b772e5"
       "709edcf35b07bf43531951ab2fd51130"},
      {std::string(129, 'x'),
       "19015483ea99fa74728fd7b13adba6b729cfa4ab7c388573efa2641d2af0577f"
       "24dd51acbaeec41a7a11d10f6c4e68a3b90e7b2348c678486a4365c9d9101cdd",
       "550bbedde5970254cd884182ac59cb3d4269183d168a44c93bb7373880269fb3"
       "729d74fe39a372a9972f6abfa8f77f50"},
      {std::string(239, 'x'),
       "805c40517b44cef414a06c632b4ee9c21d34c85a84c3f9530274db86e2a3e38c"
       "b0e54025666b925426bd6860f81538abbfab13011e85767d814a245d232a6044",
       "831b8db491e9f1ce281f814dbfaa770446f3d2286b51395f14ea02cb34222dd9"
       "4f6d5003d359ca575c55064a7bf8b1d7"},
      {std::string(240, 'x'),
       "3e05caa7e0fddab685e6052bd902c316505180504344d00b1217e1349a532d1d"
       "0e5ce4b24d69eea3aca369dc16d8bbdf872b2fe1770e0e1aad22f84e0519bc6c",
       "2c12b66c79b060be97e4949a0529db684f46d7949866f6d1096a22e621c60a9c"
       "1fbc1959d69dcfb08e88d869037eb048"},
      {std::string(256, 'x'),
       "03748e1db37e66afeab7f7e93bd7716ae4379158fcc1f7846e49c061e99b5891"
       "b55ee7f808bd039b1deef9d0161f390531d8d08654679405ed887ed93058e3b2",
       "8901320af24d5ce3519d4c956daf67e0b83c28c3428665f6da4669fb6e0e7dfc"
       "1195d4a626cbc868a735b1cc0d8499e9"},
      {std::string(1'000'000, 'a'),
       "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
       "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
       "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b"
       "07b8b3dc38ecc4ebae97ddd87f3d8985"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text.size());
    distrib::Sha512 whole;
    whole.update(distrib::as_bytes(row.text));
    CHECK(distrib::to_hex(whole.finish()) == row.digest);
    distrib::Sha384 pieces;
    for (std::size_t at = 0; at < row.text.size(); at += 7)
      pieces.update(distrib::as_bytes(std::string_view{row.text}.substr(at, 7)));
    CHECK(distrib::to_hex(pieces.finish()) == row.short_digest);
  }
}
