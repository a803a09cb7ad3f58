(* Products of rows: covariance.md, pca.md (Lemma 1, Frobenius), regression.md, impute.md section 6, sketch.md pairs. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Products.
Variables (R : rcfType).

Definition outer d e (x : 'rV[R]_d) (a : 'rV[R]_e) : 'M[R]_(d, e) := \matrix_(i, j) (x 0 i * a 0 j).
Definition inner d e (A B : 'M[R]_(d, e)) : R := \sum_i \sum_j A i j * B i j.
Definition frosq d e (A : 'M[R]_(d, e)) : R := inner A A.

Variables (d e : nat).
Implicit Types (x y : 'rV[R]_d) (a b : 'rV[R]_e) (A B : 'M[R]_(d, e)).

Lemma inner_outer x y a b : inner (outer x a) (outer y b) = dot x y * dot a b.
Proof.
rewrite /inner /dot big_distrlr /=; apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite !mxE.
set p := x 0 i; set q := a 0 j; set r := y 0 i; set t := b 0 j; ring.
Qed.

Lemma frosq_lin (c c' : R) A B : frosq (c *: A - c' *: B) = c ^+ 2 * frosq A - 2%:R * c * c' * inner A B + c' ^+ 2 * frosq B.
Proof.
rewrite /frosq /inner !mulr_sumr -sumrB -big_split; apply: eq_bigr => i _ /=; rewrite !mulr_sumr -sumrB -big_split.
apply: eq_bigr => j _ /=; rewrite !mxE; set p := A i j; set q := B i j; ring.
Qed.

Lemma dotxx f (x : 'rV[R]_f) : dot x x = normsq x.
Proof. by apply: eq_bigr => j _; rewrite expr2. Qed.

Lemma frosq_outer x a : frosq (outer x a) = normsq x * normsq a.
Proof. by rewrite /frosq inner_outer !dotxx. Qed.

Lemma frosq_ge0 A : 0 <= frosq A.
Proof. by apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; rewrite -expr2 sqr_ge0. Qed.

Lemma dotC f (u v : 'rV[R]_f) : dot u v = dot v u.
Proof. by apply: eq_bigr => j _; rewrite mulrC. Qed.
End Products.

Section Second.
Variables (R : rcfType) (d : nat).
Implicit Types x y z w : 'rV[R]_d.

Lemma squares_apart x y : frosq (outer x x - outer y y) = normsq x ^+ 2 + normsq y ^+ 2 - 2%:R * dot x y ^+ 2.
Proof.
rewrite -[outer x x]scale1r -[outer y y]scale1r frosq_lin !frosq_outer inner_outer.
by set p := normsq x; set q := normsq y; set r := dot x y; ring.
Qed.

(** [covariance.md, pca.md, chaining.md, impute.md; mechanisms/covariance.py private_second_moment]
    Replace-one: |x x' - y y'|_F^2 = |x|^4 + |y|^4 - 2 (x.y)^2, at most 2 S^4 for rows of norm at most S: sqrt 2 S^2 and not 2 S^2. *)
Theorem second_moment_replaced x y (S : R) : norm x <= S -> norm y <= S -> frosq (outer x x - outer y y) <= 2%:R * S ^+ 4.
Proof.
move=> xS yS; have S0 : 0 <= S by apply: le_trans xS; apply: norm_ge0.
have fourth z : norm z <= S -> normsq z ^+ 2 <= S ^+ 4.
  move=> zS; rewrite -sqr_norm -exprM (_ : 4 = 2 * 2)%N //; apply: ler_expn2r; rewrite ?nnegrE ?norm_ge0 //.
rewrite squares_apart ler_subl_addr; apply: le_trans (ler_add (fourth _ xS) (fourth _ yS)) _.
by rewrite [2%:R * _]mulr_natl mulr2n ler_addl mulr_ge0 ?ler0n // sqr_ge0.
Qed.

(** [covariance.md, pca.md; mechanisms/covariance.py private_second_moment]
    Add or remove one: |x x'|_F = |x|^2 <= S^2, as for a row that was dropped. *)
Theorem second_moment_added x (S : R) : norm x <= S -> frosq (outer x x) <= (S ^+ 2) ^+ 2.
Proof.
move=> xS; have S0 : 0 <= S by apply: le_trans xS; apply: norm_ge0.
rewrite frosq_outer -expr2; apply: ler_expn2r; rewrite ?nnegrE ?normsq_ge0 ?sqr_ge0 // -sqr_norm.
by apply: ler_expn2r; rewrite ?nnegrE ?norm_ge0.
Qed.

(** [pca.md, covariance.md; preprocessing/second_moment.py]
    Lemma 1, Frobenius norm, a row that moved: |x x' - y y'|_F <= |x - y| |x + y|. *)
Theorem second_moment_moved x y : frosq (outer x x - outer y y) <= (norm (x - y) * norm (x + y)) ^+ 2.
Proof.
rewrite exprMn !sqr_norm squares_apart.
have p1 : normsq (x - y) = normsq x - 2%:R * dot x y + normsq y.
  by rewrite -[x]scale1r -[y]scale1r normsq_lin !scale1r; set p := normsq x; set q := normsq y; set r := dot x y; ring.
have p2 : normsq (x + y) = normsq x + 2%:R * dot x y + normsq y.
  have -> : x + y = 1 *: x - (-1) *: y by rewrite scale1r scaleN1r opprK.
  by rewrite normsq_lin; set p := normsq x; set q := normsq y; set r := dot x y; ring.
have := cauchy_schwarz x y; rewrite p1 p2 -subr_ge0 => cs; rewrite -subr_ge0.
set p := normsq x in cs *; set q := normsq y in cs *; set r := dot x y in cs *.
have -> : (p - 2%:R * r + q) * (p + 2%:R * r + q) - (p ^+ 2 + q ^+ 2 - 2%:R * r ^+ 2) = 2%:R * (p * q - r ^+ 2) by ring.
by rewrite mulr_ge0 ?ler0n.
Qed.

(** [pca.md, covariance.md; preprocessing/second_moment.py]
    So by at most 2 R |x - y| for rows in the ball of radius R. *)
Theorem second_moment_moved_ball x y (r : R) : norm x <= r -> norm y <= r ->
  frosq (outer x x - outer y y) <= (2%:R * r * norm (x - y)) ^+ 2.
Proof.
move=> xr yr; have r0 : 0 <= r by apply: le_trans xr; apply: norm_ge0.
apply: le_trans (second_moment_moved x y) _; apply: ler_expn2r; rewrite ?nnegrE ?mulr_ge0 ?norm_ge0 ?ler0n //.
rewrite mulrC; apply: ler_wpmul2r; rewrite ?norm_ge0 //; apply: le_trans (ler_normD _ _) _.
by rewrite [2%:R * r]mulr_natl mulr2n ler_add.
Qed.

(* The products of two different columns, each pair once. *)
Definition pairs_apart z w : R := \sum_(i : 'I_d) \sum_(j : 'I_d | (i < j)%N) (z 0 i * z 0 j - w 0 i * w 0 j) ^+ 2.

Lemma twice_pairs z w : 2%:R * pairs_apart z w <= frosq (outer z z - outer w w).
Proof.
pose f i j : R := (z 0 i * z 0 j - w 0 i * w 0 j) ^+ 2.
have fsym i j : f i j = f j i by rewrite /f [z 0 i * _]mulrC [w 0 i * _]mulrC.
have -> : frosq (outer z z - outer w w) = \sum_i \sum_j f i j.
  by apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite !mxE -expr2.
have other : \sum_(i : 'I_d) \sum_(j : 'I_d | (j < i)%N) f i j = pairs_apart z w.
  rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => i _; apply: eq_bigr => j _; exact: fsym.
rewrite [X in X <= _]mulr_natl mulr2n -{2}other /pairs_apart -big_split; apply: ler_sum => i _ /=.
rewrite [X in _ <= X](bigID (fun j : 'I_d => (i < j)%N)) /= ler_add2l.
rewrite [X in _ <= X](bigID (fun j : 'I_d => (j < i)%N)) /= -[X in X <= _]addr0; apply: ler_add.
  rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigl => j.
  by case: (ltnP j i) => ji; rewrite ?andbF // andbT -leqNgt ltnW.
by apply: sumr_ge0 => j _; apply: sqr_ge0.
Qed.

(** [sketch.md, describe.md; sketches/sketch_plan.py pair_sensitivity]
    Pairs: rows z, w of norm at most R have products (z_i z_j), i < j, at most R^2 apart (squared: R^4), though the diagonal is left out. *)
Theorem pairs_replaced z w (r : R) : norm z <= r -> norm w <= r -> pairs_apart z w <= r ^+ 4.
Proof.
move=> zr wr; rewrite -(ler_pmul2l (_ : 0 < 2%:R)) ?ltr0n //.
exact: le_trans (twice_pairs z w) (second_moment_replaced zr wr).
Qed.

(** [sketch.md; sketches/sketch_plan.py pair_sensitivity]
    A row added or removed: twice the squared norm of its products is at most R^4. *)
Theorem pairs_added z (r : R) : norm z <= r -> 2%:R * pairs_apart z 0 <= r ^+ 4.
Proof.
move=> zr; apply: le_trans (twice_pairs z 0) _.
have -> : outer z z - outer 0 0 = outer z z by apply/matrixP => i j; rewrite !mxE mul0r subr0.
by apply: le_trans (second_moment_added zr) _; rewrite -exprM.
Qed.
End Second.

(* Least squares: the products of a row x and (x, t), t = T y. *)
Section Regression.
Variables (R : rcfType) (d e : nat).
Implicit Types (x y : 'rV[R]_d) (a b : 'rV[R]_e).

(** [regression.md, units.md; learners/sufficient_statistics.py SufficientStatistics]
    Replace-one: contributions c g, c' g' with c, c' <= 1, norms at most C and an inner product of g and g' of at least -q are at most
    sqrt(2 C^2 + 2 q) apart. *)
Theorem scaled_products_apart (A B : 'M[R]_(d, e)) (c c' C q : R) : 0 <= c <= 1 -> 0 <= c' <= 1 -> 0 <= q ->
  frosq (c *: A) <= C -> frosq (c' *: B) <= C -> - q <= inner A B ->
  frosq (c *: A - c' *: B) <= 2%:R * C + 2%:R * q.
Proof.
case/andP=> c0 c1 /andP[d0 d1] q0 AC BC AB.
have scaled (k : R) (M : 'M[R]_(d, e)) : frosq (k *: M) = k ^+ 2 * frosq M.
  rewrite -[k *: M]subr0 -[0](scale0r M) frosq_lin; set u := frosq M; set v := inner M M; ring.
rewrite frosq_lin -!scaled; set u := frosq _; set v := frosq _ in BC *; set w := inner A B in AB *.
have -> : u - 2%:R * c * c' * w + v = u + v + 2%:R * (c * c' * - w) by ring.
apply: ler_add; first by rewrite [2%:R * C]mulr_natl mulr2n ler_add.
apply: ler_wpmul2l; rewrite ?ler0n //.
have cc : c * c' <= 1 by rewrite -[1]mulr1; apply: ler_pmul.
have wq : - w <= q by rewrite ler_oppl.
apply: le_trans (ler_wpmul2l (mulr_ge0 c0 d0) wq) _.
by rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r.
Qed.

(** [regression.md; learners/sufficient_statistics.py SufficientStatistics]
    The inner product of the products of two records is s (s + T^2 y y'), s = x.x', and at least -T^4/4 for |y|, |y'| <= 1 and rows of any
    length. *)
Theorem products_not_opposed (s T y y' : R) : `|y| <= 1 -> `|y'| <= 1 -> - (T ^+ 4 / 4%:R) <= s * (s + T ^+ 2 * (y * y')).
Proof.
move=> y1 y1'; have yy : (y * y') ^+ 2 <= 1.
  by rewrite -real_normK ?num_real // expr_le1 // normrM -[1]mulr1; apply: ler_pmul.
have four0 : 4%:R != 0 :> R by rewrite pnatr_eq0.
have T0 : 0 <= T ^+ 4 / 4%:R * (1 - (y * y') ^+ 2).
  by rewrite mulr_ge0 ?subr_ge0 // divr_ge0 ?ler0n // (_ : 4 = 2 * 2)%N // exprM sqr_ge0.
rewrite -subr_ge0; apply: le_trans T0 _; rewrite -subr_ge0.
have -> : s * (s + T ^+ 2 * (y * y')) - - (T ^+ 4 / 4%:R) - T ^+ 4 / 4%:R * (1 - (y * y') ^+ 2) =
          (s + T ^+ 2 * (y * y') / 2%:R) ^+ 2.
  have two0 : 2%:R != 0 :> R by rewrite pnatr_eq0.
  by field.
exact: sqr_ge0.
Qed.
End Regression.
