/**
 * @file board_exchange.hpp
 *
 * What a machine does with the updates of other machines, and they with its
 * own.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_BOARD_EXCHANGE_HPP
#define DASGD_DASGD_BOARD_EXCHANGE_HPP

#include "../core/vector_ops.hpp"
#include "../protocol/board.hpp"
#include "board_links.hpp"
#include "dasgd_worker.hpp"
#include "update_sums.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dasgd {

/**
 * Between boards, machines are what ranks are on a topology of ranks: each has
 * one endpoint, and sends one sum for all gradients of its ranks.  One rank of
 * the machine, its carrier, owns this object.
 *
 * It passes over the board like a rank: adds the updates of other machines that
 * have arrived to the model, and takes the outgoing sum, which leaves zeros.
 * At the last chunk it sees how far the log is: the sum is of just the
 * gradients that the log has of this machine and that were not taken before.
 * Gradients of a machine have one order, that of its board, everywhere.  So a
 * set of applied gradients is a number for each machine, and version vectors
 * are no longer than that.
 *
 * It has no clock and never waits.  Whoever drives it calls Receive() for
 * frames as long as it MayReceive(), BeginPass() and Advance() if a pass is
 * Due(), and Send() after each, also if it is not: what stands in the way of a
 * fact is to leave then.
 */
template<typename ElemType>
class BoardExchange
{
 public:
  /**
   * @param board The board of this machine.
   * @param routes The routes of this machine, on a topology of machines.
   * @param machines The machine of each rank, numbered as in the routes.
   * @param carrier The rank that owns this.
   * @param window Frames under way to each neighbour.
   * @param traffic Where frames are counted.
   * @param format How sums are written.  What that cannot express of a sum goes
   *     with the next; the board of this machine has it already.
   */
  BoardExchange(Board<ElemType>& board,
                const Routes& routes,
                const std::vector<size_t>& machines,
                const size_t carrier,
                const size_t window,
                dasgd::Traffic& traffic,
                const WireFormat& format = WireFormat::Exact) :
      board(board),
      pass(board, carrier),
      machines(machines),
      machine(routes.Rank()),
      traffic(traffic),
      known(machines.size(), 0),
      factsOf(machines.size(), 0),
      endpoint(routes, { Neighbours::Of(routes), window,
          DasgdBuffers(routes, window), false, machines.size() },
          board.Size().elements, known, traffic),
      sums(endpoint, format),
      computing(size_t(std::count(machines.begin(), machines.end(),
          routes.Rank()))),
      sum(board.Size().elements),
      arrived(machines.size(), routes.Ranks()),
      version(routes.Ranks(), 0),
      posts(BoardLog::capacity, Post(routes.Ranks()))
  {
    endpoint.Pace().SetRanks(computing);
  }

  //! What passed between this machine and others.
  const dasgd::Traffic& Traffic() const { return traffic; }
  dasgd::Endpoint<ElemType>& Endpoint() { return endpoint; }
  const dasgd::Endpoint<ElemType>& Endpoint() const { return endpoint; }

  //! Make room, so that nothing is allocated on the way.
  void Reserve()
  {
    endpoint.Reserve();
    sums.Reserve();
    arrived.Reserve(Manifest::MaxEntries(arrived.Origins(), arrived.Length()));
  }

  //! Vectors that there may be besides the board, and that there were, without
  //! those that the transport has for receiving.
  static size_t Vectors(const Routes& routes, const size_t window)
  { return 1 + DasgdVectors(routes, window); }
  size_t PeakVectors() const { return 1 + endpoint.Pool().Peak(); }

  //! May a frame that has arrived be taken, or is it time for what has come
  //! before?
  bool MayReceive() const { return !endpoint.Starved(); }

  //! A frame came from another machine: relay it, and keep its sum for the
  //! board.
  void Receive(const std::uint8_t* bytes, const size_t size, size_t /* from */)
  {
    endpoint.Read(bytes, size);
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    CheckHasVector(frame, size);
    if (frame.vector)
    {
      sums.Relay();
      if (!filled)
        std::memcpy(sum.data(), frame.vector, sum.size() * sizeof(ElemType));
      else
        Add(sum.data(), frame.vector, sum.size());
      filled = true;
    }
    endpoint.Relay();
    arrived.Add(frame.manifest);
    for (const Fact& fact : frame.facts)
    {
      ++factsOf[fact.origin];
      arrivedFacts.push_back(fact);
    }
  }

  //! Is there a reason to get to the board: something that has arrived, or
  //! something that another machine could have now?
  template<typename TransportType>
  bool Due(TransportType& transport)
  {
    endpoint.SetWaiting(board.Log().Gradients() - others - announced);
    const bool takes = News() && sums.Unused(sum.data());
    if (FactNews() && !takes)
      endpoint.Hurry();
    if (takes && !endpoint.Timely())
      endpoint.NotePaced();
    return Arrived() || (takes && (FactNews() || endpoint.Wanted(transport)));
  }

  void BeginPass()
  {
    adds = filled;
    filled = false;
    // As long as no frame is due, or one waits for its link, the sum waits on
    // the board: more gradients get into it, and facts find the outbox free.
    // But the log is read in time.  Chunk by chunk, the sum may take the place
    // of what has arrived and been added.
    const bool takes = FactNews() || endpoint.Timely() ||
        board.Log().Records() - position >= BoardLog::capacity / 2;
    own = takes ? sums.Unused(sum.data()) : nullptr;
    endpoint.BeginStep();
    pass.Begin();
  }

  bool UnderWay() const { return pass.UnderWay(); }
  BoardPass<ElemType>& Pass() { return pass; }
  const BoardPass<ElemType>& Pass() const { return pass; }

  //! One chunk further; false if it is not its turn.
  bool Advance()
  {
    if (!pass.TryLock())
      return false;
    pass.NoteHolder();
    const size_t begin = pass.First();
    const size_t elements = pass.End() - begin;
    if (adds)
      Subtract(board.Model() + begin, sum.data() + begin, elements);
    if (own)
      Take(own + begin, board.Outgoing() + begin, elements);
    const bool last = pass.Last();
    if (last)
    {
      if (own)
        ReadLog();
      Write();
    }
    pass.Next();
    if (last && own)
      Announce();
    return true;
  }

  //! Hand out what there is room for; false if frames wait and none could go.
  template<typename TransportType>
  bool Send(TransportType& transport)
  {
    endpoint.SetComplete(endpoint.FinalsMissing() == 0);
    return endpoint.Send(transport, *this);
  }

  //! Is all of every machine on the board, and all of this one with the others?
  template<typename TransportType>
  bool MayLeave(TransportType& transport)
  {
    return endpoint.Done() && !Arrived() && !UnderWay() &&
        transport.Delivered();
  }

  // For Endpoint::Send().

  bool HasVector(size_t /* link */) const { return false; }
  void PutVector(size_t /* link */,
                 Outbox& box,
                 FrameHeader& header,
                 Buffer& rest)
  { sums.Put(box, header, rest); }

 private:
  //! When gradients of others were posted: what the model had then.
  struct Post
  {
    explicit Post(const size_t machines) : version(machines, 0) { }

    //! Gradients in all ...
    std::uint64_t end = 0;
    //! ... and by machine; of this one, 0.
    VersionVector version;
  };

  //! Has anything arrived that the board does not have?
  bool Arrived() const
  { return filled || !arrived.Empty() || !arrivedFacts.empty(); }

  //! Is there something on the board that other machines do not have?
  bool News() const
  {
    return board.Log().Gradients() - others > announced || FactNews();
  }
  bool FactNews() const { return board.Log().Facts() > facts; }

  //! At the last chunk: what is the sum of?
  void ReadLog()
  {
    const BoardLog& log = board.Log();
    const std::uint64_t written = log.Records();
    late = (written - position >= BoardLog::capacity);
    if (late)
      missed = log.CatchUp(known, factsOf);
    else
      log.Read(position, written, lines);
    total = log.Gradients() - others;
  }

  //! At the last chunk: say what was added.
  void Write()
  {
    BoardLog& log = board.Log();
    version[machine] = log.Gradients() - others;
    for (size_t i = 0; i < arrived.Entries().size(); ++i)
    {
      record.kind = BoardRecord::Kind::Gradients;
      record.entry = arrived.Entries()[i];
      // So that whoever counts gradients finds this staleness.
      if (record.entry.versioned)
      {
        record.at = log.Gradients() - Staleness(version.data(),
            arrived.Version(i), version.size());
      }
      log.Add(record);
      version[machines[record.entry.origin]] += record.entry.count;
      others += record.entry.count;
    }
    record.kind = BoardRecord::Kind::Fact;
    for (const Fact& fact : arrivedFacts)
    {
      record.fact = fact;
      log.Add(record);
      ++facts;
    }
    if (!arrived.Empty())
    {
      Post& post = posts[size_t(++posted % posts.size())];
      post.end = log.Gradients();
      post.version = version;
      post.version[machine] = 0;
    }
    arrived.Clear();
    arrivedFacts.clear();
    // What it wrote itself is no news.
    if (own)
      position = log.Records();
  }

  //! The sum that was taken goes to other machines, with what it holds.
  void Announce()
  {
    if (total > announced)
    {
      sums.Round(nullptr, own);
      sums.Emit(own);
      endpoint.SetWaiting(0);
    }
    if (late)
    {
      for (const BoardRecord& one : missed)
        Announce(one);
    }
    for (size_t i = 0; i < lines.size() && !late; ++i)
    {
      board.Log().Decode(lines[i], record);
      Announce(record);
    }
  }

  void Announce(const BoardRecord& record)
  {
    const bool isFact = (record.kind == BoardRecord::Kind::Fact);
    const size_t origin = isFact ? record.fact.origin : record.entry.origin;
    if (machines[origin] != machine)
      return;
    if (isFact)
    {
      ++factsOf[origin];
      ++facts;
      if (record.fact.kind == Fact::Kind::Final && --computing == 0)
        Finish();
      endpoint.Tell(record.fact);
      return;
    }
    ManifestEntry entry = record.entry;
    const std::uint64_t* at = nullptr;
    if (entry.versioned && Manifest::Versioned(version.size(), origin,
        entry.first))
      at = VersionAt(record.at);
    entry.versioned = (at != nullptr);
    endpoint.Announce(entry, at);
    announced += entry.count;
  }

  //! The last rank of this machine has told its final count: what rounding has
  //! left goes along.
  void Finish()
  {
    sums.Emit(sums.Remainder(nullptr), true);
    endpoint.Pace().End();
  }

  //! What a model had by machine when it had so many gradients in all; null if
  //! that is too long ago.
  const std::uint64_t* VersionAt(const std::uint64_t gradients)
  {
    std::uint64_t number = posted;
    while (posts[size_t(number % posts.size())].end > gradients)
    {
      if (number == 0 || posted - number + 1 == posts.size())
        return nullptr;
      --number;
    }
    const Post& post = posts[size_t(number % posts.size())];
    scratch = post.version;
    for (const std::uint64_t count : post.version)
      scratch[machine] -= count;
    scratch[machine] += gradients;
    return scratch.data();
  }

  Board<ElemType>& board;
  BoardPass<ElemType> pass;
  const std::vector<size_t>& machines;
  size_t machine;
  dasgd::Traffic& traffic;

  //! Gradients and facts of each rank that were received or announced.
  VersionVector known;
  std::vector<size_t> factsOf;
  dasgd::Endpoint<ElemType> endpoint;
  UpdateSums<ElemType> sums;
  //! Ranks of this machine that have not told their final counts.
  size_t computing;

  //! What has arrived since the last pass, and is there a vector?
  std::vector<ElemType> sum;
  bool filled = false;
  Manifest arrived;
  std::vector<Fact> arrivedFacts;
  //! In the pass that is under way: is that added; and where the outgoing sum
  //! goes, or null.
  bool adds = false;
  ElemType* own = nullptr;

  //! Records that were looked at, facts that are known, gradients of this
  //! machine that were announced, and those of others on the board.
  std::uint64_t position = 0;
  std::uint64_t facts = 0;
  std::uint64_t announced = 0;
  std::uint64_t others = 0;
  //! Gradients on the board, by machine; of this one, at the last pass.
  VersionVector version;
  //! The last times that gradients of others were posted, and how many there
  //! were.
  std::vector<Post> posts;
  std::uint64_t posted = 0;

  //! What the last pass found: gradients of this machine in all, and records.
  std::uint64_t total = 0;
  bool late = false;
  std::vector<BoardLog::Line> lines;
  std::vector<BoardRecord> missed;
  BoardRecord record;
  VersionVector scratch;
};

} // namespace dasgd

#endif
