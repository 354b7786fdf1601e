/**
 * @file text_file_test.cpp
 *
 * Tables in text files: what is read, and what is said of what is not a number
 * where one should be.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <data/text_file.hpp>

#include <random>

#include "catch.hpp"

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

Table ReadTable(const std::string& text,
                const size_t label = NoColumn,
                const bool arff = false)
{ return TextTable(text.data(), text.data() + text.size(), arff).Read(label); }

//! As a matrix of numbers is read.
arma::mat Read(const std::string& text)
{
  Table table = ReadTable(text);
  RequireNumbers(table);
  return std::move(table.values);
}

using Words = std::vector<std::string>;

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
  // Words in every line are no header.
  CHECK(Problem("yes\nno\n") == "line 1, column 1 is 'yes' where a number "
      "should be");
  CHECK(Problem("x,y\nyes,1\nno,2\n") == "line 2, column 1 is 'yes' where a "
      "number should be");
  CHECK_THAT(Problem("1,5;2,5\n3,5;4,5\n"), ContainsSubstring("line 1, column "
      "1 is '1,5' where a number should be; write decimal points"));
  // Another separator further on.
  CHECK_THAT(Problem("1,2\n3;4\n"), ContainsSubstring("line 2 has 1 "
      "values, but those before have 2"));
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
  const TextTable table(text.data(), text.data() + text.size());
  const arma::mat read = table.Read(NoColumn, [&](const double part)
  { told.push_back(part); }).values;
  CHECK(read.n_rows == 4);
  CHECK(read.n_cols == text.size() / 20);
  REQUIRE(told.size() >= 2);
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.back() <= 1);
}

TEST_CASE("a header is one, and gives names", "[text_file]")
{
  for (const char* text :
      { "length,width\n1,2\n3,4\n", "\"length\",\"width\"\r\n1,2\n\n3,4\n",
          "# made by hand\n length; width \n"
          "1;2\n3;4\n",
          "length width\n1 2\n3 4\n" })
  {
    INFO(text);
    const Table table = ReadTable(text);
    CHECK(table.columns[0].name == "length");
    CHECK(table.columns[1].name == "width");
    CHECK(arma::approx_equal(table.values, arma::mat({ { 1, 3 }, { 2, 4 } }),
        "absdiff", 0));
    CHECK(table.lines.back() >= 3);
  }
  // A point with a word among its numbers is no header.
  CHECK(ReadTable("1,red\n2,blue\n").columns[0].name.empty());
  CHECK_THAT(Problem("1x,2\n3,4\n5,6\n"), ContainsSubstring("line 1, column 1 "
      "is '1x' where a number should be; if it is a header"));
  CHECK(ReadTable("a,\"b, c\"\n1,2\n").columns[1].name == "b, c");
}

TEST_CASE("words are numbered in the order of their names", "[text_file]")
{
  const Table table = ReadTable("size,kind\n1,pear\n2,\"apple\"\n3,\n4,pear\n");
  CHECK(table.columns[1].words == Words{ "apple", "pear" });
  CHECK(table.values(1, 0) == 1);
  CHECK(table.values(1, 1) == 0);
  CHECK(std::isnan(table.values(1, 2)));
  CHECK(table.firstMissing == "line 4, column 2 ('kind') is empty");
  // Labels may mix words and numbers; elsewhere that is a mistake.
  const std::string mixed = "1,10\n2,9\n3,other\n";
  CHECK(ReadTable(mixed, 1).columns[1].words == Words{ "9", "10", "other" });
  CHECK(Problem(mixed) == "line 3, column 2 is 'other' where a number should "
      "be");
  // Among words "none" is one of them, "NA" is not.
  CHECK(ReadTable("none\nsome\nNA\n").columns[0].words ==
      Words{ "none", "some" });
  // In quotes, numbers are numbers.
  CHECK(Read("\"1\",\"2.5\"\n3,4\n")(1, 0) == 2.5);
}

TEST_CASE("ARFF names columns and words", "[text_file]")
{
  const std::string head = "% a comment\n@RELATION iris\n\n"
      "@ATTRIBUTE 'sepal length' NUMERIC\n@attribute width real\n"
      "@attribute class {Setosa, 'Other kind',virginica}\n@DATA\n";
  const Table table = ReadTable(head + "% none\n5.1,3,Setosa\n4.9,?,'Other "
      "kind'\n", NoColumn, true);
  REQUIRE(table.columns.size() == 3);
  CHECK(table.columns[0].name == "sepal length");
  CHECK(table.columns[2].words == Words{ "Setosa", "Other kind", "virginica" });
  CHECK(table.values(2, 1) == 1);
  CHECK(table.values(0, 0) == 5.1);
  CHECK(table.firstMissing == "line 10, column 2 ('width') is '?'");
  const auto problem = [&](const std::string& text)
  {
    try
    {
      ReadTable(text, NoColumn, true);
    }
    catch (const std::runtime_error& e)
    {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(problem(head + "1,2,other\n"), ContainsSubstring("line 8, column "
      "3 ('class') is 'other', which is none of those"));
  CHECK_THAT(problem(head + "1,2\n"), ContainsSubstring("line 8 has 2 values, "
      "but there are 3 attributes"));
  CHECK_THAT(problem("@attribute a date\n@data\n1\n"),
      ContainsSubstring("the type 'date'"));
  CHECK_THAT(problem("1,2\n"), ContainsSubstring("is it an ARFF file?"));
}
