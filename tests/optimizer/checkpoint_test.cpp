/**
 * @file checkpoint_test.cpp
 *
 * A training that ends before its time goes on where its checkpoint was: to the
 * same end at one rank, and with all its counts on any number of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/time.h>
#include <unistd.h>

using namespace tests;

namespace {

namespace fs = std::filesystem;

//! A file of rank 0's that is gone with it; others have a name, too.
struct Scratch
{
  explicit Scratch(const std::string& name) :
      folder(fs::temp_directory_path() / ("dasgd_checkpoint_" +
          std::to_string(getpid()) + "_" + std::to_string(Rank()))),
      path((folder / name).string())
  {
    fs::create_directories(folder);
  }

  ~Scratch()
  {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }

  std::vector<char> Read() const
  {
    std::ifstream file(path, std::ios::binary);
    return std::vector<char>(std::istreambuf_iterator<char>(file),
        std::istreambuf_iterator<char>());
  }

  void Write(const std::vector<char>& bytes) const
  {
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), std::streamsize(bytes.size()));
  }

  fs::path folder;
  std::string path;
};

//! As another process would find it.
void Forget() { dasgd::FinishedCheckpoints().clear(); }

//! A training that is to die at some step after a checkpoint was written.
template<typename UpdatePolicyType>
struct Mortal
{
  explicit Mortal(const std::string& path,
                  const UpdatePolicyType& policy = UpdatePolicyType()) :
      optimizer(MeanStep(0.02, 5), 5, 400000, -1, true, policy)
  { optimizer.Checkpoint(path, 0); }

  //! Die on rank 0, at this step or once there is a checkpoint.
  Ending Die(const size_t step, const MPI_Comm comm = MPI_COMM_WORLD)
  {
    hooks.step = [=]()
    {
      if (Rank(comm) == 0 && hooks.steps >= step &&
          fs::exists(optimizer.CheckpointFile()))
        throw OwnError{ 7 };
      return false;
    };
    const Ending ending = Run();
    hooks = Hooks();
    return ending;
  }

  Ending Run()
  {
    // As a program does that begins anew.
    arma::arma_rng::set_seed(3);
    return Try([&]()
    { return optimizer.Optimize(probe, iterate, hooks); });
  }

  Probe probe{ 203, 6 };
  arma::mat iterate{ 3, 2, arma::fill::zeros };
  dasgd::DASGD<UpdatePolicyType> optimizer;
  Hooks hooks;
};

template<typename UpdatePolicyType>
void CheckBits(const UpdatePolicyType& policy, const size_t seed)
{
  const Scratch whole("whole"), broken("broken");
  Mortal<UpdatePolicyType> undisturbed(whole.path, policy);
  undisturbed.optimizer.Seed() = seed;
  const Ending expected = undisturbed.Run();
  REQUIRE(expected.kind == Ending::Returned);
  // Checkpoints do not change it.
  Mortal<UpdatePolicyType> plain("", policy);
  plain.optimizer.Seed() = seed;
  CHECK(plain.Run().value == expected.value);

  // Die twice, at steps that are no multiples of anything.
  for (const size_t step : { 1234, 511 })
  {
    Mortal<UpdatePolicyType> first(broken.path, policy);
    first.optimizer.Seed() = seed;
    CHECK(first.Die(step).kind == Ending::Own);
  }
  Mortal<UpdatePolicyType> last(broken.path, policy);
  last.optimizer.Seed() = seed;
  const Ending ending = last.Run();
  CHECK(ending.value == expected.value);
  CHECK(Same(ending.value));
  CHECK(arma::approx_equal(last.iterate, undisturbed.iterate, "absdiff", 0));
  const dasgd::Report& report = last.optimizer.Report();
  CHECK(report.resumed);
  CHECK(report.resumes == 2);
  CHECK(report.gradientsBefore > 0);
  CHECK(report.Points() == 400000);
  CHECK(report.Gradients() == undisturbed.optimizer.Report().Gradients());
  CHECK(report.ranks[0].points == 400000 - report.pointsBefore);
  CHECK(report.ranks[0].staleness.Measured() == report.Gradients());
}

} // namespace

TEMPLATE_TEST_CASE("One rank resumed ends as one that was not disturbed",
    "[checkpoint]", ens::VanillaUpdate, ens::MomentumUpdate, ens::AdamUpdate)
{
  if (Ranks() > 1)
    return;
  CheckBits(TestType(), 0);
  CheckBits(TestType(), 5);
}

TEST_CASE("A resumed training counts on, at any number of ranks",
    "[checkpoint]")
{
  const std::vector<dasgd::Topology> topologies = Topologies(Ranks());
  for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
      dasgd::Sharing::Dynamic })
  {
    for (const dasgd::Data data : { dasgd::Data::Replicated,
        dasgd::Data::Sharded })
    {
      const Scratch file("any");
      const auto prepare = [&](Mortal<ens::MomentumUpdate>& run)
      {
        run.optimizer.Sharing() = sharing;
        run.optimizer.Data() = data;
        run.optimizer.StepSize() /= double(Ranks());
      };
      Mortal<ens::MomentumUpdate> first(file.path);
      prepare(first);
      first.optimizer.Topology() = topologies.back();
      const Ending died = first.Die(200);
      INFO(died);
      CHECK(died.kind == (Rank() == 0 ? Ending::Own : Ending::RuntimeError));

      // Those that are left: all but one, or all.
      const size_t left = (Ranks() > 2) ? Ranks() - 1 : Ranks();
      MPI_Comm some;
      MPI_Comm_split(MPI_COMM_WORLD, Rank() < left, int(Rank()), &some);
      if (Rank() < left)
      {
        Mortal<ens::MomentumUpdate> second(file.path);
        prepare(second);
        second.optimizer.Communicator() = some;
        const Ending ending = second.Run();
        INFO(ending);
        CHECK(ending.kind == Ending::Returned);
        CHECK(Same(second.iterate, some));
        const dasgd::Report& report = second.optimizer.Report();
        CHECK(report.resumed);
        CHECK(report.ranksBefore == Ranks());
        CHECK(report.checkpointFile.size() == Gather(double(file.path.size()),
            some)[0]);
        CHECK(report.checkpoints > 0);
        CHECK(report.Overrun() == (sharing == dasgd::Sharing::Static ? 0 :
            report.Points() - 400000));
        CHECK(report.Points() >= 400000);
        CHECK(report.Points() > report.pointsBefore);
        CHECK(arma::norm(arma::vectorise(second.iterate) -
            second.probe.Solution()) < 1e-6);
        for (const dasgd::RankReport& rank : report.ranks)
        {
          CHECK(rank.staleness.Measured() + rank.staleness.Skipped() ==
              report.Gradients());
        }
      }
      MPI_Comm_free(&some);
    }
  }
}

TEST_CASE("A signal to one rank ends all, and the training can be resumed",
    "[checkpoint]")
{
  const Scratch file("signal");
  const size_t who = Ranks() - 1;
  Mortal<ens::MomentumUpdate> first(file.path);
  first.optimizer.Checkpoint(file.path, 3600);
  first.optimizer.StepSize() /= double(Ranks());
  first.optimizer.StopSignals() = { SIGUSR1 };
  first.hooks.step = [&]()
  {
    if (Rank() == who && first.hooks.steps == 200)
      raise(SIGUSR1);
    return false;
  };
  const Ending interrupted = first.Run();
  INFO(interrupted);
  CHECK(interrupted.kind == Ending::Returned);
  const dasgd::Report& report = first.optimizer.Report();
  CHECK(report.reason == dasgd::StopReason::Signal);
  CHECK(report.stopSignal == SIGUSR1);
  CHECK(report.stopRank == who);
  CHECK(report.stopStep == 200);
  CHECK(report.stopText.find("User defined signal 1") != std::string::npos);
  CHECK(report.checkpoints == 1);
  CHECK(report.Points() < 400000);
  CHECK(Same(first.iterate));

  // Also in the same process, without Forget(): it has not ended.
  Mortal<ens::MomentumUpdate> second(file.path);
  second.optimizer.StepSize() /= double(Ranks());
  const Ending ending = second.Run();
  INFO(ending);
  CHECK(ending.kind == Ending::Returned);
  CHECK(second.optimizer.Report().resumed);
  CHECK(second.optimizer.Report().pointsBefore == report.Points());
  CHECK(second.optimizer.Report().Points() == 400000);
  CHECK(second.optimizer.Report().reason == dasgd::StopReason::Budget);
}

TEST_CASE("A signal to a rank that waits for others ends all, too",
    "[checkpoint]")
{
  if (Ranks() == 1)
    return;
  // Rank 0 has done its share and waits for others that would take minutes;
  // then its timer runs out.
  for (const dasgd::Overlap overlap : { dasgd::Overlap::Never,
      dasgd::Overlap::Always })
  {
    Probe probe(203, 6);
    arma::mat iterate(3, 2, arma::fill::zeros);
    dasgd::DASGD<> optimizer(MeanStep(0.001, 5), 5, 406 * Ranks(), -1);
    optimizer.Overlap() = overlap;
    optimizer.StopSignals() = { SIGALRM };
    Hooks hooks;
    hooks.step = [&]()
    {
      if (Rank() != 0)
        std::this_thread::sleep_for(std::chrono::seconds(1));
      else if (hooks.steps == 80)
      {
        const itimerval soon = { { 0, 0 }, { 0, 50000 } };
        setitimer(ITIMER_REAL, &soon, nullptr);
      }
      return false;
    };
    optimizer.Optimize(probe, iterate, hooks);
    const dasgd::Report& report = optimizer.Report();
    CHECK(report.reason == dasgd::StopReason::Signal);
    CHECK(report.stopRank == 0);
    CHECK(report.stopSignal == SIGALRM);
    CHECK(report.ranks[0].computed >= 80);
    CHECK(report.ranks[1].computed < 20);
  }
}

TEST_CASE("Every point is visited once in every epoch, over two lives",
    "[checkpoint]")
{
  // As many ranks, each with its own part of the work: what the checkpoint
  // knows of the first life, and all of the second.
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    const Scratch file("visits");
    const size_t epochs = 1500;
    Mortal<ens::VanillaUpdate> first(file.path), second(file.path);
    for (Mortal<ens::VanillaUpdate>* run : { &first, &second })
    {
      run->optimizer.Data() = data;
      run->optimizer.MaxIterations() = epochs * 203 *
          (data == dasgd::Data::Sharded ? Ranks() : 1);
      run->probe.keepOrder = true;
      run->optimizer.StepSize() /= double(Ranks());
    }
    first.Die(100);
    std::vector<double> known(Ranks(), 0);
    if (Rank() == 0)
    {
      const std::vector<std::uint8_t> bytes = dasgd::ReadCheckpoint(file.path,
          48);
      const dasgd::Checkpoint saved = dasgd::checkpoint::Decode(bytes);
      for (size_t i = 0; i < Ranks(); ++i)
        known[i] = double(saved.progress.points[i]);
    }
    MPI_Bcast(known.data(), int(Ranks()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(second.Run().kind == Ending::Returned);

    std::vector<size_t> visits = second.probe.visits;
    REQUIRE(first.probe.order.size() >= known[Rank()]);
    for (size_t i = 0; i < size_t(known[Rank()]); ++i)
      ++visits[first.probe.order[i]];
    if (data == dasgd::Data::Replicated)
      SumUp(visits);
    CHECK(visits == std::vector<size_t>(203, epochs));
    CHECK(second.optimizer.Report().pointsBefore > 0);
  }
}

TEST_CASE("A training that has ended is not trained again, but trained on",
    "[checkpoint]")
{
  const Scratch file("ended");
  Mortal<ens::VanillaUpdate> first(file.path);
  first.optimizer.MaxIterations() = 3000;
  const double value = first.Run().value;

  // By another process, that is: nothing is left to do.
  Forget();
  Mortal<ens::VanillaUpdate> again(file.path);
  again.optimizer.MaxIterations() = 3000;
  CHECK(again.Run().value == value);
  CHECK(again.probe.calls == 0);
  CHECK(arma::approx_equal(again.iterate, first.iterate, "absdiff", 0));
  CHECK(again.optimizer.Report().Points() == 3000);

  Forget();
  Mortal<ens::VanillaUpdate> longer(file.path);
  longer.optimizer.MaxIterations() = 5000;
  longer.Run();
  CHECK(longer.optimizer.Report().pointsBefore == 3000);
  CHECK(longer.optimizer.Report().Points() == 5000);

  // What is minimized within tolerance stays as it is, too.
  const Scratch other("tolerance");
  Mortal<ens::VanillaUpdate> tolerant(other.path);
  tolerant.optimizer.Tolerance() = 1e-3;
  const double reached = tolerant.Run().value;
  REQUIRE(tolerant.optimizer.Report().reason ==
      dasgd::StopReason::Tolerance);
  Forget();
  Mortal<ens::VanillaUpdate> same(other.path);
  same.optimizer.Tolerance() = 1e-3;
  CHECK(same.Run().value == reached);
  CHECK(same.probe.calls == 0);
}

TEST_CASE("The next training of a process is another one", "[checkpoint]")
{
  const Scratch file("next");
  Mortal<ens::VanillaUpdate> first(file.path);
  first.optimizer.MaxIterations() = 3000;
  first.Run();
  Mortal<ens::VanillaUpdate> second(file.path);
  second.optimizer.MaxIterations() = 3000;
  second.Run();
  CHECK_FALSE(second.optimizer.Report().resumed);
  CHECK(second.optimizer.Report().pointsBefore == 0);
  CHECK(Sum(double(second.probe.calls)) > 0);

  // And so is one that is to begin anew.
  Forget();
  Mortal<ens::VanillaUpdate> third(file.path);
  third.optimizer.MaxIterations() = 3000;
  third.optimizer.Restart() = true;
  third.Run();
  CHECK_FALSE(third.optimizer.Report().resumed);
  Forget();
}

TEST_CASE("AutoStep goes on with the step that it chose", "[checkpoint]")
{
  const Scratch file("auto");
  Mortal<ens::VanillaUpdate> first(file.path);
  first.optimizer.StepSize() = dasgd::AutoStep;
  first.Die(50);
  Mortal<ens::VanillaUpdate> second(file.path);
  second.optimizer.StepSize() = dasgd::AutoStep;
  second.probe.onEvaluate = []() { throw OwnError{ 1 }; };
  CHECK(second.Run().kind == Ending::Returned);
  CHECK(second.optimizer.Report().stepSize ==
      first.optimizer.Report().stepSize);
  CHECK(second.optimizer.Report().smoothness > 0);
}

TEST_CASE("A checkpoint that cannot be used is refused on all ranks",
    "[checkpoint]")
{
  const Scratch file("refused");
  Mortal<ens::VanillaUpdate> first(file.path);
  first.optimizer.MaxIterations() = 2000;
  first.Run();
  Forget();
  const std::vector<char> good = file.Read();

  const auto refuse = [&](const std::vector<char>& bytes,
                          const std::string& part)
  {
    if (Rank() == 0)
      file.Write(bytes);
    Mortal<ens::VanillaUpdate> run(file.path);
    const Ending ending = run.Run();
    INFO(ending << " instead of: " << part);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(Same(ending.text));
    CHECK(ending.Says("rank 0: cannot resume from checkpoint "));
    CHECK(ending.Says(part));
    CHECK(ending.Says("Restart() to start over"));
    CHECK(run.probe.calls == 0);
  };
  // Rank 0's file is the one that counts.
  const size_t size = size_t(Gather(double(good.size()))[0]);
  std::vector<char> bytes = good;
  bytes.resize(size);
  std::vector<char> other = bytes;
  other[size - 5] ^= 1;
  refuse(other, "it is damaged: its checksum is wrong");
  other = bytes;
  other.resize(size - 1);
  refuse(other, "it is damaged: it has " + std::to_string(size - 1) +
      " bytes instead of " + std::to_string(size));
  other = bytes;
  other[8] = 4;
  refuse(other, "it is of version 4, but this program knows checkpoints up to "
      "version 3");
  refuse(std::vector<char>(), "it is not a checkpoint");

  // What is somebody's file is not replaced, not even with Restart().
  const std::vector<char> letter(1000, 'x');
  for (const bool restart : { false, true })
  {
    if (Rank() == 0)
      file.Write(letter);
    Mortal<ens::VanillaUpdate> run(file.path);
    run.optimizer.Restart() = restart;
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says("it is not a checkpoint, and is not replaced; name "
        "another file, or remove it"));
    CHECK((Rank() != 0 || file.Read() == letter));
  }

  // Not even with Restart().
  Mortal<ens::VanillaUpdate> device("/dev/null");
  device.optimizer.Restart() = true;
  const Ending ending = device.Run();
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("/dev/null: it is not a regular file; name another one"));

  // Another model, other numbers, other data.
  if (Rank() == 0)
    file.Write(good);
  const auto mismatch = [&](const Ending& ending, const std::string& part)
  {
    INFO(ending << " instead of: " << part);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says(part));
  };
  Mortal<ens::VanillaUpdate> shape(file.path);
  shape.iterate.set_size(6, 1);
  mismatch(shape.Run(), "it is of a model of 3 x 2 numbers of 8 bytes, but "
      "this one is of 6 x 1 numbers of 8 bytes");
  ProbeType<arma::fmat> floats(203, 6);
  arma::fmat start(3, 2, arma::fill::zeros);
  mismatch(Try([&]() { return shape.optimizer.Optimize(floats, start); }),
      "of 3 x 2 numbers of 4 bytes");
  Probe fewer(100, 6);
  arma::mat iterate(3, 2, arma::fill::zeros);
  mismatch(Try([&]() { return shape.optimizer.Optimize(fewer, iterate); }),
      "it is of a training on 203 points, but there are 100");
  // As many points, but others.
  Probe others(203, 6, Probe::LeastSquares, 2);
  iterate.zeros();
  mismatch(Try([&]() { return shape.optimizer.Optimize(others, iterate); }),
      "it is of a training on other data: the objective of some points was ");
  CHECK(StillWorks());
}

TEST_CASE("A checkpoint is resumed by the training that it is of only",
    "[checkpoint]")
{
  const Scratch file("tied");
  const auto prepare = [](auto& run)
  {
    run.optimizer.MaxIterations() = 2000;
    run.optimizer.CheckpointTags() = { { "lambda", "0.5" }, { "data", "a" } };
  };
  Mortal<ens::MomentumUpdate> first(file.path, ens::MomentumUpdate(0.5));
  prepare(first);
  first.Run();
  const arma::mat model = first.iterate;

  const auto refuse = [&](auto& run, const std::string& part)
  {
    Forget();
    const Ending ending = run.Run();
    INFO(ending << " instead of: " << part);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says("it is of another training: " + part));
    CHECK(ending.Says("use Restart() to start over"));
    CHECK(run.probe.calls == 0);
  };
  {
    Mortal<ens::MomentumUpdate> run(file.path, ens::MomentumUpdate(0.5));
    prepare(run);
    const double was = run.optimizer.StepSize();
    run.optimizer.StepSize() = 0.001;
    refuse(run, "StepSize() was " + dasgd::ExactText(was) + ", but is 0.001");
    run.optimizer.Messages().stepSize = "--step_size";
    refuse(run, "--step_size was ");
    run.optimizer.StepSize() = was;
    run.optimizer.CheckpointTags()[1].second = "b";
    refuse(run, "data was a, but is b");
    run.optimizer.CheckpointTags().pop_back();
    refuse(run, "data was a, but is nothing");
    run.optimizer.CheckpointTags() = { { "lambda", "0.5" }, { "data", "a" },
        { "seed", "1" } };
    refuse(run, "seed was nothing, but is 1");
  }
  {
    Mortal<ens::MomentumUpdate> run(file.path, ens::MomentumUpdate(0.75));
    prepare(run);
    refuse(run, "UpdatePolicy().Momentum() was 0.5, but is 0.75");
  }
  {
    Mortal<ens::VanillaUpdate> run(file.path);
    prepare(run);
    refuse(run, "the update policy was ");
  }
  // What says how and how long it runs may change.
  Forget();
  Mortal<ens::MomentumUpdate> last(file.path, ens::MomentumUpdate(0.5));
  prepare(last);
  last.optimizer.Topology() = "ring";
  last.optimizer.BatchSize() = 7;
  last.optimizer.Sharing() = dasgd::Sharing::Dynamic;
  last.optimizer.MaxIterations() = 2000;
  CHECK(last.Run().kind == Ending::Returned);
  CHECK(arma::approx_equal(last.iterate, model, "absdiff", 0));
  Forget();
}

TEST_CASE("A checkpoint is one training's at a time", "[checkpoint]")
{
  const Scratch file("lock");
  {
    // Another process would hold it in the same way.
    std::unique_ptr<dasgd::CheckpointLock> lock;
    if (Rank() == 0)
      lock = std::make_unique<dasgd::CheckpointLock>(file.path);
    Mortal<ens::VanillaUpdate> run(file.path);
    run.optimizer.MaxIterations() = 2000;
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says("is in use by process "));
    CHECK(ending.Says("name another file"));
  }
  Mortal<ens::VanillaUpdate> run(file.path);
  run.optimizer.MaxIterations() = 2000;
  CHECK(run.Run().kind == Ending::Returned);
  CHECK_FALSE(fs::exists(file.path + ".lock"));
  Forget();
}

TEST_CASE("A link to a checkpoint is the same checkpoint", "[checkpoint]")
{
  const Scratch file("linked");
  const std::string link = (file.folder / "link").string();
  if (Rank() == 0)
    fs::create_symlink(file.path, link);
  for (const bool held : { true, false })
  {
    // Whoever holds the file that the link leads to, be it there or not yet.
    std::unique_ptr<dasgd::CheckpointLock> lock;
    if (Rank() == 0)
      lock = std::make_unique<dasgd::CheckpointLock>(held ? file.path : link);
    Mortal<ens::VanillaUpdate> run(held ? link : file.path);
    run.optimizer.MaxIterations() = 2000;
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says("is in use by process "));
  }
  Forget();
}

TEST_CASE("A policy whose state a checkpoint cannot hold is a warning",
    "[checkpoint]")
{
  const auto said = [](auto&& run)
  {
    std::ostringstream text;
    std::streambuf* before = std::cerr.rdbuf(text.rdbuf());
    run.optimizer.MaxIterations() = 500;
    const Ending ending = run.Run();
    std::cerr.rdbuf(before);
    CHECK(ending.kind == Ending::Returned);
    Forget();
    return text.str();
  };
  const Scratch known("known"), unknown("unknown");
  const std::string words = "do not hold the state of the update policy";
  CHECK(said(Mortal<ens::VanillaUpdate>(known.path)).find(words) ==
      std::string::npos);
  CHECK((said(Mortal<ens::AdaDeltaUpdate>(unknown.path)).find(words) !=
      std::string::npos) == (Rank() == 0));
}

TEST_CASE("A checkpoint that cannot be written is a warning", "[checkpoint]")
{
  const Scratch file("unwritable");
  std::ostringstream said;
  std::streambuf* before = std::cerr.rdbuf(said.rdbuf());
  Mortal<ens::VanillaUpdate> run((file.folder / "none" / "file").string());
  run.optimizer.MaxIterations() = 3000;
  const Ending ending = run.Run();
  std::cerr.rdbuf(before);
  CHECK(ending.kind == Ending::Returned);
  const dasgd::Report& report = run.optimizer.Report();
  CHECK(report.Points() == 3000);
  CHECK(report.checkpoints == 0);
  CHECK(report.checkpointProblem.find("none/file") != std::string::npos);
  if (Rank() == 0)
  {
    // Once, however often it was tried.
    const std::string text = said.str();
    INFO(text);
    CHECK(text.find("no checkpoint: ") != std::string::npos);
    CHECK(text.find("the training goes on") != std::string::npos);
    CHECK(text.find("no checkpoint: ") == text.rfind("no checkpoint: "));
  }
  Forget();
}

TEST_CASE("What is not finite takes no checkpoint's place", "[checkpoint]")
{
  const Scratch file("finite");
  Mortal<ens::VanillaUpdate> first(file.path);
  first.Die(50);
  const std::vector<char> good = file.Read();
  Mortal<ens::VanillaUpdate> second(file.path);
  second.probe.spoil = [](double&, arma::mat& gradient)
  { gradient.fill(1e300); };
  second.optimizer.Checkpoint(file.path, 1000);
  second.Run();
  CHECK(second.optimizer.Report().reason == dasgd::StopReason::NonFinite);
  CHECK(file.Read() == good);
}
