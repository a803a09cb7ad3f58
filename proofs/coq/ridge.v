(* docs/proofs/impute.md section 5, first half: two constrained optima are as far apart as the gradients differ, over kappa. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Section Optima.
Variables (R : rcfType) (m : nat).
Implicit Types u v g : 'rV[R]_m.
Lemma dotDl u v g : dot (u + v) g = dot u g + dot v g.
Proof. by rewrite /dot -big_split; apply: eq_bigr => j _; rewrite mxE mulrDl. Qed.
Lemma dotNl u g : dot (- u) g = - dot u g.
Proof. by rewrite /dot -sumrN; apply: eq_bigr => j _; rewrite mxE mulNr. Qed.
Lemma dotNr u g : dot u (- g) = - dot u g.
Proof. by rewrite /dot -sumrN; apply: eq_bigr => j _; rewrite mxE mulrN. Qed.
(* g1, g2: gradients of the two objectives at v1; g2': of the second at v2. *)
(** [impute.md; preprocessing/impute_regression.py RegressionImputer]
    Two optima over one convex set are at most the difference of the gradients at the first, over the curvature kappa, apart. *)
Theorem optima_apart (kappa : R) v1 v2 g1 g2 g2' :
  0 <= dot g1 (v2 - v1) -> 0 <= dot g2' (v1 - v2) ->
  kappa * normsq (v1 - v2) <= dot (g2 - g2') (v1 - v2) ->
  kappa * norm (v1 - v2) <= norm (g2 - g1).
Proof.
move=> o1 o2; rewrite -sqr_norm => curved.
have le : kappa * norm (v1 - v2) ^+ 2 <= norm (g2 - g1) * norm (v1 - v2).
  apply: le_trans curved _; apply: le_trans (dot_le _ _).
  rewrite !dotDl !dotNl ler_add2l ler_oppl opprK; apply: le_trans o2.
  by rewrite -oppr_ge0 -dotNr opprB.
have := norm_ge0 (v1 - v2); rewrite le_eqVlt => /orP[/eqP <-|pos]; first by rewrite mulr0 norm_ge0.
by rewrite -(ler_pmul2r pos) -mulrA -expr2.
Qed.
End Optima.
