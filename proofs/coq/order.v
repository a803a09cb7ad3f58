(* docs/proofs/impute.md, sections 3 and 4: order statistics of the observed cells of a column; the lower median, the
   trimmed sum, and the two distances. *)
From mathcomp Require Import all_ssreflect all_algebra zify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Ranks.
Variables (R : realDomainType) (lo hi : R).
Hypothesis lohi : lo <= hi.
Implicit Types (s c e r : seq R) (t x y : R) (i j k : nat).

(* Every cell is within the declared bounds. *)
Definition inside s := all (fun x => lo <= x <= hi) s.

(* The value of rank i, counted from 1, with the declared bounds beyond the ends: `padded` in the code. *)
Definition rank s i := nth hi (lo :: sort <=%R s) i.

Definition upto t s := count (fun x => x <= t) s.

Lemma upto_cat t s r : upto t (s ++ r) = (upto t s + upto t r)%N.
Proof. by rewrite /upto count_cat. Qed.

Lemma upto_perm t s r : perm_eq s r -> upto t s = upto t r.
Proof. by move/permP => p; rewrite /upto p. Qed.

Lemma upto_size t s : (upto t s <= size s)%N.
Proof. exact: count_size. Qed.

Lemma upto_mono t u s : t <= u -> (upto t s <= upto u s)%N.
Proof. by move=> tu; apply: sub_count => x /= /le_trans; apply. Qed.

Lemma inside_perm s r : perm_eq s r -> inside s = inside r.
Proof. exact: perm_all. Qed.

Lemma sorted_nth l i t : sorted <=%R l -> t < hi -> (nth hi l i <= t) = (i < upto t l)%N.
Proof.
elim: l i => [|x l IH] i /= srt thi; first by rewrite nth_nil leNgt thi ltn0.
have xl : all (<=%R x) l by apply: order_path_min srt; apply: le_trans.
have srtl := path_sorted srt.
rewrite /upto /=; case: (leP x t) => [xt|tx]; first by case: i => [|i] //=; rewrite add1n ltnS IH.
have -> : count (fun y => y <= t) l = 0%N.
  by apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn => y /(allP xl) xy; rewrite -ltNge (lt_le_trans tx).
rewrite addn0 ltn0; case: i => [|i] /=; first by apply/negbTE; rewrite -ltNge.
apply/negbTE; rewrite -ltNge; case: (ltnP i (size l)) => il; last by rewrite nth_default.
by apply: lt_le_trans tx (allP xl _ _); apply: mem_nth.
Qed.

(* The one property from which everything below follows. *)
Lemma rankP s i t : t < hi -> (rank s i.+1 <= t) = (i < upto t s)%N.
Proof.
move=> thi; rewrite /rank /= sorted_nth ?sort_sorted //; last exact: le_total.
by rewrite (upto_perm _ (permEl (perm_sort _ _))).
Qed.

Lemma rank0 s : rank s 0 = lo. Proof. by []. Qed.

Lemma rank_in s i : inside s -> lo <= rank s i <= hi.
Proof.
move=> ins; case: i => [|i]; first by rewrite rank0 lexx.
rewrite /rank /=; case: (ltnP i (size (sort <=%R s))) => il; last by rewrite nth_default // lohi lexx.
by apply: (allP ins); rewrite -(perm_mem (permEl (perm_sort <=%R s))) mem_nth.
Qed.

Lemma rank_out s i : (size s < i)%N -> rank s i = hi.
Proof. by case: i => // i le; rewrite /rank /= nth_default // size_sort. Qed.

(* If no threshold has more than k cells more below it, no rank falls by more than k places. *)
Lemma rank_ge s r k i : inside s -> inside r -> (forall t, upto t r <= upto t s + k)%N -> rank s (i - k) <= rank r i.
Proof.
move=> ins inr le; case E: (i - k)%N => [|j]; first by rewrite rank0; case/andP: (rank_in i inr).
case: (ltP (rank r i) hi) => [lt|]; last by case/andP: (rank_in j.+1 ins) => _; apply: le_trans.
case: i E lt => [|i] E lt; first by rewrite sub0n in E.
by rewrite rankP //; have := rankP r i lt; rewrite lexx => /esym; have := le (rank r i.+1); lia.
Qed.

Lemma rank_mono s i j : inside s -> (i <= j)%N -> rank s i <= rank s j.
Proof.
move=> ins ij; have := @rank_ge s s (j - i) j ins ins; rewrite subKn //; apply=> t; exact: leq_addr.
Qed.

Lemma rank_perm s r i : perm_eq s r -> rank s i = rank r i.
Proof. by move=> p; rewrite /rank; congr (nth _ (_ :: _) _); apply/perm_sortP => //; [exact: le_total|exact: le_trans|exact: le_anti]. Qed.

(* What one changed cell does to counts. *)
Definition replaced s s' := exists x y r, perm_eq s (x :: r) /\ perm_eq s' (y :: r).
Definition added s s' := exists y, perm_eq s' (y :: s).

Lemma replaced_upto s s' t : replaced s s' -> (upto t s' <= upto t s + 1)%N.
Proof. by case=> x [y [r [/upto_perm-> /upto_perm->]]]; rewrite /upto /=; lia. Qed.

Lemma replaced_sym s s' : replaced s s' -> replaced s' s.
Proof. by case=> x [y [r [p q]]]; exists y, x, r. Qed.

Lemma replaced_size s s' : replaced s s' -> size s' = size s.
Proof. by case=> x [y [r [/perm_size-> /perm_size->]]]. Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py end_span, preprocessing/impute_median.py median_gap]
    One replaced cell moves the value of every rank to a neighbour's place at most: x_(i-1) <= x'_(i) <= x_(i+1), the declared
    bounds beyond the ends. *)
Theorem rank_replaced s s' i : inside s -> inside s' -> replaced s s' ->
  rank s i.-1 <= rank s' i <= rank s i.+1.
Proof.
move=> ins ins' rep; apply/andP; split.
  by rewrite -subn1; apply: rank_ge => // t; apply: replaced_upto.
have := @rank_ge s' s 1 i.+1 ins' ins; rewrite subn1; apply=> t.
exact/replaced_upto/replaced_sym.
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py end_span, preprocessing/impute_median.py median_gap]
    One added cell moves the value of every rank down, by one place at most: x_(i-1) <= x'_(i) <= x_(i). *)
Theorem rank_added s s' i : inside s -> inside s' -> added s s' ->
  rank s i.-1 <= rank s' i <= rank s i.
Proof.
move=> ins ins' [y p]; apply/andP; split.
  by rewrite -subn1; apply: rank_ge => // t; rewrite (upto_perm _ p) /upto /=; lia.
have := @rank_ge s' s 0 i ins' ins; rewrite subn0; apply=> t.
by rewrite (upto_perm _ p) /upto /= addn0 leq_addl.
Qed.

(* A replaced cell moves all ranks the same way. *)
Definition raised s s' := exists x y r, [/\ x <= y, perm_eq s (x :: r) & perm_eq s' (y :: r)].

Lemma raised_or s s' : replaced s s' -> raised s s' \/ raised s' s.
Proof.
by case=> x [y [r [p q]]]; case: (leP x y) => [|/ltW] xy; [left; exists x, y, r|right; exists y, x, r].
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py end_span, preprocessing/impute_median.py median_gap]
    A cell replaced by a larger one moves no rank down: x_(i) <= x'_(i) <= x_(i+1). *)
Theorem rank_raised s s' i : inside s -> inside s' -> raised s s' -> rank s i <= rank s' i <= rank s i.+1.
Proof.
move=> ins ins' [x [y [r [xy p q]]]]; apply/andP; split.
  have := @rank_ge s s' 0 i ins ins'; rewrite subn0; apply=> t.
  rewrite (upto_perm _ p) (upto_perm _ q) /upto /= addn0 leq_add2r.
  by case: (leP y t) => // yt; rewrite (le_trans xy yt).
have := @rank_ge s' s 1 i.+1 ins' ins; rewrite subn1; apply=> t.
by rewrite (upto_perm _ p) (upto_perm _ q) /upto /=; lia.
Qed.

Lemma rank_lowered s s' i : inside s -> inside s' -> raised s' s -> rank s i.-1 <= rank s' i <= rank s i.
Proof.
move=> ins ins' up; case: i => [|i] /=; first by rewrite !rank0 !lexx.
by case/andP: (rank_raised i ins' ins up) => _ ->; case/andP: (rank_raised i.+1 ins' ins up) => ->.
Qed.

(* ---- the lower median ---- *)
Variable middle : R.
Definition half k := (k.+1)./2.          (* ceil(k/2) *)
Definition median s := if s is [::] then middle else rank s (half (size s)).
(* NearMedian: the values next to the median of s are at most G away. *)
Definition near_median s (G : R) :=
  (rank s (half (size s)).+1 - rank s (half (size s)) <= G) &&
  (rank s (half (size s)) - rank s (half (size s)).-1 <= G).

Lemma medianE s : s != [::] -> median s = rank s (half (size s)).
Proof. by case: s. Qed.

Lemma between s s' (G a b : R) : a <= median s' <= b -> median s - a <= G -> b - median s <= G -> `|median s - median s'| <= G.
Proof.
case/andP=> am mb h1 h2; rewrite ler_norml; apply/andP; split.
  by rewrite ler_oppl opprB; apply: le_trans h2; rewrite ler_add2r.
by apply: le_trans h1; rewrite ler_add2l ler_opp2.
Qed.

(** [impute.md; preprocessing/impute_median.py lower_median NearMedian]
    A replaced cell moves the lower median by at most G, if the values next to the median of one of the two columns
    are at most G from it. *)
Theorem median_replaced s s' G : inside s -> inside s' -> replaced s s' -> near_median s G ->
  `|median s - median s'| <= G.
Proof.
move=> ins ins' rep /andP[up down]; have sz := replaced_size rep.
have n0 : s != [::] by apply/eqP => e; case: rep => x [y [r [/perm_size]]]; rewrite e.
have n0' : s' != [::] by rewrite -size_eq0 sz size_eq0.
have b : rank s (half (size s)).-1 <= median s' <= rank s (half (size s)).+1.
  by rewrite (medianE n0') sz; apply: rank_replaced.
by apply: (between b); rewrite medianE.
Qed.

(* The bound holds with either column as the one that meets the condition, so both orders are said. *)
Lemma median_added_low s s' G : inside s -> inside s' -> added s s' -> s != [::] -> near_median s G ->
  `|median s - median s'| <= G.
Proof.
move=> ins ins' ad n0 /andP[up down]; have [y p] := ad.
have sz : size s' = (size s).+1 by rewrite (perm_size p).
have n0' : s' != [::] by rewrite -size_eq0 sz.
have h : (half (size s') = half (size s)) \/ (half (size s') = (half (size s)).+1) by rewrite sz /half; lia.
have b : rank s (half (size s)).-1 <= median s' <= rank s (half (size s)).+1.
  rewrite medianE //; case: h => ->; have := rank_added _ ins ins' ad.
    by move=> /(_ (half (size s)))/andP[-> le] /=; apply: le_trans le _; apply: rank_mono.
  move=> /(_ (half (size s)).+1)/andP[le ->]; rewrite andbT; apply: le_trans le.
  by apply: rank_mono => //=; apply: leq_pred.
by apply: (between b); rewrite medianE.
Qed.

Lemma median_added_high s s' G : inside s -> inside s' -> added s s' -> s != [::] -> near_median s' G ->
  `|median s - median s'| <= G.
Proof.
move=> ins ins' ad n0 /andP[up down]; have [y p] := ad.
have sz : size s' = (size s).+1 by rewrite (perm_size p).
have n0' : s' != [::] by rewrite -size_eq0 sz.
have h : (half (size s') = half (size s)) \/ (half (size s') = (half (size s)).+1) by rewrite sz /half; lia.
have b : rank s' (half (size s')).-1 <= median s <= rank s' (half (size s')).+1.
  rewrite (medianE n0); case: h => ->; have le i := rank_added i ins ins' ad.
    apply/andP; split; last by case/andP: (le (half (size s)).+1).
    apply: le_trans (rank_mono ins' (leq_pred _)) _; by case/andP: (le (half (size s))).
  apply/andP; split; first by case/andP: (le (half (size s))).
  case/andP: (le (half (size s)).+1) => /= h1 _; apply: le_trans h1 _; exact: rank_mono.
by rewrite distrC; apply: (between b); rewrite medianE.
Qed.

(** [impute.md; preprocessing/impute_median.py lower_median NearMedian MedianImputer]
    An added or removed cell moves the lower median by at most G, if the values next to the median of one of the two columns are
    at most G from it; the column without cells is filled at any declared point. *)
Theorem median_added s s' G : inside s -> inside s' -> added s s' -> lo <= middle <= hi ->
  near_median s G || near_median s' G -> `|median s - median s'| <= G.
Proof.
move=> ins ins' ad mid; case: (altP (s =P [::])) => [s0|n0]; last first.
  by case/orP; [exact: median_added_low|exact: median_added_high].
have wide : (exists2 x, inside [:: x] & perm_eq s' [:: x]).
  by case: ad => y; rewrite s0 => p; exists y => //; rewrite -(inside_perm p).
case: wide => x inx p; have xin : lo <= x <= hi by move: inx; rewrite /inside /= andbT.
have ms' : median s' = x.
  by rewrite medianE -?size_eq0 (perm_size p) //= (rank_perm _ p) /rank /=.
rewrite s0 ms' /=; case/orP => /andP[]; rewrite /half.
  rewrite /= /rank /= => w _; rewrite ler_norml; case/andP: mid => m1 m2; case/andP: xin => x1 x2.
  by rewrite ler_oppl opprB; apply/andP; split; apply: le_trans w; apply: ler_sub.
rewrite (perm_size p) /= (rank_perm _ p) (rank_perm 1 p) /rank /= => up down.
rewrite ler_norml; case/andP: mid => m1 m2.
apply/andP; split; first by rewrite ler_oppl opprB; apply: le_trans down; rewrite ler_add2l ler_opp2.
by apply: le_trans up; rewrite ler_add2r.
Qed.

(* Rows that came in moved: pairs of cells (before, after) of the same records. *)
Lemma upto_shift (ps : seq (R * R)) d t : all (fun p => `|p.1 - p.2| <= d) ps ->
  (upto t (unzip1 ps) <= upto (t + d) (unzip2 ps))%N.
Proof.
elim: ps => //= p ps IH /andP[pd /IH]; rewrite /upto /= => le; apply: leq_add le.
case: (leP p.1 t) => //= pt; rewrite lt0b; apply: (@le_trans _ _ (p.1 + d)); last by rewrite ler_add2r.
by move: pd; rewrite distrC => /(le_trans (ler_norm _)); rewrite ler_subl_addl.
Qed.

Lemma rank_shift_le (ps : seq (R * R)) d i : 0 <= d -> inside (unzip1 ps) -> inside (unzip2 ps) ->
  all (fun p => `|p.1 - p.2| <= d) ps -> rank (unzip2 ps) i <= rank (unzip1 ps) i + d.
Proof.
move=> d0 in1 in2 sh; case: i => [|i]; first by rewrite !rank0 ler_addl.
set t := rank _ i.+1 + d; case: (ltP t hi) => [lt|]; last by case/andP: (rank_in i.+1 in2) => _; apply: le_trans.
rewrite rankP //; have th : rank (unzip1 ps) i.+1 < hi by apply: le_lt_trans lt; rewrite ler_addl.
have := rankP (unzip1 ps) i th; rewrite lexx => /esym lt1.
exact: leq_trans lt1 (upto_shift _ sh).
Qed.

(** [impute.md; preprocessing/impute_median.py MedianImputer.moves]
    If no cell moves by more than d, no order statistic does: the median of rows that came in moved adds row_shift. *)
Theorem rank_shift (ps : seq (R * R)) d i : 0 <= d -> inside (unzip1 ps) -> inside (unzip2 ps) ->
  all (fun p => `|p.1 - p.2| <= d) ps -> `|rank (unzip1 ps) i - rank (unzip2 ps) i| <= d.
Proof.
move=> d0 in1 in2 sh; rewrite ler_norml; apply/andP; split.
  by rewrite ler_oppl opprB ler_subl_addl rank_shift_le.
have sw1 : unzip1 [seq (p.2, p.1) | p <- ps] = unzip2 ps by rewrite /unzip1 -map_comp.
have sw2 : unzip2 [seq (p.2, p.1) | p <- ps] = unzip1 ps by rewrite /unzip2 -map_comp.
rewrite ler_subl_addl -sw1 -{1}sw2 rank_shift_le ?sw1 ?sw2 //.
by rewrite all_map; apply: sub_all sh => p /=; rewrite distrC.
Qed.
End Ranks.
