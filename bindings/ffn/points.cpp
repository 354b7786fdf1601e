/**
 * @file points.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "points.hpp"

#include <data/idx_file.hpp>
#include <data/labels.hpp>
#include <data/load.hpp>
#include <ranks/ranks.hpp>

#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace ffn {

namespace {

/**
 * The name of a file that is to be read, which must exist.
 *
 * @param given The value of the parameter; '{rank}' stands for the rank.
 * @param name The parameter, for messages.
 */
std::string ExistingFile(const std::string& given,
                         const std::string& name,
                         const bool sharded)
{
  std::string path = given;
  const size_t at = path.find("{rank}");
  if (sharded && at != std::string::npos)
    path.replace(at, 6, std::to_string(cli::Rank()));
  const std::string reason = cli::ReadProblem(path);
  if (!reason.empty())
  {
    throw std::invalid_argument("Cannot open file '" + path + "', given with " +
        name + ": " + reason + "; check the name!");
  }
  return path;
}

//! Do something with a file; what goes wrong is told with the parameter.
template<typename ActionType>
void Reading(const std::string& path,
             const std::string& name,
             ActionType&& action)
{
  std::string problem;
  try
  {
    problem = action();
  }
  catch (const std::exception& e)
  {
    problem = e.what();
  }
  if (!problem.empty())
  {
    throw std::invalid_argument("Loading from '" + path + "', given with " +
        name + ", failed; " + problem + "!");
  }
}

} // namespace

std::string ReadText(const std::string& path, const std::string& name)
{
  std::ifstream file(ExistingFile(path, name, false));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Points ReadPoints(const std::string& points,
                  const std::string& labels,
                  const std::string& pointsName,
                  const std::string& labelsName,
                  const bool labelled,
                  const bool sharded,
                  const double scale)
{
  Points result;
  const std::string path = ExistingFile(points, pointsName, sharded);
  const bool idx = IsIdxFile(path);
  // The number of a column of labels, and whole numbers in it.
  const auto take = [&](Table& table, const size_t column)
  {
    RequireNumbers(table);
    const arma::rowvec values = table.values.row(column);
    result.labels.set_size(values.n_elem);
    for (size_t i = 0; i < values.n_elem; ++i)
    {
      // 2^53: from there on not every whole number is a double.
      if (!(values[i] >= 0 && values[i] < 9007199254740992.0) ||
          values[i] != std::floor(values[i]))
      {
        std::ostringstream text;
        text << "labels must be whole numbers from 0 on, but in row " << i + 1
            << " there is " << values[i];
        throw std::runtime_error(text.str());
      }
      result.labels[i] = size_t(values[i]);
    }
    table.values.shed_row(column);
  };
  Reading(path, pointsName, [&]() -> std::string
  {
    if (idx)
    {
      result.shape.flat = false;
      result.values = LoadIdxImages(path, result.shape.width,
          result.shape.height);
      return "";
    }
    Table table = cli::LoadTable(path, [](const auto&) { return NoColumn; });
    RequireNumbers(table);
    if (labels.empty() && labelled && table.values.n_rows < 2)
      return "it has 1 column; give labels in a file of their own";
    if (labels.empty() && labelled)
      take(table, table.values.n_rows - 1);
    result.values = std::move(table.values);
    return "";
  });

  if (!labels.empty())
  {
    const std::string labelsPath = ExistingFile(labels, labelsName, sharded);
    Reading(labelsPath, labelsName, [&]() -> std::string
    {
      Table table = cli::LoadTable(labelsPath, [](const auto&)
          { return NoColumn; });
      if (table.values.n_cols == 1)
        arma::inplace_trans(table.values);
      if (table.values.n_rows != 1)
        return "one value in each line is expected";
      take(table, 0);
      return "";
    });
    cli::CheckCount(pointsName, result.values.n_cols, labelsName,
        result.labels.n_elem);
  }
  else if (labelled && idx)
  {
    throw std::invalid_argument("Must specify " + labelsName + ": the images "
        "in " + pointsName + " come without labels!");
  }

  if (!idx)
  {
    if (scale != 1)
      result.values *= scale;
    result.shape.width = result.values.n_rows;
  }
  cli::CheckFinite(result.values, pointsName);
  return result;
}

} // namespace ffn
} // namespace dasgd
