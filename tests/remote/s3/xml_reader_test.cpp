// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/xml_reader.hpp>

#include "support/catch.hpp"

using distrib::XmlReader;
using distrib::XmlToken;

namespace {

/// The tokens of a document in one line: "<a text >", "!" after an error.
auto xml_tokens(std::string_view document) -> std::string {
  XmlReader reader{document};
  std::string line;
  while (true) {
    switch (reader.next()) {
      case XmlToken::begin: line += '<' + std::string{reader.name()} + ' '; break;
      case XmlToken::end: line += "> "; break;
      case XmlToken::text: line += '\'' + reader.text() + "' "; break;
      case XmlToken::done: return line;
      case XmlToken::error: return line + '!';
    }
  }
}

}  // namespace

TEST_CASE("XmlReader: elements, text, attributes, what is skipped", "[remote][s3]") {
  CHECK(xml_tokens("<a/>") == "<a > ");
  CHECK(xml_tokens("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a x='1' y = \"<>/\"><b>t</b><c /></a>\n") ==
        "<a <b 't' > <c > > ");
  CHECK(xml_tokens("\xef\xbb\xbf<s3:a xmlns:s3=\"u\"><s3:b/></s3:a>") == "<a <b > > ");
  CHECK(xml_tokens("<a><!-- <b> --><![CDATA[<&>]]>x</a>") == "<a '<&>' 'x' > ");
  CHECK(xml_tokens("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#228;&#x20AC;&#x1F600;</a>") ==
        "<a '<>&\"'AB\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80' > ");
}

TEST_CASE("XmlReader: what is not XML, and what would grow", "[remote][s3]") {
  for (const char* document : {"",
                               "x",
                               "<",
                               "<a",
                               "<a>",
                               "<a></b>",
                               "<a/><b/>",
                               "<a/>x",
                               "</a>",
                               "<a x></a>",
                               "<a x=1/>",
                               "<a x=\"1/>",
                               "<a>&nbsp;</a>",
                               "<a>&#0;</a>",
                               "<a>&#xD800;</a>",
                               "<a>&#1114112;</a>",
                               "<a>&#;</a>",
                               "<a>&amp</a>",
                               "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
                               "<a><!DOCTYPE b></a>",
                               "<a><![CDATA[x</a>",
                               "<a><!-- x</a>",
                               "<![CDATA[x]]>",
                               "<>x</>",
                               "<a><?x</a>"}) {
    const std::string tokens = xml_tokens(document);
    INFO(document << ": " << tokens);
    CHECK(tokens.ends_with('!'));
  }
  std::string deep;
  for (int i = 0; i < 16; ++i) deep += "<a>";
  CHECK_FALSE(xml_tokens(deep + "x" + std::string(0, ' ')).find("'x'") == std::string::npos);
  CHECK(xml_tokens(deep + "<a>x").find("'x'") == std::string::npos);

  // A billion laughs: 10 entities of 10 references each.
  std::string bomb = "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol \"lol\">";
  for (int i = 1; i < 10; ++i) {
    bomb += "<!ENTITY lol" + std::to_string(i) + " \"";
    for (int j = 0; j < 10; ++j) bomb += "&lol" + (i == 1 ? std::string{} : std::to_string(i - 1)) + ";";
    bomb += "\">";
  }
  CHECK(xml_tokens(bomb + "]><Error><Code>&lol9;</Code></Error>") == "!");
}

TEST_CASE("XmlReader: the text of an element leaves out elements in it", "[remote][s3]") {
  XmlReader reader{"<a><b>1<c>2</c>3</b><d>4</d></a>"};
  REQUIRE(reader.next() == XmlToken::begin);
  std::string all;
  CHECK(reader.for_each_child(
      [&](std::string_view name) { all += std::string{name} + '=' + reader.element_text() + ' '; }));
  CHECK(all == "b=13 d=4 ");
  CHECK(reader.next() == XmlToken::done);
}
