/**
 * @file operators.hpp
 *
 * The operators that can be differentiated.  Each has two small functions: one
 * adds what it computes in training, the other adds its gradient; both add
 * standard operators only.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_OPERATORS_HPP
#define DASGD_ONNX_OPERATORS_HPP

#include "builder.hpp"
#include "shapes.hpp"

#include <functional>
#include <map>
#include <string>

namespace dasgd {
namespace graph {

//! What the functions of all nodes share.
struct Pass
{
  Builder& build;
  //! Known at the start; functions may add values of their own.
  Shapes& shapes;
  std::int64_t opset;
  //! Does a value need a gradient?
  std::function<bool(const std::string&)> needs;
  //! What has been added up so far, for each value.
  std::map<std::string, Names> gradients;
  //! For the masks of Dropout.
  std::uint64_t seed = 0;
};

//! One node, as the functions of its operator see it.
class Context
{
 public:
  //! @param saved What the first function keeps for the second.
  Context(const pb::NodeProto& node, Pass& pass, Names& saved) :
      build(pass.build), saved(saved), node(node), pass(pass) { }

  const pb::NodeProto& Node() const { return node; }
  std::int64_t Opset() const { return pass.opset; }

  bool Has(const int i) const
  { return i < node.input_size() && !node.input(i).empty(); }
  //! An input, which must be there.
  const std::string& In(const int i) const;
  const std::string& Out() const { return node.output(0); }
  const Dims& InDims(const int i) const { return pass.shapes.Of(In(i)); }
  const Dims& OutDims() const { return pass.shapes.Of(Out()); }

  /**
   * Whole numbers that older versions of an operator have as an attribute and
   * newer ones as an input.
   */
  Dims Setting(const std::string& attribute,
               const int input,
               const Dims& otherwise) const;
  //! The same for one floating-point number.
  double Number(const std::string& attribute,
                const int input,
                const double otherwise) const;

  //! Does an input need a gradient?
  bool Needs(const int i) const { return Has(i) && pass.needs(In(i)); }
  //! The gradient of the output.
  const std::string& Gradient() const;
  //! Add to the gradient of an input; dimensions are those of the input.
  void Give(const int i, const std::string& gradient);
  //! The same where the gradient has the dimensions of the output, to which the
  //! input was broadcast.
  void GiveBroadcast(const int i, const std::string& gradient);

  //! A number for the random numbers of this node.
  double RandomSeed() { return double(++pass.seed % (1 << 24)); }

  [[noreturn]] void Refuse(const std::string& reason) const;

  Builder& build;
  Names& saved;

 private:
  const pb::NodeProto& node;
  Pass& pass;
};

struct Operator
{
  void (*forward)(Context&);
  void (*backward)(Context&);
};

//! By name.
const std::map<std::string, Operator>& Operators();

//! The names of all, for messages.
std::string OperatorNames();

//! An operator by a node; throws with a list if there is none.
const Operator& OperatorOf(const pb::NodeProto& node);

//
// Parts of the table, by file.
//

//! Compute in training as the model has it.
void Same(Context& c);

void AddElementwise(std::map<std::string, Operator>& table);
void AddLinear(std::map<std::string, Operator>& table);
void AddConvolution(std::map<std::string, Operator>& table);
void AddPooling(std::map<std::string, Operator>& table);
void AddNormalization(std::map<std::string, Operator>& table);
void AddReshaping(std::map<std::string, Operator>& table);
void AddReductions(std::map<std::string, Operator>& table);

} // namespace graph
} // namespace dasgd

#endif
