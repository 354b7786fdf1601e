/**
 * @file main.cpp
 *
 * The program of the consumer project: exits with 0 if training found the
 * minimum.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <iostream>

#include <dasgd.hpp>

#include "train.hpp"

int main()
{
  arma::mat coordinates(3, 1, arma::fill::zeros);
  Train(coordinates);

  const double distance = arma::norm(coordinates - Minimum());
  dasgd::RootStream() << "distance from the minimum: " << distance << std::endl;
  // 0.99^3000 is 1e-13; the rest is room for stale gradients and rounding.
  return (distance < 1e-6) ? 0 : 1;
}
