// RUN: fa-opt %s -pass-pipeline='builtin.module(func.func(fagpu-check))' -split-input-file -verify-diagnostics

!word = !fagpu.mail<1, i32>
func.func @crosswise() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %there = fagpu.mail : !word
  %back = fagpu.mail : !word
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.recv' op never ends: the roles wait for one another}}
    // expected-note-re @below {{group 0 of @a waits here for fill 1 of the mail of line {{[0-9]+}}, which has had 0}}
    %x = fagpu.recv %back : !word
    fagpu.send %there, %c0 : !word
  }
  fagpu.role @b groups(1) elect {
    // expected-note-re @below {{group 0 of @b waits here for fill 1 of the mail of line {{[0-9]+}}, which has had 0}}
    %x = fagpu.recv %there : !word
    fagpu.send %back, %c0 : !word
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
func.func @too_few_stages(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
    // expected-error @below {{'fagpu.put' op never ends: the roles wait for one another}}
    // expected-note-re @below {{group 0 of @a waits here for the release of fill 1 of the channel of line {{[0-9]+}}, to fill one of its 1 stages again, after fagpu.put (line {{[0-9]+}})}}
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
  }
  fagpu.role @b groups(1) {
    %v = fagpu.acquire %ch : !q
    // expected-note-re @below {{group 0 of @b waits here for fill 2 of the channel of line {{[0-9]+}}, which has had 1, after fagpu.acquire (line {{[0-9]+}})}}
    %w = fagpu.acquire %ch : !q
    fagpu.release %v : !qv
    fagpu.release %w : !qv
  }
  return
}

// -----

!word = !fagpu.mail<1, i32>
// expected-note-re @below {{in an execution where last the loop of line {{[0-9]+}} did 1 trip, the loop of line {{[0-9]+}} did 2 trips}}
func.func @one_trip_more(%n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %more = arith.addi %n, %c1 : i32
  %mail = fagpu.mail : !word
  // expected-note-re @below {{group 0 of @a has ended, after fagpu.send (line {{[0-9]+}})}}
  fagpu.role @a groups(1) elect {
    fagpu.for %i = %c0 step 1 segments(%s: to %n) {
      fagpu.send %mail, %i : !word
      fagpu.yield
    }
  }
  fagpu.role @b groups(2) {
    fagpu.for %i = %c0 step 1 segments(%s: to %more) {
      // expected-error @below {{'fagpu.recv' op never ends: the roles wait for one another}}
      // expected-note-re @below {{group 0 of @b waits here for fill 2 of the mail of line {{[0-9]+}}, which has had 1, after fagpu.recv (line {{[0-9]+}})}}
      // expected-note-re @below {{group 1 of @b waits here for fill 2 of the mail of line {{[0-9]+}}, which has had 1, after fagpu.recv (line {{[0-9]+}})}}
      %x = fagpu.recv %mail : !word
      fagpu.yield
    }
  }
  return
}

// -----

// Only on one way of a condition that is read from memory.
!word = !fagpu.mail<1, i32>
// expected-note-re @below {{in an execution where last the condition of line {{[0-9]+}} was true, the condition of line {{[0-9]+}} was false}}
func.func @one_branch(%m: memref<?xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %index = arith.constant 0 : index
  %word = memref.load %m[%index] : memref<?xi32>
  %some = arith.cmpi sgt, %word, %c0 : i32
  %c100 = arith.constant 100 : i32
  %many = arith.cmpi sgt, %word, %c100 : i32
  // expected-note @below {{the stages are made here}}
  %mail = fagpu.mail : !word
  fagpu.role @a groups(1) elect {
    scf.if %some {
      // expected-error @below {{'fagpu.send' op fills a stage that is never read: 1 are filled, but 0 read; expected as many}}
      fagpu.send %mail, %c0 : !word
    }
  }
  fagpu.role @b groups(1) {
    scf.if %many {
      %x = fagpu.recv %mail : !word
    }
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
func.func @bank_of_group(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ch = fagpu.channel tma banks(2) : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch bank(%c0), %m[%c0] [64] : !mem into !q
    fagpu.put %ch bank(%c1), %m[%c0] [64] : !mem into !q
  }
  fagpu.role @b(%g) groups(3) {
    // expected-error @below {{'fagpu.acquire' op uses bank 2 of a channel that has 2; expected 0 to 1}}
    %v = fagpu.acquire %ch bank(%g) : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
func.func @bank_of_two(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ch = fagpu.channel tma banks(2) : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch bank(%c0), %m[%c0] [64] : !mem into !q
    fagpu.put %ch bank(%c1), %m[%c0] [64] : !mem into !q
  }
  fagpu.role @b(%g) groups(2) {
    // expected-error @below {{'fagpu.acquire' op reads in group 1 bank 0, which group 0 reads too; expected one group for each bank}}
    %v = fagpu.acquire %ch bank(%c0) : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

!s = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!sv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!x = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @filled_by_two(%x: !x) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel threads : !s
  fagpu.role @a groups(2) {
    // expected-error @below {{'fagpu.write' op fills 16384 elements of a stage that has 8192; expected each element to be filled once, by one group}}
    fagpu.write %ch, %x : !x into !s
    %v = fagpu.acquire %ch : !s
    fagpu.release %v : !sv
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 4>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
// expected-note-re @below {{in an execution where last the loop of line {{[0-9]+}} did 2 trips, the loop of line {{[0-9]+}} did 2 trips}}
func.func @carried_never(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
    scf.for %i = %c0 to %n step %c1 : i32 {
      fagpu.put %ch, %m[%c0] [64] : !mem into !q
    }
  }
  fagpu.role @b groups(1) {
    %first = fagpu.acquire %ch : !q
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%v = %first) -> (!qv) : i32 {
      fagpu.release %v : !qv
      // expected-error @below {{'fagpu.acquire' op gives a view that is never released; expected one 'fagpu.release'}}
      %next = fagpu.acquire %ch : !q
      scf.yield %next : !qv
    }
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 4>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
// expected-note-re @below {{in an execution where last the loop of line {{[0-9]+}} did 2 trips}}
func.func @carried_twice(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
  }
  fagpu.role @b groups(1) {
    // expected-note @below {{acquired here}}
    %first = fagpu.acquire %ch : !q
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%v = %first) -> (!qv) : i32 {
      scf.yield %v : !qv
    }
    fagpu.release %first : !qv
    // expected-error @below {{'fagpu.release' op releases a view a second time; expected one release for each 'fagpu.acquire'}}
    fagpu.release %last : !qv
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 4>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
// expected-note-re @below {{in an execution where last the loop of line {{[0-9]+}} did 2 trips}}
func.func @carried_used(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
  }
  fagpu.role @b groups(1) {
    // expected-note @below {{acquired here}}
    %first = fagpu.acquire %ch : !q
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%v = %first) -> (!qv) : i32 {
      scf.yield %v : !qv
    }
    fagpu.release %first : !qv
    // expected-error @below {{'fagpu.load' op uses a view after its release; expected the release after it}}
    %x = fagpu.load %last : !qv -> tensor<64xf32, #fagpu.col<4>>
  }
  return
}

// -----

// expected-note-re @below {{in an execution where last the condition of line {{[0-9]+}} was true}}
func.func @nested_turns() attributes {fagpu.kernel = "sm_90a"} {
  %turns = fagpu.turns 2 : !fagpu.turns
  %true = arith.constant true
  fagpu.role @a groups(2) {
    fagpu.take %turns : !fagpu.turns
    scf.if %true {
      fagpu.take %turns : !fagpu.turns
      fagpu.pass %turns : !fagpu.turns
    }
    // expected-error @below {{'fagpu.pass' op passes in group 0 a turn that is group 1's; expected a 'fagpu.take' before it}}
    fagpu.pass %turns : !fagpu.turns
  }
  return
}

// -----

// The second stage is still being read when its memory is written.
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
!x = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @over(%m: !mem, %x: !x) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %q = fagpu.channel tma : !q
  %o = fagpu.channel tma_store over(%q : !q) : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %q, %m[%c0, %c0] [64, 128] : !mem into !q
    fagpu.put %q, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @b groups(1) {
    %v = fagpu.acquire %q : !q
    fagpu.release %v : !qv
    fagpu.store %x, %m[%c0, %c0] via(%o : !q) : !x into !mem
    %w = fagpu.acquire %q : !q
    // expected-error @below {{'fagpu.store' op uses memory that its channel shares with another one (over), which may still be in use; expected the last release of that one before}}
    fagpu.store %x, %m[%c0, %c0] via(%o : !q) : !x into !mem
    // expected-note @below {{the other use is here}}
    fagpu.release %w : !qv
  }
  return
}

// -----

// Trips that no argument changes are executed, however many.
!word = !fagpu.mail<1, i32>
// expected-note-re @below {{in an execution where last the loop of line {{[0-9]+}} did 40 trips}}
func.func @constant_trips() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c40 = arith.constant 40 : i32
  // expected-note @below {{the stages are made here}}
  %mail = fagpu.mail : !word
  fagpu.role @a groups(1) elect {
    fagpu.for %i = %c0 step 1 segments(%s: to %c40) {
      fagpu.send %mail, %i : !word
      fagpu.yield
    }
    // expected-error @below {{'fagpu.send' op fills a stage that is never read: 41 are filled, but 40 read; expected as many}}
    fagpu.send %mail, %c0 : !word
  }
  fagpu.role @b groups(1) {
    fagpu.for %i = %c0 step 1 segments(%s: to %c40) {
      %x = fagpu.recv %mail : !word
      fagpu.yield
    }
  }
  return
}

// -----

// expected-warning @below {{does too many trips in every execution that was tried, so no deadlock between roles is excluded}}
func.func @endless() attributes {fagpu.kernel = "sm_90a"} {
  %true = arith.constant true
  fagpu.role @a groups(1) elect {
    fagpu.repeat {
      fagpu.yield %true : i1
    }
  }
  return
}
