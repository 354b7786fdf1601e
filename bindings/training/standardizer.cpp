/**
 * @file standardizer.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "standardizer.hpp"

#include <ranks/ranks.hpp>
#include <terminal/log.hpp>

#include <mlpack/core.hpp>
#include <mpi.h>

#include <cmath>
#include <sstream>

namespace dasgd {
namespace cli {

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
