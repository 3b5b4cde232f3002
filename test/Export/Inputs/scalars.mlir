// A kernel that takes a number of each type that a manifest has, once as the
// host function gets it and once, of the halves, as an f32.
func.func @kernel(%flag: i1, %byte: i8, %word: i32, %long: i64, %half: f16, %brain: bf16, %single: f32, %double: f64,
                  %half_as_single: f32, %flag_as_word: i32) attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @scalars(%flag: i1, %byte: i8, %word: i32, %long: i64, %half: f16, %brain: bf16, %single: f32, %double: f64) {
  %c1 = arith.constant 1 : index
  %half_as_single = arith.extf %half : f16 to f32
  %flag_as_word = arith.extui %flag : i1 to i32
  fagpu.launch @kernel grid(%c1) (%flag, %byte, %word, %long, %half, %brain, %single, %double, %half_as_single, %flag_as_word) : i1, i8, i32, i64, f16, bf16, f32, f64, f32, i32
  return
}
