(* docs/proofs/lattice.md "Theorem: the release", "Coarsening a sum", P1 "No inflation"; noise.md, step 1:
   rounding to the nearest whole number commutes with adding one. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Floor.
Variable R : realFieldType.
(* floor is whatever satisfies its specification; floorq below does, for the rationals (hence for all floats). *)
Variable floor : R -> int.
Hypothesis floorP : forall x, (floor x)%:~R <= x < (floor x + 1)%:~R.

Lemma floor_unique (n : int) x : n%:~R <= x < (n + 1)%:~R -> floor x = n.
Proof.
case/andP=> lo hi; case/andP: (floorP x) => flo fhi; apply/eqP; rewrite eq_le.
have a := le_lt_trans lo fhi; have b := le_lt_trans flo hi.
by move: a b; rewrite !ltr_int !ltz_addr1 => -> ->.
Qed.

Lemma floorD (z : int) x : floor (z%:~R + x) = z + floor x.
Proof.
apply: floor_unique; case/andP: (floorP x) => lo hi.
by rewrite -addrA !intrD ler_add2l ltr_add2l -intrD lo hi.
Qed.

Definition round x := floor (x + 2%:R^-1).

(** [noise.md, lattice.md; mechanisms/gaussian_sum.py]
    round(z + x) = z + round(x) for every whole number z: rounding the noisy sum and adding rounded noise are the same. *)
Theorem roundD (z : int) x : round (z%:~R + x) = z + round x.
Proof. by rewrite /round -addrA floorD. Qed.

(* A released vector is the whole-number sum plus noise that is a function of the draw alone. *)
(** [noise.md, lattice.md; mechanisms/gaussian_sum.py]
    The same for vectors, coordinate by coordinate. *)
Theorem release_equivariant m (t : 'rV[int]_m) (noise : 'rV[R]_m) :
  map_mx round (map_mx intr t + noise) = t + map_mx round noise.
Proof. by apply/rowP => j; rewrite !mxE roundD. Qed.

(* Truncation towards zero never lengthens a row. *)
Definition trunc x := if 0 <= x then floor x else - floor (- x).

Lemma floor_ge0 x : 0 <= x -> 0 <= floor x.
Proof.
by move=> x0; case/andP: (floorP x) => _ hi; move: (le_lt_trans x0 hi); rewrite ltr0z ltz_addr1.
Qed.

Lemma trunc_le x : `|(trunc x)%:~R| <= `|x|.
Proof.
have nonneg y : 0 <= y -> `|(floor y)%:~R| <= y.
  by move=> y0; rewrite ger0_norm ?ler0z ?floor_ge0 //; case/andP: (floorP y).
rewrite /trunc; case: (lerP 0 x) => x0; first by rewrite (ger0_norm x0) nonneg.
by rewrite mulrNz normrN (ltr0_norm x0) nonneg // oppr_ge0 ltW.
Qed.

Lemma trunc_near x : `|x - (trunc x)%:~R| < 1.
Proof.
have near y : `|y - (floor y)%:~R| < 1.
  by case/andP: (floorP y) => lo hi; rewrite ger0_norm ?subr_ge0 // ltr_subl_addl -(intrD _ _ 1).
rewrite /trunc; case: (lerP 0 x) => x0; first exact: near.
by rewrite mulrNz opprK -normrN opprD.
Qed.

(** [lattice.md; exact/lattice.py Lattice.truncate]
    Truncation towards zero makes no row longer. *)
Theorem trunc_row_le m (x : 'rV[R]_m) : normsq (map_mx intr (map_mx trunc x) : 'rV[R]_m) <= normsq x.
Proof.
apply: ler_sum => j _; rewrite !mxE -[X in X <= _]real_normK ?num_real // -[X in _ <= X]real_normK ?num_real //.
by rewrite ler_sqr ?nnegrE ?normr_ge0 // trunc_le.
Qed.

(* lattice.md P1: a row whose squares do not fit counts as zero. *)
Definition clipped m (C : int) (z : 'rV[int]_m) := if normsq z <= C ^+ 2 then z else 0.
(** [lattice.md; exact/lattice.py Lattice.certify]
    A row whose integer norm exceeds C counts as zero, so every contribution has norm at most C. *)
Theorem clipped_within m C (z : 'rV[int]_m) : normsq (clipped C z) <= C ^+ 2.
Proof. by rewrite /clipped; case: ifP => // _; rewrite normsq0 sqr_ge0. Qed.

(* No inflation: a row inside the declared ball is never dropped. *)
(** [lattice.md; exact/lattice.py Lattice.quantize]
    No inflation: a row inside the declared ball is never dropped. *)
Theorem clipped_id m (C : int) (x : 'rV[R]_m) :
  normsq x <= C%:~R ^+ 2 -> clipped C (map_mx trunc x) = map_mx trunc x.
Proof.
move=> le; rewrite /clipped ifT // -(ler_int R) rmorphX; apply: le_trans le; apply: le_trans (trunc_row_le x).
by rewrite le_eqVlt /normsq rmorph_sum; apply/orP; left; apply/eqP; apply: eq_bigr => j _; rewrite !mxE rmorphX.
Qed.
End Floor.

(* Coarsening by h bits: |T1' - T2'| <= |T1 - T2| / 2^h + sqrt d. *)
Section Coarsen.
Variables (R : rcfType) (floor : R -> int).
Hypothesis floorP : forall x, (floor x)%:~R <= x < (floor x + 1)%:~R.
Variables (m : nat) (q : R).
Hypothesis q0 : 0 < q.
Definition coarse (t : 'rV[R]_m) : 'rV[R]_m := \row_j (floor (t 0 j / q + 2%:R^-1))%:~R.

Lemma norm_cube (x : 'rV[R]_m) : (forall j, `|x 0 j| <= 1) -> norm x <= Num.sqrt m%:R.
Proof.
move=> le; rewrite /norm ler_wsqrtr // -[m in m%:R]card_ord -sum1_card natr_sum.
by apply: ler_sum => j _; rewrite -[_ ^+ 2]real_normK ?num_real // expr_le1.
Qed.

(** [lattice.md, mean.md; mechanisms/gaussian_sum.py coarsen]
    Sums that are rounded to steps of q are at most |T1 - T2| / q + sqrt(d) coarse steps apart. *)
Theorem coarsened t1 t2 : norm (coarse t1 - coarse t2) <= norm (t1 - t2) / q + Num.sqrt m%:R.
Proof.
set f := fun t : 'rV[R]_m => \row_j (t 0 j / q + 2%:R^-1 - (coarse t) 0 j) : 'rV[R]_m.
have -> : coarse t1 - coarse t2 = q^-1 *: (t1 - t2) - (f t1 - f t2).
  apply/rowP => j; rewrite !mxE; set a := t1 0 j; set b := t2 0 j; ring.
apply: le_trans (ler_normB _ _) _; apply: ler_add.
  rewrite le_eqVlt; apply/orP; left; rewrite /norm.
  have -> : normsq (q^-1 *: (t1 - t2)) = q^-1 ^+ 2 * normsq (t1 - t2).
    by rewrite /normsq mulr_sumr; apply: eq_bigr => j _; rewrite mxE exprMn.
  by rewrite sqrtrM ?sqr_ge0 // sqrtr_sqr ger0_norm ?invr_ge0 ?(ltW q0) // mulrC.
apply: norm_cube => j; rewrite !mxE.
have frac x : 0 <= x - (floor x)%:~R <= 1.
  by case/andP: (floorP x) => lo /ltW hi; rewrite subr_ge0 lo ler_subl_addl -(intrD _ _ 1).
case/andP: (frac (t1 0 j / q + 2%:R^-1)) => a0 a1; case/andP: (frac (t2 0 j / q + 2%:R^-1)) => b0 b1.
rewrite ler_norml; apply/andP; split.
  by rewrite ler_subr_addl; apply: le_trans a0; rewrite subr_le0.
by rewrite ler_subl_addl; apply: le_trans a1 _; rewrite ler_addr.
Qed.
End Coarsen.

(* The specification is met: every float64 is a rational. *)
Definition floorq (x : rat) : int := (numq x %/ denq x)%Z.
(** [noise.md; no code: the rationals, and with them all floats, have a floor]
    The floor of a rational number, numerator divided by denominator, satisfies what the other theorems ask of a floor. *)
Theorem floorqP x : (floorq x)%:~R <= x < (floorq x + 1)%:~R.
Proof.
have d0 := denq_gt0 x; have dr : (0 : rat) < (denq x)%:~R by rewrite ltr0z.
rewrite -{2 3}(divq_num_den x) ler_pdivl_mulr // ltr_pdivr_mulr // -!intrM ler_int ltr_int.
by rewrite -lez_divRL // lexx /= -ltz_divLR // ltz_addr1.
Qed.
Definition roundq := round floorq.
(** [noise.md; mechanisms/gaussian_sum.py]
    round(z + x) = z + round(x) for rational x, with that floor. *)
Corollary roundqD (z : int) x : roundq (z%:~R + x) = z + roundq x.
Proof. exact/roundD/floorqP. Qed.
