// Four parts of the keys side by side, for few queries and many keys.
//
// When a model decodes, one query per head meets a long cache of keys: there is
// one query block for each head, which leaves cores without work. Each part of
// the keys gives an output and an lse of its own, and fa.combine merges them.
// The pipeline finishes what is left of level 2.
//
//   fa-run FILE --strategy=strategies/split_keys.mlir --verify

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %problem = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %function = transform.fa.results_to_out_parameters %problem
        : (!transform.any_op) -> !transform.any_op
    %attention = transform.structured.match ops{["fa.attention"]} in %function
        : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %attention
        with(#fa.config<query_block = 16, key_block = 128, key_splits = 4>) : !transform.any_op
    %part, %parts = transform.fa.split_keys %attention
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %block, %loop = transform.fa.tile %part
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
