/**
 * @file parameter_server_sgd.hpp
 *
 * Asynchronous SGD with a parameter server.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_PARAMETER_SERVER_SGD_HPP
#define DASGD_BASELINES_PARAMETER_SERVER_SGD_HPP

#include "../protocol/participant.hpp"
#include "../algorithms/algorithm_defaults.hpp"

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
template<typename ElemType>
class ServerWorker : public WorkerDefaults
{
 public:
  ServerWorker(const Routes& routes,
               const ServerOptions& options,
               const size_t window,
               const size_t elements,
               RankTask<ElemType>& task) :
      task(task),
      participant(routes, { Neighbours::Of(routes), window,
          (window + 1) * routes.SendTo().size() + 1, true }, elements,
          task),
      endpoint(participant.Endpoint()),
      options(options),
      serves(routes.Rank() == options.ServerRank()),
      wanted(routes.SendTo().size(), false),
      given((serves && options.MaxDistance() > 0) ? routes.SendTo().size() : 0,
          std::vector<ElemType>(task.Iterate(), task.Iterate() +
          elements)),
      points(routes.Ranks(), 0),
      fetched(routes.Ranks(), 0)
  {
    participant.Counts().vectorBound = endpoint.MaxBuffers() + given.size() +
        window * routes.ReceiveFrom().size();
  }

  dasgd::Participant<ElemType>& Participant() { return participant; }
  const dasgd::Participant<ElemType>& Participant() const
  { return participant; }

  //! A worker computes only with a model that has its last gradient.
  bool MayCompute() const { return fresh; }

  //! Compute one gradient and send it to the server.
  void Compute()
  {
    participant.BeginStep();
    participant.Guard([&]()
    {
      if (!task.Compute(entry))
        return;
      if (endpoint.Routes().Emit().empty())
      {
        // Alone it serves itself.
        participant.Announce(entry, nullptr, task.BatchPoints());
        task.Step(double(task.BatchPoints()));
        participant.ApplyOwn(entry);
        task.CloseEpochs();
      }
      else
      {
        Outbox& box = endpoint.Box(endpoint.Routes().Emit().front());
        box.buffer = endpoint.Pool().Take();
        std::copy(task.Gradient(), task.Gradient() +
            endpoint.Elements(), FrameVector<ElemType>(box.buffer));
        participant.Announce(entry, fetched.data(), task.BatchPoints());
        fresh = false;
      }
    });
    participant.Conclude(*this);
  }

  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    const ElemType* vector = endpoint.Frame().vector;
    if (serves)
    {
      if (vector)
        Serve(from);
      participant.Accept(true, *this);
      return;
    }
    if (vector)
    {
      if (fresh)
      {
        throw WireError("a model came from rank " + std::to_string(from) +
            " without need");
      }
      std::copy(vector, vector + endpoint.Elements(), task.Iterate());
    }
    participant.Accept(false, *this);
    if (!vector)
      return;
    // All that the server knew came before the model or with it.
    fetched = endpoint.Known();
    fresh = true;
    participant.Guard([&]()
    {
      participant.ApplyOwn(entry);
      task.CloseEpochs();
    });
    participant.Conclude(*this);
  }

  //! The server sends its model to those that have sent a gradient.
  bool HasVector(const size_t link) const
  {
    return serves ? bool(wanted[link]) :
        bool(endpoint.Box(endpoint.Routes().Emit().front()).buffer);
  }

  void PutVector(const size_t link, Outbox& box, FrameHeader& header, Buffer&)
  {
    if (!serves)
    {
      header.elements = box.buffer ? endpoint.Elements() : 0;
      return;
    }
    if (!HasVector(link) || endpoint.Waiting(link) > 1)
      return;
    const ElemType* iterate = task.Iterate();
    box.buffer = endpoint.Pool().Take();
    std::copy(iterate, iterate + endpoint.Elements(),
        FrameVector<ElemType>(box.buffer));
    if (!given.empty())
      given[link].assign(iterate, iterate + endpoint.Elements());
    header.elements = endpoint.Elements();
    wanted[link] = false;
  }

  //! A worker has not finished before its last gradient is in the model.  The
  //! server is the last to finish: until then it may find a reason to stop.
  bool MayAnnounceFinal() const
  { return serves ? endpoint.FinalsMissing() == 1 : fresh; }

  size_t FixedVectors() const { return given.size(); }

 private:
  //! Step along a gradient that came.
  void Serve(const size_t from)
  {
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    if (frame.manifest.Entries().size() != 1 ||
        frame.manifest.Entries()[0].origin != from ||
        !frame.manifest.Version(0))
    {
      throw WireError("rank " + std::to_string(from) + " sends the server a "
          "vector that is not a gradient of its own");
    }
    const ManifestEntry& its = frame.manifest.Entries()[0];
    const size_t link = endpoint.LinkTo(from);
    const double late = double(Staleness(endpoint.Known().data(),
        frame.manifest.Version(0), endpoint.Routes().Ranks()));
    const double workers = double(endpoint.SendTo().size());
    const double scale = (options.DelayAdaptive() && late > workers) ?
        workers / late : 1;
    const double batch = double(its.points - points[from]);
    points[from] = its.points;
    wanted[link] = true;
    participant.CountStep();
    if (!given.empty() && Distance(given[link].data()) > options.MaxDistance())
    {
      ++participant.Counts().discarded;
      return;
    }
    participant.Guard([&]()
    {
      std::copy(frame.vector, frame.vector + endpoint.Elements(),
          task.Gradient());
      task.Step(batch, scale);
      task.Stepped();
    });
  }

  double Distance(const ElemType* other)
  {
    const ElemType* iterate = task.Iterate();
    double sum = 0;
    for (size_t i = 0; i < endpoint.Elements(); ++i)
    {
      const double difference = double(iterate[i]) - double(other[i]);
      sum += difference * difference;
    }
    return std::sqrt(sum);
  }

  RankTask<ElemType>& task;
  dasgd::Participant<ElemType> participant;
  Endpoint<ElemType>& endpoint;
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

/**
 * Asynchronous SGD with a parameter server: ServerRank() keeps the model and
 * computes no gradients; the others send it theirs and get the model back, each
 * at its own pace.  DelayAdaptive() shortens the steps of late gradients
 * (Mishchenko et al., "Asynchronous SGD beats minibatch SGD under arbitrary
 * delays", 2022); MaxDistance() discards gradients of models that are far from
 * the server's (Cohen et al., "Asynchronous stochastic optimization robust to
 * arbitrary delays", 2021).
 */
struct ServerTraits : AlgorithmDefaults
{
  static constexpr const char* Name() { return "ParameterServerSGD"; }
  static constexpr bool serves = true;
  static constexpr bool topologies = false;
  static constexpr bool waits = true;

  using Options = ServerOptions;
  static std::string Validate(const Options& options, const size_t ranks)
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

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options& options,
                   const size_t elements,
                   RankTask<ElemType>& task)
  {
    return std::make_unique<ServerWorker<ElemType>>(
        routes, options, settings.window, elements, task);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 1 + (2 + 2 * settings.window) * routes.SendTo().size(); }
};

} // namespace dasgd

#endif
