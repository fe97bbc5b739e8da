// What every model shares. A model is a small C program of one protocol of the core: the same accesses with the same memory orders, and assertions of what must
// hold. reactor/tests/models.py has GenMC try all its executions under RC11, the repaired memory model of C11. It says how to install GenMC.
//
//   MUTANTS(A, B)   names what the model can do wrong; each is tried, too, and has to fail
//   M(A, order)     the memory order; relaxed in mutant A
//   IS(A)           whether this is mutant A
//   //= FILE: TEXT  the line of reactor/native/FILE that stands here; reactor/tests/test_models.py holds that it is there
//
// A plain access that races with another one is an error, and so is an access to freed memory. So plain variables stand for what the protocol
// hands over: the bytes of a message, a value, memory that is used again.
#pragma once
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <genmc.h>

enum {
  rlx = memory_order_relaxed,
  acq = memory_order_acquire,
  rel = memory_order_release,
  acq_rel = memory_order_acq_rel,
  sc = memory_order_seq_cst
};

#ifndef MUTANT
#define MUTANT NO_MUTANT
#endif
#define MUTANTS(...) enum { NO_MUTANT, __VA_ARGS__ };
#define IS(name) (MUTANT == (name))
#define M(name, order) (IS(name) ? rlx : (order))

#define LOAD(x, order) atomic_load_explicit(&(x), order)
#define STORE(x, value, order) atomic_store_explicit(&(x), value, order)
#define ADD(x, n, order) atomic_fetch_add_explicit(&(x), n, order)
#define SUB(x, n, order) atomic_fetch_sub_explicit(&(x), n, order)
#define OR(x, bits, order) atomic_fetch_or_explicit(&(x), bits, order)
#define EXCHANGE(x, value, order) atomic_exchange_explicit(&(x), value, order)
// On failure `expected` has what was there. Failing, it orders as `or_else` says.
#define CAS(x, expected, value, order, or_else) atomic_compare_exchange_strong_explicit(&(x), &(expected), value, order, or_else)
#define FENCE(order) atomic_thread_fence(order)

typedef void* (*Part)(void*);
static pthread_t started[8];
static int count_started;
static void start(Part part) { pthread_create(&started[count_started++], NULL, part, NULL); }
static void wait_for(int i) { pthread_join(started[i], NULL); }
static void wait_for_all(void) {
  for (int i = 0; i < count_started; ++i) wait_for(i);
}
