(* Finite mechanisms: composition.md 1, tradeoff.md, subsampling.md 3 and 5, exponential.md 1 and 2, propose_test_release.md, holdout.md,
   stability_histogram.md. H E P Q is the hockey-stick divergence at E = exp(epsilon). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Divergence.
Variable R : realFieldType.
Definition pos (x : R) := Num.max 0 x.
Lemma pos_ge0 x : 0 <= pos x. Proof. by rewrite /pos le_maxr lexx. Qed.
Lemma pos_ge x : x <= pos x. Proof. by rewrite /pos le_maxr lexx orbT. Qed.
Lemma pos_le x y : 0 <= y -> x <= y -> pos x <= y. Proof. by move=> y0 xy; rewrite /pos le_maxl y0. Qed.
Lemma pos_mono x y : x <= y -> pos x <= pos y.
Proof. by move=> xy; apply: pos_le; rewrite ?pos_ge0 // (le_trans xy) ?pos_ge. Qed.
Lemma posD x y : pos (x + y) <= pos x + pos y.
Proof. by apply: pos_le; rewrite ?addr_ge0 ?pos_ge0 // ler_add ?pos_ge. Qed.
Lemma posM c x : 0 <= c -> pos (c * x) = c * pos x.
Proof. by move=> c0; rewrite /pos maxr_pmulr // mulr0. Qed.
Lemma pos_sum I (r : seq I) (F : I -> R) : pos (\sum_(i <- r) F i) <= \sum_(i <- r) pos (F i).
Proof.
elim/big_rec2: _ => [|i y x _ le]; first by rewrite /pos maxxx.
by apply: le_trans (posD _ _) _; rewrite ler_add2l.
Qed.

Definition law (Y : finType) (P : Y -> R) := (forall y, 0 <= P y) /\ \sum_y P y = 1.
Definition H (Y : finType) (E : R) (P Q : Y -> R) := \sum_y pos (P y - E * Q y).

Lemma H_ge0 (Y : finType) E (P Q : Y -> R) : 0 <= H E P Q.
Proof. by apply: sumr_ge0 => y _; apply: pos_ge0. Qed.

(** [tradeoff.md, composition.md; no code: what delta(epsilon) means for finite outputs]
    P(A) - E Q(A) <= H_E(P || Q) for every event A: a bound on H_E is an (epsilon, delta) statement. *)
Theorem divergence_of_events (Y : finType) E (P Q : Y -> R) (A : pred Y) :
  \sum_(y | A y) P y - E * (\sum_(y | A y) Q y) <= H E P Q.
Proof.
rewrite mulr_sumr -sumrB /H [X in _ <= X](bigID A) /= -[X in X <= _]addr0; apply: ler_add.
  by apply: ler_sum => y _; apply: pos_ge.
by apply: sumr_ge0 => y _; apply: pos_ge0.
Qed.

(** [tradeoff.md, composition.md; no code: what delta(epsilon) means for finite outputs]
    Some event attains it: H_E is the least delta. *)
Theorem divergence_attained (Y : finType) E (P Q : Y -> R) :
  H E P Q = \sum_(y | 0 < P y - E * Q y) P y - E * (\sum_(y | 0 < P y - E * Q y) Q y).
Proof.
rewrite mulr_sumr -sumrB /H [RHS]big_mkcond; apply: eq_bigr => y _; rewrite /pos.
by case: ltrP.
Qed.

(** [composition.md, tradeoff.md; no code: post-processing]
    Post-processing: a kernel K applied to both laws raises no H_E. *)
Theorem post_processing (Y Z : finType) E (P Q : Y -> R) (K : Y -> Z -> R) :
  (forall y z, 0 <= K y z) -> (forall y, \sum_z K y z = 1) ->
  H E (fun z => \sum_y P y * K y z) (fun z => \sum_y Q y * K y z) <= H E P Q.
Proof.
move=> K0 K1; rewrite /H.
have le z : pos (\sum_y P y * K y z - E * \sum_y Q y * K y z) <= \sum_y pos (P y - E * Q y) * K y z.
  rewrite mulr_sumr -sumrB; apply: le_trans (pos_sum _ _) _; apply: ler_sum => y _.
  by rewrite mulrA -mulrBl mulrC posM // mulrC.
apply: le_trans (ler_sum _ (fun z _ => le z)) _; rewrite exchange_big /=.
by apply: ler_sum => y _; rewrite -mulr_sumr K1 mulr1.
Qed.

(** [holdout.md, composition.md; evaluation/holdout.py]
    Where something w of the same law on both sides is shown (coins, earlier outputs of equal parts), H_E is the mean over w of H_E
    given w. *)
Theorem divergence_given (W Y : finType) E (p : W -> R) (P Q : W -> Y -> R) : (forall w, 0 <= p w) ->
  H E (fun wy : W * Y => p wy.1 * P wy.1 wy.2) (fun wy => p wy.1 * Q wy.1 wy.2) = \sum_w p w * H E (P w) (Q w).
Proof.
move=> p0; rewrite /H -(pair_bigA _ (fun w y => pos (p w * P w y - E * (p w * Q w y)))) /=.
apply: eq_bigr => w _; rewrite mulr_sumr; apply: eq_bigr => y _.
by rewrite mulrCA -mulrBr posM.
Qed.

(** [holdout.md, choose.md; evaluation/holdout.py]
    Disjoint parts: given the coins and what earlier parts released, only the part of the record differs; if each part's H_E is at most d, the
    whole has at most d: the largest, not the sum. *)
Theorem disjoint_parts (W Y : finType) E (p : W -> R) (P Q : W -> Y -> R) d : law p -> (forall w, H E (P w) (Q w) <= d) ->
  H E (fun wy : W * Y => p wy.1 * P wy.1 wy.2) (fun wy => p wy.1 * Q wy.1 wy.2) <= d.
Proof.
case=> p0 p1 le; rewrite divergence_given // -[d]mul1r -p1 mulr_suml.
by apply: ler_sum => w _; apply: ler_wpmul2l.
Qed.

(* The order of pairs, and composition. *)
Definition below (Y Z : finType) (P Q : Y -> R) (P2 Q2 : Z -> R) := forall E, 0 <= E -> H E P Q <= H E P2 Q2.

Definition after (Y Z : finType) (P : Y -> R) (S : Y -> Z -> R) := fun yz : Y * Z => P yz.1 * S yz.1 yz.2.

Lemma H_after (Y Z : finType) E (P Q : Y -> R) (S T : Y -> Z -> R) : 0 <= E -> law P -> law Q -> (forall y, law (S y)) ->
  (forall y, law (T y)) ->
  H E (after P S) (after Q T) = \sum_y (if P y == 0 then 0 else P y * H (E * Q y / P y) (S y) (T y)).
Proof.
move=> E0 [P0 _] [Q0 _] lS lT; rewrite /H /after -(pair_bigA _ (fun y z => pos (P y * S y z - E * (Q y * T y z)))) /=.
apply: eq_bigr => y _; case: eqP => [->|/eqP Py].
  rewrite big1 // => z _; rewrite mul0r sub0r; apply/eqP; rewrite eq_le pos_ge0 andbT; apply: pos_le => //.
  by rewrite oppr_le0 !mulr_ge0 //; case: (lT y).
rewrite mulr_sumr; apply: eq_bigr => z _; rewrite -posM //; congr pos; rewrite mulrBr; congr (_ - _).
by move: Py; set a := P y; set b := Q y; set t := T y z => an; field.
Qed.

(** [composition.md; guarantees/convolution.py]
    Adaptive composition: if each second mechanism, whatever the first released, is below one pair (S, T), the two together are below the
    product of the first pair with (S, T). *)
Theorem adaptive_composition (Y Z W : finType) (P Q : Y -> R) (A B : Y -> Z -> R) (S T : W -> R) :
  law P -> law Q -> (forall y, law (A y)) -> (forall y, law (B y)) -> law S -> law T ->
  (forall y, below (A y) (B y) S T) -> below (after P A) (after Q B) (after P (fun=> S)) (after Q (fun=> T)).
Proof.
move=> lP lQ lA lB lS lT le E E0; rewrite !H_after //; apply: ler_sum => y _; case: eqP => // _.
by apply: ler_wpmul2l; [case: lP|apply: le; rewrite divr_ge0 ?mulr_ge0 //; [case: lQ|case: lP]].
Qed.

Lemma H_swap (Y Z : finType) E (P Q : Y -> R) (S T : Z -> R) :
  H E (after P (fun=> S)) (after Q (fun=> T)) = H E (after S (fun=> P)) (after T (fun=> Q)).
Proof.
rewrite /H /after -(pair_bigA _ (fun y z => pos (P y * S z - E * (Q y * T z)))) exchange_big /= pair_bigA /=.
by apply: eq_bigr => -[z y] _ /=; rewrite [P y * _]mulrC [Q y * _]mulrC.
Qed.

(** [composition.md; guarantees/convolution.py]
    The order is kept by composition: with a larger first pair and a larger second pair, the product is larger at every epsilon. *)
Theorem composition_keeps_order (Y Y2 Z Z2 : finType) (P Q : Y -> R) (P2 Q2 : Y2 -> R) (S T : Z -> R) (S2 T2 : Z2 -> R) :
  law P -> law Q -> law P2 -> law Q2 -> law S -> law T -> law S2 -> law T2 ->
  below P Q P2 Q2 -> below S T S2 T2 ->
  below (after P (fun=> S)) (after Q (fun=> T)) (after P2 (fun=> S2)) (after Q2 (fun=> T2)).
Proof.
move=> lP lQ lP2 lQ2 lS lT lS2 lT2 b1 b2 E E0.
apply: (@le_trans _ _ (H E (after P (fun=> S2)) (after Q (fun=> T2)))); first exact: adaptive_composition.
by rewrite H_swap [X in _ <= X]H_swap; apply: adaptive_composition.
Qed.

(** [subsampling.md; guarantees/subsampling.py SubsampledWithoutReplacement]
    Advanced joint convexity: mixtures (1 - q) A + q B and (1 - q) A + q B' have H at 1 + q (a - 1) of at most
    q max(H_a(B || A), H_a(B || B')). *)
Theorem advanced_joint_convexity (Y : finType) (A B B' : Y -> R) q a d : 0 <= q <= 1 -> 1 <= a ->
  H a B A <= d -> H a B B' <= d ->
  H (1 + q * (a - 1)) (fun y => (1 - q) * A y + q * B y) (fun y => (1 - q) * A y + q * B' y) <= q * d.
Proof.
case/andP=> q0 q1 a1 dA dB; have a0 : 0 < a by apply: lt_le_trans a1.
set e := 1 + q * (a - 1); pose b := e / a.
have an : a != 0 by rewrite gt_eqF.
have b0 : 0 <= b by rewrite divr_ge0 ?(ltW a0) // addr_ge0 ?ler01 // mulr_ge0 // subr_ge0.
have b1 : b <= 1.
  rewrite ler_pdivr_mulr // mul1r /e -ler_subr_addl -[X in _ <= X]mul1r.
  by apply: ler_wpmul2r; rewrite ?subr_ge0.
have E y : (1 - q) * A y + q * B y - e * ((1 - q) * A y + q * B' y) =
    q * ((1 - b) * (B y - a * A y) + b * (B y - a * B' y)).
  by rewrite /b /e; set u := A y; set v := B y; set w := B' y; field.
rewrite /H; under eq_bigr do rewrite E posM //.
rewrite -mulr_sumr; apply: ler_wpmul2l => //.
apply: (@le_trans _ _ ((1 - b) * H a B A + b * H a B B')).
  rewrite /H !mulr_sumr -big_split; apply: ler_sum => y _; apply: le_trans (posD _ _) _.
  by rewrite !posM ?subr_ge0.
rewrite [X in _ <= X](_ : d = (1 - b) * d + b * d); last by ring.
by apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0.
Qed.

(** [subsampling.md, stochastic.md; guarantees/subsampling.py]
    Transitivity: P(S) <= a R(S) + d and R(S) <= b Q(S) + d' give P(S) <= ab Q(S) + d + a d' for every event. *)
Theorem transitivity (a b d d' p r q : R) : 0 <= a -> p <= a * r + d -> r <= b * q + d' -> p <= a * b * q + (d + a * d').
Proof.
move=> a0 pr rq; apply: le_trans pr _; apply: le_trans (ler_add (ler_wpmul2l a0 rq) (lexx d)) _.
by rewrite mulrDr mulrA -addrA [a * d' + d]addrC.
Qed.

(* H of two releases, each absent with probability 1 - p and 1 - p', else drawn from P and Q. *)
Definition H_absent (Y : finType) E (p p' : R) (P Q : Y -> R) := pos ((1 - p) - E * (1 - p')) + H E (fun y => p * P y) (fun y => p' * Q y).

(** [propose_test_release.md, stability_histogram.md; mechanisms/propose_test_release.py, mechanisms/stability_histogram.py]
    Two releases that are absent but for a chance p, p' <= d each are (epsilon, d)-close for every epsilon >= 0, whatever is seen where
    they are not absent: the case in which one neighbour misses the condition, and a value that only one table holds. *)
Theorem nearly_always_absent (Y : finType) E (p p' d : R) (P Q : Y -> R) : 1 <= E -> 0 <= p <= d -> 0 <= p' <= d -> p' <= 1 ->
  law P -> law Q -> H_absent E p p' P Q <= d.
Proof.
move=> E1 /andP[p0 pd] /andP[p0' pd'] p1' [P0 P1] [Q0 Q1]; rewrite /H_absent.
have some : H E (fun y => p * P y) (fun y => p' * Q y) <= p.
  rewrite -[X in _ <= X]mulr1 -P1 mulr_sumr; apply: ler_sum => y _; apply: pos_le; first exact: mulr_ge0.
  by rewrite ler_subl_addr ler_addl mulr_ge0 ?mulr_ge0 // (le_trans ler01).
have none : pos ((1 - p) - E * (1 - p')) <= d - p.
  apply: pos_le; first by rewrite subr_ge0.
  apply: (@le_trans _ _ ((1 - p) - (1 - p'))).
    by rewrite ler_add2l ler_opp2 -[X in X <= _]mul1r; apply: ler_wpmul2r; rewrite ?subr_ge0.
  by rewrite (_ : (1 - p) - (1 - p') = p' - p); [rewrite ler_add2r|ring].
by apply: le_trans (ler_add none some) _; rewrite subrK.
Qed.
End Divergence.

Section Exponential.
Variables (R : realFieldType) (I : finType) (w r : I -> R).
Hypothesis w0 : forall i, 0 < w i.
(* w: exp(epsilon u / range); r: by what one record multiplies it, within a factor E = exp(epsilon). *)
Variables (t E : R).
Hypothesis t0 : 0 < t.
Hypothesis range : forall i, t <= r i <= E * t.
Definition chosen (v : I -> R) i := v i / \sum_j v j.
Let v i := w i * r i.

Lemma r0 i : 0 < r i. Proof. by apply: lt_le_trans t0 _; case/andP: (range i). Qed.
Lemma v0 i : 0 < v i. Proof. by rewrite mulr_gt0 ?r0. Qed.
Lemma total0 (u : I -> R) (i : I) : (forall i, 0 < u i) -> 0 < \sum_j u j.
Proof. by move=> u0; rewrite (bigD1 i) //= ltr_spaddl // sumr_ge0 // => j _; apply: ltW. Qed.

(** [exponential.md; mechanisms/exponential.py ExponentialMechanism]
    Bounded range: where one record multiplies all weights by factors within [t, E t], the ratios P'(i)/P(i) of any two candidates are within
    a factor E of each other. *)
Theorem bounded_range i j : chosen v i * chosen w j <= E * (chosen v j * chosen w i).
Proof.
have W := total0 i w0; have V := total0 i v0; rewrite /chosen.
set a := \sum_j v j in V *; set b := \sum_j w j in W *.
have a0 := gt_eqF V; have b0 := gt_eqF W.
have -> : v i / a * (w j / b) = r i * (w i * w j / (a * b)).
  by rewrite /v; set x := w i; set y := w j; set z := r i; field; rewrite a0 b0.
have -> : E * (v j / a * (w i / b)) = E * r j * (w i * w j / (a * b)).
  by rewrite /v; set x := w i; set y := w j; set z := r j; field; rewrite a0 b0.
apply: ler_wpmul2r; first by rewrite divr_ge0 ?mulr_ge0 ?ltW.
case/andP: (range i) => _ /le_trans; apply; case/andP: (range j) => tj _.
have E0 : 0 < E by case/andP: (range i) => le1 le2; rewrite -(pmulr_lgt0 _ t0) (lt_le_trans t0) // (le_trans le1).
by apply: ler_wpmul2l tj; apply: ltW.
Qed.

(** [exponential.md; mechanisms/_bounded_range.py]
    So for every set S of candidates, P'(S)(1 - P(S)) <= E P(S)(1 - P'(S)): the power of a test of level a is at most
    a E / (1 - a + a E). *)
Theorem bounded_range_curve (S : pred I) (i0 : I) :
  (\sum_(i | S i) chosen v i) * (1 - \sum_(i | S i) chosen w i) <=
  E * ((\sum_(i | S i) chosen w i) * (1 - \sum_(i | S i) chosen v i)).
Proof.
have one (u : I -> R) : (forall i, 0 < u i) -> 1 - \sum_(i | S i) chosen u i = \sum_(i | ~~ S i) chosen u i.
  move=> u0; have : \sum_i chosen u i = 1 by rewrite -mulr_suml divff // gt_eqF // (total0 i0).
  by rewrite (bigID S) /= => <-; rewrite addrC addKr.
rewrite !one //; last exact: v0.
rewrite !big_distrlr /= mulr_sumr; apply: ler_sum => i _; rewrite mulr_sumr; apply: ler_sum => j _.
by rewrite [chosen w i * _]mulrC bounded_range.
Qed.
End Exponential.

(* Several conditions, one test: distances q_i of S and q'_i of S', and whether S and S' meet condition i. *)
Section Tests.
Variable R : realDomainType.
Record stage := Stage { q1 : R; q2 : R; met1 : bool; met2 : bool }.
Definition least1 (top : R) (l : seq stage) := foldr (fun s a => Num.min (Num.max 0 (q1 s)) a) top l.
Definition least2 (top : R) (l : seq stage) := foldr (fun s a => Num.min (Num.max 0 (q2 s)) a) top l.
(* Each q_i is at most 0 where its condition fails, and 1-Lipschitz where both tables meet the conditions before it. *)
Fixpoint honest (l : seq stage) : Prop :=
  if l is s :: l' then
    [/\ ~~ met1 s -> q1 s <= 0, ~~ met2 s -> q2 s <= 0, q1 s <= q2 s + 1 /\ q2 s <= q1 s + 1 & met1 s && met2 s -> honest l']
  else True.

Lemma least_ge0 (top : R) l : 0 <= top -> 0 <= least1 top l /\ 0 <= least2 top l.
Proof. by move=> t0; elim: l => //= s l [a b]; rewrite !le_minr !le_maxr lexx a b. Qed.

Lemma min_le1 (a b c d : R) : a <= c + 1 -> b <= d + 1 -> Num.min a b <= Num.min c d + 1.
Proof.
move=> ac bd; case: (leP c d) => _; rewrite le_minl ?ac ?bd ?orbT //.
Qed.

Lemma max_le1 (a c : R) : a <= c + 1 -> Num.max 0 a <= Num.max 0 c + 1.
Proof.
move=> ac; rewrite le_maxl; apply/andP; split.
  by rewrite addr_ge0 ?ler01 // le_maxr lexx.
by apply: le_trans ac _; rewrite ler_add2r le_maxr lexx orbT.
Qed.

Lemma zero_min (x y : R) : x <= 0 -> 0 <= y -> Num.min (Num.max 0 x) y = 0.
Proof. by move=> x0 y0; rewrite (max_idPl x0); apply/min_idPl. Qed.

(** [propose_test_release.md; rehearsals/tested.py]
    Several conditions may share one test: q = max(0, least q_i) is 1-Lipschitz between all neighbours, where each q_i is so between those
    that meet the conditions before it. *)
Theorem one_test_for_several (top : R) l : 0 <= top -> honest l ->
  least1 top l <= least2 top l + 1 /\ least2 top l <= least1 top l + 1.
Proof.
move=> t0; elim: l => [|s l IH] /=; first by rewrite ler_addl ler01; split.
have [n1 n2] := least_ge0 l t0.
case=> f1 f2 [a b] rest; have ma := max_le1 a; have mb := max_le1 b.
have m1 : 0 <= Num.max 0 (q1 s) by rewrite le_maxr lexx.
have m2 : 0 <= Num.max 0 (q2 s) by rewrite le_maxr lexx.
case E1: (met1 s); case E2: (met2 s).
- have [i1 i2] : least1 top l <= least2 top l + 1 /\ least2 top l <= least1 top l + 1 by apply: IH; apply: rest; rewrite E1 E2.
  by split; apply: min_le1.
- have z := f2 (negbT E2); rewrite (zero_min z n2) add0r; split; last by rewrite addr_ge0 ?ler01 // le_minr m1.
  by rewrite le_minl; apply/orP; left; apply: le_trans ma _; rewrite (max_idPl z) add0r.
- have z := f1 (negbT E1); rewrite (zero_min z n1) add0r; split; first by rewrite addr_ge0 ?ler01 // le_minr m2.
  by rewrite le_minl; apply/orP; left; apply: le_trans mb _; rewrite (max_idPl z) add0r.
have z := f1 (negbT E1); have z2 := f2 (negbT E2).
by rewrite (zero_min z n1) (zero_min z2 n2) add0r ler01.
Qed.

(** [propose_test_release.md; rehearsals/tested.py]
    And it is zero where any condition fails. *)
Theorem one_test_sees_every_failure (top : R) l : 0 <= top -> (forall s, ~~ met1 s -> q1 s <= 0) -> ~~ all met1 l -> least1 top l = 0.
Proof.
move=> t0 f; elim: l => //= s l IH; have [n1 _] := least_ge0 l t0.
case E: (met1 s) => /= rest; last by rewrite (zero_min (f _ (negbT E)) n1).
by rewrite IH //; apply/min_idPr; rewrite le_maxr lexx.
Qed.
End Tests.
