(* docs/proofs/impute.md, section 4: the exact distance of the lower median's condition (median_distance). *)
From mathcomp Require Import all_ssreflect all_algebra zify.
Require Import order.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Distance.
Variables (R : realDomainType) (lo hi : R).
Hypothesis lohi : lo <= hi.
Implicit Types (s c e r : seq R) (t : R) (i j k K : nat).
Local Notation rank := (rank lo hi).
Local Notation inside := (inside lo hi).

(* The window number i of K + 2 ranks around the median; `median_gap` of the code is the largest. *)
Definition window s K i := rank s (half (size s) + i) - rank s (half (size s) + i - K.+1).
Definition median_gap s K := foldr Num.max 0 [seq window s K i | i <- iota 0 K.+2].

Lemma foldr_maxP (l : seq R) x : (x <= foldr Num.max 0 l) = (x <= 0) || has (>= x) l.
Proof. by elim: l => [|y l IH] /=; rewrite ?orbF // le_maxr IH orbCA. Qed.

Lemma window_le s K i : (i <= K.+1)%N -> window s K i <= median_gap s K.
Proof.
move=> iK; rewrite foldr_maxP; apply/orP; right; apply/hasP; exists (window s K i) => //.
by apply: map_f; rewrite mem_iota.
Qed.

Lemma median_gap_ge0 s K : 0 <= median_gap s K.
Proof. by rewrite foldr_maxP lexx. Qed.

Lemma median_gapP s K G : 0 <= G -> (G < median_gap s K) -> exists2 i, (i <= K.+1)%N & G < window s K i.
Proof.
move=> G0; rewrite /median_gap; set l := [seq _ | _ <- _] => lt.
have : has (fun x => G < x) l.
  by elim: l lt => [|y l IH] /=; [rewrite ltNge G0|rewrite lt_maxr => /orP[->|/IH->]; rewrite ?orbT].
by case/hasP => x /mapP[i]; rewrite mem_iota => /andP[_ iK] -> lt'; exists i.
Qed.

(* A gap of s' between consecutive ranks lies between ranks a and b of s. *)
Lemma gap_lies s s' c e r j : inside s -> inside s' -> perm_eq s (c ++ r) -> perm_eq s' (e ++ r) ->
  rank s' j < rank s' j.+1 ->
  exists a b, [/\ rank s a <= rank s' j, rank s' j.+1 <= rank s b, (j <= a + size e)%N,
    (b <= j + size c + 1)%N & (b <= a + size c + 1)%N].
Proof.
move=> ins ins' ps ps'; set g0 := rank s' j => gap.
have g0hi : g0 < hi by apply: lt_le_trans gap _; case/andP: (rank_in lohi j.+1 ins').
have up s1 c1 : perm_eq s1 (c1 ++ r) -> forall t, upto t s1 = (upto t c1 + upto t r)%N.
  by move=> p t; rewrite (upto_perm _ p) upto_cat.
have eqj : upto g0 s' = j.
  apply/eqP; rewrite eqn_leq; apply/andP; split.
    by rewrite leqNgt -(rankP lo _ _ g0hi) -ltNge.
  by case: j @g0 gap g0hi => // j g0 gap g0hi; rewrite -(rankP lo _ _ g0hi) lexx.
have jE : (upto g0 e + upto g0 r)%N = j by rewrite -(up _ _ ps') eqj.
have E1 := upto_size g0 e; have C1 := upto_size g0 c.
exists (upto g0 s), ((upto g0 r + size c).+1).
split; [| |by rewrite (up _ _ ps); lia|by lia|by rewrite (up _ _ ps); lia].
  case A: (upto g0 s) => [|a]; first by rewrite rank0; case/andP: (rank_in lohi j ins').
  by rewrite rankP // A.
rewrite leNgt; apply/negP => lt.
set t := rank s _ in lt; have thi : t < hi by apply: lt_le_trans lt _; case/andP: (rank_in lohi j.+1 ins').
have := rankP lo s (upto g0 r + size c) thi; rewrite lexx (up _ _ ps) => /esym bt.
have Ct := upto_size t c.
have g0t : g0 < t by rewrite ltNge; apply/negP => tg; have := upto_mono r tg; lia.
have := rankP lo s' j thi; rewrite leNgt lt /= (up _ _ ps').
have := upto_mono e (ltW g0t); lia.
Qed.

Lemma window_arith (k k' C E K j a b : nat) : (k + E = k' + C)%N -> (C <= K)%N -> (E <= K)%N ->
  (j <= half k')%N -> (half k' <= j.+1)%N -> (j <= a + E)%N -> (b <= j + C + 1)%N -> (b <= a + C + 1)%N ->
  [/\ (half k <= a + K.+1)%N, (b <= half k + K.+1)%N & (b <= a + K.+1)%N].
Proof. by rewrite /half => *; split; lia. Qed.

(** [impute.md; preprocessing/impute_median.py median_gap]
    However K cells are changed (C removed and E added, C, E <= K), the gaps next to the lower median are then at most A(K),
    the largest difference of the values at both ends of a window of K + 2 ranks around the median. *)
Theorem median_gap_at_most s s' c e r K : inside s -> inside s' -> perm_eq s (c ++ r) -> perm_eq s' (e ++ r) ->
  (size c <= K)%N -> (size e <= K)%N -> near_median lo hi s' (median_gap s K).
Proof.
move=> ins ins' ps ps' cK eK; set h' := half (size s').
have sz : (size s + size e = size s' + size c)%N by rewrite (perm_size ps) (perm_size ps') !size_cat addnAC [RHS]addnAC [(size e + _)%N]addnC.
have small j : (j <= h')%N -> (h' <= j.+1)%N -> rank s' j.+1 - rank s' j <= median_gap s K.
  move=> jh hj; case: (ltP (rank s' j) (rank s' j.+1)) => [gap|le]; last first.
    by apply: le_trans (median_gap_ge0 s K); rewrite subr_le0.
  have [a [b [ra rb la lb lc]]] := gap_lies ins ins' ps ps' gap.
  have [ha hb hc] := window_arith sz cK eK jh hj la lb lc.
  set h := half (size s) in ha hb; pose u := minn a h.
  have hu : (h <= u + K.+1)%N by rewrite /u addn_minl leq_min ha leq_addr.
  have i0 : (u + K.+1 - h <= K.+1)%N by rewrite leq_subLR leq_add2r geq_minr.
  apply: le_trans (window_le s i0); rewrite /window -/h subnKC // addnK; apply: ler_sub.
    by apply: le_trans rb _; apply: rank_mono => //; rewrite /u addn_minl leq_min hb hc.
  by apply: le_trans _ ra; apply: rank_mono => //; apply: geq_minl.
rewrite /near_median -/h'; apply/andP; split; first exact: small.
case E: h' => [|k]; first by rewrite /= subrr median_gap_ge0.
by rewrite /=; apply: small; rewrite E.
Qed.

Lemma sorted_take_drop s i j : inside s -> (i < j)%N ->
  all (<= rank s i) (take i (sort <=%R s)) /\ all (>= rank s j) (drop j.-1 (sort <=%R s)).
Proof.
move=> ins ij; set l := sort <=%R s.
have srt : sorted <=%R l by apply: sort_sorted; apply: le_total.
have inl : inside l by rewrite /l (inside_perm _ _ (permEl (perm_sort <=%R s))).
split.
  case: i ij => [|i] ij; first by rewrite take0.
  apply/(all_nthP hi) => k kl; have ki : (k <= i)%N by move: kl; rewrite size_take; case: ifP; lia.
  rewrite nth_take ?ltnS // /rank /= -/l; case: (ltnP i (size l)) => il.
    by apply: (sorted_leq_nth le_trans le_refl hi srt) => //; rewrite inE; lia.
  rewrite [X in _ <= X]nth_default //.
  have kl' : (k < size l)%N by apply: leq_trans kl _; rewrite size_take; case: ifP => // /ltnW.
  by case/andP: (allP inl _ (mem_nth hi kl')).
apply/(all_nthP hi) => k kl; rewrite nth_drop; move: kl; rewrite size_drop => kl.
case: j ij kl => // j ij /= kl; rewrite /rank /= -/l.
have kl2 : (j + k < size l)%N by rewrite -ltn_subRL.
apply: (sorted_leq_nth le_trans le_refl hi srt) => //; last exact: leq_addr.
by rewrite inE (leq_ltn_trans (leq_addr k j)).
Qed.

Lemma reach_arith n K i : (i <= K.+1)%N -> (half n + i - K.+1 < half n + i)%N ->
  exists m q, [/\ (q <= m)%N, (half n + i - K.+1 + q = half n \/ half n + i - K.+1 + q = (half n).-1)%N,
    (half n + i - K.+1 <= n)%N, (m <= K)%N & (m + (half n + i - K.+1) = minn (half n + i).-1 n)%N].
Proof.
move=> iK ab; exists (minn (half n + i).-1 n - (half n + i - K.+1))%N.
exists (if i is 0 then (half n).-1 - (half n + i - K.+1) else half n - (half n + i - K.+1))%N.
by move: iK ab; rewrite /half; case: i => [|i] iK ab; split; lia.
Qed.

(** [impute.md; preprocessing/impute_median.py median_gap median_distance]
    A(K) is reached: for every window, K cells or fewer can be replaced so that a gap next to the median is at least the difference of
    the values at its ends. So the least K with A(K) > G is the distance itself. *)
Theorem median_gap_reached s K i : inside s -> (i <= K.+1)%N ->
  exists s' c e r, [/\ inside s', perm_eq s (c ++ r), perm_eq s' (e ++ r), size e = size c & (size c <= K)%N] /\
    (window s K i <= rank s' (half (size s')).+1 - rank s' (half (size s')) \/
     window s K i <= rank s' (half (size s')) - rank s' (half (size s')).-1).
Proof.
move=> ins iK; rewrite /window; set h := half (size s); set a := (h + i - K.+1)%N; set b := (h + i)%N.
have ba : (a < b)%N || (a == b) by rewrite /a /b; lia.
have trivial : rank s b - rank s a <= 0 -> exists s' c e r, [/\ inside s', perm_eq s (c ++ r), perm_eq s' (e ++ r), size e = size c & (size c <= K)%N] /\
    (rank s b - rank s a <= rank s' (half (size s')).+1 - rank s' (half (size s')) \/
     rank s b - rank s a <= rank s' (half (size s')) - rank s' (half (size s')).-1).
  move=> le0; exists s, [::], [::], s; split; first by split.
  by left; apply: le_trans le0 _; rewrite subr_ge0; apply: rank_mono.
case/orP: ba => [ab|/eqP eab]; last by apply: trivial; rewrite eab subrr.
case: (leP (rank s b - rank s a) 0) => [|pos]; first exact: trivial.
have [lower upper] := sorted_take_drop ins ab; set l := sort <=%R s in lower upper.
have lsz : size l = size s by rewrite size_sort.
have [m [q [qm aq an mK maE]]] := reach_arith iK ab; rewrite -/h -/a -/b in aq an maE.
pose e := nseq q (rank s a) ++ nseq (m - q) (rank s b).
pose r := take a l ++ drop b.-1 l.
pose c := take m (drop a l).
have psl : perm_eq s (c ++ r).
  apply: (@perm_trans _ l); first by rewrite perm_sym; apply: permEl; apply: perm_sort.
  suff e1 : l = take a l ++ (c ++ drop b.-1 l) by rewrite {1}e1 /r; apply: permEl; apply: perm_catCA.
  rewrite -{1}(cat_take_drop a l); congr (_ ++ _); rewrite -{1}(cat_take_drop m (drop a l)); congr (_ ++ _).
  rewrite drop_drop maE /minn; case: ltnP => // le; rewrite !drop_oversize ?lsz //.
have szc : size c = m by rewrite /c size_takel // size_drop lsz -(leq_add2r a) subnK // maE geq_minr.
have sze : size e = m by rewrite /e size_cat !size_nseq subnKC.
have inr : inside r.
  have : inside (c ++ r) by rewrite -(inside_perm _ _ psl).
  by rewrite /inside all_cat => /andP[].
have ine : inside e by rewrite /inside /e all_cat !all_nseq !rank_in ?orbT.
pose s' := e ++ r.
have ins' : inside s' by rewrite /inside /s' all_cat; apply/andP.
have sz' : size s' = size s by rewrite (perm_size psl) /s' [size (c ++ r)]size_cat [size (e ++ r)]size_cat szc sze.
have alo : rank s a < hi.
  by apply: lt_le_trans (_ : rank s b <= _); [rewrite -subr_gt0|case/andP: (rank_in lohi b ins)].
have low : rank s' (a + q) <= rank s a.
  case E: (a + q)%N => [|k]; first by rewrite rank0; case/andP: (rank_in lohi a ins).
  rewrite rankP // -E /s' /e /r !upto_cat.
  have -> : upto (rank s a) (take a l) = a.
    by move: lower; rewrite all_count size_takel ?lsz // => /eqP.
  have -> : upto (rank s a) (nseq q (rank s a)) = q by rewrite /upto count_nseq lexx mul1n.
  by rewrite addnACA (addnC q) leq_addr.
have high : rank s b <= rank s' (a + q).+1.
  rewrite leNgt; apply/negP => lt; set t := rank s' _ in lt.
  have thi : t < hi by apply: lt_le_trans lt _; case/andP: (rank_in lohi b ins).
  have := rankP lo s' (a + q) thi; rewrite lexx => /esym; rewrite /s' /e /r !upto_cat.
  have -> : upto t (nseq (m - q) (rank s b)) = 0%N by rewrite /upto count_nseq leNgt lt.
  have -> : upto t (drop b.-1 l) = 0%N.
    apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn => y /(allP upper) yb.
    by rewrite -ltNge (lt_le_trans lt).
  rewrite !addn0 => bad.
  have u1 := upto_size t (nseq q (rank s a)); rewrite size_nseq in u1.
  have u2 := upto_size t (take a l); rewrite size_takel ?lsz // in u2.
  by move: (leq_trans bad (leq_add u1 u2)); rewrite addnC ltnn.
exists s', c, e, r; split; first by split; [exact: ins'|exact: psl|exact: perm_refl|rewrite szc sze|rewrite szc].
rewrite sz' -/h; case: (altP (@eqP _ (a + q)%N h)) => [E|ne]; [left|right].
  by rewrite -E; apply: ler_sub.
have E : (a + q = h.-1)%N by case: aq => // E; rewrite E eqxx in ne.
have h0 : h != 0%N by apply: contraNneq ne => h0; rewrite E h0.
by rewrite -E; apply: ler_sub => //; rewrite -(prednK (_ : 0 < h)%N) ?lt0n // -E.
Qed.

(** [impute.md; preprocessing/impute_median.py median_distance]
    One cell replaced, added or removed: what A(K) exceeds after the change, A(K + 1) exceeds before. So the distance, the least K
    with A(K) > G, is 1-Lipschitz. *)
Theorem median_distance_lipschitz s s' K G : inside s -> inside s' -> 0 <= G ->
  replaced s s' \/ added s s' \/ added s' s -> G < median_gap s' K -> G < median_gap s K.+1.
Proof.
move=> ins ins' G0 change /(median_gapP G0)[i iK] lt.
suff [i' i'K le] : exists2 i', (i' <= K.+2)%N & window s' K i <= window s K.+1 i'.
  by apply: lt_le_trans lt (le_trans le (window_le s _)).
rewrite /window; case: change => [/raised_or[up|down]|[ad|re]].
- exists i.+1; rewrite ?ltnS // (_ : size s' = size s); last by case: up => x [y [r [_ /perm_size-> /perm_size->]]].
  apply: ler_sub; first by rewrite addnS; case/andP: (rank_raised lohi (half (size s) + i) ins ins' up).
  have -> : (half (size s) + i.+1 - K.+2 = half (size s) + i - K.+1)%N by lia.
  by case/andP: (rank_raised lohi (half (size s) + i - K.+1) ins ins' up).
- exists i; first exact: leqW; rewrite (_ : size s' = size s); last by case: down => x [y [r [_ /perm_size-> /perm_size->]]].
  apply: ler_sub; first by case/andP: (rank_lowered lohi (half (size s) + i) ins ins' down).
  have -> : (half (size s) + i - K.+2 = (half (size s) + i - K.+1).-1)%N by lia.
  by case/andP: (rank_lowered lohi (half (size s) + i - K.+1) ins ins' down).
- have sz : size s' = (size s).+1 by case: ad => y /perm_size->.
  exists (half (size s') + i - half (size s))%N; first by rewrite sz /half; lia.
  have -> : (half (size s) + (half (size s') + i - half (size s)) = half (size s') + i)%N by rewrite sz /half; lia.
  apply: ler_sub; first by case/andP: (rank_added lohi (half (size s') + i) ins ins' ad).
  have -> : (half (size s') + i - K.+2 = (half (size s') + i - K.+1).-1)%N by lia.
  by case/andP: (rank_added lohi (half (size s') + i - K.+1) ins ins' ad).
have sz : size s = (size s').+1 by case: re => y /perm_size->.
exists (half (size s') + i.+1 - half (size s))%N; first by rewrite sz /half; lia.
have -> : (half (size s) + (half (size s') + i.+1 - half (size s)) = (half (size s') + i).+1)%N by rewrite sz /half; lia.
apply: ler_sub; first by case/andP: (rank_added lohi (half (size s') + i).+1 ins' ins re).
have -> : ((half (size s') + i).+1 - K.+2 = half (size s') + i - K.+1)%N by lia.
by case/andP: (rank_added lohi (half (size s') + i - K.+1) ins' ins re).
Qed.
End Distance.
