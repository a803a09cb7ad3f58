(* docs/proofs/impute.md, sections 1 and 3: the trimmed mean, its distance, and what a fade adds to any statistic. *)
From mathcomp Require Import all_ssreflect all_algebra zify.
From mathcomp.algebra_tactics Require Import ring.
Require Import impute order.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Sums.
Variables (R : realDomainType) (lo hi : R).
Hypothesis lohi : lo <= hi.
Implicit Types (s r : seq R) (x y : R) (i k : nat).
Local Notation rank := (rank lo hi).
Local Notation inside := (inside lo hi).

Variable e : nat.                  (* left out at each end *)
Definition trimmed s := \sum_(e.+1 <= i < (size s - e).+1) rank s i.
(* EndSpan: the values that trimming cuts at. *)
Definition end_span s := rank s (size s - e).+1 - rank s e.

Lemma raised_size s s' : raised s s' -> size s' = size s.
Proof. by case=> x [y [r [_ /perm_size-> /perm_size->]]]. Qed.

Lemma enough (k : nat) : (e + e <= k)%N -> (e <= k - e)%N.
Proof. by move=> le; rewrite -(leq_add2r e) subnK // (leq_trans (leq_addr e e)). Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer EndSpan]
    One replaced cell moves the sum of the kept cells, x_(e+1) + ... + x_(k-e), by at most
    max(x_(k-e+1) - x_(e+1), x_(k-e) - x_(e)). *)
Theorem trimmed_replaced s s' : inside s -> inside s' -> replaced s s' -> (e + e <= size s)%N ->
  `|trimmed s' - trimmed s| <= Num.max (rank s (size s - e).+1 - rank s e.+1) (rank s (size s - e) - rank s e).
Proof.
move=> ins ins' /raised_or rep /enough ek; rewrite /trimmed le_maxr.
case: rep => up; [have sz := raised_size up|have sz := esym (raised_size up)]; rewrite sz -sumrB.
  apply/orP; left; rewrite ger0_norm; last first.
    by apply: sumr_ge0 => i _; rewrite subr_ge0; case/andP: (rank_raised lohi i ins ins' up).
  rewrite -telescope_sumr //; apply: ler_sum => i _; rewrite ler_add2r.
  by case/andP: (rank_raised lohi i ins ins' up).
apply/orP; right; rewrite -normrN -sumrN ger0_norm; last first.
  by apply: sumr_ge0 => i _; rewrite opprB subr_ge0; case/andP: (rank_lowered lohi i ins ins' up).
rewrite -telescope_sumr // big_add1 /=; apply: ler_sum => i _.
by rewrite opprB ler_add2l ler_opp2; case/andP: (rank_lowered lohi i.+1 ins ins' up).
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer EndSpan]
    So by at most the span of the values that are cut at, x_(k-e+1) - x_(e), of either column. *)
Theorem trimmed_replaced_span s s' : inside s -> inside s' -> replaced s s' -> (e + e <= size s)%N ->
  `|trimmed s' - trimmed s| <= Num.min (end_span s) (end_span s').
Proof.
have one s1 s2 : inside s1 -> inside s2 -> replaced s1 s2 -> (e + e <= size s1)%N -> `|trimmed s2 - trimmed s1| <= end_span s1.
  move=> in1 in2 rep ek; apply: le_trans (trimmed_replaced in1 in2 rep ek) _; rewrite le_maxl /end_span.
  by apply/andP; split; [apply: ler_sub => //|apply: ler_sub => //]; apply: rank_mono.
move=> ins ins' rep ek; rewrite le_minr one //= distrC one //; first exact: replaced_sym.
by rewrite (replaced_size rep).
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer]
    An added cell: the kept cells are the ones before and one value more, between x_(e) and x_(k-e+1). *)
Theorem trimmed_added s s' : inside s -> inside s' -> added s s' -> (e + e <= size s)%N ->
  exists2 z, trimmed s' = trimmed s + z & rank s e <= z <= rank s (size s - e).+1.
Proof.
move=> ins ins' ad /enough ek; have sz : size s' = (size s).+1 by case: ad => y /perm_size->.
exists (trimmed s' - trimmed s); first by rewrite addrCA subrr addr0.
have ks : (e <= size s)%N by apply: leq_trans ek (leq_subr _ _).
rewrite /trimmed sz subSn // ler_subr_addl ler_subl_addl; apply/andP; split.
  rewrite addrC -(big_ltn (F := fun i => rank s i)) ?ltnS // [X in _ <= X]big_add1 /=.
  by apply: ler_sum => i _; case/andP: (rank_added lohi i.+1 ins ins' ad).
rewrite -(big_nat_recr (size s - e).+1 e.+1 (fun i => rank s i)) ?ltnS //.
by apply: ler_sum => i _; case/andP: (rank_added lohi i ins ins' ad).
Qed.

Lemma trimmed_within s : inside s -> (e + e <= size s)%N ->
  rank s e *+ (size s - e - e) <= trimmed s <= rank s (size s - e).+1 *+ (size s - e - e).
Proof.
move=> ins /enough ek; rewrite /trimmed.
have n a b (x : R) : \sum_(a.+1 <= i < b.+1) x = x *+ (b - a) by rewrite sumr_const_nat subSS.
by rewrite -!n; apply/andP; split; rewrite big_nat [X in _ <= X]big_nat; apply: ler_sum => i /andP[lo_i hi_i];
   apply: rank_mono => //; apply: ltnW.
Qed.

(* Spans shrink where a cell is taken away, and the distance counts them. *)
Definition grown s k := rank s ((size s - e).+1 + k) - rank s (e - k).

(** [impute.md; preprocessing/impute_trimmed_mean.py trimmed_distance]
    A'(k) = x_(N-e+1+k) - x_(e-k), columns of at least e cells: after one cell is replaced, added or removed, A'(k) is at most what A'(k + 1) was, so the distance,
    the least k with A'(k) > spread, is 1-Lipschitz. *)
Theorem trimmed_distance_lipschitz s s' k : inside s -> inside s' -> (e <= size s)%N -> (e <= size s')%N ->
  replaced s s' \/ added s s' \/ added s' s -> grown s' k <= grown s k.+1.
Proof.
move=> ins ins' es es' change; rewrite /grown.
have -> : (e - k.+1 = (e - k).-1)%N by rewrite subnS.
case: change => [rep|[ad|re]].
- rewrite (replaced_size rep) addnS; apply: ler_sub.
    by case/andP: (rank_replaced lohi ((size s - e).+1 + k) ins ins' rep).
  by case/andP: (rank_replaced lohi (e - k) ins ins' rep).
- have -> : size s' = (size s).+1 by case: ad => y /perm_size->.
  rewrite subSn // addnS -addSn; apply: ler_sub.
    by case/andP: (rank_added lohi ((size s - e).+2 + k) ins ins' ad).
  by case/andP: (rank_added lohi (e - k) ins ins' ad).
have sz : size s = (size s').+1 by case: re => y /perm_size->.
rewrite sz subSn // addnS; apply: ler_sub.
  case/andP: (rank_added lohi ((size s' - e).+2 + k).+1 ins' ins re) => /= le _.
  by apply: le_trans le; apply: rank_mono => //; rewrite leq_add2r.
case/andP: (rank_added lohi (e - k) ins' ins re) => _ le; apply: le_trans le.
by apply: rank_mono => //; apply: leq_pred.
Qed.

(* Sorting is a contraction. *)
Lemma sum_ranks s : \sum_(1 <= i < (size s).+1) rank s i = \sum_(x <- s) x.
Proof.
rewrite big_add1 /= -(perm_big _ (permEl (perm_sort <=%R s))) /= (big_nth hi) size_sort.
by apply: eq_bigr => i _; rewrite /order.rank.
Qed.

Lemma one_moved x y r : inside (x :: r) -> inside (y :: r) ->
  \sum_(1 <= i < (size r).+2) `|rank (x :: r) i - rank (y :: r) i| <= `|x - y|.
Proof.
wlog xy : x y / x <= y => [wl|] inx iny.
  case: (leP x y) => [|/ltW] xy; first exact: wl.
  by rewrite distrC; under eq_bigr do rewrite distrC; apply: wl.
have up : raised (x :: r) (y :: r) by exists x, y, r.
have E i : `|rank (x :: r) i - rank (y :: r) i| = rank (y :: r) i - rank (x :: r) i.
  by rewrite distrC ger0_norm // subr_ge0; case/andP: (rank_raised lohi i inx iny up).
under eq_bigr do rewrite E.
rewrite sumrB -[(size r).+1]/(size (y :: r)) sum_ranks -[size (y :: r)]/(size (x :: r)) sum_ranks.
by rewrite !big_cons opprD addrACA subrr addr0 distrC ger0_norm // subr_ge0.
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer.moves]
    Sorting is a contraction in l1: if the cells move by |d_1| + ... + |d_k| in all, the order statistics together move by no more. *)
Theorem sorting_contracts (ps : seq (R * R)) : inside (unzip1 ps) -> inside (unzip2 ps) ->
  \sum_(1 <= i < (size ps).+1) `|rank (unzip1 ps) i - rank (unzip2 ps) i| <= \sum_(p <- ps) `|p.1 - p.2|.
Proof.
suff gen r : inside r -> inside (unzip1 ps) -> inside (unzip2 ps) ->
    \sum_(1 <= i < (size r + size ps).+1) `|rank (r ++ unzip1 ps) i - rank (r ++ unzip2 ps) i| <= \sum_(p <- ps) `|p.1 - p.2|.
  by move=> i1 i2; apply: (gen [::]).
elim: ps r => [|[x y] ps IH] r inr.
  by rewrite big_nil /= !cats0 => _ _; rewrite big1 // => i _; rewrite subrr normr0.
rewrite /= => /andP[xin in1] /andP[yin in2]; rewrite big_cons /=.
have step i : `|rank (r ++ x :: unzip1 ps) i - rank (r ++ y :: unzip2 ps) i| <=
   `|rank (x :: r ++ unzip1 ps) i - rank (y :: r ++ unzip1 ps) i| +
   `|rank ((y :: r) ++ unzip1 ps) i - rank ((y :: r) ++ unzip2 ps) i|.
  rewrite (rank_perm _ _ _ (_ : perm_eq (r ++ x :: unzip1 ps) (x :: r ++ unzip1 ps))); last by rewrite -cat1s perm_catCA.
  rewrite (rank_perm _ _ _ (_ : perm_eq (r ++ y :: unzip2 ps) (y :: r ++ unzip2 ps))); last by rewrite -cat1s perm_catCA.
  exact: ler_dist_add.
apply: le_trans (ler_sum _ (fun i _ => step i)) _; rewrite big_split /=; apply: ler_add.
  have -> : (size r + (size ps).+1 = (size (r ++ unzip1 ps)).+1)%N by rewrite size_cat size_map addnS.
  by apply: one_moved; rewrite /inside /= all_cat; apply/andP; split=> //; apply/andP.
by have := IH (y :: r); rewrite /= addSnnS; apply => //; apply/andP.
Qed.
End Sums.

Section Means.
Variables (R : realFieldType) (h : R).
Hypothesis h0 : 0 <= h.
Implicit Types (s : seq R).
Let lohi : - h <= h. Proof. by apply: le_trans h0; rewrite oppr_le0. Qed.
Variables (e M : nat).
Hypothesis M1 : (0 < M)%N.
Definition trimmed_mean s := trimmed (- h) h e s / (maxn (size s - e - e) M)%:R.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer.statistics]
    Divided by max(k - 2e, N - 2e), a replaced cell moves the trimmed mean by at most g / (N - 2e), if x_(k-e+1) - x_(e) <= g in one of
    the two columns. *)
Theorem trimmed_mean_replaced s s' g : inside (- h) h s -> inside (- h) h s' -> replaced s s' -> (e + e <= size s)%N ->
  Num.min (end_span (- h) h e s) (end_span (- h) h e s') <= g -> `|trimmed_mean s - trimmed_mean s'| <= g / M%:R.
Proof.
move=> ins ins' rep ek le; rewrite /trimmed_mean (replaced_size rep) -mulrBl normrM distrC.
have m0 : (0 : R) < (maxn (size s - e - e) M)%:R by rewrite ltr0n leq_max M1 orbT.
rewrite (gtr0_norm (_ : 0 < _^-1)) ?invr_gt0 //; apply: ler_pmul; rewrite ?normr_ge0 ?invr_ge0 ?ler0n //.
  exact: le_trans (trimmed_replaced_span lohi ins ins' rep ek) le.
by rewrite inv_le // leq_maxr.
Qed.

(** [impute.md; preprocessing/impute_trimmed_mean.py TrimmedMeanImputer.statistics]
    An added or removed cell, where the divisor's floor is not active (as in every table that fills anything in): at most
    g / (N - 2e), with the condition on either column. *)
Theorem trimmed_mean_added s s' g : inside (- h) h s -> inside (- h) h s' -> added s s' -> (M + e + e <= size s)%N ->
  Num.min (end_span (- h) h e s) (end_span (- h) h e s') <= g -> `|trimmed_mean s - trimmed_mean s'| <= g / M%:R.
Proof.
move=> ins ins' ad Mk le; have sz : size s' = (size s).+1 by case: ad => y /perm_size->.
have ek : (e + e <= size s)%N by apply: leq_trans Mk; rewrite -addnA leq_addl.
have ks : (e <= size s - e)%N by apply: enough.
have kM : (M <= size s - e - e)%N by rewrite -subnDA leq_subRL // addnC addnA.
have [z Tz /andP[z1 z2]] := trimmed_added lohi ins ins' ad ek.
set k := (size s - e - e)%N in kM; have k0 : (0 < k)%N := leq_trans M1 kM.
have sk : (size s' - e - e = k.+1)%N by rewrite sz subSn ?(leq_trans (enough ek)) ?leq_subr // subSn.
rewrite /trimmed_mean Tz sk -/k (maxn_idPl kM) (maxn_idPl (leqW kM)).
set T := trimmed _ _ _ s; set m := T / k%:R.
have kr : k%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have Tm : T = m * k%:R by rewrite /m divfK.
rewrite (mean_step z Tm) opprD addrA subrr add0r normrN normrM.
rewrite (gtr0_norm (_ : 0 < k.+1%:R^-1)) ?invr_gt0 ?ltr0n //.
have [m1 m2] : rank (- h) h s e <= m /\ m <= rank (- h) h s (size s - e).+1.
  have /andP[t1 t2] := trimmed_within lohi ins ek.
  by split; [rewrite ler_pdivl_mulr ?ltr0n // mulr_natr|rewrite ler_pdivr_mulr ?ltr0n // mulr_natr].
have zm : `|z - m| <= end_span (- h) h e s.
  rewrite ler_norml /end_span opprB; apply/andP; split; exact: ler_sub.
have zg : `|z - m| <= g.
  apply: le_trans le; rewrite le_minr zm /=; apply: le_trans zm _; rewrite /end_span sz subSn ?(leq_trans ks) ?leq_subr //.
  apply: ler_sub; first by case/andP: (rank_added lohi (size s - e).+2 ins ins' ad).
  by case/andP: (rank_added lohi e ins ins' ad).
apply: ler_pmul; rewrite ?normr_ge0 ?invr_ge0 ?ler0n //.
by rewrite inv_le // leqW.
Qed.
End Means.

(* From any statistic to the rows of its column. *)
Section Fade.
Variables (R : realFieldType) (h D : R) (p m : nat).
Hypothesis m0 : (0 < m)%N.

(** [impute.md; preprocessing/impute_caps.py Imputer.sensitivity MissingCaps.full_rows]
    Section 1, any statistic s, the record has its cell in one table only: c common rows that miss the cell move by at most
    K D + (p + m - 1) w/(2m) in total, if |s - s'| <= D and |s'| <= w/2. *)
Theorem fade_changed (s s' : R) c : `|s'| <= h -> `|s - s'| <= D ->
  c%:R * `|phi R p m c * s - phi R p m c.+1 * s'| <= K R p m * D + (p + m - 1)%N%:R * (h / m%:R).
Proof.
move=> sh sD; have hh0 : 0 <= h by apply: le_trans sh; apply: normr_ge0.
have -> : phi R p m c * s - phi R p m c.+1 * s' = phi R p m c * (s - s') + (phi R p m c - phi R p m c.+1) * s' by ring.
apply: le_trans (ler_wpmul2l (ler0n _ _) (ler_norm_add _ _)) _; rewrite mulrDr !normrM; apply: ler_add.
  rewrite mulrA (ger0_norm (phi_ge0 _ _ _ _)); apply: ler_pmul => //; last exact: phi_K.
  by rewrite mulr_ge0 ?phi_ge0 ?ler0n.
have /andP[d0 d1] := phi_step R p c m0; rewrite (ger0_norm d0).
case: (leqP (p + m) c) => [out|inn].
  by rewrite !phi_out // ?(leq_trans out) // subrr mul0r mulr0 mulr_ge0 ?ler0n // divr_ge0 ?ler0n.
apply: ler_pmul; rewrite ?ler0n ?mulr_ge0 //.
  by rewrite ler_nat -ltnS subn1 prednK // (leq_ltn_trans _ inn).
by rewrite mulrC; apply: ler_pmul => //; rewrite ?normr_ge0.
Qed.

(** [impute.md; preprocessing/impute_caps.py Imputer.sensitivity MissingCaps.full_rows]
    Section 1, the record has its cell in both tables or in neither: q >= c cells are missing in both, and c common rows move by at most
    K D in total. *)
Theorem fade_same (s s' : R) c q : (c <= q)%N -> `|s - s'| <= D -> c%:R * `|phi R p m q * s - phi R p m q * s'| <= K R p m * D.
Proof.
move=> cq sD; rewrite -mulrBr normrM (ger0_norm (phi_ge0 _ _ _ _)) mulrA; apply: ler_pmul => //.
  by rewrite mulr_ge0 ?phi_ge0 ?ler0n.
by apply: le_trans (phi_K R p q m0); apply: ler_wpmul2r; rewrite ?phi_ge0 // ler_nat.
Qed.
End Fade.
