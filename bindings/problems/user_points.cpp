/**
 * @file user_points.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "user_points.hpp"

#include <data/idx_file.hpp>
#include <data/input_file.hpp>
#include <data/labels.hpp>

#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace study {

namespace {

//! A table of numbers, with a column of the matrix for each line.
arma::mat LoadNumbers(const std::string& path)
{
  Table table = cli::LoadTable(path, [](const auto&) { return NoColumn; });
  RequireNumbers(table);
  return std::move(table.values);
}

arma::Row<size_t> LabelsOf(const arma::rowvec& values)
{
  arma::Row<size_t> labels(values.n_elem);
  for (size_t i = 0; i < values.n_elem; ++i)
  {
    if (!IsIndex(values[i]))
    {
      std::ostringstream text;
      text << "labels must be whole numbers from 0 on, but in row " << i + 1
          << " there is " << values[i];
      throw std::runtime_error(text.str());
    }
    labels[i] = size_t(values[i]);
  }
  return labels;
}

} // namespace

LabelledSet ReadUserPoints(const std::string& points,
                           const std::string& labels,
                           const std::string& pointsName,
                           const std::string& labelsName,
                           std::string& shape)
{
  LabelledSet set;
  const cli::InputFile file(points, pointsName, false);
  const bool idx = IsIdxFile(file.path);
  file.Read([&]()
  {
    if (idx)
    {
      size_t width = 0, height = 0;
      set.points = LoadIdxImages(file.path, width, height);
      shape = std::to_string(width) + "x" + std::to_string(height) + "x1";
      return;
    }
    set.points = LoadNumbers(file.path);
    if (labels.empty() && set.points.n_rows < 2)
    {
      throw std::runtime_error("it has 1 column; give labels in a file of "
          "their own");
    }
    if (labels.empty())
    {
      set.labels = LabelsOf(set.points.tail_rows(1));
      set.points.shed_row(set.points.n_rows - 1);
    }
    shape = std::to_string(set.points.n_rows);
  });
  if (!labels.empty())
  {
    const cli::InputFile other(labels, labelsName, false);
    other.Read([&]()
    {
      arma::mat values = LoadNumbers(other.path);
      if (values.n_cols == 1)
        arma::inplace_trans(values);
      if (values.n_rows != 1)
        throw std::runtime_error("one value in each line is expected");
      set.labels = LabelsOf(values);
    });
    cli::CheckCount(pointsName, set.points.n_cols, labelsName,
        set.labels.n_elem);
  }
  else if (idx)
  {
    throw std::invalid_argument("Must specify " + labelsName + ": the images "
        "in " + pointsName + " come without labels!");
  }
  cli::CheckFinite(set.points, pointsName);
  return set;
}

} // namespace study
} // namespace dasgd
