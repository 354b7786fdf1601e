/**
 * @file points.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "points.hpp"

#include <common/labels.hpp>
#include <common/load.hpp>
#include <data/idx_file.hpp>
#include <ranks/ranks.hpp>

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
  Reading(path, pointsName, [&]() -> std::string
  {
    if (!idx)
      return cli::LoadMatrix(path, result.values);
    result.shape.flat = false;
    result.values = LoadIdxImages(path, result.shape.width,
        result.shape.height);
    return "";
  });

  if (!labels.empty())
  {
    const std::string labelsPath = ExistingFile(labels, labelsName, sharded);
    Reading(labelsPath, labelsName, [&]() -> std::string
    {
      if (!IsIdxFile(labelsPath))
        return cli::LoadMatrix(labelsPath, result.labels);
      result.labels = LoadIdxLabels(labelsPath);
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
  else if (labelled)
    result.labels = cli::TakeLabels(result.values, pointsName);

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
