/**
 * @file text_file_test.cpp
 *
 * Numbers in text files: what is read, and what is said of what is not a
 * number.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <data/text_file.hpp>

#include <random>

#include "catch.hpp"

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

arma::mat Read(const std::string& text)
{ return TextMatrix(text.data(), text.data() + text.size()).Read(); }

std::string Problem(const std::string& text)
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

const arma::mat expected = { { 1, 4 }, { -2.5, 5 }, { 3e-4, 6 } };

} // namespace

TEST_CASE("separators are found, blanks and line ends do not matter",
    "[text_file]")
{
  for (const char* text : { "1,-2.5,3e-4\n4,5,6\n", "1;-2.5;3e-4\n4;5;6\n",
      "1\t-2.5\t3e-4\n4\t5\t6\n", "1 -2.5 3e-4\n4 5 6\n",
      "1,-2.5,3e-4\r\n4,5,6\r\n", "1,-2.5,3e-4\n4,5,6",
      "\n  1 ,\t-2.50, 0.3E-3 \n\n+4 , 5.0,6.\n\n", "  1   -2.5  3e-4  \n4 5 6",
      "\xef\xbb\xbf""1,-2.5,3e-4\n4,5,6\n", "1\t -2.5 \t3e-4\t\n4\t5\t6\n" })
  {
    INFO(text);
    CHECK(Problem(text) == "");
    CHECK(arma::approx_equal(Read(text), expected, "absdiff", 0));
  }
  CHECK(Read("7").n_elem == 1);
  CHECK(Read("1,2,3").n_rows == 3);
  CHECK(Read("1\n2\n3\n").n_cols == 3);
}

TEST_CASE("numbers are read to the last bit", "[text_file]")
{
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-300, 300);
  std::string text;
  std::vector<double> values;
  for (size_t i = 0; i < 2000; ++i)
  {
    double value = std::pow(10, exponent(random)) * ((i % 2) ? 1 : -1);
    if (i % 3 == 0)
      value = double(random() >> 11);
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.17g\n", value);
    text += digits;
    values.push_back(value);
  }
  const arma::mat read = Read(text);
  REQUIRE(read.n_elem == values.size());
  CHECK(std::equal(values.begin(), values.end(), read.begin()));
  CHECK(Read("1e-400")[0] == 0);
  CHECK(Read("4e-320")[0] == 4e-320);
  CHECK(std::isnan(Read("nan")[0]));
  CHECK(Read("-inf")[0] == -arma::datum::inf);
}

TEST_CASE("whatever is no number is refused with its place", "[text_file]")
{
  for (const char* word : { "n", "1e", "1.5f", "7A", "0x10", "1_000", "--1",
      "+-1", "1-2", "e5", "a", "i", "1e999", "1 2", "nanx" })
  {
    const std::string text = std::string("1,2,3\n4,") + word + ",6\n";
    INFO(text);
    CHECK(Problem(text) == "line 2, column 2 is '" + std::string(word) +
        "' where a number should be");
  }
  for (const char* word : { "NA", "N/A", "?", ".", "null", "-", "None" })
  {
    const std::string text = std::string("1,2,3\n\n4,5,") + word + "\n";
    CHECK(Problem(text) == "line 3, column 3 is '" + std::string(word) +
        "': a value is missing; fill it in, or take the line out");
  }
  CHECK_THAT(Problem("1,2,3\n4,,6\n"), ContainsSubstring("line 2, column 2 is "
      "empty: a value is missing"));
  CHECK_THAT(Problem("1,2,\n"), ContainsSubstring("line 1, column 3 is empty"));
  CHECK_THAT(Problem("1,2\n4,5,6\n"), ContainsSubstring("line 2 has 3 values, "
      "but those before have 2"));
  CHECK_THAT(Problem("1 2 3\n4 5\n"), ContainsSubstring("line 2 has 2 values, "
      "but those before have 3"));
  CHECK_THAT(Problem("length,width\n1,2\n"), ContainsSubstring("line 1, column "
      "1 is 'length' where a number should be; if it is a header, remove it"));
  // Words in every line are no header.
  CHECK(Problem("yes\nno\n") == "line 1, column 1 is 'yes' where a number "
      "should be");
  CHECK_THAT(Problem("1,2\n3,\"4\"\n"), ContainsSubstring("write numbers "
      "without quotes"));
  CHECK_THAT(Problem("1,5;2,5\n3,5;4,5\n"), ContainsSubstring("line 1, column "
      "1 is '1,5' where a number should be; write decimal points"));
  // Another separator further on.
  CHECK_THAT(Problem("1,2\n3;4\n"), ContainsSubstring("line 2, column 1 is "
      "'3;4'"));
  CHECK(Problem("") == "it holds no values");
  CHECK(Problem(" \n\t\r\n") == "it holds no values");
  CHECK_THAT(Problem("\xff\xfe""1\0,\0"), ContainsSubstring("UTF-16"));
}

TEST_CASE("what is not text is not repeated", "[text_file]")
{
  std::mt19937 random(1);
  for (size_t i = 0; i < 200; ++i)
  {
    std::string bytes;
    for (size_t k = 0; k < 300; ++k)
      bytes += char(random() % 256);
    const std::string problem = Problem(bytes);
    CHECK(problem != "");
    for (const char c : problem)
      CHECK(static_cast<unsigned char>(c) >= ' ');
  }
  CHECK_THAT(Problem(std::string("\x1f\x8b\x08\x00\x00", 5)),
      ContainsSubstring("is it a file of another kind?"));
}

TEST_CASE("a long file tells how far it has been read", "[text_file]")
{
  std::string text;
  while (text.size() < (size_t(3) << 24))
    text += "0.125,0.5,1234567,7\n";
  std::vector<double> told;
  const TextMatrix matrix(text.data(), text.data() + text.size());
  const arma::mat read = matrix.Read([&](const double part)
  { told.push_back(part); });
  CHECK(read.n_rows == 4);
  CHECK(read.n_cols == text.size() / 20);
  REQUIRE(told.size() >= 2);
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.back() <= 1);
}
