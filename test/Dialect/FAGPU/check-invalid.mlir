// RUN: fa-opt %s -pass-pipeline='builtin.module(func.func(fagpu-check))' -split-input-file -verify-diagnostics

func.func @no_layout(%f: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'tensor.splat' op makes 'tensor<64x128xf32>', which no register layout spreads over threads; expected an encoding such as #fagpu.acc<4>, or fagpu-infer-layouts before}}
    %x = tensor.splat %f : tensor<64x128xf32>
  }
  return
}

// -----

func.func @warps(%f: f32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @a groups(1) warps(8) {
    // expected-error @below {{'tensor.splat' op makes a value of layout #fagpu.acc<4> in the role @a, whose groups have 8 warps; expected a layout over 8}}
    %x = tensor.splat %f : tensor<128x128xf32, #fagpu.acc<4>>
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
func.func @uniform_condition() attributes {fagpu.kernel = "sm_90a"} {
  %c1 = arith.constant 1 : i32
  fagpu.role @a groups(1) {
    // expected-note @below {{it comes from here}}
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %first = arith.cmpi slt, %i, %c1 : i32
    // expected-error @below {{'scf.if' op has operand 0, which may differ between the threads of a group in @a; expected a value of kernel arguments, block and group numbers, received scalars, loop indices and loads of scalars}}
    scf.if %first {
    }
  }
  return
}

// -----

func.func @uniform_bound(%x: tensor<64xi32, #fagpu.row<4>>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %start = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-note @below {{it comes from here}}
    %n = tensor.extract %x[%c0] : tensor<64xi32, #fagpu.row<4>>
    // expected-error @below {{'fagpu.for' op has operand 1, which may differ between the threads of a group in @a}}
    fagpu.for %i = %start step 1 segments(%s: to %n) {
      fagpu.yield
    }
  }
  return
}

// -----

// A difference that a loop carries into its condition.
func.func @uniform_repeat(%n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) {
    fagpu.repeat iter(%i = %n) : i32 {
      // expected-note @below {{it comes from here}}
      %t = gpu.thread_id x
      %next = arith.index_cast %t : index to i32
      %again = arith.cmpi slt, %i, %n : i32
      // expected-error @below {{'fagpu.yield' op has operand 0, which may differ between the threads of a group in @a}}
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}

// -----

// In a role of one thread nothing can differ.
func.func @uniform_elect() attributes {fagpu.kernel = "sm_90a"} {
  %c1 = arith.constant 1 : i32
  fagpu.role @a groups(1) elect {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %first = arith.cmpi slt, %i, %c1 : i32
    scf.if %first {
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @two_fill(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    // expected-note @below {{the other use is here}}
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @b groups(1) elect {
    // expected-error @below {{'fagpu.put' op fills in the role @b a channel that @a fills too; expected one role, or a channel for each}}
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

!work = !fagpu.mail<1, i32>
func.func @two_send() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %mail = fagpu.mail : !work
  fagpu.role @a groups(1) elect {
    // expected-note @below {{the other use is here}}
    fagpu.send %mail, %c0 : !work
  }
  fagpu.role @b groups(1) {
    %w = fagpu.recv %mail : !work
    // expected-error @below {{'fagpu.send' op fills in the role @b a mail that @a fills too; expected one role, or a mail for each}}
    fagpu.send %mail, %c0 : !work
  }
  return
}

// -----

!work = !fagpu.mail<1, i32>
func.func @two_receive() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %mail = fagpu.mail : !work
  fagpu.role @a groups(1) elect {
    fagpu.send %mail, %c0 : !work
  }
  fagpu.role @b groups(1) {
    // expected-note @below {{the other use is here}}
    %w = fagpu.recv %mail : !work
  }
  fagpu.role @c groups(1) {
    // expected-error @below {{'fagpu.recv' op reads in the role @c a mail that @b reads too; expected one role, or a mail for each}}
    %w = fagpu.recv %mail : !work
  }
  return
}

// -----

!work = !fagpu.mail<1, i32>
func.func @outside() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %mail = fagpu.mail : !work
  // expected-error @below {{'fagpu.send' op fills a mail outside of a role; expected it in a 'fagpu.role' of the kernel}}
  fagpu.send %mail, %c0 : !work
  fagpu.role @b groups(1) {
    %w = fagpu.recv %mail : !work
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
func.func @never_put() attributes {fagpu.kernel = "sm_90a"} {
  // expected-note @below {{the channel is made here}}
  %ch = fagpu.channel tma : !q
  fagpu.role @c groups(1) {
    // expected-error @below {{'fagpu.acquire' op waits for a channel that nothing fills}}
    %v = fagpu.acquire %ch : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!mem = memref<?x128xbf16>
func.func @never_acquired(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // expected-note @below {{the channel is made here}}
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op fills a channel that nothing reads}}
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  return
}

// -----

!work = !fagpu.mail<1, i32>
func.func @never_sent() attributes {fagpu.kernel = "sm_90a"} {
  // expected-note @below {{the mail is made here}}
  %mail = fagpu.mail : !work
  fagpu.role @c groups(1) {
    // expected-error @below {{'fagpu.recv' op waits for a mail that nothing fills}}
    %w = fagpu.recv %mail : !work
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @stages(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %n) {
      // expected-note @below {{the use before it is here}}
      fagpu.put %ch, %m[%i, %c0] [64, 128] {fagpu.at = [0, 1]} : !mem into !q
      // expected-error @below {{'fagpu.put' op would change places with a use that stands before it: that is in stage 0, this one in 1; expected stage 0}}
      fagpu.put %ch, %m[%i, %c0] [64, 128] {fagpu.at = [1, 2]} : !mem into !q
      fagpu.yield
    }
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @orders(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %n) {
      fagpu.put %ch, %m[%i, %c0] [64, 128] {fagpu.at = [0, 1]} : !mem into !q
      fagpu.yield
    }
  }
  fagpu.role @c groups(1) {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %n) {
      // expected-note @below {{the use before it is here}}
      %v = fagpu.acquire %ch {fagpu.at = [0, 5]} : !q
      fagpu.release %v : !qv
      // expected-error @below {{'fagpu.acquire' op would change places with a use that stands before it: that is in slot [0, 5], this one, which follows it, in [0, 1]; expected an order of at least 5}}
      %w = fagpu.acquire %ch {fagpu.at = [0, 1]} : !q
      fagpu.release %w {fagpu.at = [0, 6]} : !qv
      fagpu.yield
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @loop_levels(%m: !mem, %n: i32, %more: i1) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    // Before the nest is fine.
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
    fagpu.repeat {
      // expected-note @below {{the use before it is here}}
      fagpu.put %ch, %m[%c0, %c0] [64, 128] {fagpu.at = [0, 1]} : !mem into !q
      fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %n) {
        // expected-error @below {{'fagpu.put' op would change places with a use that stands before it: that is at another loop level; expected one loop for both}}
        fagpu.put %ch, %m[%i, %c0] [64, 128] : !mem into !q
        fagpu.yield
      } {fagpu.at = [0, 2]}
      fagpu.yield %more : i1
    }
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    fagpu.release %v : !qv
  }
  return
}

// -----

func.func @turn_groups() attributes {fagpu.kernel = "sm_90a"} {
  // expected-note @below {{the turns are made here}}
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(3) {
    // expected-error @below {{'fagpu.take' op is in the role @a of 3 groups, but the turns are for 2; expected 3}}
    fagpu.take %turns : !fagpu.turns
    fagpu.pass %turns : !fagpu.turns
  }
  return
}

// -----

func.func @turn_outside() attributes {fagpu.kernel = "sm_90a"} {
  %turns = fagpu.turns 2 : !fagpu.turns
  // expected-error @below {{'fagpu.take' op takes part in turns outside of a role; expected it in a 'fagpu.role' of the kernel}}
  fagpu.take %turns : !fagpu.turns
  fagpu.role @a groups(2) {
  }
  return
}

// -----

func.func @turn_not_passed(%more: i1) attributes {fagpu.kernel = "sm_90a"} {
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(2) {
    // expected-error @below {{'fagpu.take' op takes a turn that is not passed in its block; expected a 'fagpu.pass' after it}}
    fagpu.take %turns : !fagpu.turns
    fagpu.repeat {
      fagpu.pass %turns : !fagpu.turns
      fagpu.yield %more : i1
    }
  }
  return
}

// -----

func.func @turn_not_taken() attributes {fagpu.kernel = "sm_90a"} {
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(2) {
    // expected-error @below {{'fagpu.pass' op passes a turn that has not been taken in its block; expected a 'fagpu.take' before it}}
    fagpu.pass %turns : !fagpu.turns
    fagpu.take %turns : !fagpu.turns
  }
  return
}

// -----

func.func @turn_twice() attributes {fagpu.kernel = "sm_90a"} {
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(2) {
    // expected-note @below {{taken here}}
    fagpu.take %turns : !fagpu.turns
    // expected-error @below {{'fagpu.take' op takes a turn again before it has been passed; expected a 'fagpu.pass' before it}}
    fagpu.take %turns : !fagpu.turns
    fagpu.pass %turns : !fagpu.turns
  }
  return
}

// -----

func.func @turn_stages(%n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(2) {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %n) {
      // expected-note @below {{the use before it is here}}
      fagpu.take %turns {fagpu.at = [0, 2]} : !fagpu.turns
      // expected-error @below {{'fagpu.pass' op would change places with a use that stands before it: that is in stage 0, this one in 1; expected stage 0}}
      fagpu.pass %turns {fagpu.at = [1, 4]} : !fagpu.turns
      fagpu.yield
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @never_released(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    // expected-error @below {{'fagpu.acquire' op gives a view that is never released; expected one 'fagpu.release' in the same block}}
    %v = fagpu.acquire %ch : !q
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @released_twice(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    // expected-note @below {{first released here}}
    fagpu.release %v : !qv
    // expected-error @below {{'fagpu.release' op releases a view a second time; expected one release for each 'fagpu.acquire'}}
    fagpu.release %v : !qv
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @released_on_a_path(%m: !mem, %p: i1) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    // expected-note @below {{acquired here}}
    %v = fagpu.acquire %ch : !q
    scf.if %p {
      // expected-error @below {{'fagpu.release' op releases a view of another block, so perhaps not exactly once; expected it in the block of the 'fagpu.acquire'}}
      fagpu.release %v : !qv
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!part = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!mem = memref<?x128xbf16>
func.func @part_released(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    %s = fagpu.slice %v[%c0, %c0] : !qv to !part
    // expected-error @below {{'fagpu.release' op releases a part of a view; expected the view that 'fagpu.acquire' gives}}
    fagpu.release %s : !part
  }
  return
}

// -----

!q = !fagpu.channel<64xf32, #fagpu.smem<0>, 2>
!qv = !fagpu.view<64xf32, #fagpu.smem<0>>
!mem = memref<?xf32>
func.func @used_after_release(%m: !mem, %p: i1) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0] [64] : !mem into !q
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    // expected-note @below {{released here}}
    fagpu.release %v : !qv
    scf.if %p {
      // expected-error @below {{'fagpu.load' op uses a view after its release; expected the release after it}}
      %x = fagpu.load %v : !qv -> tensor<64xf32, #fagpu.col<4>>
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 2>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!part = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
!mem = memref<?x128xbf16>
func.func @released_early(%m: !mem) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !q
  fagpu.role @a groups(1) elect {
    fagpu.put %ch, %m[%c0, %c0] [64, 128] : !mem into !q
  }
  fagpu.role @c groups(1) {
    %v = fagpu.acquire %ch : !q
    %s = fagpu.slice %v[%c0, %c0] : !qv to !part
    // expected-note @below {{issued here}}
    %f = fagpu.mma_async nt %s, %s : !part, !part -> !fagpu.inflight<!acc>
    // expected-error @below {{'fagpu.release' op releases a view that a product in flight still reads; expected it after the 'fagpu.wait' of that product}}
    fagpu.release %v : !qv
    // expected-note @below {{awaited here}}
    %x = fagpu.wait %f : !fagpu.inflight<!acc>
  }
  return
}

// -----

!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
// expected-error @below {{'func.func' op has argument #1 of type '!fagpu.view<64x64xbf16, #fagpu.smem<128>>', but a view is of one use of a stage; expected memory, and what 'fagpu.acquire' gives}}
func.func @view_argument(%n: i32, %v: !view) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) {
    %h = fagpu.load %v : !view -> !half
  }
  return
}
