/**
 * @file example.hpp
 *
 * What the examples share and is not worth reading twice: arguments, and the
 * words at the end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_EXAMPLE_HPP
#define DASGD_EXAMPLES_EXAMPLE_HPP

#include <dasgd.hpp>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace example {

//! The arguments that the examples understand.
struct Options
{
  std::string topology = "auto";
  size_t epochs;
  size_t points;
  bool hash = false;

  //! Give the defaults of the program.
  Options(const int argc,
          char** argv,
          const size_t epochs,
          const size_t points) : epochs(epochs), points(points)
  {
    for (int i = 1; i < argc; ++i)
    {
      const std::string name = argv[i];
      if (name == "--hash")
        hash = true;
      else if (name == "--topology" && i + 1 < argc)
        topology = argv[++i];
      else if (name == "--epochs" && i + 1 < argc)
        this->epochs = Number(name, argv[++i]);
      else if (name == "--seed" && i + 1 < argc)
        arma::arma_rng::set_seed(Number(name, argv[++i]));
      else if (name == "--points" && i + 1 < argc)
        this->points = Number(name, argv[++i]);
      else
      {
        throw std::invalid_argument("'" + name + "' is not known or lacks its "
            "value; known are --topology T (auto, complete, ring, exponential, "
            "mesh:RxC, tree:K, graph:0-1,1-2, file:PATH), --epochs N, "
            "--points N (to train with), --seed N (of random numbers), --hash "
            "(each rank prints a hash of its model)");
      }
    }
  }

  static size_t Number(const std::string& name, const std::string& text)
  {
    const bool digits = !text.empty() && text.size() < 10 &&
        text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoul(text) == 0)
    {
      throw std::invalid_argument(name + " needs a number of at least 1, not '"
          + text + "'");
    }
    return std::stoul(text);
  }
};

/**
 * The step size for ens::SGD and dasgd::DASGD, given as the step along the mean
 * gradient of a batch.  Since version 3.10 ensmallen means it so; before, the
 * step goes along the sum.
 */
inline double Step(const double step, const size_t batchSize)
{
  return dasgd::ensmallen::dividesStep ? step : step / double(batchSize);
}

//! A hash (64-bit FNV-1a) of all bits of a model.
template<typename MatType>
std::string Hash(const MatType& parameters)
{
  std::uint64_t hash = 14695981039346656037u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(
      parameters.memptr());
  for (size_t i = 0; i < parameters.n_elem * sizeof(parameters[0]); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

/**
 * Say how it went: once, and with --hash one more line for each rank.
 *
 * @param accuracy Per cent of the test data that the model gets right.
 */
template<typename MatType>
void PrintResult(const dasgd::Report& report,
                 const double accuracy,
                 const MatType& parameters,
                 const Options& options)
{
  std::ostringstream text;
  text << "\n" << report << "\n" << std::fixed << std::setprecision(2)
      << "test accuracy         " << accuracy << " %\n"
      << "seconds of training   " << report.seconds << "\n"
      << "gradients per second  "
      << double(report.Gradients()) / report.seconds << "\n";
  dasgd::RootStream() << text.str() << std::flush;
  if (options.hash)
  {
    const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
    std::cout << "rank " + std::to_string(comm.Rank()) + " model " +
        Hash(parameters) + "\n" << std::flush;
  }
}

//! What main() returns if something was thrown.
inline int Failed(const std::exception& e)
{
  std::cerr << "error: " + std::string(e.what()) + "\n" << std::flush;
  return 1;
}

} // namespace example

#endif
