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
#include <vector>

namespace dasgd {

//! How a model is read and computed.
struct OnnxOptions
{
  //! Initializers that are not trained; a name that ends in '*' stands for all
  //! that begin so.
  std::vector<std::string> frozen;
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
 * of all weights that are trained.
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
  //! All nodes that a point passes, in order.
  const std::vector<OnnxNode>& Nodes() const;
  //! Numbers of a point, and of the output for one.
  size_t InputSize() const;
  size_t OutputSize() const;

  /**
   * The model's outputs for other points, as inference computes them.
   *
   * @param output One column for each point.
   */
  void Predict(const MatType& iterate, const MatType& points, MatType& output);

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
