/**
 * @file task.hpp
 *
 * What is trained, without its type: so all optimizers are compiled once, and
 * mlpack is read by one file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_TASK_HPP
#define DASGD_BINDINGS_PROBLEMS_TASK_HPP

#include <training/any_function.hpp>
#include <dasgd/ensmallen/ensmallen.hpp>

#include <functional>

namespace dasgd {
namespace study {

using Separable = cli::AnyFunction;

//! A model to train, and to look at from outside of the training.
class Task
{
 public:
  virtual ~Task() = default;

  /**
   * Set the training up with random weights from the program's random numbers
   * and hand function and iterate to the action.  The iterate is the model's
   * own memory where the model reads it from there.
   */
  virtual void Train(
      const std::function<void(Separable&, arma::mat&)>& action) = 0;

  //! Is the function's value for a batch the sum over its points, or the mean?
  virtual bool Sums() const = 0;

  /**
   * How likely each class is for each point, as logarithms.  May be called
   * while Train() is under way, and does not disturb it.
   */
  virtual void LogProbabilities(const arma::mat& iterate,
                                const arma::mat& points,
                                arma::mat& result) = 0;
};

/**
 * The step size such that a step is along the mean gradient of a batch,
 * whatever the function and the installed ensmallen do.
 */
inline double StepAlongMean(const Task& task,
                            const double step,
                            const double batch)
{
  if (ensmallen::dividesStep && !task.Sums())
    return step * batch;
  if (!ensmallen::dividesStep && task.Sums())
    return step / batch;
  return step;
}

//! Points with a label each.
struct LabelledSet
{
  arma::mat points;
  arma::Row<size_t> labels;
};

//! What a study works on.
struct DataSet
{
  LabelledSet train, validation, test;
  size_t classes = 0;
  //! The shape of a point, as in "28x28x1".
  std::string shape;
};

} // namespace study
} // namespace dasgd

#endif
