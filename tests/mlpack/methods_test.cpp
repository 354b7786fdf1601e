/**
 * @file methods_test.cpp
 *
 * mlpack's linear models, distance learning and matrix factorisation end as
 * well with DASGD as with ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "against_serial.hpp"

namespace {

//! Clouds of points around one corner each; they overlap a little.
void Clouds(const size_t classes,
            const size_t dimensions,
            const size_t points,
            arma::mat& data,
            arma::Row<size_t>& labels)
{
  mlpack::RandomSeed(7);
  data.randn(dimensions, points);
  labels.set_size(points);
  for (size_t i = 0; i < points; ++i)
  {
    labels[i] = i % classes;
    data(labels[i], i) += 3.5;
  }
}

//! Two classes that differ along one axis, among others with far more noise.
void NoisyAxes(arma::mat& data, arma::Row<size_t>& labels)
{
  mlpack::RandomSeed(8);
  data.randn(3, 120);
  data.rows(1, 2) *= 3.0;
  labels.set_size(120);
  for (size_t i = 0; i < 120; ++i)
  {
    labels[i] = i % 2;
    data(0, i) += (labels[i] == 0) ? -1.5 : 1.5;
  }
}

//! Ratings (user, item, rating) of a matrix of rank two, with a little noise.
arma::mat Ratings()
{
  mlpack::RandomSeed(9);
  const arma::mat users(2, 60, arma::fill::randu);
  const arma::mat items(2, 30, arma::fill::randu);
  const arma::mat all = users.t() * items +
      0.05 * arma::mat(60, 30, arma::fill::randn);
  arma::mat data(3, 1800);
  for (size_t i = 0; i < 1800; ++i)
  {
    data(0, i) = double(i % 60);
    data(1, i) = double(i / 60);
    data(2, i) = all(i % 60, i / 60);
  }
  return data;
}

//! mlpack specializes ens::StandardSGD for its factorisations, but only for
//! calls without callbacks; with this one the general code runs.
struct NoSpecialization { };

/**
 * Factorise, and judge by the mean squared error and penalty.
 *
 * @param data A copy, since these functions shuffle the matrix they were given.
 */
template<typename FunctionType, typename OptimizerType, typename... ArgTypes>
Trained Factorise(OptimizerType& optimizer, arma::mat data, ArgTypes&&... args)
{
  FunctionType function(data, args..., 2, 0.001);
  Trained trained;
  trained.parameters = function.GetInitialPoint();
  optimizer.Optimize(function, trained.parameters, NoSpecialization());
  trained.score = -function.Evaluate(trained.parameters) / 1800;
  return trained;
}

} // namespace

// Accuracies may fall behind by 2 per cent points: that is 12 of 600 points
// near the border, which moves with the last few gradients.

TEST_CASE("LogisticRegression", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(2, 5, 600, data, labels);
  CheckAgainstSerial({ Batches::Sum, 0.05, 10, 30000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::LogisticRegression<> model(5, 0.1);
    model.Train(data, labels, optimizer);
    return Trained{ model.Parameters(), model.ComputeAccuracy(data, labels) };
  });
}

TEST_CASE("LogisticRegression in single precision", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(2, 5, 600, data, labels);
  const arma::fmat floats = arma::conv_to<arma::fmat>::from(data);
  CheckAgainstSerial({ Batches::Sum, 0.05, 10, 30000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::LogisticRegression<arma::fmat> model(5, 0.1);
    model.Train(floats, labels, optimizer);
    return Trained{ arma::conv_to<arma::mat>::from(model.Parameters()),
        double(model.ComputeAccuracy(floats, labels)) };
  });
}

TEST_CASE("LogisticRegression on sparse data", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(2, 5, 600, data, labels);
  const arma::sp_mat sparse(data);
  CheckAgainstSerial({ Batches::Sum, 0.05, 10, 30000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::LogisticRegression<arma::sp_mat> model(5, 0.1);
    model.Train(sparse, labels, optimizer);
    return Trained{ model.Parameters(),
        model.ComputeAccuracy(sparse, labels) };
  });
}

// Here and in LinearSVM each rank's part is a multiple of the batch size: they
// average over a batch, and ensmallen 3 takes a larger step with a smaller one.
TEST_CASE("SoftmaxRegression", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(4, 5, 600, data, labels);
  CheckAgainstSerial({ Batches::Mean, 0.05, 10, 30000, 96.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::SoftmaxRegression<> model(5, 4, true);
    model.Train(data, labels, 4, optimizer, 0.001);
    return Trained{ model.Parameters(), model.ComputeAccuracy(data, labels) };
  });
}

TEST_CASE("LinearSVM", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  Clouds(3, 5, 600, data, labels);
  CheckAgainstSerial({ Batches::Mean, 0.05, 10, 30000, 97.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::LinearSVM<> model(5, 3, 0.001, 1.0, true);
    model.Train(data, labels, 3, optimizer);
    return Trained{ model.Parameters(), model.ComputeAccuracy(data, labels) };
  });
}

// Score: of 120 points, how many are expected to have their own kind for a
// neighbour; 102 before training, 112 after.  It may fall behind by a tenth of
// what is won.
TEST_CASE("NCA", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  NoisyAxes(data, labels);
  CheckAgainstSerial({ Batches::Sum, 0.02, 10, 24000, 111.0, 1.0 },
      [&](auto& optimizer)
  {
    const mlpack::NCA<> model;
    Trained trained;
    model.LearnDistance(data, labels, trained.parameters, optimizer);
    mlpack::SoftmaxErrorFunction<arma::mat> error(data, labels);
    trained.score = -error.Evaluate(trained.parameters);
    return trained;
  });
}

// Score: the loss over 120 points, negated; -768 before training, -274 after.
// It may fall behind by 25, a twentieth of what is won: the neighbours that
// count change in jumps, so that a few stale gradients lead elsewhere.  The
// worst of 65 runs at three ranks fell behind by 12.  Ranks that share a core
// and do not yield to each other fell behind by more than 25: gradients then
// come in bursts, and that is what the number guards against.
TEST_CASE("LMNN", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  NoisyAxes(data, labels);
  CheckAgainstSerial({ Batches::Sum, 0.01, 10, 24000, -290.0, 25.0 },
      [&](auto& optimizer)
  {
    const mlpack::LMNN<> model(3);
    Trained trained;
    model.LearnDistance(data, labels, trained.parameters, optimizer);
    mlpack::LMNNFunction<arma::mat, arma::Row<size_t>,
        mlpack::SquaredEuclideanDistance> loss(data, labels, 3, 0.5, 1);
    trained.score = -loss.Evaluate(trained.parameters);
    return trained;
  });
}

// The classes RegularizedSVD, BiasSVD and SVDPlusPlus run ens::StandardSGD
// whatever optimizer they are given, but their functions take any.
//
// Score: the mean squared error with penalty, negated; before training -0.13,
// -1.6 and -21.  It may fall behind by a tenth of the noise's variance, 0.0025;
// for the last, which learns slowly and is stopped early, by 0.001.

TEST_CASE("RegularizedSVDFunction", "[mlpack]")
{
  const arma::mat data = Ratings();
  CheckAgainstSerial({ Batches::Sum, 0.6, 60, 360000, -0.01, 0.00025 },
      [&](auto& optimizer)
  {
    return Factorise<mlpack::RegularizedSVDFunction<arma::mat>>(optimizer,
        data);
  });
}

TEST_CASE("BiasSVDFunction", "[mlpack]")
{
  const arma::mat data = Ratings();
  CheckAgainstSerial({ Batches::Sum, 0.6, 60, 360000, -0.01, 0.00025 },
      [&](auto& optimizer)
  {
    return Factorise<mlpack::BiasSVDFunction<arma::mat>>(optimizer, data);
  });
}

TEST_CASE("SVDPlusPlusFunction", "[mlpack]")
{
  const arma::mat data = Ratings();
  // Every user has rated every item.
  const arma::sp_mat implicit(arma::mat(30, 60, arma::fill::ones));
  CheckAgainstSerial({ Batches::Sum, 0.04, 20, 126000, -0.02, 0.001 },
      [&](auto& optimizer)
  {
    return Factorise<mlpack::SVDPlusPlusFunction<arma::mat>>(optimizer, data,
        implicit);
  });
}
