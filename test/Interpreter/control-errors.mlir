// What breaks a rule of mail, turns, counters or launches is reported once.

// RUN: split-file %s %t
// RUN: not fa-run %t/no_filler.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/no_filler.mlir --implicit-check-not=error:
// RUN: not fa-run %t/circle.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/circle.mlir --implicit-check-not=error:
// RUN: not fa-run %t/never_emptied.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/never_emptied.mlir --implicit-check-not=error:
// RUN: not fa-run %t/unsent.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/unsent.mlir --implicit-check-not=error:
// RUN: not fa-run %t/unreceived.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/unreceived.mlir --implicit-check-not=error:
// RUN: not fa-run %t/received_once.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/received_once.mlir --implicit-check-not=error:
// RUN: not fa-run %t/two_senders.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/two_senders.mlir --implicit-check-not=error:
// RUN: not fa-run %t/sent_stage.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/sent_stage.mlir --implicit-check-not=error:
// RUN: not fa-run %t/received_stage.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/received_stage.mlir --implicit-check-not=error:
// RUN: not fa-run %t/taken_twice.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/taken_twice.mlir --implicit-check-not=error:
// RUN: not fa-run %t/never_passed.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/never_passed.mlir --implicit-check-not=error:
// RUN: not fa-run %t/not_taken.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/not_taken.mlir --implicit-check-not=error:
// RUN: not fa-run %t/groups.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/groups.mlir --implicit-check-not=error:
// RUN: not fa-run %t/unbalanced.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/unbalanced.mlir --implicit-check-not=error:
// RUN: not fa-run %t/retire.mlir --target=interpret --as-written --seed=1 --grid=3 --input=2xi32=0 2>&1 | FileCheck %t/retire.mlir --implicit-check-not=error:
// RUN: not fa-run %t/outside_a_role.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/outside_a_role.mlir --implicit-check-not=error:
// RUN: not fa-run %t/outside_a_kernel.mlir --target=interpret --as-written --seed=1 2>&1 | FileCheck %t/outside_a_kernel.mlir --implicit-check-not=error:
// RUN: not fa-run %t/grid.mlir --target=interpret --as-written --seed=1 --entry=host --input=index=-2 2>&1 | FileCheck %t/grid.mlir --implicit-check-not=error:
// RUN: not fa-run %t/no_grid.mlir --target=interpret --as-written --seed=1 2>&1 | FileCheck %t/no_grid.mlir --implicit-check-not=error:
// RUN: not fa-run %t/host_grid.mlir --target=interpret --as-written --seed=1 --grid=2 2>&1 | FileCheck %t/host_grid.mlir --implicit-check-not=error:
// RUN: not fa-run %t/malformed_grid.mlir --target=interpret --as-written --seed=1 --grid=2,0 2>&1 | FileCheck %t/malformed_grid.mlir --implicit-check-not=error:

//--- no_filler.mlir

// CHECK: error: 'fagpu.acquire' op waits forever: no role of the block can go on
// CHECK: note: in @math of block 0
// CHECK: note: @math: waits for use 0 of the channel of line {{[0-9]+}} to be filled
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
  }
  return
}

//--- circle.mlir

// CHECK: error: 'fagpu.acquire' op waits forever: no role of the block can go on
// CHECK: note: @a: waits for use 0 of the channel of line {{[0-9]+}} to be filled
// CHECK: note: @b: waits for use 0 of the channel of line {{[0-9]+}} to be filled
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %d = fagpu.channel tma : !q
  fagpu.role @a groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.put %d, %m[%z, %z] [64, 64] : !m into !q
    fagpu.release %v : !qv
  }
  fagpu.role @b groups(1) {
    %v = fagpu.acquire %d : !q
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
    fagpu.release %v : !qv
  }
  return
}

//--- never_emptied.mlir

// CHECK: error: 'fagpu.put' op waits forever: no role of the block can go on
// CHECK: note: @load: filled use 0 of the channel of line {{[0-9]+}} (line {{[0-9]+}}), waits for stage 0 of the channel of line {{[0-9]+}} to be released, to fill it for use 1
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  return
}

//--- unsent.mlir

// CHECK: error: 'fagpu.recv' op waits forever: no role of the block can go on
// CHECK: note: @math: waits for use 0 of the mail of line {{[0-9]+}} to be sent
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @math groups(1) {
    %w = fagpu.recv %mail : !fagpu.mail<1, i32>
  }
  return
}

//--- unreceived.mlir

// CHECK: error: 'fagpu.send' op fills a stage that is not acquired and released by all its readers when the block ends
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @a groups(1) {
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
  }
  return
}

//--- received_once.mlir

// CHECK: error: 'fagpu.send' op fills a stage that is not acquired and released by all its readers when the block ends
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @a groups(1) {
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
  }
  fagpu.role @b groups(1) {
    %w = fagpu.recv %mail : !fagpu.mail<1, i32>
  }
  return
}

//--- two_senders.mlir

// CHECK: error: 'fagpu.send' op sends use 0 of a mail that another group has sent
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @a groups(2) {
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
  }
  return
}

//--- sent_stage.mlir

// CHECK: error: 'fagpu.send' op is given stage 0 and phase 0, but use 0 is of stage 0 and phase 1
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @a groups(1) {
    fagpu.send %mail, %z stage(%z, %z) : !fagpu.mail<1, i32>
  }
  fagpu.role @b groups(1) {
    %w = fagpu.recv %mail : !fagpu.mail<1, i32>
  }
  return
}

//--- received_stage.mlir

// CHECK: error: 'fagpu.recv' op is given stage 0 and phase 1, but use 0 is of stage 0 and phase 0
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @a groups(1) {
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
  }
  fagpu.role @b groups(1) {
    %w = fagpu.recv %mail stage(%z, %one) : !fagpu.mail<1, i32>
  }
  return
}

//--- taken_twice.mlir

// CHECK: error: 'fagpu.take' op takes a turn that its group has since line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.turns 2 : !fagpu.turns
  fagpu.role @math groups(2) {
    fagpu.take %t : !fagpu.turns
    fagpu.take %t : !fagpu.turns
    fagpu.pass %t : !fagpu.turns
  }
  return
}

//--- never_passed.mlir

// CHECK: error: 'fagpu.take' op takes a turn that group 0 of @math never passes
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.turns 2 : !fagpu.turns
  fagpu.role @math groups(2) {
    fagpu.take %t : !fagpu.turns
  }
  return
}

//--- not_taken.mlir

// CHECK: error: 'fagpu.pass' op passes a turn that its group does not have
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.turns 2 : !fagpu.turns
  fagpu.role @math groups(2) {
    fagpu.pass %t : !fagpu.turns
  }
  return
}

//--- groups.mlir

// CHECK: error: 'fagpu.take' op goes round 2 groups, but its role has 3
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.turns 2 : !fagpu.turns
  fagpu.role @math groups(3) {
    fagpu.take %t : !fagpu.turns
    fagpu.pass %t : !fagpu.turns
  }
  return
}

//--- unbalanced.mlir

// CHECK: error: 'fagpu.take' op waits forever: no role of the block can go on
// CHECK: note: group 0 of @math: took its turn (line {{[0-9]+}}), passed its turn (line {{[0-9]+}}), ended
// CHECK: note: group 1 of @math: took its turn (line {{[0-9]+}}), passed its turn (line {{[0-9]+}}), waits for its turn
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.turns 2 : !fagpu.turns
  %z = arith.constant 0 : i32
  fagpu.role @math(%g) groups(2) {
    %second = arith.cmpi ne, %g, %z : i32
    scf.if %second {
      fagpu.take %t : !fagpu.turns
      fagpu.pass %t : !fagpu.turns
    }
    fagpu.take %t : !fagpu.turns
    fagpu.pass %t : !fagpu.turns
  }
  return
}

//--- retire.mlir

// CHECK: error: 'fagpu.ticket' op leaves word 0 of its counter at 3 after the launch, expected 0: every block has to end with 'fagpu.retire'
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%ctr: memref<2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) elect {
    %n = fagpu.ticket %ctr : memref<2xi32>
  }
  return
}

//--- outside_a_role.mlir

// CHECK: error: 'fagpu.put' op runs outside a role, but only there it has a meaning
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  return
}

//--- outside_a_kernel.mlir

// CHECK: error: 'fagpu.channel' op runs outside a kernel, but only there it has a meaning
!q = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @host() {
  %c = fagpu.channel tma : !q
  return
}

//--- grid.mlir

// CHECK: error: 'fagpu.launch' op has a grid of -2 x 1 x 1 blocks, expected no negative size
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  return
}
func.func @host(%n: index) {
  fagpu.launch @kernel grid(%n) ()
  return
}

//--- no_grid.mlir

// CHECK: fa-run: error: 'kernel' is a kernel: run a function that launches it, or give --grid=SIZES
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  return
}

//--- host_grid.mlir

// CHECK: fa-run: error: --grid is for kernels, but 'host' is none
func.func @host() {
  return
}

//--- malformed_grid.mlir

// CHECK: fa-run: error: --grid=2,0 is malformed: expected one to three positive sizes separated by commas
func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  return
}
