// Running a message.
#pragma once
#include "types/refs.h"

namespace reactor {

// Runs a message here and now.
bool run_message(Message* m, Receiver* from, uint32_t task_note = kNoEntry, Owned* broken_off = nullptr);
Inbox* inbox();  // what this process serves, null for none

}  // namespace reactor
