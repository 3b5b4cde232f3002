module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["fa.attention"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %attention
        with(#fa.config<query_block = 256, key_block = 128>) : !transform.any_op
    transform.yield
  }
}
