// Stress tests of the core's shared structures, without Python: stress NAME [seconds]. Built and run by test_native.py.
#include "harness.h"
#include "../../native/order/board.cpp"
#include "../../native/order/order.cpp"
#include "boards.h"
#include "channels.h"
#include "completers.h"
#include "fallers.h"
#include "memory.h"
#include "objects.h"
#include "queues.h"
#include "spilling.h"

namespace {

constexpr stress::Test kTests[] = {
    {"allocator", stress::allocator},
    {"allocator_cold", stress::allocator_cold},
    {"allocator_deaths", stress::allocator_deaths},
    {"allocator_successor", stress::allocator_successor},
    {"pages_not_lost", stress::pages_not_lost},
    {"channel", stress::channel},
    {"channel_grows", stress::channel_grows},
    {"channel_deaths", stress::channel_deaths},
    {"bell_ping_pong", stress::bell_ping_pong},
    {"bell_many_ringers", stress::bell_many_ringers},
    {"bell_dead_ringer", stress::bell_dead_ringer},
    {"objects", stress::objects},
    {"task_arguments", stress::task_arguments},
    {"dead_completer", stress::dead_completer},
    {"completers_die", stress::completers_die},
    {"dead_faller", stress::dead_faller},
    {"dead_teller", stress::dead_teller},
    {"dead_mover", stress::dead_mover},
    {"long_chain", stress::long_chain},
    {"queue_order", stress::queue_order},
    {"queue_once", stress::queue_once},
    {"queue_grows", stress::queue_grows},
    {"queue_adopted", stress::queue_adopted},
    {"resources", stress::resources},
    {"spilling", stress::spilling},
    {"tags", stress::tags},
    {"long_tags", stress::long_tags},
    {"boards", stress::boards},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) stress::seconds = atof(argv[2]);
  for (auto& test : kTests) {
    if (argc < 2) {
      puts(test.name);
    } else if (strcmp(argv[1], test.name) == 0) {
      test.run();
      return 0;
    }
  }
  return argc < 2 ? 0 : 2;
}
