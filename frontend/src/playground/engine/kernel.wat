;; The two matrix products of a training step, in float32, four numbers at a time.
;; Both add to c. Rows lie one behind the other; of `a` in $product, the caller says how far apart, so that it may be transposed.
(module
  (import "space" "memory" (memory 1))

  (func $total (param $sum v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
      (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))

  (func $add (param $to i32) (param $sum v128)
    (f32.store (local.get $to) (f32.add (f32.load (local.get $to)) (call $total (local.get $sum)))))

  ;; c[i, j] += a[i] · b[j]: a is (rows, n), b is (outputs, n), c is (rows, outputs); n is a multiple of 4
  (func (export "dots") (param $a i32) (param $b i32) (param $c i32) (param $rows i32) (param $n i32) (param $outputs i32)
    (local $row i32) (local $j i32) (local $k i32) (local $first i32) (local $x v128)
    (local $p v128) (local $q v128) (local $r v128) (local $s v128) (local $zero v128)
    (local.set $n (i32.shl (local.get $n) (i32.const 2))) ;; from here on in bytes
    (loop $next_row
      (local.set $first (local.get $b))
      (local.set $j (local.get $outputs))
      (block $singles
        (loop $four
          (br_if $singles (i32.lt_u (local.get $j) (i32.const 4)))
          (local.set $p (local.get $zero)) (local.set $q (local.get $zero)) (local.set $r (local.get $zero)) (local.set $s (local.get $zero))
          (local.set $k (i32.const 0))
          (loop $next
            (local.set $x (v128.load (i32.add (local.get $a) (local.get $k))))
            (local.set $p (f32x4.add (local.get $p) (f32x4.mul (local.get $x)
              (v128.load (i32.add (local.get $first) (local.get $k))))))
            (local.set $q (f32x4.add (local.get $q) (f32x4.mul (local.get $x)
              (v128.load (i32.add (i32.add (local.get $first) (local.get $n)) (local.get $k))))))
            (local.set $r (f32x4.add (local.get $r) (f32x4.mul (local.get $x)
              (v128.load (i32.add (i32.add (local.get $first) (i32.shl (local.get $n) (i32.const 1))) (local.get $k))))))
            (local.set $s (f32x4.add (local.get $s) (f32x4.mul (local.get $x)
              (v128.load (i32.add (i32.add (local.get $first) (i32.mul (local.get $n) (i32.const 3))) (local.get $k))))))
            (br_if $next (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16))) (local.get $n))))
          (call $add (local.get $c) (local.get $p))
          (call $add (i32.add (local.get $c) (i32.const 4)) (local.get $q))
          (call $add (i32.add (local.get $c) (i32.const 8)) (local.get $r))
          (call $add (i32.add (local.get $c) (i32.const 12)) (local.get $s))
          (local.set $c (i32.add (local.get $c) (i32.const 16)))
          (local.set $first (i32.add (local.get $first) (i32.shl (local.get $n) (i32.const 2))))
          (local.set $j (i32.sub (local.get $j) (i32.const 4)))
          (br $four)))
      (block $done
        (loop $single
          (br_if $done (i32.eqz (local.get $j)))
          (local.set $p (local.get $zero))
          (local.set $k (i32.const 0))
          (loop $next
            (local.set $p (f32x4.add (local.get $p) (f32x4.mul
              (v128.load (i32.add (local.get $a) (local.get $k)))
              (v128.load (i32.add (local.get $first) (local.get $k))))))
            (br_if $next (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 16))) (local.get $n))))
          (call $add (local.get $c) (local.get $p))
          (local.set $c (i32.add (local.get $c) (i32.const 4)))
          (local.set $first (i32.add (local.get $first) (local.get $n)))
          (local.set $j (i32.sub (local.get $j) (i32.const 1)))
          (br $single)))
      (local.set $a (i32.add (local.get $a) (local.get $n)))
      (br_if $next_row (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 1))) (local.get $rows)))))

  ;; c[i] += Σ_k a[i, k] b[k]: b is (inner, columns), c is (rows, columns); columns is a multiple of 4.
  ;; a[i, k] stands at i · $down + k · $right numbers from $a.
  (func (export "product") (param $a i32) (param $b i32) (param $c i32) (param $rows i32) (param $inner i32) (param $columns i32) (param $down i32) (param $right i32)
    (local $row i32) (local $k i32) (local $at i32) (local $from i32) (local $to i32) (local $left i32) (local $x v128)
    (local $p v128) (local $q v128) (local $r v128) (local $s v128)
    (local.set $columns (i32.shl (local.get $columns) (i32.const 2))) ;; from here on in bytes
    (local.set $down (i32.shl (local.get $down) (i32.const 2)))
    (local.set $right (i32.shl (local.get $right) (i32.const 2)))
    (loop $next_row
      (local.set $left (local.get $columns))
      (local.set $to (local.get $c))
      (block $narrow
        (loop $sixteen
          (br_if $narrow (i32.lt_u (local.get $left) (i32.const 64)))
          (local.set $p (v128.load (local.get $to)))
          (local.set $q (v128.load offset=16 (local.get $to)))
          (local.set $r (v128.load offset=32 (local.get $to)))
          (local.set $s (v128.load offset=48 (local.get $to)))
          (local.set $at (local.get $a))
          (local.set $from (i32.add (local.get $b) (i32.sub (local.get $to) (local.get $c))))
          (local.set $k (local.get $inner))
          (loop $next
            (local.set $x (v128.load32_splat (local.get $at)))
            (local.set $p (f32x4.add (local.get $p) (f32x4.mul (local.get $x) (v128.load (local.get $from)))))
            (local.set $q (f32x4.add (local.get $q) (f32x4.mul (local.get $x) (v128.load offset=16 (local.get $from)))))
            (local.set $r (f32x4.add (local.get $r) (f32x4.mul (local.get $x) (v128.load offset=32 (local.get $from)))))
            (local.set $s (f32x4.add (local.get $s) (f32x4.mul (local.get $x) (v128.load offset=48 (local.get $from)))))
            (local.set $at (i32.add (local.get $at) (local.get $right)))
            (local.set $from (i32.add (local.get $from) (local.get $columns)))
            (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 1)))))
          (v128.store (local.get $to) (local.get $p))
          (v128.store offset=16 (local.get $to) (local.get $q))
          (v128.store offset=32 (local.get $to) (local.get $r))
          (v128.store offset=48 (local.get $to) (local.get $s))
          (local.set $to (i32.add (local.get $to) (i32.const 64)))
          (local.set $left (i32.sub (local.get $left) (i32.const 64)))
          (br $sixteen)))
      (block $done
        (loop $four
          (br_if $done (i32.eqz (local.get $left)))
          (local.set $p (v128.load (local.get $to)))
          (local.set $at (local.get $a))
          (local.set $from (i32.add (local.get $b) (i32.sub (local.get $to) (local.get $c))))
          (local.set $k (local.get $inner))
          (loop $next
            (local.set $p (f32x4.add (local.get $p) (f32x4.mul (v128.load32_splat (local.get $at)) (v128.load (local.get $from)))))
            (local.set $at (i32.add (local.get $at) (local.get $right)))
            (local.set $from (i32.add (local.get $from) (local.get $columns)))
            (br_if $next (local.tee $k (i32.sub (local.get $k) (i32.const 1)))))
          (v128.store (local.get $to) (local.get $p))
          (local.set $to (i32.add (local.get $to) (i32.const 16)))
          (local.set $left (i32.sub (local.get $left) (i32.const 16)))
          (br $four)))
      (local.set $a (i32.add (local.get $a) (local.get $down)))
      (local.set $c (i32.add (local.get $c) (local.get $columns)))
      (br_if $next_row (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 1))) (local.get $rows))))))
