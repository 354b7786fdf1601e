/**
 * @file npy_file_test.cpp
 *
 * Arrays of NumPy: types, orders, and damaged files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <data/npy_file.hpp>

#include <filesystem>
#include <fstream>
#include <random>

#include <unistd.h>

#include "catch.hpp"

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

//! A file as numpy.save() writes it.
template<typename T>
std::string File(const std::string& type,
                 const std::string& shape,
                 const std::vector<T>& values,
                 const bool columnMajor = false)
{
  std::string header = "{'descr': '" + type + "', 'fortran_order': " +
      (columnMajor ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + char(header.size()) + '\0' +
      header + std::string(reinterpret_cast<const char*>(values.data()),
      values.size() * sizeof(T));
}

//! A file with such a content, for as long as it takes to read it.
class Written
{
 public:
  explicit Written(const std::string& content) :
      path((std::filesystem::temp_directory_path() / ("dasgd_npy_file_test_" +
          std::to_string(getpid()) + ".npy")).string())
  { std::ofstream(path, std::ios::binary) << content; }
  ~Written() { std::filesystem::remove(path); }

  const std::string path;
};

std::vector<double> Read(const std::string& file, std::vector<size_t>& shape)
{
  const NpyArray array = LoadNpy(Written(file).path);
  shape = array.sizes;
  return std::visit([](const auto& values)
  { return arma::conv_to<std::vector<double>>::from(arma::vectorise(values)); },
      array.values);
}

std::string Problem(const std::string& file)
{
  try
  {
    std::vector<size_t> shape;
    Read(file, shape);
  }
  catch (const std::runtime_error& e)
  {
    return e.what();
  }
  return "";
}

} // namespace

TEST_CASE("arrays of all types and both orders", "[npy_file]")
{
  std::vector<size_t> shape;
  const std::vector<double> expected = { 1, 2, 3, 4, 5, 6 };
  CHECK(Read(File<double>("<f8", "(2, 3)", { 1, 2, 3, 4, 5, 6 }), shape) ==
      expected);
  CHECK(shape == std::vector<size_t>{ 2, 3 });
  CHECK(Read(File<float>("<f4", "(2, 3)", { 1, 4, 2, 5, 3, 6 }, true), shape) ==
      expected);
  CHECK(Read(File<std::int64_t>("<i8", "(6,)", { 1, 2, 3, 4, 5, 6 }), shape) ==
      expected);
  CHECK(shape == std::vector<size_t>{ 6 });
  CHECK(Read(File<std::uint8_t>("|u1", "(1, 2, 3)", { 1, 2, 3, 4, 5, 6 }),
      shape) == expected);
  CHECK(Read(File<std::int16_t>("<i2", "(1,)", { -7 }), shape) ==
      std::vector<double>{ -7 });
  // a[i, j, k] = 100 i + 10 j + k.
  CHECK(Read(File<std::int32_t>("<i4", "(2, 2, 3)", { 0, 100, 10, 110, 1, 101,
      11, 111, 2, 102, 12, 112 }, true), shape) == std::vector<double>{ 0, 1, 2,
      10, 11, 12, 100, 101, 102, 110, 111, 112 });
}

TEST_CASE("what is no array of numbers is refused", "[npy_file]")
{
  CHECK_THAT(Problem(File<char>("<U7", "(2,)", std::vector<char>(56))),
      ContainsSubstring("of type '<U7'"));
  CHECK_THAT(Problem(File<char>("|O", "(2,)", std::vector<char>(16))),
      ContainsSubstring("of type '|O'"));
  CHECK_THAT(Problem(File<double>("<f8", "(3,)", { 1, 2 })),
      ContainsSubstring("ends too early"));
  CHECK_THAT(Problem(File<double>("<f8", "(1,)", { 1, 2 })),
      ContainsSubstring("goes on after its array"));
  CHECK_THAT(Problem(File<double>("<f8", "(4294967296, 4294967296)", { 1 })),
      ContainsSubstring("ends too early"));
  CHECK_THAT(Problem(File<double>("<f8", "()", { 1 })),
      ContainsSubstring("holds no points"));
  CHECK_THAT(Problem("1,2\n"), ContainsSubstring("ends too early"));
  CHECK_THAT(Problem("1,2,3,4,5\n"), ContainsSubstring("no array of NumPy"));
}

TEST_CASE("a damaged array is read or refused", "[npy_file]")
{
  const std::string good = File<float>("<f4", "(2, 3)", { 1, 4, 2, 5, 3, 6 });
  std::mt19937 random(2);
  for (size_t i = 0; i < 5000; ++i)
  {
    std::string bad = good.substr(0, i % 3 ? good.size() :
        random() % (good.size() + 1));
    for (size_t k = 0; k < 1 + i % 4 && !bad.empty(); ++k)
      bad[random() % bad.size()] = char(random() % 256);
    Problem(bad); // The sanitizers and Catch look.
  }
}
