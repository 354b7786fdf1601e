/**
 * @file labels.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "labels.hpp"

#include <ranks/ranks.hpp>

#include <dasgd/mpi/mpi_communicator.hpp>

#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace cli {

void CheckCount(const std::string& pointsName,
                const size_t points,
                const std::string& labelsName,
                const size_t labels)
{
  if (points == labels)
    return;
  throw std::invalid_argument("The labels must have the same number of points "
      "as the dataset: " + pointsName + " has " + std::to_string(points) +
      " points, but " + labelsName + " has " + std::to_string(labels) +
      " labels!");
}

void CheckRange(const arma::Row<size_t>& labels,
                const size_t classes,
                const std::string& name,
                const std::string& remedy)
{
  for (size_t i = 0; i < labels.n_elem; ++i)
  {
    if (labels[i] < classes)
      continue;
    throw std::invalid_argument("The labels in " + name + " must be from 0 to "
        + std::to_string(classes - 1) + ", but in row " + std::to_string(i + 1)
        + " there is " + std::to_string(labels[i]) + "; " + remedy + "!");
  }
}

void CheckFinite(const arma::mat& data, const std::string& name)
{
  if (data.is_finite())
    return;
  const arma::uvec bad = arma::find_nonfinite(data);
  std::ostringstream value;
  value << data[bad[0]];
  throw std::invalid_argument("The data in " + name + " must be finite, but "
      "row " + std::to_string(bad[0] / data.n_rows + 1) + ", column " +
      std::to_string(bad[0] % data.n_rows + 1) + " is " + value.str() +
      "; fill it in, or take the row out!");
}

std::set<size_t> AllLabels(const arma::Row<size_t>& labels)
{
  std::set<size_t> all(labels.begin(), labels.end());
  if (Ranks() == 1)
    return all;
  std::ostringstream mine;
  for (const size_t label : all)
    mine << label << ' ';
  for (const std::string& theirs : MpiCommunicator(MPI_COMM_WORLD).Gather(
      mine.str()))
  {
    std::istringstream text(theirs);
    size_t label;
    while (text >> label)
      all.insert(label);
  }
  return all;
}

std::set<size_t> RequireClasses(const arma::Row<size_t>& labels,
                                const std::string& name)
{
  const std::set<size_t> all = AllLabels(labels);
  if (all.size() < 2)
  {
    throw std::invalid_argument("All labels in " + name + " are " +
        (all.empty() ? "missing" : std::to_string(*all.begin())) + "; at least "
        "2 classes are needed!");
  }
  return all;
}

} // namespace cli
} // namespace dasgd
