/**
 * @file rank_output.hpp
 *
 * Only one rank prints.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_RANK_OUTPUT_HPP
#define DASGD_BINDINGS_RANKS_RANK_OUTPUT_HPP

#include <exception>
#include <ios>
#include <streambuf>
#include <string>

namespace dasgd {
namespace cli {

/**
 * The text of an exception for users of the program: where memory was lacking,
 * it says so.
 *
 * @param what The exception's own text.
 * @param memory Is it known that there was not enough memory?
 */
std::string ErrorText(const std::string& what, const bool memory);
std::string ErrorText(const std::exception& e);

/**
 * Redirects std::cout and std::cerr while it exists.  On ranks other than 0,
 * std::cout is dropped, and std::cerr is kept for the case that they fail.  On
 * rank 0 both are printed, and errors are remembered so that none is printed
 * twice.  Colours are for terminals only.
 */
class RankOutput
{
 public:
  explicit RankOutput(const size_t rank);
  ~RankOutput();

  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  //! The object of this process, or null if there is none.
  static RankOutput*& Current();

  //! From now on this rank prints, since those before it have died.
  void TakeOver();

  //! What an exception means.  mlpack's Log::Fatal prints its text before it
  //! throws, so the text is taken from what was printed.
  std::string Text(const std::exception& e) const;

  //! Has this process printed the text?
  bool Printed(const std::string& text) const;

 private:
  //! Forwards what is written, if there is a target, and keeps the end of it.
  struct Recorder : std::streambuf
  {
    explicit Recorder(std::streambuf* target) : target(target) { }

    int overflow(const int c) override;
    std::streamsize xsputn(const char* text,
                           const std::streamsize length) override;
    int sync() override { return target ? target->pubsync() : 0; }

    static constexpr size_t limit = 8192;
    std::streambuf* target;
    std::string kept;
  };

  //! Leaves out the codes for colours, which mlpack writes everywhere.
  struct Plain : std::streambuf
  {
    explicit Plain(std::streambuf* target) : target(target) { }

    int overflow(const int c) override;
    std::streamsize xsputn(const char* text,
                           const std::streamsize length) override;
    int sync() override { return target->pubsync(); }

    std::streambuf* target;
    //! In a code?
    bool code = false;
  };

  std::streambuf* out;
  std::streambuf* error;
  Plain plainOut, plainError;
  //! Where rank 0 prints: the streams themselves if they are terminals.
  std::streambuf* shownOut;
  std::streambuf* shownError;
  Recorder recorder;
};

} // namespace cli
} // namespace dasgd

#endif
