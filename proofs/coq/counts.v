(* Counts: histogram.md, class_weight.md, evaluation.md, quantile.md, instance_optimal_mean.md, sketch.md, units.md. *)
From mathcomp Require Import all_ssreflect all_algebra zify.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm sums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Vectors.
Variables (R : realDomainType) (m : nat).
Implicit Types u v : 'rV[R]_m.

Lemma normsqBE u v : normsq (u - v) = normsq u + normsq v - 2%:R * \sum_j u 0 j * v 0 j.
Proof.
rewrite /normsq mulr_sumr -big_split -sumrB; apply: eq_bigr => j _ /=; rewrite !mxE.
set a := u 0 j; set b := v 0 j; ring.
Qed.

(** [histogram.md, sketch.md, evaluation.md; mechanisms/histogram.py private_histogram, mechanisms/split.py private_split, sketches/sketch_plan.py SketchPlan]
    Two contributions without negative entries, of squared norm at most B each, are at most sqrt(2 B) apart, not 2 sqrt B: what a replaced
    record or unit does to counts. *)
Theorem nonnegative_replaced u v (B : R) : (forall j, 0 <= u 0 j) -> (forall j, 0 <= v 0 j) ->
  normsq u <= B -> normsq v <= B -> normsq (u - v) <= 2%:R * B.
Proof.
move=> u0 v0 uB vB; rewrite normsqBE ler_subl_addr [2%:R * B]mulr_natl mulr2n.
apply: le_trans (ler_add uB vB) _; rewrite ler_addl mulr_ge0 ?ler0n //.
by apply: sumr_ge0 => j _; apply: mulr_ge0.
Qed.

Lemma zero_one_normsq u d : (forall j, (u 0 j == 0) || (u 0 j == 1)) -> \sum_j u 0 j = d%:R -> normsq u = d%:R.
Proof.
move=> u01 <-; apply: eq_bigr => j _; case/orP: (u01 j) => /eqP->; first by rewrite expr0n.
by rewrite expr1n.
Qed.

(** [sketch.md; sketches/sketch_plan.py SketchPlan]
    A row of d columns puts a one into one cell of each of at most d tables and zeros elsewhere: its squared norm is at most d. *)
Theorem table_row u d : (forall j, (u 0 j == 0) || (u 0 j == 1)) -> \sum_j u 0 j <= d%:R -> normsq u <= d%:R.
Proof.
move=> u01; apply: le_trans; rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigr => j _.
by case/orP: (u01 j) => /eqP->; rewrite ?expr0n ?expr1n.
Qed.
End Vectors.

(* One record, one bin or none. *)
Section Histogram.
Variables (T : eqType) (m : nat) (bin : T -> option 'I_m).
Definition one_hot (t : T) : 'rV[int]_m := \row_j (bin t == Some j)%:R.

Lemma one_hot_le t : normsq (one_hot t) <= 1.
Proof.
rewrite /normsq; case E: (bin t) => [b|]; last first.
  by rewrite big1 // => j _; rewrite mxE E.
rewrite (bigD1 b) //= mxE E eqxx big1 ?addr0 // => j jb; rewrite mxE E.
by rewrite (_ : (Some b == Some j) = false) // eqE /= eq_sym (negbTE jb).
Qed.

(** [histogram.md, class_weight.md, describe.md; mechanisms/histogram.py private_histogram, preprocessing/class_counts.py ClassCounts]
    Counts over declared bins, a record in one of them or in none: one record added or removed moves them by at most 1 in norm. *)
Theorem histogram_removed s s' : removed s s' -> normsq (total one_hot s - total one_hot s') <= 1.
Proof. by move/(total_removed (C := 1)) => h; apply: h => t; apply: one_hot_le. Qed.

(** [histogram.md, class_weight.md, describe.md; mechanisms/histogram.py private_histogram, preprocessing/class_counts.py ClassCounts]
    One record replaced: squared norm at most 2. *)
Theorem histogram_replaced s s' : replaced s s' -> normsq (total one_hot s - total one_hot s') <= 2%:R.
Proof.
case=> t [t' [r [/(total_any_order one_hot)-> /(total_any_order one_hot)->]]].
rewrite /total !big_cons opprD addrACA subrr addr0 -[2%:R]mulr1.
by apply: nonnegative_replaced; rewrite ?one_hot_le // => j; rewrite mxE ler0n.
Qed.
End Histogram.

(* A unit of k rows. *)
Section Unit.
Variables (R : rcfType) (m : nat).
Implicit Types (rows : seq 'rV[R]_m).

(** [sketch.md, units.md; sketches/sketch_plan.py SketchPlan]
    A unit of at most k rows, each of norm at most B, contributes a sum of norm at most k B. *)
Theorem unit_of_k_rows rows k (B : R) : 0 <= B -> (size rows <= k)%N -> (forall x, x \in rows -> norm x <= B) ->
  norm (\sum_(x <- rows) x) <= k%:R * B.
Proof.
move=> B0 sz le; apply: (@le_trans _ _ ((size rows)%:R * B)); last by apply: ler_wpmul2r; rewrite ?ler_nat.
elim: rows le {sz} => [|x l IH] le /=; first by rewrite big_nil norm0 mul0r.
rewrite big_cons; apply: le_trans (ler_normD _ _) _; rewrite -[(size l).+1]add1n natrD mulrDl mul1r; apply: ler_add.
  by apply: le; rewrite mem_head.
by apply: IH => y yl; apply: le; rewrite in_cons yl orbT.
Qed.

(** [sketch.md, units.md; sketches/sketch_plan.py pair_sensitivity]
    Two units of k rows each (rows that are not there count as zeros), any two of whose rows are at most D apart: the sums are at most k D
    apart. *)
Theorem unit_for_unit (pairs : seq ('rV[R]_m * 'rV[R]_m)) k (D : R) : 0 <= D -> (size pairs <= k)%N ->
  (forall p, p \in pairs -> norm (p.1 - p.2) <= D) ->
  norm (\sum_(p <- pairs) p.1 - \sum_(p <- pairs) p.2) <= k%:R * D.
Proof.
move=> D0 sz le; rewrite -sumrB; have := @unit_of_k_rows [seq p.1 - p.2 | p <- pairs] k D D0.
by rewrite size_map big_map; apply=> // x /mapP[p pp ->]; apply: le.
Qed.
End Unit.

(* How many values lie above each of some points. *)
Section Above.
Variables (R : realDomainType) (m : nat) (at_ : 'I_m -> R).
Definition above (s : seq R) : 'rV[int]_m := \row_j (count (fun x => at_ j < x) s)%:Z.

(** [instance_optimal_mean.md; mechanisms/instance_optimal_mean.py]
    One record replaced moves each of m counts by at most one, the vector by at most sqrt(m). *)
Theorem counts_above s s' x y : perm_eq s (x :: s') -> forall r, perm_eq r (y :: s') ->
  normsq (above s - above r) <= m%:R.
Proof.
move=> ps r pr; rewrite -[m in m%:R]card_ord -sum1_card natr_sum; apply: ler_sum => j _.
rewrite !mxE (permP ps) (permP pr) /= !PoszD opprD addrACA subrr addr0.
by case: (at_ j < x); case: (at_ j < y).
Qed.
End Above.

(* The score of a grid point of the private quantile, from N_j and N_(j+1). *)
Definition score (a here next : int) : int := - Num.max 0 (Num.max (next - a) (a - here)).

(** [quantile.md; mechanisms/quantile.py private_quantile]
    If N_j and N_(j+1) each move by at most one, the score moves by at most one, so differences of scores by at most two. *)
Theorem score_moves a h n h' n' : `|h - h'| <= 1 -> `|n - n'| <= 1 -> `|score a h n - score a h' n'| <= 1.
Proof. by rewrite /score; lia. Qed.

(** [evaluation.md; mechanisms/split.py private_split]
    A row that adds (v, 1 - v), 0 <= v <= 1, has squared norm at most 1, and two of them are at most sqrt 2 apart. *)
Theorem split_norm (R : realDomainType) (v w : R) : 0 <= v <= 1 -> 0 <= w <= 1 ->
  v ^+ 2 + (1 - v) ^+ 2 <= 1 /\ (v - w) ^+ 2 + ((1 - v) - (1 - w)) ^+ 2 <= 2%:R.
Proof.
case/andP=> v0 v1 /andP[w0 w1]; split.
  rewrite -subr_ge0; have -> : 1 - (v ^+ 2 + (1 - v) ^+ 2) = 2%:R * (v * (1 - v)) by ring.
  by rewrite mulr_ge0 ?ler0n // mulr_ge0 // subr_ge0.
have -> : (v - w) ^+ 2 + ((1 - v) - (1 - w)) ^+ 2 = 2%:R * (v - w) ^+ 2 by ring.
rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l; rewrite ?ler0n //.
rewrite -real_normK ?num_real // expr_le1 // ler_norml; apply/andP; split.
  by rewrite ler_oppl opprB; apply: le_trans w1; rewrite ler_subl_addr ler_addl.
by apply: le_trans v1; rewrite ler_subl_addr ler_addl.
Qed.

(* The first K rows of a unit, in the order of a fixed hash: a function of the unit alone. *)
Section Reading.
Variables (id row : eqType) (key : row -> nat) (K : nat).
Definition rows_of (t : seq (id * row)) u := [seq r.2 | r <- t & r.1 == u].
Definition read (t : seq (id * row)) u := take K (sort (fun a b => key a <= key b)%N (rows_of t u)).

(** [units.md; tables/units.py by_unit]
    Tables that agree on the rows of unit u read the same rows of it, whatever other units hold and however their rows are mixed in. *)
Theorem read_depends_on_the_unit t t' u : [seq r <- t | r.1 == u] = [seq r <- t' | r.1 == u] -> read t u = read t' u.
Proof. by rewrite /read /rows_of => ->. Qed.

(** [units.md; tables/units.py by_unit]
    Where the hash tells the rows of a unit apart, what is read does not depend on their order in the file either. *)
Theorem read_any_order t t' u : injective key -> perm_eq (rows_of t u) (rows_of t' u) -> read t u = read t' u.
Proof.
move=> inj p; rewrite /read; congr take; apply/perm_sortP => //.
- by move=> x y; apply: leq_total.
- by move=> x y z; apply: leq_trans.
by move=> x y /anti_leq; apply: inj.
Qed.
End Reading.
