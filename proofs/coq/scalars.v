(* Inequalities of numbers: scale.md, describe.md, losses.md, shuffling.md, variation_ratio.md, class_weight.md. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Delimit Scope Z_scope with BZ.

Section Scalars.
Variable R : realFieldType.
Implicit Types (a b c t u v w x y E p q : R).

Lemma add_of_difference a b : -1 <= a <= 1 -> -1 <= b <= 1 -> (a + b) ^+ 2 <= (2%:R - `|a - b|) ^+ 2 /\ `|a - b| <= 2%:R.
Proof.
wlog ab : a b / b <= a => [wl|].
  by case: (leP b a) => [|/ltW] le A B; [|rewrite addrC distrC]; apply: wl.
case/andP=> a0 a1 /andP[b0 b1]; rewrite (ger0_norm (_ : 0 <= a - b)) ?subr_ge0 //.
have pa : 0 <= 1 - a by rewrite subr_ge0. have pb : 0 <= 1 + b by rewrite -(opprK b) subr_ge0 ler_oppl.
split; last by rewrite -subr_ge0 (_ : 2%:R - (a - b) = (1 - a) + (1 + b)); [exact: addr_ge0|ring].
rewrite -subr_ge0 (_ : (2%:R - (a - b)) ^+ 2 - (a + b) ^+ 2 = 4%:R * ((1 - a) * (1 + b))); last by ring.
by rewrite mulr_ge0 ?ler0n // mulr_ge0.
Qed.

(** [scale.md; preprocessing/scale.py]
    Section 6, box: |a - b|^2 + |a^2 - b^2|^2 = (a - b)^2 (1 + (a + b)^2) <= 4 for a, b in [-1, 1]: the squares cost nothing more. *)
Theorem first_and_second_powers a b : -1 <= a <= 1 -> -1 <= b <= 1 -> (a - b) ^+ 2 + (a ^+ 2 - b ^+ 2) ^+ 2 <= 4%:R.
Proof.
move=> ain bin; have [le t2] := add_of_difference ain bin; set t := `|a - b| in le t2.
have tt : (a - b) ^+ 2 = t ^+ 2 by rewrite /t real_normK ?num_real.
have -> : (a - b) ^+ 2 + (a ^+ 2 - b ^+ 2) ^+ 2 = (a - b) ^+ 2 * (1 + (a + b) ^+ 2) by ring.
rewrite tt; apply: (@le_trans _ _ (t ^+ 2 * (1 + (2%:R - t) ^+ 2))).
  by apply: ler_wpmul2l; rewrite ?sqr_ge0 // ler_add2l.
rewrite -subr_ge0 (_ : 4%:R - t ^+ 2 * (1 + (2%:R - t) ^+ 2) = (2%:R - t) * (t * (1 - t) ^+ 2 + 2%:R)); last by ring.
by rewrite mulr_ge0 ?subr_ge0 // addr_ge0 ?ler0n // mulr_ge0 ?sqr_ge0 // /t normr_ge0.
Qed.

(** [describe.md; description/describe.py]
    Two cells u, w: (u - w)^2 + c^2 (u^2 - w^2)^2 <= 4 for u, w in [-1, 1], if some s >= 1 has c^2 (4 s - 3 s^2) <= 1 and
    c^2 s^2 (2 s - 2) <= 2. *)
Theorem described_cells u w c s : -1 <= u <= 1 -> -1 <= w <= 1 -> 1 <= s -> c ^+ 2 * (4%:R * s - 3%:R * s ^+ 2) <= 1 ->
  c ^+ 2 * (s ^+ 2 * (2%:R * s - 2%:R)) <= 2%:R -> (u - w) ^+ 2 + c ^+ 2 * (u ^+ 2 - w ^+ 2) ^+ 2 <= 4%:R.
Proof.
move=> uin win s1 h1 h2; have [le t2] := add_of_difference uin win; set t := `|u - w| in le t2.
have t0 : 0 <= t by rewrite /t normr_ge0.
have tt : (u - w) ^+ 2 = t ^+ 2 by rewrite /t real_normK ?num_real.
have -> : (u - w) ^+ 2 + c ^+ 2 * (u ^+ 2 - w ^+ 2) ^+ 2 = (u - w) ^+ 2 * (1 + c ^+ 2 * (u + w) ^+ 2) by ring.
rewrite tt; apply: (@le_trans _ _ (t ^+ 2 * (1 + c ^+ 2 * (2%:R - t) ^+ 2))).
  by apply: ler_wpmul2l; rewrite ?sqr_ge0 // ler_add2l; apply: ler_wpmul2l; rewrite ?sqr_ge0.
rewrite -subr_ge0.
have -> : 4%:R - t ^+ 2 * (1 + c ^+ 2 * (2%:R - t) ^+ 2) = (2%:R - t) * (c ^+ 2 * ((t - s) ^+ 2 * (t + (2%:R * s - 2%:R)))
    + (1 - c ^+ 2 * (4%:R * s - 3%:R * s ^+ 2)) * t + (2%:R - c ^+ 2 * (s ^+ 2 * (2%:R * s - 2%:R)))) by ring.
have s0 : 0 <= 2%:R * s - 2%:R by rewrite -{2}[2%:R]mulr1 -mulrBr mulr_ge0 ?ler0n // subr_ge0.
apply: mulr_ge0; first by rewrite subr_ge0.
apply: addr_ge0; last by rewrite subr_ge0.
apply: addr_ge0; last by apply: mulr_ge0 => //; rewrite subr_ge0.
by apply: mulr_ge0; [exact: sqr_ge0|apply: mulr_ge0; [exact: sqr_ge0|exact: addr_ge0]].
Qed.

(** [describe.md; description/describe.py]
    The weights of the code, c = 1.66 and a = 1.5, satisfy it with s = 47/38, in whole numbers; and a cell beside a gap: 1.5^2 + 1 + 1.66^2 / 4 <= 4. *)
Theorem described_weights :
  [/\ (83 * 83 * (4 * 47 * 38 - 3 * 47 * 47) <=? 50 * 50 * 38 * 38)%BZ,
      (83 * 83 * (47 * 47 * (2 * 47 - 2 * 38)) <=? 2 * 50 * 50 * 38 * 38 * 38)%BZ
    & (9 * 10000 + 4 * 10000 + 166 * 166 <=? 16 * 10000)%BZ].
Proof. by []. Qed.

(** [describe.md; description/describe.py]
    A cell against a gap: a^2 + u^2 + c^2 (u^2 - 1/2)^2 <= a^2 + 1 + c^2/4 for u in [-1, 1], if c^2 >= 0. *)
Theorem described_gap a u c : -1 <= u <= 1 -> a ^+ 2 + u ^+ 2 + c ^+ 2 * (u ^+ 2 - 2%:R^-1) ^+ 2 <= a ^+ 2 + 1 + c ^+ 2 / 4%:R.
Proof.
move=> uin; have u1 : u ^+ 2 <= 1 by rewrite -real_normK ?num_real // expr_le1 // ler_norml.
have n2 : 2%:R != 0 :> R by rewrite pnatr_eq0. have n4 : 4%:R != 0 :> R by rewrite pnatr_eq0.
rewrite -subr_ge0 (_ : _ - _ = (1 - u ^+ 2) * (1 + c ^+ 2 * u ^+ 2)); last by field.
by rewrite mulr_ge0 ?subr_ge0 // addr_ge0 ?ler01 // mulr_ge0 ?sqr_ge0.
Qed.

(** [scale.md; preprocessing/scale.py]
    Section 1: with one record more, the sum of squares about the mean grows by k/(k + 1) times the square of its distance from the mean of the k
    others. *)
Theorem variance_with_one_more (S1 S2 x : R) k : (0 < k)%N ->
  S2 + x ^+ 2 - (S1 + x) ^+ 2 / k.+1%:R = (S2 - S1 ^+ 2 / k%:R) + k%:R / k.+1%:R * (x - S1 / k%:R) ^+ 2.
Proof.
move=> k0; have kn : k%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have kn1 : k%:R + 1 != 0 :> R by rewrite -[1]/(1%:R) -natrD addn1 pnatr_eq0.
have -> : k.+1%:R = k%:R + 1 :> R by rewrite -addn1 natrD.
by set n := k%:R in kn kn1 *; field; rewrite kn kn1.
Qed.

(** [scale.md; preprocessing/scale.py]
    So the variance over n = k + 1 records moves by at most (k/n) w^2 / n when one of them is replaced, all within a width w. *)
Theorem variance_replaced (rest m x x' w : R) k : (0 < k)%N -> `|x - m| <= w -> `|x' - m| <= w ->
  `|(rest + k%:R / k.+1%:R * (x - m) ^+ 2) / k.+1%:R - (rest + k%:R / k.+1%:R * (x' - m) ^+ 2) / k.+1%:R| <=
  k%:R / k.+1%:R * w ^+ 2 / k.+1%:R.
Proof.
move=> k0 xw xw'; rewrite -mulrBl opprD addrACA subrr add0r -mulrBr.
have n0 : (0 : R) < k.+1%:R by rewrite ltr0n.
have f0 : 0 <= k%:R / k.+1%:R :> R by rewrite divr_ge0 ?ler0n.
rewrite normrM (gtr0_norm (_ : 0 < k.+1%:R^-1)) ?invr_gt0 //; apply: ler_wpmul2r; first by rewrite invr_ge0 ltW.
rewrite normrM (ger0_norm f0); apply: ler_wpmul2l => //.
have sq z : `|z - m| <= w -> 0 <= (z - m) ^+ 2 <= w ^+ 2.
  move=> zw; rewrite sqr_ge0 -real_normK ?num_real //=; apply: ler_expn2r; rewrite ?nnegrE ?normr_ge0 //.
  exact: le_trans zw.
case/andP: (sq _ xw) => a0 a1; case/andP: (sq _ xw') => b0 b1; rewrite ler_norml; apply/andP; split.
  by rewrite ler_oppl opprB; apply: le_trans b1; rewrite ler_subl_addr ler_addl.
by apply: le_trans a1; rewrite ler_subl_addr ler_addl.
Qed.

(** [losses.md; learners/targets.py]
    Least squares, |s| <= k and |y| <= Y: (s - y)(2 s - y) <= (k + Y)(2 k + Y), and k^2 + 4 (k + Y)(2 k + Y) = (3 k + 2 Y)^2, from which
    mu = 2 k + Y. *)
Theorem least_squares_constant (s y k Y : R) : `|s| <= k -> `|y| <= Y ->
  (s - y) * (2%:R * s - y) <= (k + Y) * (2%:R * k + Y) /\ k ^+ 2 + 4%:R * ((k + Y) * (2%:R * k + Y)) = (3%:R * k + 2%:R * Y) ^+ 2.
Proof.
move=> sk yY; split; last by ring.
apply: le_trans (ler_norm _) _; rewrite normrM; apply: ler_pmul; rewrite ?normr_ge0 //.
  by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add.
apply: le_trans (ler_norm_sub _ _) _; apply: ler_add => //.
by rewrite normrM ger0_norm ?ler0n //; apply: ler_wpmul2l; rewrite ?ler0n.
Qed.

(** [losses.md; learners/losses.py]
    Softmax: the Hessian diag(p) - p p' has x' J x <= |x|^2 / 2 for probabilities p (beta = R^2/2); logistic: p (1 - p) <= 1/4. *)
Theorem softmax_hessian (K : nat) (p : 'I_K -> R) (x : 'I_K -> R) : (forall k, 0 <= p k) -> \sum_k p k = 1 ->
  2%:R * (\sum_k p k * x k ^+ 2 - (\sum_k p k * x k) ^+ 2) <= \sum_k x k ^+ 2 /\ forall k, 4%:R * (p k * (1 - p k)) <= 1.
Proof.
move=> p0 p1; have quarter k : 4%:R * (p k * (1 - p k)) <= 1.
  by rewrite -subr_ge0 (_ : 1 - _ = (1 - 2%:R * p k) ^+ 2) ?sqr_ge0 //; ring.
split=> //.
have E : 2%:R * (\sum_k p k * x k ^+ 2 - (\sum_k p k * x k) ^+ 2) = \sum_k \sum_l p k * p l * (x k - x l) ^+ 2.
  have a : \sum_k \sum_l p k * p l * x k ^+ 2 = \sum_k p k * x k ^+ 2.
    apply: eq_bigr => k _; rewrite -[RHS]mulr1 -p1 mulr_sumr; apply: eq_bigr => l _; ring.
  have b : \sum_k \sum_l p k * p l * x l ^+ 2 = \sum_k p k * x k ^+ 2.
    rewrite -a exchange_big; apply: eq_bigr => k _; apply: eq_bigr => l _; ring.
  have c : \sum_k \sum_l (p k * x k) * (p l * x l) = (\sum_k p k * x k) ^+ 2 by rewrite expr2 big_distrlr.
  transitivity (\sum_k \sum_l p k * p l * x k ^+ 2 + \sum_k \sum_l p k * p l * x l ^+ 2
    - (\sum_k \sum_l (p k * x k) * (p l * x l) + \sum_k \sum_l (p k * x k) * (p l * x l))).
    by rewrite a b c; set u := \sum_k _; set v := _ ^+ 2; ring.
  rewrite -!big_split /= -sumrB; apply: eq_bigr => k _ /=; rewrite -!big_split /= -sumrB; apply: eq_bigr => l _ /=; ring.
rewrite E; apply: (@le_trans _ _ (\sum_k \sum_(l | l != k) p k * p l * (2%:R * (x k ^+ 2 + x l ^+ 2)))).
  apply: ler_sum => k _; rewrite (bigD1 k) //= subrr expr0n mulr0 add0r; apply: ler_sum => l _.
  apply: ler_wpmul2l; rewrite ?mulr_ge0 // -subr_ge0 (_ : _ - _ = (x k + x l) ^+ 2) ?sqr_ge0 //; ring.
have one k : \sum_(l | l != k) p l = 1 - p k.
  by apply/eqP; rewrite eq_sym subr_eq addrC -p1 (bigD1 k).
have half1 : \sum_k \sum_(l | l != k) p k * p l * (2%:R * x k ^+ 2) = \sum_k 2%:R * (p k * (1 - p k)) * x k ^+ 2.
  by apply: eq_bigr => k _; rewrite -one !mulr_sumr mulr_suml; apply: eq_bigr => l _; ring.
have half2 : \sum_k \sum_(l | l != k) p k * p l * (2%:R * x l ^+ 2) = \sum_k 2%:R * (p k * (1 - p k)) * x k ^+ 2.
  rewrite -half1 (exchange_big_dep xpredT) //=; apply: eq_bigr => k _; apply: eq_big => [l|l _]; first by rewrite eq_sym.
  ring.
have -> : \sum_k \sum_(l | l != k) p k * p l * (2%:R * (x k ^+ 2 + x l ^+ 2)) = \sum_k 4%:R * (p k * (1 - p k)) * x k ^+ 2.
  transitivity (\sum_k 2%:R * (p k * (1 - p k)) * x k ^+ 2 + \sum_k 2%:R * (p k * (1 - p k)) * x k ^+ 2).
    rewrite -{1}half1 -half2 -big_split; apply: eq_bigr => k _ /=; rewrite -big_split; apply: eq_bigr => l _ /=; ring.
  rewrite -big_split; apply: eq_bigr => k _ /=; ring.
by apply: ler_sum => k _; rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r; rewrite ?sqr_ge0.
Qed.

(** [shuffling.md; guarantees/shuffling/_clone_pair.py]
    Two laws within a factor p of each other: u <= p v and 1 - v <= p (1 - u) give (p + 1)(u - E v) <= p - E, the value of randomized
    response, for 1 <= E <= p. *)
Theorem randomized_response_is_worst p E u v : 1 < p -> 1 <= E <= p -> u <= p * v -> 1 - v <= p * (1 - u) -> (p + 1) * (u - E * v) <= p - E.
Proof.
move=> p1 /andP[E1 Ep] h1 h2; have p0 : 0 < p by apply: lt_trans p1.
have q0 : 0 < p - 1 by rewrite subr_gt0.
rewrite -(ler_pmul2l q0) -subr_ge0.
have -> : (p - 1) * (p - E) - (p - 1) * ((p + 1) * (u - E * v)) = (p * E - 1) * (p * v - u) + (p - E) * (p * (1 - u) - (1 - v)) by ring.
rewrite addr_ge0 // mulr_ge0 ?subr_ge0 //.
by rewrite -[1]mulr1; apply: ler_pmul; rewrite ?ler01 // ltW.
Qed.

(** [variation_ratio.md; guarantees/shuffling/variation_ratio.py]
    The chord: (a - E) (p - 1) <= (p - E)(a - 1) for 1 <= a <= p and E >= 1. *)
Theorem blanket_chord a p E : 1 <= a <= p -> 1 <= E -> (a - E) * (p - 1) <= (p - E) * (a - 1).
Proof.
case/andP=> a1 ap E1; rewrite -subr_ge0 (_ : _ - _ = (E - 1) * (p - a)); last by ring.
by rewrite mulr_ge0 // subr_ge0.
Qed.

(** [class_weight.md; no code: what weighted predictions minimise]
    With probabilities p and weights w, the class with the largest w_j p_j has the least expected cost, sum of w_k p_k over the others. *)
Theorem weighted_prediction (K : finType) (wp : K -> R) j i : wp i <= wp j -> \sum_(k | k != j) wp k <= \sum_(k | k != i) wp k.
Proof.
move=> le; have tot l : \sum_(k | k != l) wp k = \sum_k wp k - wp l by rewrite [in RHS](bigD1 l) //= addrC addKr.
by rewrite !tot ler_add2l ler_opp2.
Qed.
End Scalars.
