/**
 * @file fact_test.cpp
 *
 * Texts that ranks tell each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/core/fact.hpp>

#include "catch.hpp"

using namespace dasgd;

TEST_CASE("Texts are cut between characters", "[fact]")
{
  CHECK(FactText("") == "");
  const std::string fits(Fact::MaxText, 'x');
  CHECK(FactText(fits) == fits);
  CHECK(FactText(fits + "x") == fits.substr(3) + "...");

  // Characters of one to four bytes, from every place.
  for (const std::string character : { "x", "\u00e4", "\u20ac",
      "\U0001f600" })
  {
    std::string text;
    while (text.size() < 2 * Fact::MaxText)
      text += character;
    for (size_t begin = 0; begin < 8; ++begin)
    {
      const std::string given = std::string(begin, '-') + text;
      const std::string cut = FactText(given);
      CHECK(cut.size() <= Fact::MaxText);
      CHECK(cut.size() > Fact::MaxText - character.size());
      const size_t kept = cut.size() - 3;
      CHECK((kept - begin) % character.size() == 0);
      CHECK(cut == given.substr(0, kept) + "...");
    }
  }

  // What is no UTF-8 at all is cut all the same.
  const std::string bytes(2 * Fact::MaxText, '\x80');
  CHECK(FactText(bytes) == bytes.substr(0, Fact::MaxText - 6) + "...");
}
