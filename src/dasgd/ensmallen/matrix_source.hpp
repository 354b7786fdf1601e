/**
 * @file matrix_source.hpp
 *
 * Where a source of gradients keeps model and gradient.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_MATRIX_SOURCE_HPP
#define DASGD_ENSMALLEN_MATRIX_SOURCE_HPP

#include "../training/training_source.hpp"

#include <armadillo>

#include <stdexcept>
#include <string>

namespace dasgd {

/**
 * The matrices of a source.  The user's code gets to see them, and whatever
 * shape it gives them, there is always room for a model in each.
 */
template<typename ElemType>
class MatrixSource : public TrainingSource<ElemType>
{
 public:
  using MatType = arma::Mat<ElemType>;

  ElemType* Iterate() override
  {
    Reshape(iterate);
    return iterate.memptr();
  }

  ElemType* Gradient() override
  {
    Reshape(gradient);
    return gradient.memptr();
  }

  size_t Elements() const override { return rows * cols; }
  size_t Rows() const override { return rows; }
  size_t Cols() const override { return cols; }

 protected:
  explicit MatrixSource(MatType& iterate) :
      iterate(iterate),
      rows(iterate.n_rows),
      cols(iterate.n_cols)
  { }

  //! Throws if somebody made the gradient another shape than the model has.
  void CheckGradient(const char* who) const
  {
    if (gradient.n_rows == rows && gradient.n_cols == cols)
      return;
    throw std::invalid_argument(std::string(who) + " made a gradient of " +
        Shape(gradient.n_rows, gradient.n_cols) + ", but the iterate is " +
        Shape(rows, cols) + "; give it the shape of the iterate");
  }

  //! Throws if a callback has given the model another shape.
  void CheckIterate() const
  {
    if (iterate.n_rows == rows && iterate.n_cols == cols)
      return;
    throw std::invalid_argument("a callback made the iterate " +
        Shape(iterate.n_rows, iterate.n_cols) + " in BeginOptimization(), but "
        "it was " + Shape(rows, cols) + "; leave its shape alone");
  }

  //! In place: a network reads its parameters from this very memory.
  MatType& iterate;
  MatType gradient;
  //! See UpdateStep.
  MatType scratch;

 private:
  static std::string Shape(const size_t rows, const size_t cols)
  { return std::to_string(rows) + " x " + std::to_string(cols); }

  void Reshape(MatType& matrix) const
  {
    if (matrix.n_rows != rows || matrix.n_cols != cols)
      matrix.zeros(rows, cols);
  }

  //! The shape of the model.
  const size_t rows;
  const size_t cols;
};

} // namespace dasgd

#endif
