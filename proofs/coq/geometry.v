(* Distances and angles: quantize.md, homogenize.md, pillar.md, bins.md, text.md, dpsgd_f.md. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm maps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Geometry.
Variables (R : rcfType) (d : nat).
Implicit Types x y z c m u w : 'rV[R]_d.

(** [quantize.md; preprocessing/quantize.py Quantize]
    Centre: a row and its image are within eta in either table, so two images of one row are at most 2 eta apart (with rows that came in moved by t:
    2 eta + t). *)
Theorem centres_of_one_row x x' c c' (eta t : R) : norm (x - c) <= eta -> norm (x' - c') <= eta -> norm (x - x') <= t ->
  norm (c - c') <= eta + t + eta.
Proof.
move=> h1 h2 h3; apply: le_trans (ler_dist x' _ _) _; apply: ler_add => //.
by apply: le_trans (ler_dist x _ _) _; rewrite norm_sym; apply: ler_add.
Qed.

Definition mean (s : seq 'rV[R]_d) := (size s)%:R^-1 *: \sum_(x <- s) x.

(** [quantize.md; preprocessing/quantize.py Quantize]
    Mean: if all members of a cluster are within r of a point, so is their mean. *)
Theorem mean_near (s : seq 'rV[R]_d) y (r : R) : s != [::] -> (forall x, x \in s -> norm (x - y) <= r) -> norm (mean s - y) <= r.
Proof.
move=> s0 near; have n0 : (0 : R) < (size s)%:R by rewrite ltr0n lt0n size_eq0.
have e : mean s - y = (size s)%:R^-1 *: \sum_(x <- s) (x - y).
  have c : \sum_(x <- s) y = (size s)%:R *: y.
    by rewrite big_const_seq count_predT iter_addr_0 scaler_nat.
  by rewrite sumrB c scalerBr scalerA mulVf ?gt_eqF // scale1r.
rewrite e normZ; last by rewrite invr_ge0 ltW.
rewrite mulrC ler_pdivr_mulr //; apply: le_trans (norm_sum_le _ _ _) _.
elim: s near {s0 n0 e} => [|x s IH] near; first by rewrite big_nil mulr0.
rewrite big_cons [size (x :: s)]/= -[(size s).+1]add1n natrD mulrDr mulr1; apply: ler_add.
  by apply: near; rewrite mem_head.
by apply: IH => z zs; apply: near; rewrite in_cons zs orbT.
Qed.

(** [quantize.md; preprocessing/quantize.py Quantize]
    One more member at distance at most D from the mean of a rows moves the mean by at most D/(a + 1): by eta for D = 2 eta, a >= 1. *)
Theorem mean_with_one_more (s : seq 'rV[R]_d) z (D : R) : s != [::] -> norm (z - mean s) <= D ->
  norm (mean (z :: s) - mean s) <= D / (size s).+1%:R.
Proof.
move=> s0 le; have n0 : (size s)%:R != 0 :> R by rewrite pnatr_eq0 size_eq0.
have e : mean (z :: s) - mean s = (size s).+1%:R^-1 *: (z - mean s).
  rewrite /mean big_cons [size (z :: s)]/=; set S := \sum_(x <- s) x; set n := size s in n0 *.
  have nn : n%:R + 1 != 0 :> R by rewrite -[1]/(1%:R) -natrD addn1 pnatr_eq0.
  have -> : n.+1%:R = n%:R + 1 :> R by rewrite -addn1 natrD.
  apply/rowP => j; rewrite !mxE; set a := z 0 j; set b := S 0 j; set k := n%:R in n0 nn *.
  by field; rewrite n0 nn.
by rewrite e normZ ?invr_ge0 ?ler0n // mulrC; apply: ler_wpmul2r; rewrite ?invr_ge0 ?ler0n.
Qed.

(** [homogenize.md; preprocessing/homogenize.py Homogenize]
    R u/|u| has Lipschitz constant R/c where |u| >= c, as for every (x, c). *)
Theorem homogenized (c big : R) x y : 0 < c -> 0 <= big -> c <= norm x -> c <= norm y ->
  norm ((big / norm x) *: x - (big / norm y) *: y) <= big / c * norm (x - y).
Proof.
move=> c0 b0 cx cy; have := normalize_lipschitz c0 x y b0.
by rewrite (max_idPl cx) (max_idPl cy).
Qed.

(** [homogenize.md, normalize.md; preprocessing/homogenize.py Homogenize]
    And |R u/|u|| = R. *)
Theorem homogenized_norm (big : R) x : 0 <= big -> 0 < norm x -> norm ((big / norm x) *: x) = big.
Proof. move=> b0 x0; rewrite normZ; last by rewrite divr_ge0 // ltW.
by rewrite divfK // gt_eqF. Qed.

(** [homogenize.md; preprocessing/homogenize.py Homogenize]
    For |u| = R and a unit vector e along which u is h >= 0: |u - a e|^2 <= R^2 + a^2. *)
Theorem homogenized_centred (big a : R) u e : normsq u = big ^+ 2 -> normsq e = 1 -> 0 <= dot u e -> 0 <= a ->
  normsq (u - a *: e) <= big ^+ 2 + a ^+ 2.
Proof.
move=> nu ne h0 a0; rewrite -[u]scale1r normsq_lin nu ne -subr_ge0; set p := dot u e in h0 *.
have -> : big ^+ 2 + a ^+ 2 - (1 ^+ 2 * big ^+ 2 - 2%:R * 1 * a * p + a ^+ 2 * 1) = 2%:R * (a * p) by ring.
by rewrite mulr_ge0 ?ler0n // mulr_ge0.
Qed.

(** [text.md; tables/hashed_text.py]
    Half a text, counts v over sqrt(2 |v|^2), has squared norm 1/2; two halves together have norm 1. *)
Theorem half_a_text x : 0 < norm x -> normsq ((Num.sqrt (2%:R * normsq x))^-1 *: x) = 2%:R^-1.
Proof.
move=> x0; have n0 : 0 < normsq x by rewrite -sqr_norm exprn_gt0.
have e (k : R) : normsq (k *: x) = k ^+ 2 * normsq x.
  by rewrite /normsq mulr_sumr; apply: eq_bigr => j _; rewrite mxE exprMn.
have nn : normsq x != 0 by rewrite gt_eqF. have two : 2%:R != 0 :> R by rewrite pnatr_eq0.
rewrite e exprVn sqr_sqrtr; last by rewrite mulr_ge0 ?ler0n // ltW.
by set v := normsq x in nn *; field; rewrite ?nn ?two.
Qed.

(** [pillar.md; no code: the margin after a projection]
    Unit vectors z, w, u with <z, w> = a and <w, u> = b: |<z, u> - a b| is at most the root of (1 - a^2)(1 - b^2), so
    <z, u> >= cos(arccos a + arccos b). *)
Theorem angles_add z w u (a b : R) : normsq z = 1 -> normsq w = 1 -> normsq u = 1 -> dot z w = a -> dot w u = b ->
  (dot z u - a * b) ^+ 2 <= (1 - a ^+ 2) * (1 - b ^+ 2).
Proof.
move=> z1 w1 u1 za ub.
have e1 : normsq (z - a *: w) = 1 - a ^+ 2.
  by rewrite -[z]scale1r normsq_lin z1 w1 za; ring.
have e2 : normsq (u - b *: w) = 1 - b ^+ 2.
  have wu : dot u w = b by rewrite -ub; apply: eq_bigr => j _; rewrite mulrC.
  by rewrite -[u]scale1r normsq_lin u1 w1 wu; ring.
have e3 : dot (z - a *: w) (u - b *: w) = dot z u - a * b.
  have -> : dot (z - a *: w) (u - b *: w) = dot z u - b * dot z w - a * dot w u + a * b * normsq w.
    rewrite /dot /normsq !mulr_sumr -!sumrB -big_split; apply: eq_bigr => j _ /=; rewrite !mxE.
    by set p := z 0 j; set q := w 0 j; set r := u 0 j; ring.
  by rewrite za ub w1; ring.
by rewrite -e1 -e2 -e3 cauchy_schwarz.
Qed.

(* Unit rows v_0 = e_0, v_(i+1) = rho v_i + s e_(i+1), s^2 = 1 - rho^2. *)
Section Codes.
Variables (e v : nat -> 'rV[R]_d) (rho s : R).
Hypothesis orthonormal : forall i j, dot (e i) (e j) = (i == j)%:R.
Hypothesis s2 : s ^+ 2 = 1 - rho ^+ 2.
Hypothesis v0 : v 0%N = e 0%N.
Hypothesis vS : forall i, v i.+1 = rho *: v i + s *: e i.+1.

Lemma dot_linl (a b : R) x y z : dot (a *: x + b *: y) z = a * dot x z + b * dot y z.
Proof. by rewrite /dot !mulr_sumr -big_split; apply: eq_bigr => j _ /=; rewrite !mxE; set p := x 0 j; set q := y 0 j; set r := z 0 j; ring. Qed.
Lemma dot_sym x y : dot x y = dot y x.
Proof. by apply: eq_bigr => j _; rewrite mulrC. Qed.

Lemma code_new i k : (i < k)%N -> dot (v i) (e k) = 0.
Proof.
elim: i => [|i IH] ik; first by rewrite v0 orthonormal (ltn_eqF ik).
by rewrite vS dot_linl IH ?(ltnW ik) // orthonormal (ltn_eqF ik) !mulr0 addr0.
Qed.

Lemma code_unit i : dot (v i) (v i) = 1.
Proof.
elim: i => [|i IH]; first by rewrite v0 orthonormal eqxx.
rewrite vS dot_linl [dot (v i) _]dot_sym [dot (e _) _]dot_sym !dot_linl IH [dot (e _) (v i)]dot_sym code_new //.
by rewrite orthonormal eqxx !mulr0 add0r addr0 !mulr1 -!expr2 s2 addrCA subrr addr0.
Qed.

(** [bins.md; preprocessing/bins.py Bins]
    The codes have <v_i, v_(i+k)> = rho^k and length 1. *)
Theorem codes_of_bins i k : dot (v i) (v (i + k)%N) = rho ^+ k.
Proof.
rewrite dot_sym; elim: k => [|k IH]; first by rewrite addn0 code_unit expr0.
by rewrite addnS vS dot_linl IH [dot (e _) _]dot_sym code_new ?ltnS ?leq_addr // mulr0 addr0 -exprS.
Qed.
End Codes.

(* Descent on rows divided by tau. *)
Section Descent.
Variables (rows : seq 'rV[R]_d) (residual : 'rV[R]_d -> R -> R) (noise : nat -> 'rV[R]_d) (eta tau : R).
Hypothesis tau0 : tau != 0.
Fixpoint descent (t : nat) : 'rV[R]_d :=
  if t is k.+1 then descent k - eta *: (\sum_(x <- rows) residual x (dot (descent k) x) *: x + noise k) else 0.
(* rows x/tau, the same residuals, rate eta tau^2, noise over tau *)
Fixpoint scaled (t : nat) : 'rV[R]_d :=
  if t is k.+1 then scaled k - (eta * tau ^+ 2) *:
    (\sum_(x <- rows) residual x (dot (scaled k) (tau^-1 *: x)) *: (tau^-1 *: x) + tau^-1 *: noise k) else 0.

(** [dpsgd_f.md; preprocessing/augment_by_distance.py AugmentByDistance]
    Descent on rows x at rate eta is descent on x/tau at rate eta tau^2, weights times tau, noise included. *)
Theorem rows_divided_by_tau t : scaled t = tau *: descent t.
Proof.
elim: t => [|t IH] /=; first by rewrite scaler0.
have same x : dot (scaled t) (tau^-1 *: x) = dot (descent t) x by rewrite IH dotZ mulfV // mul1r.
rewrite IH scalerBr; congr (_ - _).
have -> : \sum_(x <- rows) residual x (dot (tau *: descent t) (tau^-1 *: x)) *: (tau^-1 *: x) =
    tau^-1 *: \sum_(x <- rows) residual x (dot (descent t) x) *: x.
  by rewrite scaler_sumr; apply: eq_bigr => x _; rewrite -IH same !scalerA mulrC.
by rewrite -scalerDr !scalerA; congr (_ *: _); field.
Qed.
End Descent.
End Geometry.
