// Text from files in messages: what a terminal would obey is escaped, and what people write is not.
#include "data/io/utf8.h"

#include "tests/support/catch.h"

using kith::quoted;

TEST_CASE("text that people write stays as it is", "[quoted]") {
  for (const char* text :
       {"", "a b,c", "sepal length (cm)", "\\x1b", "na\xc3\xafve", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    CHECK(quoted(text) == text);
  }
}

TEST_CASE("control characters, changes of direction and bytes that are not UTF-8 are escaped", "[quoted]") {
  CHECK(quoted("a\x1b[31m\nb\r\t\x7f") == "a\\x1b[31m\\nb\\x0d\\x09\\x7f");
  CHECK(quoted(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(quoted("\xc2\x9b"
               "31m") == "\\x9b31m");  // the control character CSI
  CHECK(quoted("\xe2\x80\xae"
               "exe.csv") == "\\u202eexe.csv");  // right to left
  CHECK(quoted("\xe2\x80\xa8") == "\\u2028");    // line separator
  CHECK(quoted("\x9b"
               "31m \xff \xc3") == "\\x9b31m \\xff \\xc3");  // Latin-1; the end of a character is missing
  CHECK(quoted("\xc0\x9b") == "\\xc0\\x9b");                 // a control character in more bytes than needed
  CHECK(quoted("\xed\xa0\x80") == "\\xed\\xa0\\x80");        // a surrogate
}

TEST_CASE("characters that show nothing are escaped", "[quoted]") {
  CHECK(quoted("a\xe2\x80\x8b"
               "b") == "a\\u200bb");                                                // a blank without width
  CHECK(quoted("\xef\xbb\xbfname") == "\\ufeffname");                               // a byte order mark
  CHECK(quoted("co\xc2\xadop") == "co\\u00adop");                                   // a soft hyphen
  CHECK(quoted("x\xe2\x81\xa0y") == "x\\u2060y");                                   // a word joiner
  CHECK(quoted("\xe3\x85\xa4") == "\\u3164");                                       // a filler of Hangul
  CHECK(quoted("\xf3\xa0\x81\x81x") == "\\U000e0041x");                             // a tag
  CHECK(quoted("caf\x65\xcc\x81 \xe3\x80\x80") == "caf\x65\xcc\x81 \xe3\x80\x80");  // an accent, a wide blank
}

TEST_CASE("a long text is cut between characters", "[quoted]") {
  CHECK(quoted("abcdef", 6) == "abcdef");
  CHECK(quoted("abcdefg", 6) == "abcdef...");
  CHECK(quoted("ab\xe2\x82\xac", 4) == "ab...");
  CHECK(quoted(std::string(100'000, 'x')).size() == 203);
}
