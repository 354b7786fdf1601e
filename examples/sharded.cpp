/**
 * @file sharded.cpp
 *
 * Each rank reads its own part of the data, and no rank holds all of it: for
 * data that does not fit into the memory of one machine.
 *
 *     mpirun -n 3 sharded
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include "example.hpp"
#include "fashion_mnist.hpp"

using namespace mlpack;

int main(int argc, char** argv) try
{
  const example::Options options(argc, argv, 3, 60000);

  // Which part is this rank's?  (MPI_Comm_rank() and MPI_Comm_size() tell it to
  // programs that call MPI_Init() themselves.)
  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);

  // Parts need not be of the same size.  Take care that they are alike,
  // though: if one rank held all the shoes, each epoch would end with whatever
  // the slowest rank holds.
  const size_t points = options.points;
  const size_t begin = points * world.Rank() / world.Size();
  const size_t end = points * (world.Rank() + 1) / world.Size();
  example::FashionMnist train("train", end - begin, begin), test("t10k");

  FFN<NegativeLogLikelihood, GlorotInitialization> model;
  model.Add<Linear>(64);
  model.Add<ReLU>();
  model.Add<Linear>(10);
  model.Add<LogSoftMax>();

  // The number of points to visit counts over all ranks, as always.
  dasgd::DASGD optimizer(example::Step(0.1, 32), 32, options.epochs * points);
  optimizer.Data() = dasgd::Data::Sharded;
  optimizer.Topology() = options.topology;

  model.Train(std::move(train.images),
      arma::conv_to<arma::mat>::from(train.labels), optimizer,
      ens::PrintLoss(dasgd::RootStream()));

  arma::mat output;
  model.Predict(test.images, output);
  const double correct = arma::accu(arma::index_max(output) == test.labels);
  example::PrintResult(optimizer.Report(), 100 * correct / output.n_cols,
      model.Parameters(), options);
}
catch (const std::exception& e)
{
  return example::Failed(e);
}
