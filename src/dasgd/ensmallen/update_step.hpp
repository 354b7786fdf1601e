/**
 * @file update_step.hpp
 *
 * What a step does to the iterate: the update and decay policies.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_UPDATE_STEP_HPP
#define DASGD_ENSMALLEN_UPDATE_STEP_HPP

#include "../core/vector_ops.hpp"
#include "../checkpoint/checkpoint.hpp"
#include "../run/gradient_source.hpp"
#include "ensmallen.hpp"
#include "look_ahead.hpp"
#include "one_pass.hpp"

#include <algorithm>

namespace dasgd {

/**
 * Steps of one rank.
 *
 * @tparam OptimizerType Where StepSize() is read, at each step: callbacks may
 *     change it.
 * @tparam UpdatePolicyType Update policy, as in ens::SGD.
 * @tparam DecayPolicyType Decay policy, likewise.
 * @tparam vanilla Is the update policy the paper's, without decay?
 */
template<typename OptimizerType,
         typename MatType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         bool vanilla>
class UpdateStep
{
 public:
  using ElemType = typename MatType::elem_type;
  using UpdateType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  using DecayType = typename DecayPolicyType::template Policy<MatType, MatType>;

  //! @param scratch For policies other than the paper's, to form an update in
  //!     while all links are busy.
  //! @param parameters What the update policy was made of.
  UpdateStep(OptimizerType& optimizer,
             MatType& iterate,
             MatType& gradient,
             MatType& scratch,
             const UpdatePolicyType& parameters,
             UpdateType& updatePolicy,
             DecayType& decayPolicy) :
      optimizer(optimizer),
      iterate(iterate),
      gradient(gradient),
      scratch(scratch),
      parameters(parameters),
      updatePolicy(updatePolicy),
      decayPolicy(decayPolicy)
  { }

  //! Nobody to send updates to: the very code that ens::SGD runs.
  void Apply(const double points, const double scale = 1)
  {
    updatePolicy.Update(iterate, scale * ensmallen::Step(optimizer.StepSize(),
        points), gradient);
  }

  /**
   * The same, unless the gradient is not finite.  A model that does not fit the
   * cache is updated part by part, so that each is read once.
   *
   * @return False if the gradient is not finite.
   */
  bool ApplyChecked(const double points, const double scale)
  {
    if constexpr (!vanilla)
    {
      if (!AllFinite(gradient.memptr(), gradient.n_elem))
        return false;
      Apply(points, scale);
      return true;
    }
    else
    {
      const double by = scale * ensmallen::Step(optimizer.StepSize(), points);
      constexpr size_t part = 1024;
      for (size_t begin = 0; begin < iterate.n_elem; begin += part)
      {
        const size_t size = std::min<size_t>(part, iterate.n_elem - begin);
        const MatType along = Part(gradient, begin, size);
        if (!AllFinite(along.memptr(), size))
        {
          Add(iterate.memptr(), MatType(ElemType(by) * gradient).memptr(),
              begin);
          return false;
        }
        MatType some = Part(iterate, begin, size);
        updatePolicy.Update(some, by, along);
      }
      return true;
    }
  }

  //! On one of several ranks, an update that nobody else applies; false if the
  //! result is not finite.
  bool ApplyFinite(const double points, const double scale)
  {
    if constexpr (inOnePass)
    {
      return one_pass::Apply(parameters, updatePolicy, iterate, scale *
          ensmallen::Step(optimizer.StepSize(), points), gradient);
    }
    else
    {
      Apply(points, scale);
      return vanilla || AllFinite(iterate.memptr(), iterate.n_elem);
    }
  }

  /**
   * Apply the update of the gradient, and say where that update stands.
   *
   * @param out Where it is to stand, or null.
   * @param sum If not null, it may be added to this instead; `update` is null
   *     then.
   * @return False if the gradient or the update is not finite.
   */
  bool ApplyAndShow(const double points,
                    const StepScale& scale,
                    ElemType* out,
                    ElemType* sum,
                    const ElemType*& update)
  {
    const size_t elements = iterate.n_elem;
    if constexpr (vanilla)
    {
      const ElemType by = ElemType(scale.factor * ensmallen::Step(
          optimizer.StepSize(), points));
      update = nullptr;
      if (sum)
      {
        return FormAndApply<true>(iterate.memptr(), gradient.memptr(), sum, by,
            elements);
      }
      // Without a buffer to form it in, the update takes the gradient's place.
      if (!out)
        out = gradient.memptr();
      update = out;
      return FormAndApply(iterate.memptr(), gradient.memptr(), out, by,
          elements);
    }
    else
    {
      (void) sum;
      // Not even the policy's memory may hold what is not finite.
      if (!AllFinite(gradient.memptr(), elements))
        return false;
      if (!out)
      {
        scratch.set_size(iterate.n_rows, iterate.n_cols);
        out = scratch.memptr();
      }
      update = out;
      const double size = ensmallen::Step(optimizer.StepSize(), points);
      // What staleness leaves of it; the policy need not know, since some
      // remember the step that they began with.
      const ElemType left = ElemType(scale.factor);
      if constexpr (inOnePass)
      {
        if (!one_pass::Form(parameters, updatePolicy, size, gradient,
            scale.lookAhead, out))
          return false;
        ScaleAndSubtract(iterate.memptr(), out, left, elements);
      }
      else
      {
        if (!Move(size, scale.lookAhead, out))
          return false;
        ElemType* const moved = iterate.memptr();
        if (left == 1)
          Subtract(out, moved, elements);
        else
        {
          for (size_t i = 0; i < elements; ++i)
          {
            const ElemType before = out[i];
            out[i] = left * (before - moved[i]);
            moved[i] = before - out[i];
          }
        }
      }
      return true;
    }
  }

  //! Form the update of the gradient, for a model that ranks share; see
  //! GradientSource.
  bool Form(const double points,
            const StepScale& scale,
            const ElemType*& update,
            ElemType& factor)
  {
    const double size = ensmallen::Step(optimizer.StepSize(), points);
    const size_t elements = iterate.n_elem;
    if (!AllFinite(gradient.memptr(), elements))
      return false;
    if constexpr (vanilla)
    {
      update = gradient.memptr();
      factor = ElemType(scale.factor * size);
      return true;
    }
    else
    {
      scratch.set_size(iterate.n_rows, iterate.n_cols);
      ElemType* const out = scratch.memptr();
      update = out;
      factor = ElemType(scale.factor);
      if constexpr (inOnePass)
      {
        return one_pass::Form(parameters, updatePolicy, size, gradient,
            scale.lookAhead, out);
      }
      else
      {
        if (!Move(size, scale.lookAhead, out))
          return false;
        // Nobody has applied it yet.
        ElemType* const moved = iterate.memptr();
        for (size_t i = 0; i < elements; ++i)
        {
          const ElemType before = out[i];
          out[i] = before - moved[i];
          moved[i] = before;
        }
        return true;
      }
    }
  }

  void Decay()
  { decayPolicy.Update(iterate, optimizer.StepSize(), gradient); }

  double StepSize() const { return optimizer.StepSize(); }

  //! Does the policy remember something that a checkpoint will not hold?
  static constexpr bool Forgets()
  { return !Remembers() && !std::is_empty<UpdateType>::value; }

  //! Where model and policy are, for a checkpoint.
  void Save(Checkpoint& to)
  {
    const auto bytes = [](const auto* elements)
    { return reinterpret_cast<const std::uint8_t*>(elements); };
    to.stepSize = optimizer.StepSize();
    to.vectors.assign(1, bytes(iterate.memptr()));
    to.policyNumbers.clear();
    if constexpr (Remembers())
    {
      memory::Visit(updatePolicy, [&](auto& member)
      {
        if constexpr (arma::is_arma_type<std::decay_t<decltype(member)>>::value)
          to.vectors.push_back(bytes(member.memptr()));
        else
          to.policyNumbers.push_back(member);
      });
      to.policy = PolicyName();
    }
    to.policyVectors = to.vectors.size() - 1;
  }

  //! The policy remembers what it did; another policy starts afresh.
  void Restore(const Checkpoint& from)
  {
    (void) from;
    if constexpr (Remembers())
    {
      if (from.policy != PolicyName())
        return;
      size_t vector = 0, number = 0;
      memory::Visit(updatePolicy, [&](auto& member)
      {
        if constexpr (arma::is_arma_type<std::decay_t<decltype(member)>>::value)
        {
          if (++vector < from.vectors.size())
          {
            member.set_size(iterate.n_rows, iterate.n_cols);
            std::memcpy(member.memptr(), from.vectors[vector],
                size_t(from.VectorBytes()));
          }
        }
        else if (number < from.policyNumbers.size())
          member = size_t(from.policyNumbers[number++]);
      });
    }
  }

 private:
  static constexpr bool inOnePass = one_pass::Exists<UpdatePolicyType,
      MatType>();

  //! The policy's step: whatever it does, its update is what it has subtracted
  //! from what stands in `before` then.  False, and no step, if the result is
  //! not finite.
  bool Move(const double size, const double rounds, ElemType* const before)
  {
    const size_t bytes = iterate.n_elem * sizeof(ElemType);
    std::memcpy(before, iterate.memptr(), bytes);
    look_ahead::Update(parameters, updatePolicy, iterate, size, gradient,
        rounds);
    const bool finite = AllFinite(iterate.memptr(), iterate.n_elem);
    if (!finite)
      std::memcpy(iterate.memptr(), before, bytes);
    return finite;
  }

  //! Some elements of a matrix, where they are.
  static MatType Part(MatType& all, const size_t begin, const size_t size)
  {
    if constexpr (MatType::is_col || MatType::is_row)
      return MatType(all.memptr() + begin, size, false, true);
    else
      return MatType(all.memptr() + begin, size, 1, false, true);
  }

  //! Can the policy's state be saved?
  static constexpr bool Remembers()
  { return memory::Exists<memory::Member<UpdateType, 0>>::value; }

  static std::string PolicyName() { return typeid(UpdateType).name(); }

  OptimizerType& optimizer;
  MatType& iterate;
  MatType& gradient;
  MatType& scratch;
  const UpdatePolicyType& parameters;
  UpdateType& updatePolicy;
  DecayType& decayPolicy;
};

} // namespace dasgd

#endif
