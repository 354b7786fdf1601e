/**
 * @file dasgd_algorithm.hpp
 *
 * DASGD over MPI, as the optimizer runs it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_DASGD_ALGORITHM_HPP
#define DASGD_ALGORITHMS_DASGD_ALGORITHM_HPP

#include "../core/report.hpp"
#include "../transport/mpi_transport.hpp"
#include "dasgd_worker.hpp"
#include "outcome.hpp"
#include "run.hpp"
#include "run_settings.hpp"

#include <unistd.h>

namespace dasgd {

/**
 * The seam between the optimizer and what it runs.  An algorithm has a name and
 * a Run() that returns on all ranks, whatever happened: handshake, data,
 * callbacks, the last copy and the report are the same for all algorithms.
 */
struct DasgdAlgorithm
{
  static const char* Name() { return "DASGD"; }

  /**
   * Is there a reason not to start?  A topology whose relays keep a sum for
   * each origin may need more memory than there is.
   *
   * @param vectorBytes Bytes of the model.
   * @return What is wrong, or nothing.
   */
  static std::string Complaint(const RunSettings& settings,
                               const size_t ranks,
                               const size_t rank,
                               const size_t vectorBytes)
  {
    const Routes routes(settings.topology, ranks, rank);
    // The size of an element does not matter here: formats that do not shorten
    // it need nothing, and the others are the same for all.
    const double needed = double(vectorBytes) * double(DasgdVectors(routes,
        settings.window) + settings.format.Vectors(sizeof(double)));
    const double there = double(sysconf(_SC_PHYS_PAGES)) *
        double(sysconf(_SC_PAGESIZE));
    if (needed <= there)
      return "";
    return "topology " + settings.topology.Name() + " may need up to " +
        report::Bytes(std::uint64_t(needed)) + " for vectors of the model, but "
        "the machine has " + report::Bytes(std::uint64_t(there)) + "; choose "
        "\"exponential\" or \"tree\", which keep fewer.";
  }

  /**
   * @param comm The ranks.
   * @param settings How they are connected, and the like.
   * @param iterate The model, the same on all ranks at the start.
   * @param elements Its number of elements.
   * @param problem What to train (see DasgdWorker).
   */
  template<typename ElemType, typename ProblemType>
  static Outcome Run(const MpiCommunicator& comm,
                     const RunSettings& settings,
                     ElemType* iterate,
                     const size_t elements,
                     ProblemType& problem)
  {
    Outcome outcome;
    try
    {
      const Routes routes(settings.topology, comm.Size(), comm.Rank());
      DasgdWorker<ElemType, ProblemType> worker(routes, settings.window,
          iterate, elements, problem, settings.format);
      worker.Reserve();
      if (settings.history)
        worker.Record(*settings.history);
      if (settings.live)
        *settings.live = &worker.Counts();

      MpiTransport::Options options;
      options.buffers = settings.sharedMemory ? worker.MaxBuffers() : 0;
      options.crowded = settings.crowded;
      MpiTransport transport(comm, routes.SendTo(), routes.ReceiveFrom(),
          settings.window, worker.Pool(), options);
      dasgd::Run(worker, transport);

      if (settings.live)
        *settings.live = nullptr;
      outcome.stopped = (worker.Stop() != nullptr);
      if (outcome.stopped)
        outcome.stop = *worker.Stop();
      outcome.exception = worker.Exception();
      outcome.counts = worker.Counts();
      outcome.counts.peakVectors = worker.Pool().Peak() +
          settings.format.Vectors(sizeof(ElemType)) + settings.window *
          (routes.ReceiveFrom().size() - transport.Borrowed());
    }
    catch (const std::exception& e)
    {
      // What the user's code throws never gets here: the worker turns it into
      // a fact.  This is the transport's own failure, a malformed frame, or
      // memory that one rank lacks.
      comm.Abort(e.what());
    }
    return outcome;
  }
};

} // namespace dasgd

#endif
