/**
 * @file callbacks.cpp
 *
 * ensmallen's callbacks and one of one's own.  They are called on every rank;
 * so those that print get a stream that is silent everywhere but on rank 0.
 *
 *     mpirun -n 2 callbacks --epochs 10
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include "example.hpp"
#include "fashion_mnist.hpp"

using namespace mlpack;

/**
 * Stops once the model is good enough on data it has not seen.  It is enough
 * that one rank asks to stop: then all do.
 */
class StopAtAccuracy
{
 public:
  StopAtAccuracy(const example::FashionMnist& data, const double enough) :
      data(data), enough(enough) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType& /* optimizer */,
                FunctionType& /* function */,
                const MatType& coordinates,
                const size_t epoch,
                const double /* objective */)
  {
    const arma::rowvec scores = coordinates[0] +
        coordinates.tail_cols(data.images.n_rows) * data.images;
    const double accuracy = 100 * arma::mean(arma::conv_to<arma::rowvec>::from(
        (scores > 0) == data.labels));
    dasgd::RootStream() << "epoch " << epoch << ": accuracy " << accuracy
        << " %" << std::endl;
    return accuracy >= enough;
  }

 private:
  const example::FashionMnist& data;
  double enough;
};

int main(int argc, char** argv) try
{
  const example::Options options(argc, argv, 10, 60000);
  example::FashionMnist train("train", options.points), test("t10k");
  train.Keep(2, 4);
  test.Keep(2, 4);

  LogisticRegression<> model(train.images.n_rows, 0.001);

  dasgd::DASGD optimizer(example::Step(0.02, 32), 32,
      options.epochs * train.images.n_cols);
  optimizer.Topology() = options.topology;

  model.Train(train.images, train.labels, optimizer,
      ens::ProgressBar(30, dasgd::RootStream()),
      ens::PrintLoss(dasgd::RootStream()),
      ens::EarlyStopAtMinLoss(2),
      StopAtAccuracy(test, 84.5));

  const double accuracy = model.ComputeAccuracy(test.images, test.labels);
  example::PrintResult(optimizer.Report(), accuracy, model.Parameters(),
      options);
}
catch (const std::exception& e)
{
  return example::Failed(e);
}
