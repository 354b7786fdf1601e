/**
 * @file board_worker.hpp
 *
 * Decentralized asynchronous SGD on a machine: what a rank does whose model is
 * a board that it shares with others.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_BOARD_WORKER_HPP
#define DASGD_DASGD_BOARD_WORKER_HPP

#include "../core/vector_ops.hpp"
#include "../protocol/board.hpp"
#include "../protocol/participant.hpp"
#include "staleness_response.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dasgd {

//! The participant of a rank on a board.  What it has to tell waits until the
//! rank gets to the board.
template<typename ElemType>
class BoardParticipant : public ParticipantBase<ElemType>
{
 public:
  explicit BoardParticipant(RankTask<ElemType>& task) :
      ParticipantBase<ElemType>(task),
      factsOf(task.State().Ranks(), 0),
      termination(task.State().Ranks())
  { }

  //! Facts of this rank that wait for its next pass.
  std::vector<Fact>& Untold() { return untold; }
  const std::vector<Fact>& Untold() const { return untold; }

  //! Take note of a fact that was read from the log.
  void Receive(const Fact& fact)
  {
    ++factsOf[fact.origin];
    ++facts;
    termination.Receive(fact, this->task.State().Version());
  }

  //! How many facts of each origin are known, and in all.
  const std::vector<size_t>& FactsOf() const { return factsOf; }
  std::uint64_t Facts() const { return facts; }

  //! Ranks that have not told their final count yet, and whether one has.
  size_t FinalsMissing() const { return termination.FinalsMissing(); }
  bool IsFinal(const size_t rank) const { return termination.IsFinal(rank); }
  //! Why the run ends, as far as this rank knows; null before that.
  const Fact* Stop() const { return termination.Stop(); }

 private:
  void TellStop(const Fact& fact) override
  {
    Fact mine = fact;
    mine.kind = Fact::Kind::Stop;
    mine.origin = Rank();
    // Once all have told their final counts, nobody computes: there is nothing
    // to stop, and others may have left.
    if (FinalsMissing() > 0)
      untold.push_back(mine);
    else
      termination.Receive(mine, this->task.State().Version());
  }

  void TellFinal() override
  {
    Fact mine;
    mine.origin = Rank();
    mine.count = this->task.State().Version()[mine.origin];
    untold.push_back(mine);
  }

  bool StopKnown() const override { return this->Asked() || Stop() != nullptr; }

  std::uint32_t Rank() const
  { return std::uint32_t(this->task.State().Rank()); }

  std::vector<Fact> untold;
  std::vector<size_t> factsOf;
  std::uint64_t facts = 0;
  Termination termination;
};

/**
 * One rank of DASGD on a board.  It computes a gradient at its iterate, which
 * is the board as it was when the rank was there last, and then passes over the
 * board: subtracts its update from each chunk, and copies the chunk to its
 * iterate.  The log says whose updates came with that.
 *
 * It has no clock and never waits: Advance() says whether it is the rank's
 * turn.
 */
template<typename ElemType>
class BoardWorker : public WorkerDefaults
{
 public:
  BoardWorker(Board<ElemType>& board,
              RankTask<ElemType>& task,
              const StalenessResponse& response = StalenessResponse()) :
      board(board),
      pass(board, task.State().Rank()),
      task(task),
      participant(task),
      response(response),
      others(task.State().Ranks())
  {
    lines.reserve(block);
    // The board is not this rank's alone, but there is no other vector besides
    // its own.
    participant.Counts().vectorBound = participant.Counts().peakVectors =
        board.Outgoing() ? 2 : 1;
  }

  BoardParticipant<ElemType>& Participant() { return participant; }
  const BoardParticipant<ElemType>& Participant() const { return participant; }

  //! Compute a gradient; if Due(), its update is to be posted next.
  void Evaluate()
  {
    participant.BeginStep();
    due = false;
    participant.Guard([&]()
    {
      entry = ManifestEntry();
      due = task.Evaluate(entry) && task.FormUpdate(Scale(), update,
          factor);
    });
    if (!due)
      participant.JudgeProgress(*this);
  }

  bool Due() const { return due; }

  //! Get to the board: to post if an update is due, and to look in any case.
  void BeginPass()
  {
    posts = due;
    due = false;
    iterate = task.Iterate();
    pass.Begin();
  }

  //! Is the rank on its way over the board?
  bool UnderWay() const { return pass.UnderWay(); }
  //! Has that changed a part of the iterate, and not the rest?
  bool Torn() const { return pass.Within(); }
  //! Where it is, or waits.
  BoardPass<ElemType>& Pass() { return pass; }
  const BoardPass<ElemType>& Pass() const { return pass; }

  //! One chunk further; false if it is not this rank's turn.
  bool Advance()
  {
    if (!pass.TryLock())
      return false;
    pass.NoteHolder();
    if (posts && !pass.Within())
      ShortenIfLate();
    const size_t begin = pass.First();
    const size_t elements = pass.End() - begin;
    ElemType* const model = board.Model() + begin;
    if (posts && board.Outgoing())
    {
      SubtractCopyAndAdd(model, iterate + begin, board.Outgoing() + begin,
          update + begin, factor, elements);
    }
    else if (posts)
      SubtractAndCopy(model, iterate + begin, update + begin, factor, elements);
    else
      std::memcpy(iterate + begin, model, elements * sizeof(ElemType));
    if (!pass.Last())
    {
      pass.Next();
      return true;
    }
    Write();
    pass.Next();
    Settle();
    return true;
  }

  //! Is there a reason to get to the board at once: something to tell, or to be
  //! told?
  bool MustPass() const
  {
    return !participant.Untold().empty() ||
        board.Log().Facts() > participant.Facts();
  }
  //! Does the log have records that this rank has not read?
  bool Behind() const { return board.Log().Records() > position; }

  /**
   * Has this rank posted so many gradients, in a row, since another one that is
   * still at work posted its last?
   */
  bool Ahead(const size_t lead)
  {
    const std::uint64_t own = participant.Counts().computed;
    bool ahead = false;
    for (size_t i = 0; i < others.size(); ++i)
    {
      if (i == task.State().Rank() || participant.IsFinal(i))
        continue;
      const std::uint64_t theirs = board.Log().GradientsOf(i);
      if (theirs != others[i].gradients)
        others[i] = { theirs, own };
      ahead = ahead || own - others[i].own >= lead;
    }
    return ahead;
  }

  //! Has everybody computed all, and is it applied here?
  bool Done() const
  { return participant.FinalsMissing() == 0 && participant.Untold().empty(); }

 private:
  //! At the last chunk: say what was posted, and see how far the log is.
  void Write()
  {
    BoardLog& log = board.Log();
    record = BoardRecord();
    if (posts)
    {
      participant.Name(entry, task.BatchPoints());
      record.entry = entry;
      record.at = seen;
      log.Add(record);
    }
    record.kind = BoardRecord::Kind::Fact;
    for (const Fact& fact : participant.Untold())
    {
      record.fact = fact;
      log.Add(record);
    }
    participant.Untold().clear();
    written = log.Records();
    missed.clear();
    late = (written - position >= BoardLog::capacity);
    if (late)
      missed = log.CatchUp(task.State().Version(), participant.FactsOf());
  }

  //! The iterate is the board as of what was written: count that.
  void Settle()
  {
    if (late)
    {
      for (const BoardRecord& one : missed)
        Apply(one);
    }
    while (!late && position < written)
    {
      const std::uint64_t end = std::min(written, position + block);
      if (!board.Log().Read(position, end, lines))
      {
        // Overwritten meanwhile: look again.
        BeginPass();
        return;
      }
      for (const BoardLog::Line& line : lines)
      {
        board.Log().Decode(line, record);
        Apply(record);
      }
      position = end;
    }
    position = written;
    participant.JudgeProgress(*this);
  }

  void Apply(const BoardRecord& record)
  {
    if (record.kind == BoardRecord::Kind::Fact)
    {
      participant.Receive(record.fact);
      return;
    }
    const ManifestEntry& applied = record.entry;
    RankReport& counts = participant.Counts();
    const std::uint64_t staleness = seen - record.at;
    seen += applied.count;
    if (!applied.versioned)
      counts.staleness.Skip(applied.count);
    if (applied.origin != task.State().Rank())
    {
      participant.ApplyEntry(applied, applied.versioned ? &staleness : nullptr);
      return;
    }
    if (applied.versioned)
      counts.staleness.Add(staleness);
    const double objective = task.State().Apply(applied);
    participant.Guard([&]()
    {
      task.Applied(applied, objective);
      task.Stepped();
    });
  }

  //! How the step that is due follows staleness.
  StepScale Scale()
  {
    RankReport& counts = participant.Counts();
    const StepScale scale = response.Next(counts, board.Log().Gradients() -
        seen);
    counts.stepFactors += scale.factor;
    counts.lookAheads += scale.lookAhead;
    length = scale.factor;
    return scale;
  }

  //! A rank may have lost its core, or waited, since its update was formed.
  void ShortenIfLate()
  {
    const double late = response.Late(board.Log().Gradients() - seen);
    if (late == 1)
      return;
    task.Shorten(late, factor);
    participant.Counts().stepFactors -= length * (1 - late);
  }

  Board<ElemType>& board;
  BoardPass<ElemType> pass;
  RankTask<ElemType>& task;
  BoardParticipant<ElemType> participant;
  StalenessResponse response;

  //! The gradient that is to be posted, or was last.
  ManifestEntry entry;
  bool due = false;
  //! In a pass that posts, factor times update is subtracted from the model.
  bool posts = false;
  const ElemType* update = nullptr;
  ElemType factor = 0;
  //! Of the step, by the rule for staleness.
  double length = 1;
  ElemType* iterate = nullptr;

  //! Of each rank: its gradients when this one looked last, and how many this
  //! one had when they became so many.
  struct Other
  {
    std::uint64_t gradients = 0;
    std::uint64_t own = 0;
  };
  std::vector<Other> others;

  //! Records that are applied, and gradients of them.
  std::uint64_t position = 0;
  std::uint64_t seen = 0;
  //! Records when the last pass got to the last chunk; and whether some had
  //! been overwritten by then, and what they were in all.
  std::uint64_t written = 0;
  bool late = false;
  std::vector<BoardRecord> missed;
  //! Scratch, for so many records at a time.
  static constexpr std::uint64_t block = 256;
  std::vector<BoardLog::Line> lines;
  BoardRecord record;
};

} // namespace dasgd

#endif
