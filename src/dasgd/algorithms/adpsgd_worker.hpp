/**
 * @file adpsgd_worker.hpp
 *
 * Asynchronous decentralized parallel SGD: after each step a rank averages its
 * model with that of one neighbour, chosen at random.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_ADPSGD_WORKER_HPP
#define DASGD_ALGORITHMS_ADPSGD_WORKER_HPP

#include "../core/random.hpp"
#include "courier.hpp"
#include "run_settings.hpp"

#include <memory>

namespace dasgd {

/**
 * One rank of AD-PSGD (Lian et al., 2018).  Ranks i and j are to become
 * (x_i + x_j) / 2 both.  Rank i sends x_i and goes on; rank j works out the
 * difference d = (x_j - x_i) / 2, subtracts it from its own model and sends it
 * back; rank i adds it, whatever its model is by then.  So the mean of all
 * models is kept, nobody waits for anybody, and there is no deadlock on any
 * topology, nor need it be bipartite.
 */
template<typename ElemType, typename ProblemType>
class AdpsgdWorker : public Courier<AdpsgdWorker<ElemType, ProblemType>,
    ElemType, ProblemType>
{
 public:
  //! @param seed For the choice of neighbours.
  AdpsgdWorker(const Routes& routes,
               const std::uint64_t seed,
               const size_t window,
               ElemType* iterate,
               const size_t elements,
               ProblemType& problem) :
      BaseType(routes, Neighbours::BothWays(routes), window,
          (window + 1) * routes.BothWays().size() + 1, iterate, elements,
          problem),
      random(Mix(seed, routes.Rank())),
      replies(routes.BothWays().size())
  {
    this->counts.vectorBound = this->maxBuffers + window * replies.size();
  }

  //! Compute one gradient, step along it, and ask a neighbour for its model.
  void Compute()
  {
    this->Begin();
    this->Guard([&]()
    {
      ManifestEntry entry;
      if (problem.Compute(entry))
      {
        this->Announce(entry, nullptr);
        problem.Step(double(problem.BatchPoints()));
        problem.Applied(entry);
        problem.Stepped();
      }
      problem.Settle();
    });
    if (request == Request::None && !replies.empty())
    {
      request = Request::Wanted;
      partner = size_t(random.Below(replies.size()));
    }
    this->Conclude();
  }

  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    this->Read(bytes, size, from);
    const size_t elements = this->limits.elements;
    if (frame.vector && frame.header.kind == model)
    {
      const size_t link = this->LinkTo(from);
      if (replies[link])
      {
        throw WireError("rank " + std::to_string(from) + " asks for another "
            "model before it has got one");
      }
      replies[link] = pool.Take();
      ElemType* reply = FrameVector<ElemType>(replies[link]);
      for (size_t i = 0; i < elements; ++i)
      {
        reply[i] = (iterate[i] - frame.vector[i]) / 2;
        iterate[i] -= reply[i];
      }
    }
    else if (frame.vector)
    {
      if (request != Request::UnderWay)
      {
        throw WireError("rank " + std::to_string(from) + " answers what it was "
            "not asked");
      }
      Add(iterate, frame.vector, elements);
      request = Request::None;
    }
    this->Accept(false);
  }

 private:
  using BaseType = Courier<AdpsgdWorker, ElemType, ProblemType>;
  friend BaseType;
  using typename BaseType::Box;
  using BaseType::frame;
  using BaseType::iterate;
  using BaseType::pool;
  using BaseType::problem;

  enum class Request { None, Wanted, UnderWay };

  //! Kinds of vectors: one's own model, or what to add to the other's.
  static constexpr std::uint32_t model = 1;
  static constexpr std::uint32_t difference = 2;

  bool Loads(const size_t link) const
  {
    return bool(replies[link]) || (request == Request::Wanted &&
        partner == link);
  }

  void Load(const size_t link, Box& box, FrameHeader& header, Buffer&)
  {
    if (!Loads(link))
      return;
    header.elements = this->limits.elements;
    if (replies[link])
    {
      box.buffer = std::move(replies[link]);
      header.kind = difference;
      return;
    }
    box.buffer = pool.Take();
    std::copy(iterate, iterate + this->limits.elements,
        FrameVector<ElemType>(box.buffer));
    header.kind = model;
    request = Request::UnderWay;
  }

  //! What was not asked yet is not asked any more.
  void Finish()
  {
    if (request == Request::Wanted)
      request = Request::None;
  }

  //! A rank has not finished before its answer is here: so once all have, there
  //! is nothing left to answer.
  bool Quiet() const { return request == Request::None; }

  Random random;
  Request request = Request::None;
  size_t partner = 0;
  //! Per link: what to answer, if anything.
  std::vector<Buffer> replies;
};

//! AD-PSGD as an algorithm; see Asynchronous.
struct AdpsgdRule : PlainRule
{
  static const char* Name() { return "ADPSGD"; }
  static constexpr bool averages = true;

  template<typename ElemType, typename ProblemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options& ,
                   ElemType* iterate,
                   const size_t elements,
                   ProblemType& problem)
  {
    return std::make_unique<AdpsgdWorker<ElemType, ProblemType>>(
        routes, settings.seed, settings.window, iterate, elements, problem);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 1 + (1 + 2 * settings.window) * routes.BothWays().size(); }
};

} // namespace dasgd

#endif
