// The lines of a journal, JSON objects with a checksum each, and those lines that each call writes.
//
// The file is mapped, a part at a time, because a system call for each line would take longer than the rest of it. What is written is in the file even
// if the process is killed at once. A part is allocated before it is mapped: a full disk is an OSError, and not a SIGBUS. The end of a line is stored
// last, so that a line that a kill has cut short is none. All of this is guarded by the GIL; after a fork only the parent may write.
#pragma once
#include "python/nanobind.h"

namespace reactor {

void bind_journal_lines(nanobind::module_& m);

}  // namespace reactor
