// SPDX-License-Identifier: BSD-2-Clause
//
// What must be put back even when a signal ends the process: numbers raised in sysfs, temporary
// files. Ordinary ends go through the destructors of whoever took the thing; both ways call the
// same functions here.
#ifndef HPZERO_BENCH_CLEANUP_H
#define HPZERO_BENCH_CLEANUP_H

#include <string>

namespace hpz::bench {

// From now on any signal that ends the process but SIGKILL (kEndings) puts everything back first,
// and then ends it as it would have.
void install_cleanup_handler();

// Notes that the number in a sysfs file is about to be raised from found by added; the result names
// the note.
int note_raised_number(const std::string &path, long found, long added);
// What was really added, once that is known.
void settle_raised_number(int note, long added);

// Notes a file that must not stay behind; the result names the note.
int note_temporary_file(const std::string &path);

// Lowers the number again, removes the file. A number is lowered by what was added, not to what was
// found: somebody else may have raised it too.
void put_back(int note);
// There is nothing to put back: the file is what it was meant to become.
void forget(int note);

}  // namespace hpz::bench

#endif
