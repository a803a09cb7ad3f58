(* What of soft_pca.md, whole.md, noise.md (Theorem 2) and square_root.md is algebra. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm maps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Matrices.
Variables (R : fieldType) (d : nat) (l : R).
Implicit Types M : 'M[R]_d.

(** [soft_pca.md; preprocessing/soft_pca.py SoftPCA]
    The identity of the page: where M + l and M' + l are invertible, l (M' + l)^-1 - l (M + l)^-1 = l (M' + l)^-1 (M - M') (M + l)^-1. *)
Theorem resolvents_apart M M' : (M + l%:M) \in unitmx -> (M' + l%:M) \in unitmx ->
  l *: invmx (M' + l%:M) - l *: invmx (M + l%:M) = l *: (invmx (M' + l%:M) *m (M - M') *m invmx (M + l%:M)).
Proof.
move=> u u'; rewrite -scalerBr; congr (_ *: _).
have -> : M - M' = (M + l%:M) - (M' + l%:M) by rewrite opprD addrACA subrr addr0.
by rewrite mulmxBr mulmxBl -mulmxA mulmxV // mulmx1 mulVmx // mul1mx.
Qed.
End Matrices.

Section Slopes.
Variable R : realFieldType.
Implicit Types (a c t l s : R).

(** [soft_pca.md; preprocessing/soft_pca.py SoftPCA]
    Theorem 2: a c (a + c - 2 a c)/2 <= 1/8 for a, c in [0, 1], the weight of E_ij. *)
Theorem soft_weight a c : 0 <= a <= 1 -> 0 <= c <= 1 -> 4%:R * (a * c * (a + c - 2%:R * (a * c))) <= 1.
Proof.
case/andP=> a0 a1 /andP[c0 c1]; rewrite -subr_ge0.
have -> : 1 - 4%:R * (a * c * (a + c - 2%:R * (a * c))) = (1 - 2%:R * (a * c)) ^+ 2 + 4%:R * (a * c) * ((1 - a) * (1 - c)) by ring.
by rewrite addr_ge0 ?sqr_ge0 // !mulr_ge0 ?ler0n ?subr_ge0.
Qed.

(** [soft_pca.md; preprocessing/soft_pca.py SoftPCA]
    s/(s^2 + l) <= 1/(2 r) for l = r^2: 2 r s <= s^2 + r^2. *)
Theorem soft_root s r : 2%:R * r * s <= s ^+ 2 + r ^+ 2.
Proof. by rewrite -subr_ge0 (_ : _ - _ = (s - r) ^+ 2) ?sqr_ge0 //; ring. Qed.

(** [whole.md, soft_pca.md; preprocessing/soft_pca.py SoftPCA]
    The slope of s^3/(s^2 + l) is (t^2 + 3 t)/(1 + t)^2, t = s^2/l, at most 9/8, which it has at t = 3. *)
Theorem soft_slope t : 8%:R * (t ^+ 2 + 3%:R * t) <= 9%:R * (1 + t) ^+ 2 /\
  8%:R * (3%:R ^+ 2 + 3%:R * 3%:R) = 9%:R * (1 + 3%:R) ^+ 2 :> R.
Proof.
split; last by ring.
by rewrite -subr_ge0 (_ : _ - _ = (t - 3%:R) ^+ 2) ?sqr_ge0 //; ring.
Qed.

(** [noise.md; mechanisms/laplace_sum.py]
    Theorem 2: with p(k) proportional to q^|k|, 0 < q <= 1, whole numbers z, z' at most D apart give any output chances within a factor q^-D. *)
Theorem discrete_laplace (q : R) (k z z' : int) (D : nat) : 0 < q <= 1 -> (`|z - z'| <= D)%N ->
  q ^+ D * q ^+ `|k - z| <= q ^+ `|k - z'|.
Proof.
case/andP=> q0 q1 zz; rewrite -exprD; apply: ler_wiexpn2l => //; first exact: ltW.
have le : `|k - z'| <= `|k - z| + `|z - z'| by apply: ler_dist_add.
by move: le; rewrite -!abszE -PoszD lez_nat => le; apply: leq_trans le _; rewrite addnC leq_add2r.
Qed.
End Slopes.

Section Sums.
Variables (R : rcfType) (d : nat).

(** [square_root.md; preprocessing/square_root.py SquareRoot]
    The sum of |x_j|, which is the squared norm of the row of square roots, is at most sqrt(d) |x|. *)
Theorem absolute_sum (x : 'rV[R]_d) : \sum_j `|x 0 j| <= Num.sqrt d%:R * norm x.
Proof.
have := total_of_a_whole_map (\row_j `|x 0 j|).
have -> : norm (\row_j `|x 0 j|) = norm x.
  by rewrite /norm; congr Num.sqrt; apply: eq_bigr => j _; rewrite mxE real_normK ?num_real.
by under eq_bigr do rewrite mxE.
Qed.
End Sums.
