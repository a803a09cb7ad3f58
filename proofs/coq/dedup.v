(* docs/proofs/deduplicate.md: good clusters, the corollary's count, the h-index, cells. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Points of any metric space; a table is a finite sequence of points (equal rows allowed). *)
Section Clusters.
Variables (R : realDomainType) (point : eqType) (dist : point -> point -> R).
Hypothesis dist0 : forall x, dist x x = 0.
Hypothesis sym : forall x y, dist x y = dist y x.
Hypothesis triangle : forall x y z, dist x z <= dist x y + dist y z.
Variable eta : R.
Hypothesis eta0 : 0 <= eta.
Implicit Types (S : seq point) (c x z : point).

(* S n B(c, eta) = S n B(c, 3 eta) *)
Definition good S c := (c \in S) && all (fun x => (dist c x <= 3%:R * eta) ==> (dist c x <= eta)) S.

Lemma goodP S c x : good S c -> x \in S -> dist c x <= 3%:R * eta -> dist c x <= eta.
Proof. by case/andP=> _ /allP h /h /implyP. Qed.

Let e1 : eta <= 2%:R * eta. Proof. by rewrite mulr_natl mulr2n ler_addl. Qed.
Let e2 : 2%:R * eta <= 3%:R * eta. Proof. by apply: ler_wpmul2r; rewrite ?ler_nat. Qed.
Let e3 : 2%:R * eta = eta + eta. Proof. by rewrite mulr_natl mulr2n. Qed.
Let e4 : 4%:R * eta = eta + 3%:R * eta. Proof. by rewrite -[4%:R]/(1%:R + 3%:R) mulrDl mul1r. Qed.

(* Lemma 1. *)
(** [deduplicate.md; preprocessing/_neighbours.py Clusters]
    Lemma 1: two good centres within 3 eta of each other are within eta, and have the same cluster. *)
Theorem good_centres S c c' : good S c -> good S c' -> dist c c' <= 3%:R * eta ->
  dist c c' <= eta /\ {in S, forall x, (dist c x <= eta) = (dist c' x <= eta)}.
Proof.
move=> g g' near; have cS : c \in S by case/andP: g. have c'S : c' \in S by case/andP: g'.
have cc := goodP g c'S near; split=> // x xS; apply/idP/idP => h.
  apply: (goodP g' xS); apply: le_trans (triangle _ c _) _; apply: le_trans e2.
  by rewrite e3 (sym c') ler_add.
by apply: (goodP g xS); apply: le_trans (triangle _ c' _) _; apply: le_trans e2; rewrite e3 ler_add.
Qed.

(* Theorem 1. S and S' hold the same points outside Z; x is further than 4 eta from all of Z. *)
Variables (S S' : seq point) (Z : pred point).
Hypothesis same : forall x, ~~ Z x -> (x \in S) = (x \in S').
Lemma good_same x c : (forall z, Z z -> 4%:R * eta < dist x z) -> dist x c <= eta -> good S c -> good S' c.
Proof.
move=> far xc g; have near u : dist c u <= 3%:R * eta -> ~~ Z u.
  move=> cu; apply: contraTN (triangle x c u) => /far zx; rewrite -ltNge; apply: le_lt_trans zx.
  by rewrite e4 ler_add.
have cS : c \in S by case/andP: g.
have c0 : dist c c <= 3%:R * eta by rewrite dist0 mulr_ge0 ?ler0n.
apply/andP; split; first by rewrite -same ?cS // near.
apply/allP => u uS'; apply/implyP => cu.
by apply: (goodP g _ cu); rewrite same ?uS' // near.
Qed.
End Clusters.

Section Fate.
Variables (R : realDomainType) (point : eqType) (dist : point -> point -> R).
Hypothesis dist0 : forall x, dist x x = 0.
Hypothesis triangle : forall x y z, dist x z <= dist x y + dist y z.
Variable eta : R.
Hypothesis eta0 : 0 <= eta.
Variables (S S' : seq point) (Z : pred point).
Hypothesis same : forall x, ~~ Z x -> (x \in S) = (x \in S').

(* The centres that x can be represented by are the same in both: so is whatever a rule picks of them. *)
(** [deduplicate.md, quantize.md; preprocessing/_neighbours.py Clusters]
    Theorem 1: for a row further than 4 eta from all points that differ, the good centres that can represent it are the same in both tables. *)
Theorem same_candidates x : (forall z, Z z -> 4%:R * eta < dist x z) ->
  forall c, dist x c <= eta -> good dist eta S c = good dist eta S' c.
Proof.
move=> far c xc; apply/idP/idP; apply: (good_same dist0 triangle eta0 _ far xc) => // u /same->; by [].
Qed.

(* Corollary: Z lists the old and new points; the rows that are not far from all of Z are few. *)
(** [deduplicate.md; preprocessing/_crowd.py changed_rows]
    If no more than m rows are within 4 eta of each of the points that differ, at most m times their number can fare differently. *)
Theorem few_changed (rows : seq point) (zs : seq point) (m : nat) :
  (forall z, z \in zs -> (count (fun x => (dist x z <= 4%:R * eta)%R) rows <= m)%N) ->
  (count (fun x => has (fun z => (dist x z <= 4%:R * eta)%R) zs) rows <= size zs * m)%N.
Proof.
elim: zs => [|z zs IH] crowd /=; first by rewrite mul0n leqn0; elim: rows {crowd}.
rewrite mulSn; apply: (@leq_trans (count (fun x => (dist x z <= 4%:R * eta)%R) rows
   + count (fun x => has (fun z => (dist x z <= 4%:R * eta)%R) zs) rows)%N).
  by rewrite -count_predUI leq_addr.
by apply: leq_add; [apply: crowd; rewrite mem_head|apply: IH => u uz; apply: crowd; rewrite in_cons uz orbT].
Qed.

(** [deduplicate.md, quantize.md; preprocessing/_crowd.py changed_rows]
    The corollary's count: if each point that differs is a row of one of the two tables, which holds no more than m rows within 4 eta of it, itself
    included, at most (m - 1) times their number of common rows are near one of them: 2 (1 + p)(m - 1) for 1 + p rows that differ. *)
Theorem few_changed_others (common : seq point) (zs : seq point) (m : nat) :
  (forall z, z \in zs -> exists own, z \in own /\ (count (fun x => (dist x z <= 4%:R * eta)%R) (common ++ own) <= m)%N) ->
  (count (fun x => has (fun z => (dist x z <= 4%:R * eta)%R) zs) common <= size zs * (m - 1))%N.
Proof.
move=> crowd; apply: few_changed => z /crowd[own [zo]]; rewrite count_cat => le.
have one : (0 < count (fun x => (dist x z <= 4%:R * eta)%R) own)%N.
  by rewrite -has_count; apply/hasP; exists z => //; rewrite dist0 mulr_ge0 ?ler0n.
have lt := leq_trans (leq_add (leqnn _) one) le; rewrite addn1 in lt.
by rewrite subn1 -ltnS (ltn_predK lt).
Qed.

(** [quantize.md; preprocessing/quantize.py Quantize]
    Total, centre: if a row moves by at most eta times the number of points that differ near it (one for a row that leaves or joins a cluster, two where
    both centres differ), and each of these points has at most M common rows near it, all rows move by at most eta |Z| M. *)
Theorem quantized_total (common zs : seq point) (move : point -> R) (near : point -> point -> bool) (M : nat) :
  (forall x, x \in common -> move x <= eta * (count (near x) zs)%:R) ->
  (forall z, z \in zs -> (count (fun x => near x z) common <= M)%N) ->
  \sum_(x <- common) move x <= eta * (size zs * M)%:R.
Proof.
move=> le few; apply: (@le_trans _ _ (\sum_(x <- common) eta * (count (near x) zs)%:R)).
  by rewrite big_seq [X in _ <= X]big_seq; apply: ler_sum.
rewrite -mulr_sumr; apply: ler_wpmul2l => //; rewrite -natr_sum ler_nat.
have -> : (\sum_(x <- common) count (near x) zs = \sum_(z <- zs) count (fun x => near x z) common)%N.
  by under eq_bigr do rewrite -sum1_count big_mkcond /=; rewrite exchange_big /=;
     apply: eq_bigr => z _; rewrite -sum1_count [RHS]big_mkcond.
elim: zs few {le} => [|z zs IH] few; first by rewrite big_nil.
rewrite big_cons mulSn; apply: leq_add; first by apply: few; rewrite mem_head.
by apply: IH => y yz; apply: few; rewrite in_cons yz orbT.
Qed.
End Fate.

(* Cells, Theorem 2: what stays is the set of occupied keys; a replaced record vacates one at most and occupies one at most. *)
Section Cells.
Variables (record key : eqType) (cell : record -> key).
Definition occupied (t : seq record) := undup (map cell t).
(** [deduplicate.md; preprocessing/_cells.py]
    One record more occupies one cell more at most. *)
Theorem cells_added r t : exists2 k : seq key, (size k <= 1)%N & perm_eq (occupied (r :: t)) (k ++ occupied t).
Proof.
rewrite /occupied /=; case: ifP => _; last by exists [:: cell r].
by exists [::].
Qed.
(** [deduplicate.md; preprocessing/_cells.py]
    Theorem 2: the occupied cells of two tables that differ in one record are the same but for one cell on either side at most. *)
Theorem cells_replaced r r' t : exists common a b : seq key,
  [/\ (size a <= 1)%N, (size b <= 1)%N, perm_eq (occupied (r :: t)) (a ++ common) & perm_eq (occupied (r' :: t)) (b ++ common)].
Proof.
have [a a1 pa] := cells_added r t; have [b b1 pb] := cells_added r' t.
by exists (occupied t), a, b.
Qed.
(** [deduplicate.md; preprocessing/_cells.py]
    Which cells are occupied does not depend on the order of the records. *)
Theorem cells_any_order t t' : perm_eq t t' -> perm_eq (occupied t) (occupied t').
Proof.
move=> p; apply: uniq_perm; rewrite ?undup_uniq // => k; rewrite !mem_undup.
exact: perm_mem (perm_map cell p) k.
Qed.
End Cells.

(* The statistic: H = the largest k such that at least k of the counts are >= k. Removing one record lowers every other
   count by at most one and takes one count away: H - 1 <= H' <= H. *)
Section HIndex.
Local Open Scope nat_scope.
Definition reaches (counts : seq nat) k := k <= count (leq k) counts.
Definition hindex counts := \max_(k < (size counts).+1 | reaches counts k) k.

Lemma hindexP counts : reaches counts (hindex counts).
Proof.
rewrite /hindex; elim/big_ind: _ => // x y hx hy; rewrite /maxn; case: ifP => //.
Qed.
Lemma hindex_max counts k : reaches counts k -> k <= hindex counts.
Proof.
move=> h; have le : k < (size counts).+1 by rewrite ltnS (leq_trans h) ?count_size.
exact: (leq_bigmax_cond (Ordinal le)).
Qed.

(* before: one count for each record; the first is that of the record removed. *)
(** [deduplicate.md; preprocessing/_neighbours.py h_index]
    Where a record is removed, and every other count falls by at most one, the h-index H of the counts falls by at most one and does not grow. *)
Theorem hindex_removed (own : nat) (before after : seq nat) :
  size before = size after -> (forall i, nth 0 after i <= nth 0 before i <= (nth 0 after i).+1) ->
  (hindex (own :: before)).-1 <= hindex after <= hindex (own :: before).
Proof.
move=> sz near; apply/andP; split; apply: hindex_max.
  have := hindexP (own :: before); set H := hindex _; case: H => [|k] //=; rewrite /reaches /= => le.
  have : k <= count (leq k.+1) before by case: (k < own) le => //=; rewrite ?add0n => /ltnW.
  move/leq_trans; apply.
  elim: before after sz near {le} => [|b bs IH] [|a l] //= [sz] near.
  apply: leq_add; last by apply: IH => // i; apply: (near i.+1).
  have /andP[_ /= ba] := near 0; case: (ltnP k b) => //= kb.
  by have -> : k <= a by rewrite -ltnS (leq_trans kb ba).
have := hindexP after; move: (hindex after) => k; rewrite /reaches /= => le.
apply: leq_trans le _; apply: leq_trans (leq_addl _ _).
elim: before after sz near => [|b bs IH] [|a l] //= [sz] near.
apply: leq_add; last by apply: IH => // i; apply: (near i.+1).
by have /andP[ab _] := near 0; case: (leqP k a) => //= ka; rewrite (leq_trans ka ab).
Qed.
End HIndex.
