/**
 * @file paper.hpp
 *
 * What the experiments of dasgd_paper have in common.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_PAPER_PAPER_HPP
#define DASGD_EXAMPLES_PAPER_PAPER_HPP

#include "table.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace example {

//! The command line.
struct Options
{
  //! Where the rows go.
  std::string out;
  size_t runs = 4;
  size_t firstRun = 1;
  //! Over MPI, with all ranks there are, instead of on virtual time.
  bool mpi = false;
  //! Step size, and the error to reach.
  double step = 0;
  double error = 0;
  //! Seconds that a gradient takes.
  double seconds = 0;
  //! Frames under way to each neighbour.
  size_t window = 128;

  //! Quadratic and logistic: how many times slower the second worker is; 0
  //! stands for one worker alone.
  std::vector<size_t> slower;

  //! CIFAR-10: how many workers; images to train with, and in a batch.
  std::vector<size_t> workers;
  std::string data;
  std::string update;
  size_t points = 0;
  size_t batch = 0;
  size_t maxGradients = 0;
};

//! Each returns the status of the program.
int RunQuadratic(const Options& options);
int RunLogistic(const Options& options);
int RunCifar(const Options& options);

} // namespace example

#endif
