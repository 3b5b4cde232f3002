// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" -split-input-file -verify-diagnostics

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @boxes_of_few_rows(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  %ch = fagpu.channel tma : !t
  // expected-error @below {{'fagpu.put' op copies 64 rows in pages of 4 rows as boxes, expected a multiple of 8 rows that divides 64 or is a multiple of it; the nearest is the engine 'pages'}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x?x2x64xbf16>
func.func @boxes_of_any_rows(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  %ch = fagpu.channel tma : !t
  // expected-error @below {{'fagpu.put' op copies 64 rows in pages of ? rows as boxes, expected a multiple of 8 rows that divides 64 or is a multiple of it; the nearest is the engine 'pages'}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x16x2x64xbf16>
func.func @boxes_by_threads(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel tma : !t
  fagpu.role @load groups(1) {
    // expected-error @below {{'fagpu.put' op copies rows in pages in @load, a role of 128 threads, expected a role with 'elect'}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x16x2x64xbf16>
func.func @boxes_for_all_blocks(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %ch = fagpu.channel tma multicast : !t
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies pages to a channel that all blocks of a cluster fill, expected one without 'multicast'}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

// Each warp arrives once for its boxes.
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @boxes_of_other_numbers(%m: memref<?x16x2x64xbf16>, %o: memref<?x32x2x64xbf16>, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel tma : !t
  fagpu.role @load groups(1) elect {
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : memref<?x16x2x64xbf16> into !t
    // expected-error @below {{'fagpu.put' op fills a channel that another 'fagpu.put' fills with 4 boxes of pages, expected as many}}
    fagpu.put %ch, %o[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : memref<?x32x2x64xbf16> into !t
  }
  return
}

// -----

// A lane looks one box up.
!t = !fagpu.channel<288x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x8x2x64xbf16>
func.func @boxes_for_one_warp(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel tma : !t
  fagpu.role @load groups(1) warps(1) elect {
    // expected-error @below {{'fagpu.put' op copies 36 boxes of pages by 1 warps, expected at most 32}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 288, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

// A warp could give a stage back that another one still works on.
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x16x2x64xbf16>
func.func @gives_back(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel tma : !t
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies rows in pages by all warps of a role that acquires a stage; expected roles of their own}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
    %v = fagpu.acquire %ch : !t
    fagpu.release %v : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @engine(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  %ch = fagpu.channel threads : !t
  // expected-error @below {{'fagpu.put' op uses a channel of the engine 'threads', expected 'tma' or 'cp_async' or 'loads' or 'pages'}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @copies_of_threads(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  %ch = fagpu.channel cp_async : !t
  // expected-error @below {{'fagpu.put' op has pages(...), but the engine 'cp_async' copies boxes of one place; the nearest is the engine 'pages'}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x64x2x64xbf16>
func.func @no_pages(%m: !p, %c: i32) {
  %ch = fagpu.channel pages : !t
  // expected-error @below {{'fagpu.put' op has no pages(...), but the engine 'pages' copies rows in pages; the nearest is the engine 'tma'}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @table(%m: !p, %table: memref<?xi64>, %c: i32) {
  %ch = fagpu.channel pages : !t
  // expected-error @below {{'fagpu.put' op finds pages in 'memref<?xi64>', expected a table of i32 with a row for each sequence}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?xi64> at 0) rows(%c) : !p into !t
  return
}

// -----

!p = memref<?x4x2x64xbf16>
func.func @dimension(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op counts pages in dimension 1 of a box of 1x64x1x64 with rows in dimension 1, expected another one before the last, of size 1}}
  %x = fagpu.fetch %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 1) rows(%c) : !p -> tensor<64x64xbf16>
  return
}

// -----

!p = memref<?x4x2x64xbf16>
func.func @heads(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op copies 2 of dimension 2 from pages, expected 1: rows of one head}}
  %x = fagpu.fetch %m[%c, %c, %c, %c] [1, 32, 2, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p -> tensor<64x64xbf16>
  return
}

// -----

!p = memref<?x4x2x64xbf16>
func.func @end(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op copies rows in pages without an end, expected rows(...) and a whole tile}}
  %x = fagpu.fetch %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) : !p -> tensor<64x64xbf16>
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @part(%m: !p, %table: memref<?x?xi32>, %c: i32) {
  %ch = fagpu.channel pages : !t
  // expected-error @below {{'fagpu.put' op copies rows in pages padded or to a part of a tile, expected rows(...) and a whole tile}}
  fagpu.put %ch part(%c, %c), %m[%c, %c, %c, %c] [1, 32, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @threads(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel pages : !t
  fagpu.role @load groups(1) {
    // expected-error @below {{'fagpu.put' op copies rows in pages in @load, a role of 128 threads, expected a role with 'elect'}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x60xbf16, strided<[512, 128, 64, 1]>>
func.func @columns(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c60 = arith.constant 60 : i32
  %ch = fagpu.channel pages : !t
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies 64 rows in pages of columns that end inside 16 bytes, expected a multiple of 16 rows and of 8 columns}}
    fagpu.put %ch, %m[%c, %c, %c, %c0] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) columns(%c60) : !p into !t
  }
  return
}

// -----

!t = !fagpu.channel<24x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16>
func.func @few_rows(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel pages : !t
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies 24 rows in pages, expected a multiple of 16 rows and of 8 columns}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 24, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x4x2x64xbf16, strided<[1024, 256, 128, 2]>>
func.func @strided_columns(%m: !p, %table: memref<?x?xi32>, %c: i32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel pages : !t
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies rows of 'memref<?x4x2x64xbf16, strided<[1024, 256, 128, 2]>>', whose columns are not side by side; expected a stride of 1 in the last dimension}}
    fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%c) : !p into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = memref<?x64x2x64xbf16>
func.func @dim_alone(%ch: !t, %m: !p, %c: i32) {
  // expected-error @below {{'fagpu.put' op has pageDim without a table of pages, expected both or neither}}
  fagpu.put %ch, %m[%c, %c, %c, %c] [1, 64, 1, 64] rows(%c) {pageDim = 0 : i64} : !p into !t
  return
}
