/**
 * @file ranks.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "ranks.hpp"

#include <dasgd/mpi/mpi_environment.hpp>
#include <dasgd/mpi/rank_loss.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

namespace dasgd {
namespace cli {

bool Launched()
{
  for (const char* name : { "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_ID",
      "PMIX_RANK" })
  {
    if (std::getenv(name))
      return true;
  }
  return false;
}

size_t Ranks()
{
  if (!Launched())
    return 1;
  mpi::Initialize();
  int size = 1;
  mpi::Check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size_t(size);
}

size_t Rank()
{
  if (!Launched())
    return 0;
  mpi::Initialize();
  int rank = 0;
  mpi::Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return size_t(rank);
}

bool Writes()
{
  const size_t rank = Rank();
  for (size_t i = 0; i < rank; ++i)
  {
    if (!mpi::IsDead(MPI_COMM_WORLD, i))
      return false;
  }
  return true;
}

int LaunchedRank()
{
  for (const char* name : { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
      "PMI_ID" })
  {
    if (const char* value = std::getenv(name))
      return std::atoi(value);
  }
  return -1;
}

size_t RanksOnMachine()
{
  for (const char* name : { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
      "PMI_LOCAL_SIZE" })
  {
    if (const char* value = std::getenv(name))
      return size_t(std::max(1, std::atoi(value)));
  }
  return 1;
}

std::string ProgramPath()
{
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return (length <= 0 || size_t(length) == sizeof(path)) ? "" :
      std::string(path, size_t(length));
}

std::vector<std::string> CommandWords()
{
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0'); )
    words.push_back(word);
  return words;
}

} // namespace cli
} // namespace dasgd
