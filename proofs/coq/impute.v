(* docs/proofs/impute.md, sections 1 and 2: mean imputation of one column, replace-one, with and without fade. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Mean.
Variables (R : realFieldType) (w : R).
Hypothesis w0 : 0 <= w.
Let h := w / 2%:R.
Let h0 : 0 <= h. Proof. by rewrite divr_ge0 ?ler0n. Qed.
Let hh : h + h = w. Proof. by rewrite /h -mulr2n -mulr_natr mulfVK // pnatr_eq0. Qed.

(* The mean with one more cell: S is the sum of k cells (0 of none). *)
Lemma mean_step (S y s : R) k : S = s * k%:R -> (S + y) / k.+1%:R = s + (y - s) / k.+1%:R.
Proof.
have k1 : k.+1%:R != 0 :> R by rewrite pnatr_eq0.
move=> ->; apply: (mulIf k1); rewrite [RHS]mulrDl !mulfVK // -[k.+1]addn1 natrD; ring.
Qed.

(* "No sum for a mean": the opposed corners. *)
Lemma opposed (delta a s y : R) : 0 <= delta -> 0 <= a -> `|s| <= h -> `|y| <= h ->
  `|delta * s + a * (y - s)| <= Num.max (delta * h) (a * w).
Proof.
move=> d0 a0 sh yh.
have -> : delta * s + a * (y - s) = (delta - a) * s + a * y by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm a0).
apply: le_trans (ler_add (ler_wpmul2l (normr_ge0 _) sh) (ler_wpmul2l a0 yh)) _.
rewrite le_maxr -mulrDl; case: (lerP a delta) => ad.
  by apply/orP; left; rewrite subrK.
apply/orP; right; rewrite -hh mulrDr -mulrDl.
by apply: ler_wpmul2r => //; rewrite ler_add2r ler_subl_addr ler_addl.
Qed.

(* The weight of a column that misses q cells. *)
Variables (p m : nat).
Definition phi q : R := if (q <= p)%N then 1 else (p + m - q)%N%:R / m%:R.
Definition K : R := if (p <= m)%N then (p + m)%N%:R ^+ 2 / (4%:R * m%:R) else p%:R.

Lemma phi_ge0 q : 0 <= phi q.
Proof. by rewrite /phi; case: ifP => _; rewrite ?ler01 ?divr_ge0 ?ler0n. Qed.

Lemma phi_out q : (p + m <= q)%N -> (0 < m)%N -> phi q = 0.
Proof.
move=> le m0; rewrite /phi ifF; last by apply/negbTE; rewrite -ltnNge; apply: leq_trans le; rewrite -addn1 leq_add2l.
by move: le; rewrite -subn_eq0 => /eqP->; rewrite mul0r.
Qed.

Lemma phi_step q : (0 < m)%N -> 0 <= phi q - phi q.+1 <= m%:R^-1.
Proof.
move=> m0; have mr : (0 : R) < m%:R by rewrite ltr0n.
rewrite /phi; case: (ltnP q p) => [lt|ge]; first by rewrite (ltnW lt) subrr lexx invr_ge0 ltW.
case: (leqP q p) => [le|gt].
  have -> : q = p by apply/eqP; rewrite eqn_leq le ge.
  rewrite subnS addKn -[X in X - _](mulfV (lt0r_neq0 mr)) -mulrBl -natrB ?leq_pred //.
  by rewrite -subn1 subKn // mul1r lexx invr_ge0 ltW.
rewrite -mulrBl subnS; set u := (p + m - q)%N.
rewrite -natrB ?leq_pred // divr_ge0 ?ler0n //= -[X in _ <= X]mul1r.
apply: ler_wpmul2r; first by rewrite invr_ge0 ltW.
by rewrite lern1; case: u => //= v; rewrite subSnn.
Qed.

Lemma phi_K q : (0 < m)%N -> q%:R * phi q <= K.
Proof.
move=> m0; have mr : (0 : R) < m%:R by rewrite ltr0n.
have m4 : (0 : R) < 4%:R * m%:R by rewrite mulr_gt0 ?ltr0n.
have agm (a b : R) : 4%:R * (a * b) <= (a + b) ^+ 2.
  rewrite -subr_ge0; have -> : (a + b) ^+ 2 - 4%:R * (a * b) = (a - b) ^+ 2 by ring.
  exact: sqr_ge0.
rewrite /K /phi; case: (leqP q p) => [le|gt]; rewrite ?mulr1.
  case: ifP => pm; last by rewrite ler_nat.
  apply: (@le_trans _ _ p%:R); first by rewrite ler_nat.
  by rewrite ler_pdivl_mulr // natrD mulrCA agm.
case: (leqP (p + m) q) => [out|inn].
  move: out; rewrite -subn_eq0 => /eqP->; rewrite mul0r mulr0.
  by case: ifP => _; rewrite ?ler0n // divr_ge0 ?sqr_ge0 ?ltW.
have split : (p + m)%:R = q%:R + (p + m - q)%N%:R :> R by rewrite -natrD subnKC // ltnW.
case: ifP => pm.
  rewrite ler_pdivl_mulr // split.
  have -> : q%:R * ((p + m - q)%N%:R / m%:R) * (4%:R * m%:R) = 4%:R * (q%:R * (p + m - q)%N%:R) * (m%:R / m%:R) :> R by ring.
  by rewrite mulfV ?lt0r_neq0 // mulr1 agm.
rewrite mulrA ler_pdivr_mulr // natrB ?natrD; last exact: ltnW.
rewrite -subr_ge0.
have -> : p%:R * m%:R - q%:R * (p%:R + m%:R - q%:R) = (q%:R - p%:R) * (q%:R - m%:R) :> R by ring.
have mq : (m <= q)%N by rewrite ltnW // (leq_trans _ (ltnW gt)) // ltnNge pm.
by rewrite mulr_ge0 // subr_ge0 ler_nat // ltnW.
Qed.

Lemma phi_le q : (0 < m)%N -> phi q.+1 <= phi q.
Proof. by move/(phi_step q) => /andP[le _]; rewrite -subr_ge0. Qed.

(* One column of n cells; record is the one that may differ. Values are taken from the midpoint. *)
Variables (n : nat) (record : 'I_n).
Definition column := 'I_n -> option R.
Implicit Types X : column.
Definition cell (o : option R) : R := if o is Some y then y else 0.
Definition missing X := #|[pred i | X i == None]|.
Definition seen X := #|[pred i | X i != None]|.
Definition inside X := forall i, `|cell (X i)| <= h.
Definition neighbours X X' := forall i, i != record -> X i = X' i.
Definition sum X := \sum_i cell (X i).
Definition rest X := \sum_(i | i != record) cell (X i).
Definition common X := #|[pred i | (i != record) && (X i == None)]|.
Definition others X := #|[pred i | (i != record) && (X i != None)]|.

Section Floor.
Variable N : nat.
Hypothesis N1 : (0 < N)%N.
Definition stat X := sum X / (maxn (seen X) N)%:R.

Lemma sumE X : sum X = cell (X record) + rest X.
Proof. by rewrite /sum (bigD1 record). Qed.
Lemma missingE X : missing X = ((X record == None) + common X)%N.
Proof. by rewrite /missing (cardD1 record) inE; congr (_ + _)%N; apply: eq_card => i; rewrite !inE. Qed.
Lemma seenE X : seen X = ((X record != None) + others X)%N.
Proof. by rewrite /seen (cardD1 record) inE; congr (_ + _)%N; apply: eq_card => i; rewrite !inE. Qed.
Lemma missing_seen X : (missing X + seen X)%N = n.
Proof. by rewrite -[RHS]card_ord -(cardC [pred i | X i == None]). Qed.
Lemma restE X X' : neighbours X X' -> rest X = rest X'.
Proof. by move=> e; apply: eq_bigr => i /e->. Qed.
Lemma commonE X X' : neighbours X X' -> common X = common X'.
Proof. by move=> e; apply: eq_card => i; rewrite !inE; case: eqP => //= /eqP/e->. Qed.
Lemma othersE X X' : neighbours X X' -> others X = others X'.
Proof. by move=> e; apply: eq_card => i; rewrite !inE; case: eqP => //= /eqP/e->. Qed.

Lemma sum_le X : inside X -> `|sum X| <= h *+ seen X.
Proof.
move=> ins; apply: le_trans (ler_norm_sum _ _ _) _.
rewrite (bigID (fun i => X i == None)) /= big1 => [|i /eqP->]; last by rewrite normr0.
by rewrite add0r /seen -sumr_const; apply: ler_sum => i _; apply: ins.
Qed.

Let N0 k : (0 : R) < (maxn k N)%:R.
Proof. by rewrite ltr0n leq_max N1 orbT. Qed.

Lemma stat_le X : inside X -> `|stat X| <= h.
Proof.
move=> ins; rewrite normrM normfV (ger0_norm (ltW (N0 _))) ler_pdivr_mulr //.
apply: le_trans (sum_le ins) _; rewrite -mulr_natr; apply: ler_wpmul2l => //.
by rewrite ler_nat leq_maxl.
Qed.

Lemma inv_le k : (N <= k)%N -> k%:R^-1 <= N%:R^-1 :> R.
Proof. by move=> le; rewrite lef_pinv ?posrE ?ltr0n ?ler_nat // (leq_trans N1). Qed.

Lemma cells_apart X X' : inside X -> inside X' -> `|cell (X record) - cell (X' record)| <= w.
Proof. by move=> i i'; apply: le_trans (ler_norm_sub _ _) _; rewrite -hh; apply: ler_add. Qed.

(* Same mask. *)
Lemma stat_same X X' : inside X -> inside X' -> neighbours X X' ->
  (X record == None) = (X' record == None) -> `|stat X - stat X'| <= w / N%:R.
Proof.
move=> i i' e mask; rewrite /stat !seenE (othersE e) mask -mulrBl !sumE (restE e) opprD addrACA subrr addr0.
rewrite normrM normfV (ger0_norm (ltW (N0 _))); apply: ler_pmul; rewrite ?normr_ge0 ?invr_ge0 ?(ltW (N0 _)) //.
  exact: cells_apart.
by rewrite inv_le // leq_maxr.
Qed.

(* The record has its cell in X only. *)
Lemma stat_changed_step X X' y : neighbours X X' -> X record = Some y -> X' record = None ->
  (N <= (seen X').+1)%N -> (N <= seen X')%N || (seen X' == 0)%N -> inside X' ->
  stat X = stat X' + (y - stat X') / (seen X').+1%:R.
Proof.
move=> e Xr Xr' room tight ins; have k1 : seen X = (seen X').+1 by rewrite !seenE Xr Xr' (othersE e).
rewrite {1}/stat k1 (maxn_idPl room) sumE (restE e) Xr /= addrC.
have -> : rest X' = sum X' by rewrite sumE Xr' add0r.
apply: mean_step; rewrite /stat; case/orP: tight => [le|/eqP k0].
  by rewrite (maxn_idPl le) mulfVK // pnatr_eq0 -lt0n (leq_trans N1).
by have := sum_le ins; rewrite k0 mulr0n normr_le0 => /eqP->; rewrite mul0r mul0r.
Qed.

Lemma stat_changed X X' y : inside X -> inside X' -> neighbours X X' -> X record = Some y -> X' record = None ->
  `|stat X - stat X'| <= w / N%:R.
Proof.
move=> i i' e Xr Xr'; have yh : `|y| <= h by have := i record; rewrite Xr.
have k1 : seen X = (seen X').+1 by rewrite !seenE Xr Xr' (othersE e).
case: (leqP N (seen X')) => [le|lt].
  rewrite (stat_changed_step e Xr Xr') ?le ?(leq_trans le) // addrAC subrr add0r normrM normfV (ger0_norm (ler0n _ _)).
  apply: ler_pmul; rewrite ?normr_ge0 ?invr_ge0 ?ler0n //; last by rewrite inv_le // (leq_trans le).
  by apply: le_trans (ler_norm_sub _ _) _; rewrite -hh ler_add // stat_le.
rewrite /stat k1 (maxn_idPr lt) (maxn_idPr (ltnW lt)) -mulrBl !sumE (restE e) Xr Xr' add0r addrK.
rewrite normrM normfV (ger0_norm (ler0n _ _)); apply: ler_wpmul2r; first by rewrite invr_ge0 ler0n.
by apply: le_trans yh _; rewrite -hh ler_addl.
Qed.

Lemma neighbours_sym X X' : neighbours X X' -> neighbours X' X.
Proof. by move=> e i /e->. Qed.

(* impute.md 2: the statistic moves by at most w/N, whatever the masks. *)
(** [impute.md; preprocessing/impute.py MeanImputer]
    The sum of the observed cells over max(observed, N), from the midpoint, moves by at most w/N, whatever cells the record misses in either table. *)
Theorem mean_move X X' : inside X -> inside X' -> neighbours X X' -> `|stat X - stat X'| <= w / N%:R.
Proof.
move=> i i' e; case Xr: (X record) => [y|]; case Xr': (X' record) => [y'|].
- by apply: stat_same => //; rewrite Xr Xr'.
- exact: stat_changed Xr Xr'.
- by rewrite distrC; apply: stat_changed (neighbours_sym e) Xr' Xr.
by apply: stat_same => //; rewrite Xr Xr'.
Qed.

(* m = 0: conditional on at most p missing cells; a filled cell moves by w/N, the common rows by p w/N in all. *)
(** [impute.md; preprocessing/impute.py MeanImputer, preprocessing/impute_caps.py MissingCaps.full_rows]
    Without fade, if one table misses at most p cells, the filled cells of all common rows move by at most p w/N in total. *)
Theorem mean_total_conditional X X' : inside X -> inside X' -> neighbours X X' -> (missing X <= p)%N ->
  \sum_(i | (i != record) && (X i == None)) `|stat X - stat X'| <= p%:R * (w / N%:R).
Proof.
move=> i i' e mp; rewrite sumr_const -[X in X <= _]mulr_natl.
apply: ler_pmul; rewrite ?ler0n ?normr_ge0 ?mean_move // ler_nat.
by apply: leq_trans mp; rewrite missingE leq_addl.
Qed.
End Floor.

(* m > 0: no condition. *)
Definition least := maxn (n - p - m) 1.
Definition fill X := phi (missing X) * stat least X.
Hypothesis m0 : (0 < m)%N.

Let mr : (0 : R) < m%:R. Proof. by rewrite ltr0n. Qed.
Let L1 : (0 < least)%N. Proof. by rewrite leq_max orbT. Qed.
Let Lr : (0 : R) < least%:R. Proof. by rewrite ltr0n. Qed.

Lemma times_max (c a b A B : R) : 0 <= c -> c * a <= A -> c * b <= B -> c * Num.max a b <= Num.max A B.
Proof.
by move=> c0 ca cb; rewrite le_maxr; case: (leP a b) => _; rewrite ?ca ?cb ?orbT.
Qed.

Lemma weigh X c : c = common X -> c%:R * (phi c * (w / least%:R)) <= K * (w / least%:R).
Proof. by move=> _; rewrite mulrA; apply: ler_wpmul2r; rewrite ?phi_K // divr_ge0 // ltW. Qed.

Lemma total_changed X X' y : inside X -> inside X' -> neighbours X X' -> X record = Some y -> X' record = None ->
  (common X)%:R * `|fill X - fill X'| <= Num.max ((p + m - 1)%N%:R * (h / m%:R)) (K * (w / least%:R)).
Proof.
move=> i i' e Xr Xr'; have yh : `|y| <= h by have := i record; rewrite Xr.
have mX : missing X = common X by rewrite missingE Xr.
have mX' : missing X' = (common X).+1 by rewrite missingE Xr' (commonE e).
have rhs0 : 0 <= (p + m - 1)%N%:R * (h / m%:R) by rewrite mulr_ge0 ?ler0n // divr_ge0 // ltW.
rewrite /fill mX mX'; set c := common X.
case: (leqP (p + m) c) => [out|inn].
  by rewrite !phi_out // ?(leq_trans out) // !mul0r subrr normr0 mulr0 le_maxr rhs0.
have cl : c%:R <= (p + m - 1)%N%:R :> R by rewrite ler_nat subn1 -ltnS prednK // (leq_ltn_trans _ inn).
have /andP[d0 d1] := phi_step c m0.
case: (leqP (p + m) c.+1) => [edge|room].
  rewrite le_maxr; apply/orP; left; apply: ler_pmul; rewrite ?ler0n //.
  move: d1; rewrite (phi_out edge m0) mul0r !subr0 normrM (ger0_norm (phi_ge0 _)) => d1.
  by rewrite mulrC; apply: ler_pmul; rewrite ?phi_ge0 ?stat_le.
have kn : (c.+1 + seen X')%N = n by rewrite -mX' missing_seen.
have tight : (least <= seen X')%N || (seen X' == 0)%N.
  rewrite /least -subnDA geq_max -kn; case: (seen X') => [|k]; first by rewrite eqxx orbT.
  by rewrite /= ltnS leq0n andbT leq_subLR leq_add2r (ltnW room).
have L : (least <= (seen X').+1)%N.
  by rewrite /least -subnDA geq_max ltnS leq0n andbT -kn leq_subLR addnS -addSn leq_add2r leqW // ltnW.
rewrite (stat_changed_step L1 e Xr Xr' L tight i'); set s := stat least X'; set k1 := (seen X').+1%:R.
have -> : phi c * (s + (y - s) / k1) - phi c.+1 * s = (phi c - phi c.+1) * s + phi c / k1 * (y - s) by ring.
apply: (@le_trans _ _ (c%:R * Num.max ((phi c - phi c.+1) * h) (phi c / k1 * w))).
  apply: ler_wpmul2l; rewrite ?ler0n // opposed ?stat_le // divr_ge0 ?phi_ge0 ?ler0n //.
apply: times_max; rewrite ?ler0n //.
  apply: ler_pmul => //; first exact: mulr_ge0.
  by rewrite [X in X <= _]mulrC; apply: ler_wpmul2l.
apply: le_trans (weigh (erefl c)); apply: ler_wpmul2l; rewrite ?ler0n // -mulrA.
apply: ler_wpmul2l; rewrite ?phi_ge0 // mulrC; apply: ler_wpmul2l => //.
by rewrite /k1 inv_le.
Qed.

(* What MeanImputer prints for a column, in all cases: max(K w/N, (p + m - 1) w/(2m)). *)
(** [impute.md; preprocessing/impute.py MeanImputer, preprocessing/impute_caps.py MissingCaps.full_rows MissingCaps.weight]
    With fade, and without any condition: in total by at most max((p + m - 1) w/(2m), K w/N), K = (p + m)^2/(4m) if m >= p, else p. *)
Theorem mean_total X X' : inside X -> inside X' -> neighbours X X' ->
  \sum_(i | (i != record) && (X i == None)) `|fill X - fill X'|
    <= Num.max ((p + m - 1)%N%:R * (h / m%:R)) (K * (w / least%:R)).
Proof.
move=> i i' e; rewrite sumr_const -[X in X <= _]mulr_natl -/(common X).
have same : (X record == None) = (X' record == None) ->
    (common X)%:R * `|fill X - fill X'| <= Num.max ((p + m - 1)%N%:R * (h / m%:R)) (K * (w / least%:R)).
  move=> mask; rewrite le_maxr; apply/orP; right; rewrite /fill !missingE mask (commonE e) -mulrBr normrM.
  rewrite (ger0_norm (phi_ge0 _)); apply: le_trans (weigh (erefl (common X'))).
  apply: ler_wpmul2l; rewrite ?ler0n //; apply: ler_pmul; rewrite ?phi_ge0 ?normr_ge0 ?mean_move //.
  by case: (_ == _) => /=; rewrite ?add1n ?phi_le.
case Xr: (X record) => [y|]; case Xr': (X' record) => [y'|].
- by apply: same; rewrite Xr Xr'.
- exact: total_changed Xr Xr'.
- by rewrite distrC (commonE e); apply: total_changed (neighbours_sym e) Xr' Xr.
by apply: same; rewrite Xr Xr'.
Qed.
End Mean.
