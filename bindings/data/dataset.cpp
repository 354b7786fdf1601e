/**
 * @file dataset.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dataset.hpp"
#include "idx_file.hpp"
#include "load.hpp"

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/params.hpp>
#include <training/classifier.hpp>

#include <dasgd/core/whole_file.hpp>
#include <dasgd/transport/mpi_communicator.hpp>
#include <mlpack/core.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace cli {

namespace {

//! More words than this in a column are names of points, not kinds of them.
constexpr size_t MostWords = 100;

bool Named(const std::vector<TableColumn>& columns)
{
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& one)
      { return !one.name.empty(); });
}

bool HasWords(const std::vector<TableColumn>& columns)
{
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& one)
      { return !one.words.empty(); });
}

//! Column 3, or column 'age'.
std::string ColumnText(const std::vector<TableColumn>& columns,
                       const size_t number)
{
  const std::string& name = columns[number].name;
  return "column " + (name.empty() ? std::to_string(number + 1) : "'" + name +
      "'");
}

//! The number of a column of this name.
size_t FindColumn(const std::vector<std::string>& names,
                  const std::string& name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return name.empty() || found == names.end() ? NoColumn :
      size_t(found - names.begin());
}

std::string NumberText(const double value)
{
  std::ostringstream text;
  text.precision(15);
  text << value;
  return text.str();
}

//! Names of columns, for messages.
std::string NamesText(const std::vector<std::string>& columns)
{
  std::string text;
  const size_t most = 20;
  for (size_t i = 0; i < std::min(columns.size(), most); ++i)
    text += (i ? ", '" : "'") + columns[i] + "'";
  return text + (columns.size() <= most ? "" : " and " +
      std::to_string(columns.size() - most) + " more");
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

//! The name of a file that is to be read, which must exist.
std::string ExistingFile(mlpack::util::Params& params,
                         const std::string& option,
                         const bool sharded)
{
  std::string path = params.Get<std::string>(option);
  const size_t at = path.find("{rank}");
  if (sharded && at != std::string::npos)
    path.replace(at, 6, std::to_string(Rank()));
  const std::string reason = ReadProblem(path);
  if (!reason.empty())
  {
    throw std::invalid_argument("Cannot open file '" + path + "', given with " +
        OptionText(params, option) + ": " + reason + "; " + (at ==
        std::string::npos || sharded ? "check the name!" : "is --sharded "
        "missing?"));
  }
  return path;
}

//! Do something with a file; what goes wrong is told with the parameter.
template<typename ActionType>
void Reading(const std::string& path,
             const std::string& name,
             ActionType&& action)
{
  try
  {
    action();
  }
  catch (const std::bad_alloc&)
  {
    throw;
  }
  catch (const std::exception& e)
  {
    throw std::invalid_argument("Loading from '" + path + "', given with " +
        name + ", failed; " + e.what() + "!");
  }
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

//! Make points of a table; words become rows of 0 and 1.
void MakePoints(Dataset& data, const DataNames& names)
{
  Table& table = data.table;
  OrderColumns(table, names, data.pointsName, data.labelled);
  const bool match = names.columns.size() == table.columns.size();
  for (size_t i = 0; i < table.columns.size(); ++i)
  {
    if (!names.ofModel || !names.columns.empty() ||
        table.columns[i].words.empty())
      continue;
    // Which of its rows is which word is not known.
    throw std::invalid_argument("In the data in " + data.pointsName + ", " +
        ColumnText(table.columns, i) + " holds words such as '" +
        table.columns[i].words[0] + "', but no words are known that the model "
        "was trained with; put the file that was written with it, whose name "
        "ends in '.names', beside the model!");
  }
  size_t rows = 0;
  for (size_t i = 0; i < table.columns.size(); ++i)
  {
    const std::vector<std::string>& words = match ? names.columns[i].words :
        table.columns[i].words;
    rows += words.empty() ? 1 : words.size();
    if (words.empty() == table.columns[i].words.empty())
      continue;
    throw std::invalid_argument("In the data in " + data.pointsName + ", " +
        ColumnText(table.columns, i) + " holds " + (words.empty() ? "words "
        "such as '" + table.columns[i].words[0] + "' where the model was "
        "trained with numbers!" : "numbers where the model was trained with "
        "words such as '" + words[0] + "'!"));
  }
  if (!HasWords(table.columns))
  {
    data.points = std::move(table.values);
    table = Table();
    CheckFinite(data.points, data.pointsName);
    return;
  }

  data.points.zeros(rows, table.values.n_cols);
  size_t row = 0;
  for (size_t i = 0; i < table.columns.size(); ++i)
  {
    const std::vector<std::string>& here = table.columns[i].words;
    const std::vector<std::string>& words = match ? names.columns[i].words :
        here;
    if (words.empty())
    {
      data.points.row(row++) = table.values.row(i);
      continue;
    }
    std::vector<size_t> to;
    for (const std::string& word : here)
    {
      to.push_back(size_t(std::find(words.begin(), words.end(), word) -
          words.begin()));
      if (to.back() == words.size())
      {
        mlpack::Log::Warn << "In the data in " << data.pointsName << ", "
            << ColumnText(table.columns, i) << " holds '" << word << "', which "
            << "the model was not trained with; it counts as none of the words "
            << "that are known." << std::endl;
      }
    }
    for (size_t k = 0; k < table.values.n_cols; ++k)
    {
      const size_t at = to[size_t(table.values(i, k))];
      if (at < words.size())
        data.points(row + at, k) = 1;
    }
    row += words.size();
  }
  table = Table();
  CheckFinite(data.points, data.pointsName);
}

//! The words that any rank has, in one order on all.  Collective.
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

} // namespace

Dataset ReadDataset(mlpack::util::Params& params,
                    const std::string& points,
                    const std::string& labels,
                    const DataNames& names,
                    const bool training)
{
  Dataset data;
  data.pointsName = OptionText(params, points);
  const bool labelsFile = !labels.empty() && params.Has(labels);
  data.labelsName = labelsFile ? OptionText(params, labels) : data.pointsName;
  const bool sharded = training && params.Has("sharded");
  const std::string path = ExistingFile(params, points, sharded);
  const bool idx = IsIdxFile(path);
  arma::rowvec labelValues;
  Reading(path, data.pointsName, [&]()
  {
    if (idx)
    {
      data.table.values = LoadIdxImages(path, data.width, data.height);
      data.table.columns.resize(data.table.values.n_rows);
      return;
    }
    size_t at = NoColumn;
    data.table = LoadTable(path, [&](const std::vector<std::string>& columns)
    {
      return at = labelsFile ? NoColumn : ChooseLabels(params, names, training,
          columns);
    });
    if (at == NoColumn)
      return;
    if (training && data.table.columns.size() < 2)
    {
      throw std::runtime_error("it has 1 column, so that there are either no "
          "labels or no points; give labels in a file of their own");
    }
    const TableColumn column = data.table.columns[at];
    data.labelColumn = at;
    data.labelName = column.name;
    labelValues = data.table.values.row(at);
    data.table.values.shed_row(at);
    data.table.columns.erase(data.table.columns.begin() + std::ptrdiff_t(at));
    TakeLabels(data, column, labelValues);
  });
  if (!idx)
    DropLineNumbers(data.table, path);

  std::string labelsMissing;
  if (labelsFile)
  {
    const std::string labelsPath = ExistingFile(params, labels, sharded);
    Reading(labelsPath, data.labelsName, [&]()
    {
      Table table = LoadLabels(labelsPath, data.table.values.n_cols);
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
  HandleMissing(params, data, labelValues, path, labelsMissing);
  mlpack::Log::Info << "read '" << path << "': " << data.table.values.n_cols
      << " points of " << data.table.values.n_rows << " columns" << std::endl;
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
  return data;
}

Dataset TrainingData(mlpack::util::Params& params, DataNames& names)
{
  Dataset data;
  if (!params.Has("training_file"))
    return data;
  OnAllRanks([&]()
  {
    for (const std::string name : { "training_file", "labels_file" })
    {
      if (params.Has(name))
        (void) ExistingFile(params, name, params.Has("sharded"));
    }
  });
  OnAllRanks([&]()
  {
    data = ReadDataset(params, "training_file", "labels_file", names, true);
  });
  AgreeOnDimensions(data.table.values.n_rows, data.pointsName);
  if (names.columns.empty() && !names.ofModel)
  {
    names.labelColumn = data.labelColumn;
    names.labelName = data.labelName;
    names.columns = data.table.columns;
    for (TableColumn& column : names.columns)
      UniteWords(column.words);
  }
  OnAllRanks([&]() { MakePoints(data, names); });
  return data;
}

namespace {

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
    whole = whole && number && value >= 0 && value == std::floor(value) &&
        value < 9007199254740992.0; // 2^53: from there on not all are doubles.
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
    const size_t at = size_t(std::find(names.classes.begin(),
        names.classes.end(), word) - names.classes.begin());
    if (!plain && at == names.classes.size())
    {
      throw std::invalid_argument("The labels in " + data.labelsName + " hold '"
          + word + "', but the model has no such class; train a new one!");
    }
    if (plain && !(ParseNumber(word, value) && whole))
    {
      throw std::invalid_argument("The labels in " + data.labelsName + " hold '"
          + word + "', but the model was trained with numbers from 0 on!");
    }
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

Dataset TestData(mlpack::util::Params& params,
                 const DataNames& names,
                 const size_t dimensions)
{
  Dataset data = ReadDataset(params, "test_file", "test_labels_file", names,
      false);
  MakePoints(data, names);
  CheckDimensions(data.points.n_rows, data.pointsName, dimensions,
      params.Has("training_file") ? "the training data, " +
      OptionText(params, "training_file") : "the model, " +
      OptionText(params, "input_model"));
  std::vector<size_t> numbers;
  size_t unknown = names.classes.size();
  for (const std::string& word : data.words)
  {
    double value = 0;
    const size_t at = size_t(std::find(names.classes.begin(),
        names.classes.end(), word) - names.classes.begin());
    const bool plain = names.classes.empty();
    if (plain && !(ParseNumber(word, value) && value >= 0 &&
        value == std::floor(value)))
    {
      throw std::invalid_argument("The labels in " + data.labelsName + " hold '"
          + word + "', but the model was trained with numbers from 0 on!");
    }
    numbers.push_back(plain ? size_t(value) : at < names.classes.size() ? at :
        unknown++);
  }
  data.labels.transform([&](const size_t label) { return numbers[label]; });
  return data;
}

namespace {

//! The first line of a file of names.
const std::string NamesHead = "names of columns and classes for dasgd, 1";

//! The file that an option names, whatever the front end keeps of it.
std::string FileOf(mlpack::util::Params& params, const std::string& name)
{
  const char alias = params.Parameters()[name].alias;
  const std::string option = "--" + name + "_file";
  const std::vector<std::string> words = CommandWords();
  for (size_t i = 1; i < words.size(); ++i)
  {
    const std::string& word = words[i];
    if (i + 1 < words.size() && (word == option || word == std::string("-") +
        alias))
      return words[i + 1];
    if (word.rfind(option + "=", 0) == 0)
      return word.substr(option.size() + 1);
    if (word.size() > 2 && word[0] == '-' && word[1] == alias)
      return word.substr(word[2] == '=' ? 3 : 2);
  }
  return "";
}

} // namespace

DataNames InputNames(mlpack::util::Params& params, const arma::mat& parameters)
{
  DataNames names;
  names.ofModel = true;
  const std::string path = FileOf(params, "input_model") + ".names";
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line))
    return names;
  const auto refuse = [&](const std::string& what)
  {
    throw std::invalid_argument("'" + path + "' " + what + "; put the file "
        "there that was written with the model, or remove it!");
  };
  if (line != NamesHead)
    refuse("is no file of names that this version of dasgd can read");
  while (std::getline(file, line))
  {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string kind = line.substr(0, space);
    const std::string value = line.substr(std::min(space + 1, line.size()));
    if (kind == "model" && value != ModelTag(parameters)[0].second)
      refuse("belongs to another model");
    else if (kind == "column")
    {
      names.columns.emplace_back();
      names.columns.back().name = value;
    }
    else if (kind == "word" && !names.columns.empty())
      names.columns.back().words.push_back(value);
    else if (kind == "label")
    {
      std::istringstream text(value);
      text >> names.labelColumn;
      text.get();
      std::getline(text, names.labelName);
    }
    else if (kind == "class")
      names.classes.push_back(value);
    else if (kind != "model")
      refuse("is damaged in the line '" + line.substr(0, 40) + "'");
  }
  return names;
}

void SaveNames(mlpack::util::Params& params,
               const DataNames& names,
               const arma::mat& parameters)
{
  if (!Writes() || !params.Has("output_model"))
    return;
  const std::string path = FileOf(params, "output_model") + ".names";
  std::ostringstream text;
  text << NamesHead << "\nmodel " << ModelTag(parameters)[0].second << "\n";
  for (const TableColumn& column : names.columns)
  {
    text << "column " << column.name << "\n";
    for (const std::string& word : column.words)
      text << "word " << word << "\n";
  }
  if (names.labelColumn != NoColumn)
    text << "label " << names.labelColumn << " " << names.labelName << "\n";
  for (const std::string& name : names.classes)
    text << "class " << name << "\n";
  const bool empty = names.classes.empty() && !Named(names.columns) &&
      !HasWords(names.columns);
  AfterModel() = [path, empty, content = text.str()]()
  {
    if (!empty)
      return SaveFile(path, [&](std::ostream& out) { out << content; });
    // Of the model that was there before.
    std::ifstream file(path);
    std::string line;
    if (file && std::getline(file, line) && line == NamesHead)
      std::remove(path.c_str());
  };
  // mlpack's own front end does not call it.
  if (!ReportsUnwritten())
    AfterModel()();
}

Trained Train(mlpack::util::Params& params,
              const Dataset& data,
              const size_t seed,
              const Batch kind,
              const std::string& scales,
              const Tags& tags,
              const std::function<void(Captured)>& train)
{
  Tags all = DataTags(params, data.points, data.labels);
  Append(all, tags);
  return Train(params, data.points.n_cols, seed, kind, all, train, scales);
}

double Predicted(mlpack::util::Params& params,
                 const Dataset& test,
                 const DataNames& names,
                 arma::Row<size_t> predictions,
                 const std::set<size_t>& classes)
{
  double accuracy = arma::datum::nan;
  if (test.labelled)
  {
    const size_t unknown = size_t(std::count_if(test.labels.begin(),
        test.labels.end(), [&](const size_t label)
        { return classes.count(label) == 0; }));
    if (unknown > 0)
    {
      mlpack::Log::Warn << unknown << " of " << test.labels.n_elem
          << " labels in " << test.labelsName << " are none that the model was "
          << "trained with, and count as errors." << std::endl;
    }
    std::vector<std::string> words = names.classes;
    std::copy_if(test.words.begin(), test.words.end(), std::back_inserter(words),
        [&](const std::string& word) { return !names.classes.empty() &&
        std::count(names.classes.begin(), names.classes.end(), word) == 0; });
    std::cout << ConfusionText(predictions, test.labels, classes, words)
        << std::flush;
    accuracy = Accuracy(predictions, test.labels);
  }
  else if (!params.Has("predictions") && !params.Has("probabilities"))
  {
    mlpack::Log::Warn << "The points in " << test.pointsName << " are "
        << "classified, but nothing is done with that; give "
        << OptionText(params, "predictions") << ", or labels." << std::endl;
  }
  if (params.Has("predictions"))
  {
    // mlpack's own front end writes the numbers of classes.
    ValueNames()["predictions"] = names.classes;
    params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
  }
  return accuracy;
}

Standardizer::Standardizer(mlpack::util::Params& params,
                           Dataset& data,
                           const DataNames& names,
                           const bool centre)
{
  arma::mat& points = data.points;
  const bool shared = params.Has("sharded") && Ranks() > 1;
  const auto sum = [&](arma::rowvec values)
  {
    if (shared)
      MPI_Allreduce(MPI_IN_PLACE, values.memptr(), int(values.n_elem),
          MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return values;
  };
  if (params.Has("standardize"))
  {
    const double count = sum(arma::rowvec{ double(points.n_cols) })[0];
    const arma::rowvec at = sum(arma::sum(points, 1).t()) / count;
    mean = centre ? at : arma::rowvec(at.n_elem, arma::fill::zeros);
    deviation.zeros(points.n_rows);
    for (size_t i = 0; i < points.n_cols; ++i)
      deviation += arma::square(points.col(i).t() - at);
    deviation = arma::sqrt(sum(deviation) / count);
    // A column that is constant, but for rounding.
    deviation.elem(arma::find(deviation <= 1e-12 * arma::abs(at))).ones();
    deviation.elem(arma::find(deviation == 0)).ones();
    points.each_col() -= mean.t();
    points.each_col() /= deviation.t();
    return;
  }

  if (data.width > 0 || points.empty())
    return; // Pixels are from 0 to 1.
  const arma::vec largest = arma::max(arma::abs(points), 1);
  const arma::uvec used = arma::find(largest > 0);
  if (used.empty())
    return;
  const size_t most = largest.index_max();
  const size_t least = used[arma::vec(largest.elem(used)).index_min()];
  const double powers = std::log10(largest[most] / largest[least]);
  // Of words there are several rows in place of one column.
  const bool same = names.columns.size() == points.n_rows;
  const auto column = [&](const size_t i)
  {
    std::ostringstream text;
    text << (same ? ColumnText(names.columns, i) : "dimension " +
        std::to_string(i + 1)) << " goes to " << largest[i];
    return text.str();
  };
  if (powers >= 3)
  {
    scales = "Columns of " + data.pointsName + " differ in scale by 10^" +
        std::to_string(int(std::round(powers))) + " (" + column(most) + ", " +
        column(least) + ")";
  }
  else if (largest[most] > 30)
    scales = "Values of " + data.pointsName + " are large (" + column(most) +
        ")";
  if (powers >= 3 && Rank() == 0)
  {
    mlpack::Log::Warn << scales << ", so that steps must be short and training "
        << "is slow; try --standardize!" << std::endl;
  }
}

void Standardizer::Enter(arma::mat& weights, arma::vec& intercept) const
{
  if (!Used())
    return;
  intercept += weights * mean.t();
  weights.each_row() %= deviation;
}

void Standardizer::Leave(arma::mat& weights, arma::vec& intercept) const
{
  if (!Used())
    return;
  weights.each_row() /= deviation;
  intercept -= weights * mean.t();
}

} // namespace cli
} // namespace dasgd
