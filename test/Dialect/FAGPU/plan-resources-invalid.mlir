// RUN: fa-opt %s -fagpu-plan-resources -split-input-file -verify-diagnostics

// expected-error @below {{'func.func' op takes 262144 bytes of shared memory, but a block of sm_90a has 232448 at 1 a multiprocessor}}
func.func @shared_memory() attributes {fagpu.kernel = "sm_90a"} {
  %k = fagpu.channel tma : !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 8>
  fagpu.role @a groups(1) {}
  return
}

// -----

// expected-error @below {{'func.func' op takes 131072 bytes of shared memory, but a block of sm_90a has 115712 at 2 a multiprocessor}}
func.func @two_blocks() attributes {fagpu.kernel = "sm_90a", fagpu.blocks_per_sm = 2} {
  %k = fagpu.channel tma : !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 4>
  fagpu.role @a groups(1) {}
  return
}

// -----

// expected-error @below {{'func.func' op has 69632 registers in its roles, but a block of 384 threads on sm_90a has 64512 at 1 a multiprocessor, 168 a thread}}
func.func @registers() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) regs(64) {}
  fagpu.role @b groups(2) regs(240) {}
  return
}

// -----

// No more than a multiprocessor has, but more than is there at launch.
// expected-error @below {{'func.func' op has 65536 registers in its roles, but a block of 384 threads on sm_90a has 64512 at 1 a multiprocessor, 168 a thread}}
func.func @registers_at_launch() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) regs(48) {}
  fagpu.role @b groups(2) regs(232) {}
  return
}

// -----

// expected-error @below {{'func.func' op has 1152 threads in its roles, but a block of sm_80 has at most 1024}}
func.func @threads() attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @a groups(8) {}
  fagpu.role @b groups(1) warps(1) {}
  return
}

// -----

// expected-error @below {{'func.func' op needs 17 named barriers, but sm_90a has 16}}
func.func @named_barriers() attributes {fagpu.kernel = "sm_90a"} {
  %a = fagpu.turns 14 : !fagpu.turns
  %b = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(1) {}
  return
}
