/**
 * @file rank_output.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "rank_output.hpp"
#include "job_channel.hpp"

#include <terminal/terminal.hpp>

#include <cstring>
#include <iostream>
#include <new>
#include <stdexcept>

#include <unistd.h>

namespace dasgd {
namespace cli {

std::string ErrorText(const std::string& what, const bool memory)
{
  const std::string words = "out of memory; give fewer ranks or less data";
  // The names also appear in texts that others have made of such exceptions.
  for (const std::string name : { "std::bad_alloc", "std::bad_array_new_length",
      "cannot create std::vector larger than max_size()",
      "vector::_M_default_append", "basic_string::_M_create" })
  {
    const size_t at = what.find(name);
    if (at != std::string::npos && at > 0)
      return what.substr(0, at) + words + what.substr(at + name.size());
    if (at == 0)
      return words;
  }
  // The second is Armadillo's text.
  return memory || what.find("requested size is too large") !=
      std::string::npos ? words : what;
}

std::string ErrorText(const std::exception& e)
{
  return ErrorText(e.what(), dynamic_cast<const std::bad_alloc*>(&e) ||
      dynamic_cast<const std::length_error*>(&e));
}

RankOutput::RankOutput(const size_t rank) :
    out(std::cout.rdbuf()),
    error(std::cerr.rdbuf()),
    plainOut(out),
    plainError(error),
    shownOut(Colours(STDOUT_FILENO) ? out : &plainOut),
    shownError(Colours(STDERR_FILENO) ? error : &plainError),
    recorder(rank == 0 ? shownError : nullptr)
{
  std::cout.rdbuf(rank == 0 ? shownOut : nullptr);
  std::cerr.rdbuf(&recorder);
  Current() = this;
}

RankOutput::~RankOutput()
{
  Current() = nullptr;
  std::cout.rdbuf(out);
  std::cerr.rdbuf(error);
}

void RankOutput::TakeOver()
{
  std::cout.rdbuf(shownOut);
  recorder.target = shownError;
}

RankOutput*& RankOutput::Current()
{
  static RankOutput* current = nullptr;
  return current;
}

std::string RankOutput::Text(const std::exception& e) const
{
  const std::string mark = "[FATAL] ", colour = "\033[0m";
  const size_t at = recorder.kept.rfind(mark);
  if (std::strncmp(e.what(), "fatal error", 11) != 0 ||
      at == std::string::npos)
    return ErrorText(e);
  std::string text = recorder.kept.substr(at + mark.size());
  if (text.compare(0, colour.size(), colour) == 0)
    text.erase(0, colour.size());
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

bool RankOutput::Printed(const std::string& text) const
{
  // Other ranks name the rank; rank 0 itself does not.
  const std::string name = "rank 0: ";
  const bool named = text.compare(0, name.size(), name) == 0;
  return recorder.kept.find(named ? text.substr(name.size()) : text) !=
      std::string::npos;
}

int RankOutput::Plain::overflow(const int c)
{
  const char letter = char(c);
  return c == traits_type::eof() || xsputn(&letter, 1) == 1 ? c :
      traits_type::eof();
}

std::streamsize RankOutput::Plain::xsputn(const char* text,
                                          const std::streamsize length)
{
  for (std::streamsize i = 0; i < length; ++i)
  {
    const bool before = code;
    code = (code || text[i] == '\033') && text[i] != 'm';
    if (!before && !code && target->sputc(text[i]) == traits_type::eof())
      return i;
  }
  return length;
}

int RankOutput::Recorder::overflow(const int c)
{
  const char letter = char(c);
  return xsputn(&letter, 1) == 1 ? c : traits_type::eof();
}

std::streamsize RankOutput::Recorder::xsputn(const char* text,
                                             const std::streamsize length)
{
  // mlpack adds a line break of its own to fatal errors that have one.
  if (length == 1 && *text == '\n' && !kept.empty() &&
      kept.back() == '\n' && kept.find("[FATAL]", kept.rfind('\n',
      kept.size() - 2) + 1) != std::string::npos)
    return length;
  kept.append(text, size_t(length));
  if (kept.size() > 2 * limit)
    kept.erase(0, kept.size() - limit);
  if (target && ProgressShown())
  {
    // End the progress line, so that the text gets a line of its own.
    ProgressShown() = 0;
    JobChannel::Get().Send(RankMessage::ProgressLine, 0);
    target->sputc('\n');
  }
  return target ? target->sputn(text, length) : length;
}

} // namespace cli
} // namespace dasgd
