/**
 * @file server_worker.hpp
 *
 * Asynchronous SGD with a parameter server.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_SERVER_WORKER_HPP
#define DASGD_ALGORITHMS_SERVER_WORKER_HPP

#include "courier.hpp"
#include "run_settings.hpp"

#include <cmath>
#include <memory>

namespace dasgd {

//! How a parameter server goes about it.
class ServerOptions
{
 public:
  //! Get the rank that keeps the model and computes no gradients (default 0).
  size_t ServerRank() const { return server; }
  //! Modify the rank that keeps the model.
  size_t& ServerRank() { return server; }

  //! Get whether steps along late gradients are shorter (default: no).
  bool DelayAdaptive() const { return delayAdaptive; }
  //! Modify whether a gradient that is late by more steps than there are
  //! workers gets a step that is shorter in proportion.
  bool& DelayAdaptive() { return delayAdaptive; }

  //! Get how far the model may have moved for a gradient to be used (0: any).
  double MaxDistance() const { return maxDistance; }
  //! Modify how far the model may have moved, in the Euclidean norm, since the
  //! model of a gradient was sent; gradients of older models are discarded.
  double& MaxDistance() { return maxDistance; }

 private:
  size_t server = 0;
  bool delayAdaptive = false;
  double maxDistance = 0;
};

/**
 * The server, or one of its workers; the routes are those of a star around the
 * server.  A worker computes a gradient, sends it to the server, and waits for
 * the model that has it.  The server steps along each gradient as it comes.
 *
 * With DelayAdaptive() a gradient that is late by more steps than there are
 * workers has its step shortened in proportion.  With MaxDistance() a gradient
 * counts only if the model has not moved farther from where it was computed.
 */
template<typename ElemType, typename ProblemType>
class ServerWorker : public Courier<ServerWorker<ElemType, ProblemType>,
    ElemType, ProblemType>
{
 public:
  ServerWorker(const Routes& routes,
               const ServerOptions& options,
               const size_t window,
               ElemType* iterate,
               const size_t elements,
               ProblemType& problem) :
      BaseType(routes, Neighbours::Of(routes), window,
          (window + 1) * routes.SendTo().size() + 1, iterate, elements,
          problem),
      options(options),
      serves(routes.Rank() == options.ServerRank()),
      wanted(routes.SendTo().size(), false),
      given((serves && options.MaxDistance() > 0) ? routes.SendTo().size() : 0,
          std::vector<ElemType>(iterate, iterate + elements)),
      points(routes.Ranks(), 0),
      fetched(routes.Ranks(), 0)
  {
    this->counts.vectorBound = this->maxBuffers + given.size() +
        window * routes.ReceiveFrom().size();
  }

  //! A worker computes only with a model that has its last gradient.
  bool HasWork() { return BaseType::HasWork() && fresh; }

  //! Compute one gradient and send it to the server.
  void Compute()
  {
    this->Begin();
    this->Guard([&]()
    {
      if (!problem.Compute(entry))
        return;
      if (this->routes.Emit().empty())
      {
        // Alone it serves itself.
        this->Announce(entry, nullptr);
        problem.Step(double(problem.BatchPoints()));
        problem.Applied(entry);
        problem.Stepped();
        problem.Settle();
      }
      else
      {
        Box& box = this->boxes[this->routes.Emit().front()];
        box.buffer = pool.Take();
        std::copy(problem.Gradient(), problem.Gradient() +
            this->limits.elements, FrameVector<ElemType>(box.buffer));
        this->Announce(entry, fetched.data());
        fresh = false;
      }
    });
    this->Conclude();
  }

  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    this->Read(bytes, size, from);
    if (serves)
    {
      if (frame.vector)
        Serve(from);
      this->Accept(true);
      return;
    }
    if (frame.vector)
    {
      if (fresh)
      {
        throw WireError("a model came from rank " + std::to_string(from) +
            " without need");
      }
      std::copy(frame.vector, frame.vector + this->limits.elements, iterate);
    }
    const bool model = (frame.vector != nullptr);
    this->Accept(false);
    if (!model)
      return;
    // All that the server knew came before the model or with it.
    fetched = this->version;
    fresh = true;
    this->Guard([&]()
    {
      problem.Applied(entry);
      problem.Stepped();
      problem.Settle();
    });
    this->Conclude();
  }

 private:
  using BaseType = Courier<ServerWorker, ElemType, ProblemType>;
  friend BaseType;
  using typename BaseType::Box;
  using BaseType::frame;
  using BaseType::iterate;
  using BaseType::pool;
  using BaseType::problem;

  //! Step along a gradient that came.
  void Serve(const size_t from)
  {
    if (frame.manifest.Entries().size() != 1 ||
        frame.manifest.Entries()[0].origin != from)
    {
      throw WireError("rank " + std::to_string(from) + " sends the server a "
          "vector that is not a gradient of its own");
    }
    const size_t elements = this->limits.elements;
    const ManifestEntry& its = frame.manifest.Entries()[0];
    const size_t link = this->LinkTo(from);
    const std::uint64_t late = Staleness(this->version.data(),
        frame.manifest.Version(0), this->routes.Ranks());
    const double workers = double(this->SendTo().size());
    const double scale = (options.DelayAdaptive() && double(late) > workers) ?
        workers / double(late) : 1;
    const double batch = double(its.points - points[from]);
    points[from] = its.points;
    wanted[link] = true;
    ++this->step;
    if (!given.empty() && Distance(given[link].data()) > options.MaxDistance())
    {
      ++this->counts.discarded;
      return;
    }
    this->Guard([&]()
    {
      std::copy(frame.vector, frame.vector + elements, problem.Gradient());
      problem.Step(batch, scale);
      problem.Stepped();
    });
  }

  double Distance(const ElemType* other) const
  {
    double sum = 0;
    for (size_t i = 0; i < this->limits.elements; ++i)
    {
      const double difference = double(iterate[i]) - double(other[i]);
      sum += difference * difference;
    }
    return std::sqrt(sum);
  }

  size_t FixedVectors() const { return given.size(); }

  //! The server sends its model to those that have sent a gradient.
  bool Loads(const size_t link) const
  {
    return serves ? bool(wanted[link]) :
        bool(this->boxes[this->routes.Emit().front()].buffer);
  }

  void Load(const size_t link, Box& box, FrameHeader& header, Buffer&)
  {
    if (!serves)
    {
      header.elements = box.buffer ? this->limits.elements : 0;
      return;
    }
    if (!Loads(link) || this->waiting[link] > 1)
      return;
    box.buffer = pool.Take();
    std::copy(iterate, iterate + this->limits.elements,
        FrameVector<ElemType>(box.buffer));
    if (!given.empty())
      given[link].assign(iterate, iterate + this->limits.elements);
    header.elements = this->limits.elements;
    wanted[link] = false;
  }

  //! A worker has not finished before its last gradient is in the model.  The
  //! server has the last word: what it finds out, it can tell till then.
  bool Quiet() const { return serves ? this->finalsMissing == 1 : fresh; }

  ServerOptions options;
  bool serves;
  // The server.
  //! Per link: does that worker wait for the model?
  std::vector<bool> wanted;
  //! Per link, if it matters: the model that the worker has.
  std::vector<std::vector<ElemType>> given;
  //! Points that each worker has visited.
  std::vector<std::uint64_t> points;
  // A worker.
  //! Is the model new since the last gradient?
  bool fresh = true;
  //! What that model has.
  VersionVector fetched;
  ManifestEntry entry;
};

//! A parameter server as an algorithm; see Asynchronous.
struct ServerRule : PlainRule
{
  static const char* Name() { return "ParameterServerSGD"; }
  static constexpr bool topologies = false;
  static constexpr bool waits = true;

  using Options = ServerOptions;
  static std::string Complaint(const Options& options, const size_t ranks)
  {
    if (options.ServerRank() >= ranks)
    {
      return "ServerRank() is " + std::to_string(options.ServerRank()) +
          ", but the ranks are 0 to " + std::to_string(ranks - 1) + ".";
    }
    if (!(std::isfinite(options.MaxDistance()) && options.MaxDistance() >= 0))
    {
      return "MaxDistance() is " + std::to_string(options.MaxDistance()) +
          ", but must be a finite number above 0, or 0 to use all gradients.";
    }
    return "";
  }
  template<typename HandshakeType>
  static void Agree(const Options& options, HandshakeType& handshake)
  {
    handshake.Require("ServerRank()", options.ServerRank());
    handshake.Require("DelayAdaptive()", options.DelayAdaptive());
    handshake.Require("MaxDistance()", options.MaxDistance());
  }

  //! The star around the server.
  static Topology Star(const Options& options, const size_t ranks)
  {
    if (options.ServerRank() == 0 || ranks < 2)
      return Topology::Tree(std::max<size_t>(2, ranks) - 1);
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t i = 0; i < ranks; ++i)
      if (i != options.ServerRank())
        edges.emplace_back(options.ServerRank(), i);
    return Topology::Graph(edges);
  }

  template<typename ElemType, typename ProblemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options& options,
                   ElemType* iterate,
                   const size_t elements,
                   ProblemType& problem)
  {
    return std::make_unique<ServerWorker<ElemType, ProblemType>>(
        routes, options, settings.window, iterate, elements, problem);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 1 + (2 + 2 * settings.window) * routes.SendTo().size(); }
};

} // namespace dasgd

#endif
