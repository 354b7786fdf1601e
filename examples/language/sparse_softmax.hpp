/**
 * @file sparse_softmax.hpp
 *
 * Softmax regression on sparse points, to train and to judge.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_LANGUAGE_SPARSE_SOFTMAX_HPP
#define DASGD_EXAMPLES_LANGUAGE_SPARSE_SOFTMAX_HPP

#include <mlpack/methods/softmax_regression/softmax_regression.hpp>

#include "letters.hpp"

#include <limits>
#include <numeric>
#include <random>

namespace example {

/**
 * The objective of mlpack's softmax regression with an intercept, as a sum over
 * words.  mlpack's own class, SoftmaxRegressionFunction<arma::sp_mat>, cannot
 * be used here (as of 4.8):
 *
 * - Evaluate() of a batch does not compile: it holds probabilities in a sparse
 *   matrix.
 * - It keeps a copy of the data, Shuffle() makes another one, and column by
 *   column at that.  Here an order is shuffled.
 * - It adds a regularization, by which every element of a gradient is nonzero.
 *
 * Parameters have the shape of mlpack's: a row for each language, a column for
 * each group of letters after one for the intercept.
 *
 * What an optimizer calls a point is a batch of words here, and its objective
 * their mean loss.  ensmallen divides steps by the number of points in a batch,
 * those of Adam, too, which do not get longer with it: the last batch of an
 * epoch, which is smaller, would take a step that is far too long.
 */
class SparseSoftmax
{
 public:
  SparseSoftmax(const Points& points,
                const size_t classes,
                const size_t batch) :
      points(&points), batch(batch), scores(classes),
      order(points.data.n_cols)
  {
    if (points.data.n_cols > std::numeric_limits<std::uint32_t>::max())
      throw std::runtime_error("a rank cannot have more than 2^32 - 1 words");
    std::iota(order.begin(), order.end(), 0);
  }

  size_t NumFunctions() const { return (order.size() + batch - 1) / batch; }

  //! Words of all gradients so far.
  std::uint64_t Visited() const { return visited; }

  //! By Armadillo's random numbers, which dasgd seeds; but by one of them only,
  //! since arma::shuffle() sorts, and holds three vectors meanwhile.
  void Shuffle()
  {
    std::mt19937_64 random(arma::randi<arma::uvec>(1,
        arma::distr_param(0, std::numeric_limits<int>::max()))[0]);
    std::shuffle(order.begin(), order.end(), random);
  }

  double Evaluate(const arma::mat& parameters,
                  const size_t begin,
                  const size_t count)
  {
    double sum = 0;
    for (size_t i = begin; i < begin + count; ++i)
      sum += Loss(parameters, i, nullptr);
    return sum;
  }

  double EvaluateWithGradient(const arma::mat& parameters,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t count)
  {
    gradient.zeros(parameters.n_rows, parameters.n_cols);
    double sum = 0;
    for (size_t i = begin; i < begin + count; ++i)
      sum += Loss(parameters, i, &gradient);
    return sum;
  }

  void Gradient(const arma::mat& parameters,
                const size_t begin,
                arma::mat& gradient,
                const size_t count)
  { EvaluateWithGradient(parameters, begin, gradient, count); }

 private:
  //! The mean loss of a batch; its gradient is added, if there is one.
  double Loss(const arma::mat& parameters,
              const size_t number,
              arma::mat* gradient)
  {
    const arma::sp_mat& data = points->data;
    const size_t begin = number * batch;
    const size_t end = std::min(begin + batch, order.size());
    const double share = 1 / double(end - begin);
    double sum = 0;
    for (size_t i = begin; i < end; ++i)
    {
      const size_t point = order[i];
      sum += Errors(parameters, point);
      if (gradient == nullptr)
        continue;
      Add(gradient->colptr(0), scores.data(), share);
      for (size_t k = data.col_ptrs[point]; k < data.col_ptrs[point + 1]; ++k)
      {
        Add(gradient->colptr(1 + data.row_indices[k]), scores.data(),
            share * data.values[k]);
      }
    }
    if (gradient != nullptr)
      visited += end - begin;
    return share * sum;
  }

  //! Add a multiple of one number per language.
  void Add(double* sum, const double* summand, const double factor) const
  {
    for (size_t i = 0; i < scores.size(); ++i)
      sum[i] += factor * summand[i];
  }

  //! Put the derivatives by the scores of a word into `scores`; returns the
  //! loss.
  double Errors(const arma::mat& parameters, const size_t point)
  {
    const arma::sp_mat& data = points->data;
    std::copy_n(parameters.colptr(0), scores.size(), scores.begin());
    for (size_t k = data.col_ptrs[point]; k < data.col_ptrs[point + 1]; ++k)
    {
      Add(scores.data(), parameters.colptr(1 + data.row_indices[k]),
          data.values[k]);
    }

    const size_t label = points->labels[point];
    const double largest = *std::max_element(scores.begin(), scores.end());
    const double right = scores[label] - largest;
    double sum = 0;
    for (double& score : scores)
      sum += (score = std::exp(score - largest));
    for (double& score : scores)
      score /= sum;
    scores[label] -= 1;
    return std::log(sum) - right;
  }

  const Points* points;
  size_t batch;
  std::vector<double> scores;
  std::vector<std::uint32_t> order;
  std::uint64_t visited = 0;
};

/**
 * What mlpack takes for an optimizer: hands parameters to a model.
 * SoftmaxRegression<arma::sp_mat> accepts them in no other way, since its
 * Parameters() does not compile: it returns a dense matrix as a sparse one.
 */
class HandOver
{
 public:
  explicit HandOver(const arma::mat& parameters) : parameters(&parameters) { }

  template<typename FunctionType, typename MatType, typename... CallbackTypes>
  typename MatType::elem_type Optimize(FunctionType&,
                                       MatType& iterate,
                                       CallbackTypes&&...)
  {
    iterate = *parameters;
    return 0;
  }

 private:
  const arma::mat* parameters;
};

//! mlpack's model with these parameters.
inline mlpack::SoftmaxRegression<arma::sp_mat> MakeModel(
    const arma::mat& parameters)
{
  mlpack::SoftmaxRegression<arma::sp_mat> model(parameters.n_cols - 1,
      parameters.n_rows, true);
  // Train() copies the data it is given, and only the number of features
  // matters here.
  HandOver optimizer(parameters);
  model.Train(arma::sp_mat(parameters.n_cols - 1, 1), arma::Row<size_t>(1,
      arma::fill::zeros), parameters.n_rows, optimizer, 0, true);
  return model;
}

} // namespace example

#endif
