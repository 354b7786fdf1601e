/**
 * @file dataset.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dataset.hpp"
#include "idx_file.hpp"
#include "labels.hpp"
#include "load.hpp"

#include <ranks/ranks.hpp>
#include <terminal/log.hpp>
#include <terminal/params.hpp>

#include <mlpack/core.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace cli {

namespace {

//! More words than this in a column are names of points, not kinds of them.
constexpr size_t MostWords = 100;

std::string NumberText(const double value)
{
  std::ostringstream text;
  text.precision(15);
  text << value;
  return text.str();
}

//! Which column of a file holds the labels.
size_t ChooseLabels(mlpack::util::Params& params,
                    const DataNames& names,
                    const bool training,
                    const std::vector<std::string>& columns)
{
  const std::string& asked = params.Get<std::string>("label_column");
  const size_t more = names.columns.size() + 1;
  if (!asked.empty())
  {
    const size_t named = FindColumn(columns, asked);
    int number = 0;
    if (named != NoColumn)
      return named;
    if (ParseNumber(asked, number) && number >= 1 && size_t(number) <=
        columns.size() && (training || columns.size() == more))
      return size_t(number) - 1;
    // Beside training data, the option may be about those only.
    if (!training && params.Has("training_file"))
      return NoColumn;
    throw std::invalid_argument("there is no column '" + asked + "', which "
        "'--label_column' names" + (columns[0].empty() ? "; columns have no "
        "names, and there are " + std::to_string(columns.size()) : "; it has " +
        NamesText(columns)));
  }
  if (names.labelColumn == NoColumn)
    return training ? columns.size() - 1 : NoColumn;
  const size_t named = FindColumn(columns, names.labelName);
  if (named != NoColumn)
    return named;
  // Where the file and the model have names, the place says nothing: it may be
  // that of a column which the model does not know.
  const bool byPlace = names.labelName.empty() || std::all_of(columns.begin(),
      columns.end(), [](const std::string& one) { return one.empty(); });
  if (training && !byPlace)
  {
    throw std::invalid_argument("there is no column '" + names.labelName +
        "', which held the labels that the model was trained with; name "
        "another one with '--label_column'; it has " + NamesText(columns));
  }
  if (training)
    return columns.size() - 1;
  return byPlace && columns.size() == more ? names.labelColumn : NoColumn;
}

//! R and pandas write the numbers of lines as a column without a name.
void DropLineNumbers(Table& table, const std::string& path)
{
  if (table.columns.size() < 2 || !Named(table.columns) ||
      !table.columns[0].name.empty() || !table.columns[0].words.empty())
    return;
  for (size_t i = 1; i < table.values.n_cols; ++i)
  {
    if (table.values(0, i) != table.values(0, i - 1) + 1)
      return;
  }
  mlpack::Log::Warn << "The first column of '" << path << "' has no name and "
      << "numbers the lines; it is left out." << std::endl;
  table.values.shed_row(0);
  table.columns.erase(table.columns.begin());
}

//! Take a column out as labels.
void TakeLabels(Dataset& data, const TableColumn& column, const arma::rowvec&
    values)
{
  data.labelled = true;
  data.labels.zeros(values.n_elem);
  if (!column.words.empty())
  {
    data.words = column.words;
    for (size_t i = 0; i < values.n_elem; ++i)
    {
      if (!std::isnan(values[i]))
        data.labels[i] = size_t(values[i]);
    }
    return;
  }
  std::map<double, size_t> numbers;
  for (const double value : values)
  {
    if (!std::isnan(value))
      numbers[value] = 0;
  }
  for (auto& number : numbers)
  {
    number.second = data.words.size();
    data.words.push_back(NumberText(number.first));
  }
  for (size_t i = 0; i < values.n_elem; ++i)
  {
    if (!std::isnan(values[i]))
      data.labels[i] = numbers[values[i]];
  }
}

//! Refuse or leave out what is incomplete.
void HandleMissing(mlpack::util::Params& params,
                   Dataset& data,
                   const arma::rowvec& labels,
                   const std::string& path,
                   const std::string& labelsMissing)
{
  arma::mat& values = data.table.values;
  if (!values.has_nan() && !labels.has_nan())
    return;
  std::vector<arma::uword> complete;
  for (size_t i = 0; i < values.n_cols; ++i)
  {
    if (!values.col(i).has_nan() && (labels.empty() || !std::isnan(labels[i])))
      complete.push_back(i);
  }
  const size_t bad = values.n_cols - complete.size();
  const bool drop = params.Has("drop_incomplete") && !complete.empty();
  const std::string what = std::to_string(bad) + " of " +
      std::to_string(values.n_cols) + " lines of '" + path + "', given with " +
      data.pointsName + ", have missing values";
  if (!drop)
  {
    const std::string first = data.table.firstMissing.empty() ?
        data.labelsName + ": " + labelsMissing : data.table.firstMissing;
    throw std::invalid_argument(what + "; the first: " + first + "; fill them "
        "in" + (complete.empty() ? "!" : ", or give '--drop_incomplete' to "
        "leave these lines out!"));
  }
  if (Rank() == 0 || params.Has("sharded"))
  {
    mlpack::Log::Warn << what << " and are left out"
        << (data.pointsName.find("test") == std::string::npos ? "" :
        ", so that predictions are of the others") << "." << std::endl;
  }
  const arma::uvec keep(complete);
  values = arma::mat(values.cols(keep));
  if (data.labelled)
    data.labels = arma::Row<size_t>(data.labels.cols(keep));
}

//! Labels in a file of their own, one in each line or all in one.
Table LoadLabels(const std::string& path, const size_t points)
{
  Table table = LoadTable(path, [](const auto&) { return 0; });
  if (table.values.n_cols == 1 && table.values.n_rows > 1 &&
      table.values.n_rows == points && !HasWords(table.columns))
  {
    arma::inplace_trans(table.values);
    table.columns.resize(1);
  }
  if (table.values.n_rows != 1)
  {
    throw std::runtime_error("it has " + std::to_string(table.values.n_rows) +
        " values in each line, but one is expected");
  }
  // Of words only, a header cannot be told from the words before they are
  // counted.
  std::vector<std::string>& words = table.columns[0].words;
  if (table.values.n_cols == points + 1 && !words.empty() &&
      arma::accu(table.values == table.values[0]) == 1)
  {
    const double header = table.values[0];
    table.values.shed_col(0);
    table.values.transform([&](const double value)
        { return value > header ? value - 1 : value; });
    words.erase(words.begin() + std::ptrdiff_t(header));
  }
  return table;
}

//! Read a table, whose labels may be a column of it.
//! @return Their values; empty if there are none.
arma::rowvec ReadTable(mlpack::util::Params& params,
                       const InputFile& file,
                       const DataNames& names,
                       const bool training,
                       const bool labelsFile,
                       Dataset& data)
{
  size_t at = NoColumn;
  Table& table = data.table;
  table = LoadTable(file.path, [&](const std::vector<std::string>& columns)
  {
    return at = labelsFile ? NoColumn : ChooseLabels(params, names, training,
        columns);
  });
  if (at == NoColumn)
    return { };
  if (training && table.columns.size() < 2)
  {
    throw std::runtime_error("it has 1 column, so that there are either no "
        "labels or no points; give labels in a file of their own");
  }
  const TableColumn column = table.columns[at];
  data.labelColumn = at;
  data.labelName = column.name;
  const arma::rowvec values = table.values.row(at);
  table.values.shed_row(at);
  table.columns.erase(table.columns.begin() + std::ptrdiff_t(at));
  TakeLabels(data, column, values);
  return values;
}

//! Refuse columns that name points and are no kinds of them.
void CheckWordCounts(const Dataset& data, const std::string& path)
{
  for (size_t i = 0; i < data.table.columns.size(); ++i)
  {
    const std::vector<std::string>& words = data.table.columns[i].words;
    if (words.size() > MostWords)
    {
      throw std::invalid_argument("In '" + path + "', given with " +
          data.pointsName + ", " + ColumnText(data.table.columns, i) +
          " holds " + std::to_string(words.size()) + " different words, such "
          "as '" + words[0] + "'; take it out!");
    }
  }
}

} // namespace

InputFile FileOf(mlpack::util::Params& params,
                 const std::string& option,
                 const bool training)
{
  return InputFile(params.Get<std::string>(option), OptionText(params, option),
      training && params.Has("sharded"));
}

Dataset ReadDataset(mlpack::util::Params& params,
                    const std::string& points,
                    const std::string& labels,
                    const DataNames& names,
                    const bool training)
{
  Dataset data;
  const InputFile file = FileOf(params, points, training);
  data.pointsName = file.name;
  const bool labelsFile = params.Has(labels);
  data.labelsName = labelsFile ? OptionText(params, labels) : file.name;
  const bool idx = IsIdxFile(file.path);
  arma::rowvec labelValues;
  file.Read([&]()
  {
    if (idx)
    {
      data.table.values = LoadIdxImages(file.path, data.width, data.height);
      data.table.columns.resize(data.table.values.n_rows);
    }
    else
      labelValues = ReadTable(params, file, names, training, labelsFile, data);
  });
  if (!idx)
    DropLineNumbers(data.table, file.path);

  std::string labelsMissing;
  if (labelsFile)
  {
    const InputFile other = FileOf(params, labels, training);
    other.Read([&]()
    {
      Table table = LoadLabels(other.path, data.table.values.n_cols);
      labelValues = table.values;
      labelsMissing = table.firstMissing;
      TakeLabels(data, table.columns[0], labelValues);
    });
    CheckCount(data.pointsName, data.table.values.n_cols, data.labelsName,
        data.labels.n_elem);
  }
  else if (training && idx)
  {
    throw std::invalid_argument("Must specify " + OptionText(params, labels) +
        ": the images in " + data.pointsName + " come without labels!");
  }
  HandleMissing(params, data, labelValues, file.path, labelsMissing);
  mlpack::Log::Info << "read '" << file.path << "': "
      << data.table.values.n_cols << " points of " << data.table.values.n_rows
      << " columns" << std::endl;
  CheckWordCounts(data, file.path);
  return data;
}

} // namespace cli
} // namespace dasgd
