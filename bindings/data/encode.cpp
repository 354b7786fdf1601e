/**
 * @file encode.cpp
 *
 * Words become numbers: those of columns and those of labels.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dataset.hpp"
#include "labels.hpp"

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/log.hpp>

#include <dasgd/mpi/mpi_communicator.hpp>
#include <mlpack/core.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace cli {

namespace {

//! Put the columns of a file into the order of those of the model.
void OrderColumns(Table& table,
                  const DataNames& names,
                  const std::string& name,
                  const bool labelled)
{
  if (!Named(table.columns) || !Named(names.columns))
    return;
  std::vector<std::string> have;
  for (const TableColumn& column : table.columns)
    have.push_back(column.name);
  std::vector<arma::uword> order;
  std::vector<TableColumn> columns;
  for (const TableColumn& wanted : names.columns)
  {
    const size_t at = FindColumn(have, wanted.name);
    if (at == NoColumn)
    {
      throw std::invalid_argument("The data in " + name + " has no column '" +
          wanted.name + "', which the model was trained with; it has '" +
          have[0] + "' and " + std::to_string(have.size() - 1) + " more!");
    }
    order.push_back(at);
    columns.push_back(table.columns[at]);
  }
  if (order.size() < have.size())
  {
    std::vector<std::string> unknown;
    for (size_t i = 0; i < have.size(); ++i)
    {
      if (std::find(order.begin(), order.end(), i) == order.end())
        unknown.push_back(have[i]);
    }
    mlpack::Log::Warn << "The data in " << name << " has columns that the "
        << "model was not trained with: " << NamesText(unknown) << "; they are "
        << "left out" << (labelled ? "" : ".  If one holds the labels, name it "
        "with '--label_column'") << "." << std::endl;
  }
  if (!std::is_sorted(order.begin(), order.end()) ||
      order.size() < have.size())
    table.values = arma::mat(table.values.rows(arma::uvec(order)));
  table.columns = std::move(columns);
}

//! Throw unless the columns of a table hold words where those that a model was
//! trained with do.
void CheckWords(const Dataset& data, const DataNames& names)
{
  const std::vector<TableColumn>& columns = data.table.columns;
  const bool match = names.columns.size() == columns.size();
  for (size_t i = 0; i < columns.size(); ++i)
  {
    const std::vector<std::string>& here = columns[i].words;
    const std::string where = "In the data in " + data.pointsName + ", " +
        ColumnText(columns, i) + " holds ";
    // Which of its rows is which word is not known.
    if (names.ofModel && names.columns.empty() && !here.empty())
    {
      throw std::invalid_argument(where + "words such as '" + here[0] + "', "
          "but no words are known that the model was trained with; put the "
          "file that was written with it, whose name ends in '.names', beside "
          "the model!");
    }
    const std::vector<std::string>& words = match ? names.columns[i].words :
        here;
    if (words.empty() == here.empty())
      continue;
    throw std::invalid_argument(where + (words.empty() ? "words such as '" +
        here[0] + "' where the model was trained with numbers!" : "numbers "
        "where the model was trained with words such as '" + words[0] + "'!"));
  }
}

//! The number of each word that a column holds among those that a model knows;
//! their count for one that it does not know.
std::vector<size_t> NumbersOf(const Dataset& data,
                              const size_t column,
                              const std::vector<std::string>& known)
{
  std::vector<size_t> numbers;
  for (const std::string& word : data.table.columns[column].words)
  {
    numbers.push_back(size_t(std::find(known.begin(), known.end(), word) -
        known.begin()));
    if (numbers.back() == known.size())
    {
      mlpack::Log::Warn << "In the data in " << data.pointsName << ", "
          << ColumnText(data.table.columns, column) << " holds '" << word
          << "', which the model was not trained with; it counts as none of "
          << "the words that are known." << std::endl;
    }
  }
  return numbers;
}

//! The number of a class, or that of all classes if there is no such one.
size_t FindClass(const DataNames& names, const std::string& word)
{
  return size_t(std::find(names.classes.begin(), names.classes.end(), word) -
      names.classes.begin());
}

[[noreturn]] void RefuseWord(const Dataset& data, const std::string& word)
{
  throw std::invalid_argument("The labels in " + data.labelsName + " hold '" +
      word + "', but the model was trained with numbers from 0 on!");
}

//! NumberLabels() on one rank, with the words of all.
void Number(Dataset& data,
            DataNames& names,
            const std::vector<std::string>& all,
            const size_t most,
            const std::string& remedy)
{
  // Whole numbers that may be classes stay as they are.
  bool whole = true, numbers = true;
  double largest = 0;
  for (const std::string& word : all)
  {
    double value = 0;
    const bool number = ParseNumber(word, value);
    numbers = numbers && number;
    whole = whole && number && IsIndex(value);
    largest = std::max(largest, value);
    if (number && value != std::floor(value))
    {
      throw std::invalid_argument("The labels in " + data.labelsName + " must "
          "be words or whole numbers, but one is " + word + "; these are "
          "programs for classification!");
    }
  }
  if (!names.ofModel && all.size() < 2)
  {
    throw std::invalid_argument("All labels in " + data.labelsName + " are " +
        (all.empty() ? "missing" : all[0]) + "; at least 2 classes are "
        "needed!");
  }
  const size_t limit = (most == 0) ? all.size() : most;
  const bool plain = names.ofModel ? names.classes.empty() : whole && largest <
      double(limit);
  if (!names.ofModel && !plain)
    names.classes = all;

  std::vector<size_t> numbersOf;
  for (const std::string& word : data.words)
  {
    double value = 0;
    const size_t at = FindClass(names, word);
    if (!plain && at == names.classes.size())
    {
      throw std::invalid_argument("The labels in " + data.labelsName + " hold '"
          + word + "', but the model has no such class; train a new one!");
    }
    if (plain && !(ParseNumber(word, value) && whole))
      RefuseWord(data, word);
    numbersOf.push_back(plain ? size_t(value) : at);
  }
  data.labels.transform([&](const size_t label) { return numbersOf[label]; });
  if (most > 0 && names.classes.size() > most)
  {
    throw std::invalid_argument("The labels in " + data.labelsName + " are of "
        + std::to_string(names.classes.size()) + " classes ('" +
        names.classes.front() + "', ..., '" + names.classes.back() + "'); " +
        remedy + "!");
  }
  CheckRange(data.labels, plain && most > 0 ? most : size_t(-1),
      data.labelsName, remedy);
}

} // namespace

void MakePoints(Dataset& data, const DataNames& names)
{
  Table& table = data.table;
  OrderColumns(table, names, data.pointsName, data.labelled);
  CheckWords(data, names);
  if (!HasWords(table.columns))
    data.points = std::move(table.values);
  else
  {
    const std::vector<TableColumn>& known = names.columns.size() ==
        table.columns.size() ? names.columns : table.columns;
    size_t rows = 0;
    for (const TableColumn& column : known)
      rows += std::max<size_t>(1, column.words.size());
    data.points.zeros(rows, table.values.n_cols);
    size_t row = 0;
    for (size_t i = 0; i < known.size(); ++i)
    {
      const size_t count = known[i].words.size();
      if (count == 0)
      {
        data.points.row(row++) = table.values.row(i);
        continue;
      }
      const std::vector<size_t> to = NumbersOf(data, i, known[i].words);
      for (size_t k = 0; k < table.values.n_cols; ++k)
      {
        const size_t at = to[size_t(table.values(i, k))];
        if (at < count)
          data.points(row + at, k) = 1;
      }
      row += count;
    }
  }
  table = Table();
  CheckFinite(data.points, data.pointsName);
}

void UniteWords(std::vector<std::string>& words)
{
  if (Ranks() == 1)
    return;
  std::string mine;
  for (const std::string& word : words)
    mine += word + "\n";
  std::set<std::string> all;
  bool same = true;
  for (const std::string& theirs : MpiCommunicator(MPI_COMM_WORLD).Gather(mine))
  {
    same = same && theirs == mine;
    std::istringstream lines(theirs);
    for (std::string line; std::getline(lines, line);)
      all.insert(line);
  }
  // The same on all ranks: where all have the same, and where not.
  if (MpiCommunicator(MPI_COMM_WORLD).Gather(std::uint64_t(same)) !=
      std::vector<std::uint64_t>(Ranks(), 1))
    words = SortedWords(all);
}

void NumberLabels(Dataset& data,
                  DataNames& names,
                  const size_t most,
                  const std::string& remedy)
{
  std::vector<std::string> all = data.words;
  if (!names.ofModel)
    UniteWords(all);
  OnAllRanks([&]() { Number(data, names, all, most, remedy); });
}

void NumberTestLabels(Dataset& data, const DataNames& names)
{
  std::vector<size_t> numbers;
  size_t unknown = names.classes.size();
  for (const std::string& word : data.words)
  {
    double value = 0;
    const size_t at = FindClass(names, word);
    const bool plain = names.classes.empty();
    if (plain && !(ParseNumber(word, value) && value >= 0 &&
        value == std::floor(value)))
      RefuseWord(data, word);
    numbers.push_back(plain ? size_t(value) : at < names.classes.size() ? at :
        unknown++);
  }
  data.labels.transform([&](const size_t label) { return numbers[label]; });
}

} // namespace cli
} // namespace dasgd
