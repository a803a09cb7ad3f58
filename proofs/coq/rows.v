(* docs/proofs/chaining.md: what one record does to a pipeline of steps (preprocessing/base.py: RowShift). *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Shift.
Variables (R : rcfType) (n : nat) (record : 'I_n).

Record row_shift := RowShift { rows_moved : nat; row_move : R; total_shift : R; rows_dropped : nat }.

Definition table d := 'I_n -> 'rV[R]_d.
Implicit Types D : pred 'I_n.

(* Neither the record that differs nor dropped in one of the two. *)
Definition common D i := (i != record) && ~~ D i.

Definition apart d (X X' : table d) D (s : row_shift) :=
  [/\ (#|[pred i | common D i & X i != X' i]| <= rows_moved s)%N,
      forall i, common D i -> norm (X i - X' i) <= row_move s,
      \sum_(i | common D i) norm (X i - X' i) <= total_shift s
    & (#|[pred i | i != record & D i]| <= rows_dropped s)%N].

(** [chaining.md; preprocessing/base.py UNTOUCHED]
    Two tables that differ in one record are a pair with rows_moved, row_shift, total_shift and rows_dropped all zero. *)
Theorem row_shift_untouched d (X X' : table d) :
  (forall i, i != record -> X i = X' i) -> apart X X' pred0 (RowShift 0 0 0 0).
Proof.
move=> same; have eqX i : common pred0 i -> X i = X' i by case/andP=> /same.
split=> /=.
- by rewrite leqn0; apply/eqP/eq_card0 => i; rewrite inE; apply/andP=> -[/eqX->]; rewrite eqxx.
- by move=> i /eqX->; rewrite subrr norm0.
- by rewrite big1 // => i /eqX->; rewrite subrr norm0.
by rewrite leqn0; apply/eqP/eq_card0 => i; rewrite inE andbF.
Qed.

(* A map that is the same for both: RowShift.through. *)
(** [chaining.md; preprocessing/base.py RowShift.through]
    A map with Lipschitz constant K, the same for both tables, multiplies row_shift and total_shift by K and leaves the two counts. *)
Theorem row_shift_through d e (f : 'rV[R]_d -> 'rV[R]_e) K (X X' : table d) D s :
  0 <= K -> (forall x y, norm (f x - f y) <= K * norm (x - y)) -> apart X X' D s ->
  apart (f \o X) (f \o X') D (RowShift (rows_moved s) (K * row_move s) (K * total_shift s) (rows_dropped s)).
Proof.
move=> K0 lip [m r t dr]; split=> //=.
- apply: leq_trans m; apply/subset_leq_card/subsetP => i; rewrite !inE => /andP[-> /=].
  by apply: contraNneq => ->.
- by move=> i /r le; apply: le_trans (lip _ _) _; apply: ler_wpmul2l.
apply: le_trans (ler_wpmul2l K0 t); rewrite mulr_sumr.
by apply: ler_sum => i _; apply: lip.
Qed.

(* No row is further from itself than the space is wide: RowShift.within. *)
(** [chaining.md; preprocessing/base.py RowShift.within]
    In a space of diameter D, row_shift is at most D and total_shift at most D times rows_moved. *)
Theorem row_shift_within d (X X' : table d) D s diameter :
  (forall i, norm (X i - X' i) <= diameter) -> apart X X' D s ->
  apart X X' D (RowShift (rows_moved s) (Num.min (row_move s) diameter)
                  (Num.min (total_shift s) (diameter *+ rows_moved s)) (rows_dropped s)).
Proof.
move=> wide [m r t dr]; split=> //= [i ci|]; first by rewrite le_minr r ?wide.
rewrite le_minr t /=.
have d0 : 0 <= diameter by apply: le_trans (wide record); apply: norm_ge0.
apply: le_trans (ler_wpmuln2l d0 m).
rewrite (bigID (fun i => X i != X' i)) /= [X in _ + X]big1 => [|i /andP[_ /negPn/eqP->]]; last first.
  by rewrite subrr norm0.
by rewrite addr0 -sumr_const; apply: ler_sum => i _; apply: wide.
Qed.

(* Two moves of the same rows, one after the other: RowShift.plus. *)
(** [chaining.md; preprocessing/base.py RowShift.plus]
    Two moves of the same rows, one after the other: shifts add, counts add and are at most n - 1. *)
Theorem row_shift_plus d (X Y Z : table d) D E s u :
  apart X Y D s -> apart Y Z E u ->
  apart X Z (predU D E) (RowShift (minn (rows_moved s + rows_moved u) n.-1) (row_move s + row_move u)
                           (total_shift s + total_shift u) (minn (rows_dropped s + rows_dropped u) n.-1)).
Proof.
move=> [m r t dr] [m' r' t' dr'].
have cD i : common (predU D E) i -> common D i by rewrite /common /= negb_or => /and3P[-> ->].
have cE i : common (predU D E) i -> common E i by rewrite /common /= negb_or => /and3P[-> _ ->].
have others (P : pred 'I_n) : (forall i, P i -> i != record) -> (#|P| <= n.-1)%N.
  move=> sub; rewrite -[n in n.-1]card_ord -(cardC1 record).
  by apply/subset_leq_card/subsetP => i /sub; rewrite !inE.
split=> /=.
- rewrite leq_min others ?andbT => [|i]; last by rewrite inE => /andP[/andP[]].
  apply: leq_trans (leq_add m m'); rewrite -cardUI; apply: leq_trans (leq_addr _ _).
  apply/subset_leq_card/subsetP => i; rewrite !inE => /andP[ci]; rewrite (cD _ ci) (cE _ ci) /=.
  by case: (X i =P Y i) => [->|].
- move=> i ci; apply: le_trans (ler_dist (Y i) _ _) _.
  by apply: ler_add; [apply/r/cD|apply/r'/cE].
- apply: le_trans (ler_add t t').
  have sub (P Q : pred 'I_n) (F : 'I_n -> R) :
      (forall i, P i -> Q i) -> (forall i, 0 <= F i) -> \sum_(i | P i) F i <= \sum_(i | Q i) F i.
    move=> PQ F0; rewrite [X in _ <= X](bigID P) /= -[X in X <= _]addr0; apply: ler_add; last exact: sumr_ge0.
    rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => i.
    by case Pi: (P i); rewrite ?andbF ?andbT // PQ.
  apply: le_trans (ler_add (sub _ _ _ cD _) (sub _ _ _ cE _)) => [|i|i]; try exact: norm_ge0.
  by rewrite -big_split; apply: ler_sum => i _; apply: ler_dist.
rewrite leq_min others ?andbT => [|i]; last by rewrite inE => /andP[].
apply: leq_trans (leq_add dr dr'); rewrite -cardUI; apply: leq_trans (leq_addr _ _).
by apply/subset_leq_card/subsetP => i; rewrite !inE; case: (i == record).
Qed.

(* "A step paid for by sensitivity": fitted as f on one table and as g on the other. *)
(** [chaining.md; preprocessing/base.py Step.sensitivity]
    A step fitted as f on one table and as g on the other: its own move and K times what came in add up, row by row and in total. *)
Theorem row_shift_fitted d e (f g : 'rV[R]_d -> 'rV[R]_e) K (X X' : table d) D s own total_own :
  0 <= K -> (forall x y, norm (g x - g y) <= K * norm (x - y)) ->
  (forall i, common D i -> norm (f (X i) - g (X i)) <= own) ->
  \sum_(i | common D i) norm (f (X i) - g (X i)) <= total_own ->
  apart X X' D s ->
  apart (f \o X) (g \o X') D
    (RowShift n.-1 (own + K * row_move s) (total_own + K * total_shift s) (rows_dropped s)).
Proof.
move=> K0 lip owns owned [m r t dr].
have step i : norm (f (X i) - g (X' i)) <= norm (f (X i) - g (X i)) + K * norm (X i - X' i).
  by apply: le_trans (ler_dist (g (X i)) _ _) _; rewrite ler_add2l.
split=> //=.
- rewrite -[n in n.-1]card_ord -(cardC1 record).
  by apply/subset_leq_card/subsetP => i; rewrite !inE => /andP[/andP[]].
- move=> i ci; apply: le_trans (step i) _; apply: ler_add; first exact: owns.
  by apply: ler_wpmul2l => //; apply: r.
apply: le_trans (ler_add owned (ler_wpmul2l K0 t)); rewrite mulr_sumr -big_split.
by apply: ler_sum => i _; apply: step.
Qed.

(* What every released sum pays by: base.py sum_shift, replace-one. A dropped row is a zero row in one of the two. *)
(** [chaining.md, center.md, mean.md; preprocessing/base.py sum_shift]
    Replace-one: the sum of all rows moves by at most the diameter, total_shift, and the radius for each dropped row. *)
Theorem sum_of_rows_shift d (X X' : table d) D s diameter radius :
  norm (X record - X' record) <= diameter -> 0 <= radius ->
  (forall i, D i -> norm (X i - X' i) <= radius) ->
  apart X X' D s ->
  norm (\sum_i X i - \sum_i X' i) <= diameter + total_shift s + radius *+ rows_dropped s.
Proof.
move=> wide rad0 rad [m r t dr].
rewrite -sumrB (bigD1 record) //= (bigID D) /=.
apply: le_trans (ler_normD _ _) _; rewrite -addrA; apply: ler_add => //.
apply: le_trans (ler_normD _ _) _; rewrite [X in X <= _]addrC; apply: ler_add.
  by apply: le_trans (norm_sum_le _ _ _) _; apply: t.
apply: le_trans (ler_wpmuln2l rad0 dr); rewrite -sumr_const.
by apply: le_trans (norm_sum_le _ _ _) _; apply: ler_sum => i /andP[_]; apply: rad.
Qed.

(** [chaining.md, center.md; preprocessing/base.py sum_shift]
    Add-or-remove-one: the record is there in one table only (it counts as zero in the other), and the radius stands for the diameter. *)
Theorem sum_of_rows_shift_added d (X X' : table d) D s radius :
  X' record = 0 -> norm (X record) <= radius -> 0 <= radius -> (forall i, D i -> norm (X i - X' i) <= radius) ->
  apart X X' D s ->
  norm (\sum_i X i - \sum_(i | i != record) X' i) <= radius + total_shift s + radius *+ rows_dropped s.
Proof.
move=> gone rx rad0 rad ap; have <- : \sum_i X' i = \sum_(i | i != record) X' i by rewrite (bigD1 record) //= gone add0r.
by apply: (sum_of_rows_shift _ rad0 rad ap); rewrite gone subr0.
Qed.

(** [chaining.md; preprocessing/base.py RowShift.plus]
    The total is never above rows_moved times row_shift. *)
Theorem row_shift_total d (X X' : table d) D s : 0 <= row_move s -> apart X X' D s ->
  apart X X' D (RowShift (rows_moved s) (row_move s) (Num.min (total_shift s) (row_move s *+ rows_moved s)) (rows_dropped s)).
Proof.
move=> r0 [m r t dr]; split=> //=; rewrite le_minr t /=.
apply: le_trans (ler_wpmuln2l r0 m).
rewrite (bigID (fun i => X i != X' i)) /= [X in _ + X]big1 => [|i /andP[_ /negPn/eqP->]]; last first.
  by rewrite subrr norm0.
by rewrite addr0 -sumr_const; apply: ler_sum => i /andP[ci _]; apply: r.
Qed.

(** [chaining.md; preprocessing/base.py FittedMap.keep]
    A fixed map that also drops rows, each by the row alone: at most rows_moved more rows are kept in one table and dropped in the other. *)
Theorem row_shift_dropping d (keep : 'rV[R]_d -> bool) (X X' : table d) D s : apart X X' D s ->
  apart X X' (predU D [pred i | keep (X i) != keep (X' i)])
    (RowShift (rows_moved s) (row_move s) (total_shift s) (rows_dropped s + rows_moved s)).
Proof.
move=> [m r t dr]; set E := predU _ _.
have cD i : common E i -> common D i by rewrite /common /= negb_or => /and3P[-> ->].
split=> /=.
- apply: leq_trans m; apply/subset_leq_card/subsetP => i; rewrite !inE => /andP[/cD-> //].
- by move=> i /cD; apply: r.
- apply: le_trans t; rewrite [X in _ <= X](bigID (common E)) /= -[X in X <= _]addr0; apply: ler_add.
    rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigl => i.
    by case ci: (common E i); rewrite ?andbF // (cD _ ci).
  by apply: sumr_ge0 => i _; apply: norm_ge0.
apply: leq_trans (leq_add dr m); rewrite -cardUI; apply: leq_trans (leq_addr _ _).
apply/subset_leq_card/subsetP => i; rewrite !inE /common /=; case: (i == record) => //=.
case: (D i) => //=; apply: contraNneq => ->; by rewrite eqxx.
Qed.

(* A learner: contributions clipped to C, mu-Lipschitz in the row. gradient_sum.md "Rows that moved" without the cuts. *)
(** [gradient_descent.md, chaining.md; learners/gradient_descent.py GradientDescent]
    A sum of contributions clipped to C, mu-Lipschitz in the row, moves by at most 2C + min(mu total_shift, 2C rows_moved) + C rows_dropped (exact arithmetic, replace-one). *)
Theorem clipped_sum_shift d e (g : 'rV[R]_d -> 'rV[R]_e) mu C (X X' : table d) D s :
  0 <= mu -> (forall x y, norm (g x - g y) <= mu * norm (x - y)) -> (forall x, norm (g x) <= C) ->
  (forall i, D i -> g (X i) = 0 \/ g (X' i) = 0) ->
  apart X X' D s ->
  norm (\sum_i g (X i) - \sum_i g (X' i)) <=
    C *+ 2 + Num.min (mu * total_shift s) (C *+ 2 *+ rows_moved s) + C *+ rows_dropped s.
Proof.
move=> mu0 lip cut zero ap.
have two i : norm (g (X i) - g (X' i)) <= C *+ 2.
  by apply: le_trans (ler_normB _ _) _; rewrite mulr2n ler_add.
have C0 : 0 <= C by apply: le_trans (cut (X record)); apply: norm_ge0.
have := row_shift_within two (row_shift_through mu0 lip ap) => /(sum_of_rows_shift (two record) C0) /=; apply=> i /zero[] e0 /=.
  by rewrite e0 sub0r normN.
by rewrite e0 subr0.
Qed.
End Shift.
