;; Matrix product in which the model spends its time: y[r, j] += x[r] · w[j], four numbers at a time.
;; x is (rows, n), w is (outputs, n), y is (rows, outputs), in float32; n and outputs are multiples of 4.
;; Four rows share each row of w, so that a beam of four costs little more than one; of single rows, four outputs share x.
(module
  (import "twin" "memory" (memory 1))

  (func $total (param $sum v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
      (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))

  (func $add (param $to i32) (param $sum v128)
    (f32.store (local.get $to) (f32.add (f32.load (local.get $to)) (call $total (local.get $sum)))))

  ;; one · many[0 … 3], whose rows are `n` bytes apart; the sums are added to four addresses from `to` on, `apart` bytes apart
  (func $four (param $one i32) (param $many i32) (param $n i32) (param $to i32) (param $apart i32)
    (local $i i32) (local $x v128) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $second i32) (local $third i32) (local $fourth i32)
    (local.set $second (i32.add (local.get $many) (local.get $n)))
    (local.set $third (i32.add (local.get $second) (local.get $n)))
    (local.set $fourth (i32.add (local.get $third) (local.get $n)))
    (loop $next
      (local.set $x (v128.load (i32.add (local.get $one) (local.get $i))))
      (local.set $a (f32x4.add (local.get $a) (f32x4.mul (local.get $x) (v128.load (i32.add (local.get $many) (local.get $i))))))
      (local.set $b (f32x4.add (local.get $b) (f32x4.mul (local.get $x) (v128.load (i32.add (local.get $second) (local.get $i))))))
      (local.set $c (f32x4.add (local.get $c) (f32x4.mul (local.get $x) (v128.load (i32.add (local.get $third) (local.get $i))))))
      (local.set $d (f32x4.add (local.get $d) (f32x4.mul (local.get $x) (v128.load (i32.add (local.get $fourth) (local.get $i))))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $n))))
    (call $add (local.get $to) (local.get $a))
    (call $add (local.tee $to (i32.add (local.get $to) (local.get $apart))) (local.get $b))
    (call $add (local.tee $to (i32.add (local.get $to) (local.get $apart))) (local.get $c))
    (call $add (i32.add (local.get $to) (local.get $apart)) (local.get $d)))

  (func (export "linear") (param $x i32) (param $w i32) (param $y i32) (param $rows i32) (param $n i32) (param $outputs i32)
    (local $row i32) (local $j i32)
    (local.set $n (i32.shl (local.get $n) (i32.const 2))) ;; from here on in bytes
    (local.set $outputs (i32.shl (local.get $outputs) (i32.const 2)))
    (block $rest
      (loop $rows_by_four
        (br_if $rest (i32.lt_u (i32.sub (local.get $rows) (local.get $row)) (i32.const 4)))
        (local.set $j (i32.const 0))
        (loop $output
          (call $four
            (i32.add (local.get $w) (i32.mul (i32.shr_u (local.get $j) (i32.const 2)) (local.get $n)))
            (i32.add (local.get $x) (i32.mul (local.get $row) (local.get $n)))
            (local.get $n)
            (i32.add (i32.add (local.get $y) (i32.mul (local.get $row) (local.get $outputs))) (local.get $j))
            (local.get $outputs))
          (br_if $output (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 4))) (local.get $outputs))))
        (local.set $row (i32.add (local.get $row) (i32.const 4)))
        (br $rows_by_four)))
    (block $done
      (loop $single_row
        (br_if $done (i32.ge_u (local.get $row) (local.get $rows)))
        (local.set $j (i32.const 0))
        (loop $outputs_by_four
          (call $four
            (i32.add (local.get $x) (i32.mul (local.get $row) (local.get $n)))
            (i32.add (local.get $w) (i32.mul (i32.shr_u (local.get $j) (i32.const 2)) (local.get $n)))
            (local.get $n)
            (i32.add (i32.add (local.get $y) (i32.mul (local.get $row) (local.get $outputs))) (local.get $j))
            (i32.const 4))
          (br_if $outputs_by_four (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 16))) (local.get $outputs))))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $single_row)))))
