/**
 * @file operators.hpp
 *
 * The operators that can be differentiated.  Each has two small functions: one
 * adds what it computes in training, the other adds its gradient; both add
 * standard operators only.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_OPERATORS_OPERATORS_HPP
#define DASGD_ONNX_OPERATORS_OPERATORS_HPP

#include "../model/builder.hpp"
#include "../model/shapes.hpp"

#include <functional>
#include <map>
#include <string>

namespace dasgd {
namespace graph {

//! The version of operators in which the functions of operators write.
constexpr std::int64_t OwnOpset = 18;

//! A node, and the version of operators that it is written in.
struct Step
{
  pb::NodeProto node;
  std::int64_t opset;
};

//! What the functions of all nodes share.
struct Pass
{
  Builder& build;
  const Shapes& shapes;
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
  Context(const Step& step, Pass& pass, Names& saved) :
      build(pass.build), saved(saved), node(step.node), opset(step.opset),
      pass(pass) { }

  const pb::NodeProto& Node() const { return node; }
  std::int64_t Opset() const { return opset; }

  bool Has(const int i) const
  { return i < node.input_size() && !node.input(i).empty(); }
  //! An input, which must be there.
  const std::string& In(const int i) const;
  //! Is there an output of this number?  Of some operators not all are used.
  bool HasOut(const int i) const
  { return i < node.output_size() && !node.output(i).empty(); }
  const std::string& Out(const int i = 0) const { return node.output(i); }
  const Dims& InDims(const int i) const { return pass.shapes.Of(In(i)); }
  const Dims& OutDims(const int i = 0) const
  { return pass.shapes.Of(Out(i)); }
  //! Is an input of floating-point numbers?
  bool IsReal(const int i) const { return pass.shapes.IsReal(In(i)); }
  //! The values of an input that must not depend on points or parameters.
  const pb::TensorProto& Constant(const int i) const;
  bool IsConstant(const int i) const
  { return Has(i) && pass.shapes.constants.count(In(i)) > 0; }

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
  //! The gradient of an output: zeros if nothing uses it.
  std::string Gradient(const int i = 0) const;
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
  std::int64_t opset;
  Pass& pass;
};

//! Either two functions, or one that writes the operator out by others.
struct Operator
{
  void (*forward)(Context&);
  void (*backward)(Context&);
  void (*expand)(Context&) = nullptr;
};

//! An operator that is computed by others, which have gradients.
inline Operator Function(void (*expand)(Context&))
{
  return { nullptr, nullptr, expand };
}

//! By name.
const std::map<std::string, Operator>& Operators();

//! The names of all, for messages.
std::string OperatorNames();

//! An operator by a node; null if there is none.
const Operator* FindOperator(const pb::NodeProto& node);

//! The same; throws if there is none, and says what to do.
const Operator& OperatorOf(const pb::NodeProto& node);

//
// Parts of the table, by file.
//

//! Compute in training as the model has it.
void Same(Context& c);
//! No gradient passes.
void Nothing(Context& c);

//! The gradient of a padding that repeats numbers; beginnings, then ends.
void RepeatingPad(Context& c, const std::string& mode, const Dims& pads);

void AddElementwise(std::map<std::string, Operator>& table);
void AddLinear(std::map<std::string, Operator>& table);
void AddConvolution(std::map<std::string, Operator>& table);
void AddPooling(std::map<std::string, Operator>& table);
void AddNormalization(std::map<std::string, Operator>& table);
void AddReshaping(std::map<std::string, Operator>& table);
void AddReductions(std::map<std::string, Operator>& table);
void AddIndexing(std::map<std::string, Operator>& table);
void AddResizing(std::map<std::string, Operator>& table);
void AddFunctions(std::map<std::string, Operator>& table);
void AddRecurrent(std::map<std::string, Operator>& table);

} // namespace graph
} // namespace dasgd

#endif
