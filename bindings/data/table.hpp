/**
 * @file table.hpp
 *
 * Points as a file has them: columns with names, of numbers or of words.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_TABLE_HPP
#define DASGD_BINDINGS_DATA_TABLE_HPP

#include "number.hpp"

#include <armadillo>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

//! No column of a table.
constexpr size_t NoColumn = size_t(-1);

//! What is known of a column beside its values.
struct TableColumn
{
  //! Empty if the file has no header.
  std::string name;
  //! The words that it holds, in the order of their numbers; empty if it holds
  //! numbers.
  std::vector<std::string> words;
  //! The line of the file in which the first word is.
  size_t firstLine = 0;
};

//! A table, with a column of the matrix for each line of the file.
struct Table
{
  //! Words are their numbers in TableColumn::words; what is missing is NaN.
  arma::mat values;
  std::vector<TableColumn> columns;
  //! The number of each line in the file.
  std::vector<size_t> lines;
  //! Where the first missing value is, and how it is written; may be empty.
  std::string firstMissing;
};

//! Words in the order in which classes are numbered: numbers by their value,
//! then the others by the alphabet; the empty one, which is missing, left out.
template<typename WordsType>
std::vector<std::string> SortedWords(const WordsType& words)
{
  std::vector<std::string> sorted;
  std::copy_if(words.begin(), words.end(), std::back_inserter(sorted),
      [](const std::string& word) { return !word.empty(); });
  std::sort(sorted.begin(), sorted.end(), [](const std::string& one,
                                             const std::string& other)
  {
    double first = 0, second = 0;
    const bool firstNumber = ParseNumber(one, first);
    const bool secondNumber = ParseNumber(other, second);
    return firstNumber != secondNumber ? firstNumber :
        firstNumber && first != second ? first < second : one < other;
  });
  return sorted;
}

//! Has any column a name?
inline bool Named(const std::vector<TableColumn>& columns)
{
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& one)
      { return !one.name.empty(); });
}

//! Does any column hold words?
inline bool HasWords(const std::vector<TableColumn>& columns)
{
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& one)
      { return !one.words.empty(); });
}

//! Column 3, or column 'age'.
inline std::string ColumnText(const std::vector<TableColumn>& columns,
                              const size_t number)
{
  const std::string& name = columns[number].name;
  return "column " + (name.empty() ? std::to_string(number + 1) : "'" + name +
      "'");
}

//! The number of the column of this name, or NoColumn.
inline size_t FindColumn(const std::vector<std::string>& names,
                         const std::string& name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return name.empty() || found == names.end() ? NoColumn :
      size_t(found - names.begin());
}

//! Names of columns, for messages.
inline std::string NamesText(const std::vector<std::string>& columns)
{
  std::string text;
  const size_t most = 20;
  for (size_t i = 0; i < std::min(columns.size(), most); ++i)
    text += (i ? ", '" : "'") + columns[i] + "'";
  return text + (columns.size() <= most ? "" : " and " +
      std::to_string(columns.size() - most) + " more");
}

//! Throw unless a table holds numbers only.
inline void RequireNumbers(const Table& table)
{
  for (size_t i = 0; i < table.columns.size(); ++i)
  {
    const TableColumn& column = table.columns[i];
    if (column.words.empty())
      continue;
    const auto at = std::find(table.lines.begin(), table.lines.end(),
        column.firstLine);
    const size_t line = size_t(at - table.lines.begin());
    const double code = at == table.lines.end() ? 0 : table.values(i, line);
    throw std::runtime_error("line " + std::to_string(column.firstLine) +
        ", column " + std::to_string(i + 1) + " is '" + column.words[
        std::isnan(code) ? 0 : size_t(code)].substr(0, 20) + "' where a number "
        "should be");
  }
  if (table.values.has_nan())
  {
    throw std::runtime_error(table.firstMissing + ": a value is missing; fill "
        "it in, or take the line out");
  }
}

} // namespace dasgd

#endif
