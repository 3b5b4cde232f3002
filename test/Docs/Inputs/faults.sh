# Puts each fault of the table of docs/Tutorial/5-change-a-schedule.md into the schedule that
# the page copies, and expects that fagpu-plan refuses it.
#
#   faults.sh FOLDER
set -eu
fault() {
  sed "$1" "$folder/plain.mlir" > "$folder/fault.mlir"
  if fa-opt "$folder/fault.mlir" --fagpu-plan -o /dev/null; then exit 1; fi
}
folder=$1
fault '/fagpu.release %vt/d'
fault '/fagpu.release %kt/d; s/^.*%s0 = fagpu.wait/fagpu.release %kt : !kvv\n&/'
fault 's/\[1, 7\]/[1, 3]/'
fault '/fagpu.pass/d'
fault 's/fagpu.role @math(%g) groups(2)/fagpu.role @math(%g) groups(3)/'
fault '/fagpu.put %chV/,/into !kv/d'
fault 's/!o keeps !p/!o/'
fault 's/176/184/g'
fault 's/regs(240)/regs(160)/'
fault 's/<64x128xbf16, #sw, 1>/<64x128xbf16, #sw, 4>/'
