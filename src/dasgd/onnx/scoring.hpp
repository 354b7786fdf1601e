/**
 * @file scoring.hpp
 *
 * The loss of outputs that inference has computed, and a measure that fits it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_SCORING_HPP
#define DASGD_ONNX_SCORING_HPP

#include "loss.hpp"
#include "onnx_function.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dasgd {
namespace graph {

//! Sums over any number of pieces of points.
template<typename MatType>
class Scoring
{
 public:
  //! @param probabilities Does the model end in Softmax or Sigmoid?
  Scoring(const Objective& objective, const bool probabilities) :
      objective(objective), probabilities(probabilities) { }

  //! Where in the output of a point the classes are; see ClassAxis().
  void SetClasses(const std::vector<std::int64_t>& output,
                  const std::vector<std::int64_t>& targets)
  {
    const size_t axis = ClassAxis(output, targets);
    for (size_t i = 0; i < output.size(); ++i)
    {
      size_t& part = (i + 1 < axis) ? before : (i + 1 == axis) ? classes :
          after;
      part *= size_t(output[i]);
    }
  }

  /**
   * @param output A column for each point; for a loss of the model's own, what
   *     it gives.
   * @param targets Whole numbers for classes, or responses.
   */
  void Add(const MatType& output, const size_t points, const void* targets)
  {
    if (objective.loss == OnnxLoss::Model)
    {
      loss += double(arma::mean(arma::vectorise(output))) * double(points);
      count += double(points);
    }
    else if (objective.loss == OnnxLoss::CrossEntropy)
      AddClasses(output, static_cast<const std::int64_t*>(targets));
    else if (objective.loss == OnnxLoss::BinaryCrossEntropy)
      AddBinary(output, static_cast<const ElemType*>(targets));
    else
      AddErrors(output, static_cast<const ElemType*>(targets));
  }

  OnnxScore Result() const
  {
    OnnxScore score;
    score.loss = loss / count;
    if (objective.loss == OnnxLoss::Model)
      return score;
    if (objective.loss == OnnxLoss::CrossEntropy ||
        objective.loss == OnnxLoss::BinaryCrossEntropy)
    {
      score.name = "accuracy";
      score.value = right / count;
      return score;
    }
    score.name = "R^2";
    score.value = 1 - squares / arma::accu(spread);
    return score;
  }

 private:
  using ElemType = typename MatType::elem_type;

  void AddClasses(const MatType& output, const std::int64_t* targets)
  {
    for (size_t point = 0; point < output.n_cols; ++point)
    {
      for (size_t i = 0; i < before * after; ++i)
      {
        const std::int64_t truth = *targets++;
        if (truth == objective.ignored)
          continue;
        const ElemType* first = output.colptr(point) + i / after * classes *
            after + i % after;
        size_t best = 0;
        for (size_t c = 1; c < classes; ++c)
        {
          if (first[c * after] > first[best * after])
            best = c;
        }
        const double most = double(first[best * after]);
        const double own = double(first[size_t(truth) * after]);
        double sum = 0;
        for (size_t c = 0; !probabilities && c < classes; ++c)
          sum += std::exp(double(first[c * after]) - most);
        loss -= probabilities ? std::log(std::max(own,
            double(std::numeric_limits<float>::min()))) :
            own - most - std::log(sum);
        right += std::int64_t(best) == truth;
        ++count;
      }
    }
  }

  void AddBinary(const MatType& output, const ElemType* targets)
  {
    for (size_t i = 0; i < output.n_elem; ++i)
    {
      double logit = double(output[i]);
      if (probabilities)
      {
        const double least = double(std::numeric_limits<float>::min());
        logit = std::log(std::max(logit, least) / std::max(1 - logit, least));
      }
      const double truth = double(targets[i]);
      loss += std::max(logit, 0.0) - logit * truth +
          std::log1p(std::exp(-std::fabs(logit)));
      right += (logit > 0) == (truth > 0.5);
      ++count;
    }
  }

  void AddErrors(const MatType& output, const ElemType* targets)
  {
    if (means.empty())
    {
      means.zeros(output.n_rows);
      spread.zeros(output.n_rows);
    }
    for (size_t point = 0; point < output.n_cols; ++point)
    {
      ++points;
      for (size_t i = 0; i < output.n_rows; ++i)
      {
        const double truth = double(*targets++);
        const double error = double(output(i, point)) - truth;
        squares += error * error;
        loss += objective.loss == OnnxLoss::MeanAbsoluteError ?
            std::fabs(error) : error * error;
        ++count;
        // Welford's way to sum squares of distances from the mean.
        const double distance = truth - means[i];
        means[i] += distance / points;
        spread[i] += distance * (truth - means[i]);
      }
    }
  }

  Objective objective;
  bool probabilities;
  size_t before = 1, classes = 1, after = 1;
  double loss = 0, count = 0, right = 0, squares = 0, points = 0;
  arma::vec means, spread;
};

} // namespace graph
} // namespace dasgd

#endif
