/**
 * @file fuzz_text.cpp
 *
 * Tables in text files: the input is the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "require.hpp"

#include <data/text_file.hpp>

#include <optional>
#include <vector>

using namespace dasgd;

namespace {

std::optional<arma::mat> ReadText(const std::string& text)
{
  try
  {
    const bool arff = !text.empty() && text[0] == '@';
    Table table = TextTable(text.data(), text.data() + text.size(),
        arff).Read(text.size() % 5);
    for (size_t i = 0; i < table.columns.size(); ++i)
    {
      const double words = double(table.columns[i].words.size());
      for (const double value : table.values.row(i))
      {
        fuzz::Require(words == 0 || std::isnan(value) || (value >= 0 &&
            value < words), "a word is one of the column's");
      }
    }
    RequireNumbers(table);
    return std::move(table.values);
  }
  catch (const std::runtime_error& e)
  {
    for (const char c : std::string(e.what()))
    {
      fuzz::Require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f',
          "a message is text");
    }
    return std::nullopt;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  // In memory of exactly this size, so that reading on is noticed.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::optional<arma::mat> matrix = ReadText(text);
  if (!matrix)
    return 0;
  fuzz::Require(matrix->n_elem > 0 && matrix->n_elem <= size,
      "a value takes a byte at least");

  // What was read, written again, is the same.
  std::string again;
  for (size_t i = 0; i < matrix->n_cols; ++i)
  {
    for (size_t j = 0; j < matrix->n_rows; ++j)
    {
      char value[40];
      std::snprintf(value, sizeof(value), "%s%.17g", j ? "," : "",
          (*matrix)(j, i));
      again += value;
    }
    again += "\n";
  }
  const std::optional<arma::mat> second = ReadText(again);
  fuzz::Require(second && second->n_rows == matrix->n_rows &&
      second->n_cols == matrix->n_cols, "it has the same shape");
  for (size_t i = 0; i < matrix->n_elem; ++i)
  {
    fuzz::Require((*matrix)[i] == (*second)[i] ||
        (std::isnan((*matrix)[i]) && std::isnan((*second)[i])),
        "it has the same values");
  }
  return 0;
}
