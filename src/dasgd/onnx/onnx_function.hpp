/**
 * @file onnx_function.hpp
 *
 * A model from an ONNX file as a function that ensmallen's optimizers, and
 * DASGD, minimize.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_ONNX_FUNCTION_HPP
#define DASGD_ONNX_ONNX_FUNCTION_HPP

#include "loss.hpp"

#include <armadillo>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace dasgd {

//! How a model is read and computed.
struct OnnxOptions
{
  //! Initializers that are not trained; '*' in a name stands for anything.
  std::vector<std::string> frozen;
  //! The output to use; if empty, the first that is not called "loss", or with
  //! OnnxLoss::Model the one that is.
  std::string output;
  //! The cross entropy leaves out positions that have this class.
  std::int64_t ignored = -100;
  //! The size of dimensions that the model leaves open and no points decide; 0
  //! to refuse such a model.
  size_t open = 0;
  //! Threads for one operator.
  size_t threads = 1;
  //! For the masks of Dropout; give each rank another one.
  std::uint64_t seed = 1;
};

//! A part of the iterate: one initializer of the model.
struct OnnxParameter
{
  std::string name;
  //! As in the file, the last one varies fastest.
  std::vector<std::int64_t> dims;
  //! The first element in the iterate, and how many there are.
  size_t offset;
  size_t elements;
};

//! Values of all points: for one input of a model, or what its outputs should
//! be.
struct OnnxArray
{
  //! The model's input; may be empty if it has only one.
  std::string name;
  //! Of one point; if empty, whatever the model says.
  std::vector<std::int64_t> dims;
  //! A column for each point, the last dimension varying fastest; whole numbers
  //! for tokens and classes.
  std::variant<arma::fmat, arma::mat, arma::Mat<arma::s64>> values;

  //! The number of points, and of values that each has.
  size_t Points() const
  { return std::visit([](const auto& v) { return size_t(v.n_cols); }, values); }
  size_t Rows() const
  { return std::visit([](const auto& v) { return size_t(v.n_rows); }, values); }
};

//! How good a model is on points that it has not been trained with.
struct OnnxScore
{
  //! The mean loss, as in training, of a point or of a class that counts.
  double loss = 0;
  //! What the other number is: "accuracy", "R^2", or empty if there is none.
  std::string name;
  double value = 0;
};

//! An input of a model.
struct OnnxInput
{
  std::string name;
  //! Of one point.
  std::vector<std::int64_t> dims;
  //! Whole numbers, or floating-point ones?
  bool whole;
};

//! One node of a model, for a table.
struct OnnxNode
{
  std::string name;
  std::string operation;
  //! Of its output, for a batch of one point; the batch comes first.
  std::vector<std::int64_t> dims;
  //! Trained numbers that are first used here.
  size_t parameters;
};

/**
 * The sum, over points, of a loss of a model's output.  The iterate is a column
 * of all weights that are trained.  With targets of which some do not count,
 * the loss of a batch is the mean over those that do, times its points.
 *
 * Points are columns: their numbers are those of the model's input, the last
 * dimension varying fastest.  For an image of channels x height x width that is
 * what mlpack's convolutions use.
 *
 * Operators are computed as in training: Dropout drops, and BatchNormalization
 * normalizes by its batch.
 *
 * @tparam MatType arma::fmat, or arma::mat to compute in double precision.
 */
template<typename MatType = arma::fmat>
class OnnxFunction
{
 public:
  using ElemType = typename MatType::elem_type;

  /**
   * A model to classify points, trained by the cross entropy.
   *
   * @param modelFile An ONNX file.
   * @param points One column for each point.
   * @param labels The class of each point, from 0.
   */
  OnnxFunction(const std::string& modelFile,
               MatType points,
               const arma::Row<size_t>& labels,
               const OnnxOptions& options = OnnxOptions());

  /**
   * A model that approximates responses.
   *
   * @param responses One column for each point, a row for each output.
   * @param loss MeanSquaredError or BinaryCrossEntropy.
   */
  OnnxFunction(const std::string& modelFile,
               MatType points,
               MatType responses,
               const OnnxLoss loss,
               const OnnxOptions& options = OnnxOptions());

  /**
   * A model with any number of inputs, for any loss.
   *
   * @param inputs One for each input of the model, in any order.
   * @param targets Classes (whole numbers) for CrossEntropy, responses for
   *     others; for OnnxLoss::Model none are needed.
   */
  OnnxFunction(const std::string& modelFile,
               std::vector<OnnxArray> inputs,
               OnnxArray targets,
               const OnnxLoss loss,
               const OnnxOptions& options = OnnxOptions());

  //! A model without points, to use it.
  explicit OnnxFunction(const std::string& modelFile,
                        const OnnxOptions& options = OnnxOptions());

  ~OnnxFunction();
  OnnxFunction(OnnxFunction&&) noexcept;
  OnnxFunction& operator=(OnnxFunction&&) noexcept;

  //
  // What optimizers call.
  //

  //! The number of points.
  size_t NumFunctions() const;

  //! Put the points into another order, by Armadillo's random numbers.
  void Shuffle();

  //! The sum of the losses of some points.
  ElemType Evaluate(const MatType& iterate,
                    const size_t begin,
                    const size_t batchSize);

  //! The same with its gradient; also updates the running statistics of
  //! BatchNormalization.
  ElemType EvaluateWithGradient(const MatType& iterate,
                                const size_t begin,
                                MatType& gradient,
                                const size_t batchSize);

  void Gradient(const MatType& iterate,
                const size_t begin,
                MatType& gradient,
                const size_t batchSize)
  { EvaluateWithGradient(iterate, begin, gradient, batchSize); }

  //! The weights in the file.
  MatType GetInitialPoint() const;

  //! The running means and variances of BatchNormalization: DASGD makes them
  //! the same on all ranks.
  void VisitStatistics(const std::function<void(arma::mat&)>& action);

  //
  // The model.
  //

  const std::vector<OnnxParameter>& Parameters() const;
  //! Names in OnnxOptions::frozen that no initializer has.
  const std::vector<std::string>& Unmatched() const;
  //! All nodes that a point passes, in order.
  const std::vector<OnnxNode>& Nodes() const;
  const std::vector<OnnxInput>& Inputs() const;
  //! Numbers of a point, and of the output for one.
  size_t InputSize() const;
  size_t OutputSize() const;
  //! Dimensions of the output for one point.
  std::vector<std::int64_t> OutputDims() const;

  /**
   * The model's outputs for other points, as inference computes them.
   *
   * @param output One column for each point.
   */
  void Predict(const MatType& iterate, const MatType& points, MatType& output);

  //! The same for a model with any inputs.
  void Predict(const MatType& iterate,
               const std::vector<OnnxArray>& inputs,
               MatType& output);

  //! The loss and a measure that fits it for other points, as inference
  //! computes them.
  OnnxScore Score(const MatType& iterate,
                  const std::vector<OnnxArray>& inputs,
                  const OnnxArray& targets);

  //! Write a model file with these weights and the running statistics.
  void Save(const std::string& file, const MatType& iterate) const;

 private:
  class Implementation;

  std::unique_ptr<Implementation> implementation;
};

extern template class OnnxFunction<arma::fmat>;
extern template class OnnxFunction<arma::mat>;

} // namespace dasgd

#endif
