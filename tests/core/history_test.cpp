/**
 * @file history_test.cpp
 *
 * Staleness of small histories worked out by hand, and files that are no
 * histories.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/report/history_trace.hpp>
#include <dasgd/staleness/loose_staleness.hpp>

#include <sstream>

using namespace dasgd;

namespace {

History Read(const std::string& text)
{
  std::istringstream stream(text);
  return ReadHistory(stream, "test");
}

//! What is said of a file that is no history.
std::string Validate(const std::string& text)
{
  try
  {
    Read(text);
  }
  catch (const std::runtime_error& e)
  {
    return e.what();
  }
  return "";
}

void CheckRefused(const std::string& text, const std::string& expected)
{
  INFO(text);
  CHECK(Validate(text).find(expected) != std::string::npos);
}

} // namespace

TEST_CASE("the staleness of Figure 1's kind, by hand", "[core]")
{
  // Rank 0 computes two gradients and then gets rank 1's first, which rank 1
  // computed knowing nothing: S = {a1, a2}.  Rank 1 applies its own, then both
  // of rank 0's: a1 belongs to an empty model, S = {b1}; a2 to {a1}: S = {b1}.
  const History history = Read("dasgd-history 1\nranks 2\n"
      "rank 0\nc 0 1\nc 1 2\na 2 2 1 1 100 1:1+1\n"
      "rank 1\nc 0 1.5\na 1.5 1.5 0 1 100 0:1+2\nend\n");
  const HistoryStaleness measured(history);
  CHECK(measured.Ranks()[0].tight.Sum() == 2);
  CHECK(measured.Ranks()[0].tight.Max() == 2);
  CHECK(measured.Ranks()[0].tight.Mean() == Approx(2.0 / 3));
  CHECK(measured.Ranks()[1].tight.Sum() == 2);
  CHECK(measured.Ranks()[1].tight.Max() == 1);
  // Nothing is ever applied before what it was computed from, so the loose one
  // is the same.
  CHECK(measured.Ranks()[0].loose.Sum() == 2);
  CHECK(measured.Ranks()[1].loose.Sum() == 2);
}

TEST_CASE("the loose staleness adds what missing gradients lacked", "[core]")
{
  // Rank 1 computes b1 knowing nothing, then b2 and gets a1; rank 2 applies a1
  // and b1, b2 and computes c1 from {a1, b1, b2}.  Rank 0 has a1, a2, a3 when
  // c1 comes, but b1 and b2 are late:
  //   S(c1) = {a2, a3} and {b1, b2}: 4.
  // b1 was computed at {} and b2 at {b1}; rank 0's a1 is missing there, so the
  // loose one has a1, too: 5.
  const History history = Read("dasgd-history 1\nranks 3\n"
      "rank 0\nc 0 1\nc 1 2\nc 2 3\na 3 3 2 1 100 2:1+1\n"
      "a 4 4 1 1 100 1:1+2\n"
      "rank 1\nc 0 1\nc 1 2\na 2 2 0 1 100 0:1+3\na 4 4 2 1 100 2:1+1\n"
      "rank 2\na 1 1 0 1 100 0:1+1\na 2 2 1 1 100 1:1+2\nc 2 3\n"
      "a 4 4 0 2 100 0:2+2\nend\n");
  HistoryStaleness measured(history);
  const VersionVector model = { 3, 0, 0 };
  const std::uint64_t* computed = measured.ComputedAt(2, 1);
  CHECK(computed[0] == 1);
  CHECK(computed[1] == 2);
  CHECK(computed[2] == 0);
  CHECK(Staleness(model.data(), computed, 3) == 4);
  CHECK(measured.Loose(model, computed) == 5);
}

TEST_CASE("a file that is no history is refused, and says where", "[core]")
{
  const std::string good = "dasgd-history 1\nranks 2\nrank 0\nc 0 1\n"
      "rank 1\na 1 1 0 1 100 0:1+1\nend\n";
  CHECK(Validate(good) == "");

  CheckRefused("", "test, line 1: not a history");
  CheckRefused("PNG\n", "not a history");
  CheckRefused("dasgd-history 2\n", "version 2 of the format");
  CheckRefused("dasgd-history 1\nranks 0\n", "line 2: expected \"ranks\"");
  CheckRefused("dasgd-history 1\nranks 99999999999\n", "expected \"ranks\"");
  CheckRefused("dasgd-history 1\nranks 99999999999999999999\n",
      "expected \"ranks\"");
  CheckRefused("dasgd-history 1\nranks 2 or 3\n", "expected \"ranks\"");
  CheckRefused("dasgd-history -18446744073709551615\n", "not a history");
  CheckRefused("dasgd-history 1\nranks 2\nrank 1\n", "expected \"rank 0\"");
  CheckRefused(good.substr(0, good.size() - 4), "expected \"end\"");
  CheckRefused("dasgd-history 1\nranks 2\nrank 0\nc 0 1\nend\n",
      "expected \"rank 1\"");

  const std::string rank = "dasgd-history 1\nranks 2\nrank 0\n";
  CheckRefused(rank + "x 0 1\n", "no event is called 'x'");
  CheckRefused(rank + "c 0\n", "expected seconds");
  CheckRefused(rank + "c 0 nan\n", "expected seconds");
  CheckRefused(rank + "c -1 1\n", "expected seconds");
  CheckRefused(rank + "c 0 1e300\n", "expected seconds");
  CheckRefused(rank + "c 2 1\n", "time runs backwards");
  CheckRefused(rank + "c 1 3\nc 2 4\n", "line 5: time runs backwards");
  CheckRefused(good + "more\n", "something follows the end");
  CheckRefused(rank + "s 0 1 1 0 100\n", "counted from 1");
  CheckRefused(rank + "c 1 2\nc 0 1\n", "line 5: time runs backwards");
  CheckRefused(rank + "c 0 1 7\n", "something follows");
  CheckRefused(rank + "c 0 1" + std::string(1, '\0') + " 7\n",
      "line 4: a line has a byte of zero");
  CheckRefused(rank + "s 0 1 2 1 100\n", "more than 1");
  CheckRefused(rank + "s 0 1 1\n", "expected ' ' and a number");
  CheckRefused(rank + "s 0 1 -1 1 1\n", "expected ' ' and a number");
  CheckRefused(rank + "s 0 1 1 99999999999999999999 1\n", "more than");
  CheckRefused(rank + "a 0 1 1 1 100 0:1+1\n", "of its own rank");
  CheckRefused(rank + "a 0 1 1 1 100 1:2+1\n", "gradient 1 of rank 1 is due");
  CheckRefused(rank + "a 0 1 1 1 100 1:1+0\n", "is due");
  CheckRefused(rank + "a 0 1 1 1 100 1:1\n", "expected '+'");
  // Never computed; so large a count must not be walked over, either.
  CheckRefused(rank + "a 0 1 1 1 100 1:1+18446744073709551615\nrank 1\nend\n",
      "rank 1 computed 0 gradients");
  // Ranks that are only claimed cost nothing: this was 16 GB.
  std::string claims = "dasgd-history 1\nranks 1048576\n";
  for (size_t i = 0; i < 1000; ++i)
    claims += "rank " + std::to_string(i) + "\n";
  CheckRefused(claims, "line 1003: expected \"rank 1000\"");
}

TEST_CASE("a history that cannot be saved or loaded says why", "[core]")
{
  const History history =
      Read("dasgd-history 1\nranks 1\nrank 0\nc 0 1\nend\n");
  CHECK_THROWS_WITH(SaveHistory(history, "/nowhere/at/all"),
      Catch::Matchers::ContainsSubstring("/nowhere/at/all"));
  CHECK_THROWS_WITH(LoadHistory("/nowhere/at/all"),
      Catch::Matchers::ContainsSubstring("/nowhere/at/all"));
  // Ranks other than 0 have none, and write nothing.
  CHECK_NOTHROW(SaveHistory(History(), "/nowhere/at/all"));
  CHECK_NOTHROW(SaveTrace(History(), "/nowhere/at/all"));
}
