/**
 * @file watchdog_test.cpp
 *
 * A process that does not get on ends, and one that does is left alone.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

// The library that this is linked with does not know MPI.
#include <dasgd/mpi/watchdog_impl.hpp>

#include <string>

#include <sys/wait.h>
#include <unistd.h>

using dasgd::mpi::Watchdog;

namespace {

//! What came of a child process, and what it printed.
struct Child
{
  int status = 0;
  std::string text;
};

template<typename ActionType>
Child Run(ActionType&& action)
{
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0)
  {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    action();
    _exit(0);
  }
  close(ends[1]);
  Child result;
  char part[256];
  ssize_t bytes;
  while ((bytes = read(ends[0], part, sizeof(part))) > 0)
    result.text.append(part, size_t(bytes));
  close(ends[0]);
  REQUIRE(waitpid(child, &result.status, 0) == child);
  return result;
}

} // namespace

TEST_CASE("a process that hangs says why, and ends by a signal", "[watchdog]")
{
  const Child child = Run([]()
  {
    const Watchdog watchdog(0.01, "rank 2 waits for rank 1");
    for (;;)
      pause();
  });
  CHECK(WIFSIGNALED(child.status));
  CHECK(WTERMSIG(child.status) == SIGKILL);
  CHECK(child.text == "rank 2 waits for rank 1\n");
}

TEST_CASE("it may end with a status instead", "[watchdog]")
{
  const Child child = Run([]()
  {
    const Watchdog watchdog(0.01, "too long", 7);
    for (;;)
      pause();
  });
  CHECK(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 7);
  CHECK(child.text == "too long\n");
}

TEST_CASE("a process that gets on does not meet its watchdog", "[watchdog]")
{
  const Child child = Run([]()
  {
    // It would have hours; its end must not.
    const Watchdog watchdog(36000, "never printed");
  });
  CHECK(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 0);
  CHECK(child.text.empty());
}
