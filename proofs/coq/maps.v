(* Maps of single rows: normalize.md, encode.md, homogenize.md, text.md, lattice.md and mean.md (two versions of one row), and whole.md's first
   step. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Rows.
Variables (R : rcfType) (d : nat).
Implicit Types x y z : 'rV[R]_d.

Lemma dotDr x y z : dot x (y + z) = dot x y + dot x z.
Proof. by rewrite /dot -big_split; apply: eq_bigr => j _; rewrite mxE mulrDr. Qed.
Lemma dotZ (a b : R) x y : dot (a *: x) (b *: y) = a * b * dot x y.
Proof. rewrite /dot mulr_sumr; apply: eq_bigr => j _; rewrite !mxE; set p := x 0 j; set q := y 0 j; ring. Qed.
Lemma normZ (a : R) x : 0 <= a -> norm (a *: x) = a * norm x.
Proof.
move=> a0; rewrite /norm.
have -> : normsq (a *: x) = a ^+ 2 * normsq x.
  by rewrite /normsq mulr_sumr; apply: eq_bigr => j _; rewrite mxE exprMn.
by rewrite sqrtrM ?sqr_ge0 // sqrtr_sqr ger0_norm.
Qed.

(* Pulling a row into the ball of radius r: into_ball. *)
Variable r : R.
Hypothesis r0 : 0 < r.
Definition factor x := r / Num.max (norm x) r.
Definition pulled x := factor x *: x.

Lemma top0 x : 0 < Num.max (norm x) r.
Proof. by rewrite lt_maxr r0 orbT. Qed.
Lemma factor_ge0 x : 0 <= factor x.
Proof. by rewrite divr_ge0 ?ltW ?top0. Qed.
Lemma factor_le1 x : factor x <= 1.
Proof. by rewrite ler_pdivr_mulr ?top0 // mul1r le_maxr lexx orbT. Qed.
Lemma pulled_norm x : norm (pulled x) <= r.
Proof.
rewrite normZ ?factor_ge0 // /factor mulrAC ler_pdivr_mulr ?top0 //.
by apply: ler_wpmul2l; [exact: ltW|rewrite le_maxr lexx].
Qed.
Lemma factor_1 x : norm x <= r -> factor x = 1.
Proof. by move=> le; rewrite /factor (max_idPr le) divff // gt_eqF. Qed.
Lemma factor_out x : r <= norm x -> factor x * norm x = r.
Proof. by move=> le; rewrite /factor (max_idPl le) divfK // gt_eqF // (lt_le_trans r0). Qed.

(** [normalize.md, mean.md, losses.md; exact/ball.py into_ball, preprocessing/normalize.py ClipNorm]
    Pulling rows into the ball of radius r, x r / max(|x|, r), gives rows of norm at most r. *)
Theorem pulled_into_ball x : norm (pulled x) <= r.
Proof. exact: pulled_norm. Qed.

(* The projection's inequality: z - pulled z has no positive product with any point of the ball less pulled z. *)
Lemma obtuse x y : norm y <= r -> dot (x - pulled x) (y - pulled x) <= 0.
Proof.
move=> yr; case: (leP (norm x) r) => [le|/ltW out].
  by rewrite /pulled factor_1 // scale1r subrr /dot big1 // => j _; rewrite mxE mul0r.
set c := factor x.
have e : x - pulled x = (1 - c) *: x by rewrite scalerBl scale1r.
have c1 : 0 <= 1 - c by rewrite subr_ge0 factor_le1.
have -> : dot (x - pulled x) (y - pulled x) = (1 - c) * (dot x y - c * normsq x).
  rewrite e /dot /normsq !mulr_sumr -sumrB mulr_sumr; apply: eq_bigr => j _; rewrite !mxE -/c.
  by set p := x 0 j; set q := y 0 j; ring.
apply: mulr_ge0_le0 => //; rewrite subr_le0; apply: le_trans (dot_le x y) _.
rewrite -sqr_norm expr2 mulrA (factor_out out) mulrC; apply: ler_wpmul2r; rewrite ?norm_ge0 //.
Qed.

(** [normalize.md, mean.md, losses.md, lattice.md, gradient_sum.md; exact/ball.py into_ball, preprocessing/normalize.py ClipNorm]
    It moves no two rows apart: the projection on a ball is 1-Lipschitz. *)
Theorem pulled_contracts x y : norm (pulled x - pulled y) <= norm (x - y).
Proof.
have ox := obtuse x (pulled_norm y); have oy := obtuse y (pulled_norm x).
set p := pulled x in ox oy *; set q := pulled y in ox oy *.
have key : normsq (p - q) <= dot (x - y) (p - q).
  rewrite -subr_ge0.
  have -> : dot (x - y) (p - q) - normsq (p - q) = - (dot (x - p) (q - p) + dot (y - q) (p - q)).
    rewrite /dot /normsq -sumrB -big_split -sumrN; apply: eq_bigr => j _ /=; rewrite !mxE.
    by set a := x 0 j; set b := y 0 j; set u := p 0 j; set v := q 0 j; ring.
  by rewrite oppr_ge0 -[0]addr0; apply: ler_add.
have le : norm (p - q) * norm (p - q) <= norm (x - y) * norm (p - q).
  by rewrite -expr2 sqr_norm; apply: le_trans key (dot_le _ _).
have := norm_ge0 (p - q); rewrite le_eqVlt => /orP[/eqP <-|pos]; first exact: norm_ge0.
by rewrite -(ler_pmul2r pos).
Qed.

(** [normalize.md; preprocessing/normalize.py Normalize]
    Normalize(R, floor r): x R / max(|x|, r) has Lipschitz constant R/r. *)
Theorem normalize_lipschitz (big : R) x y : 0 <= big ->
  norm ((big / Num.max (norm x) r) *: x - (big / Num.max (norm y) r) *: y) <= big / r * norm (x - y).
Proof.
move=> b0; have e z : (big / Num.max (norm z) r) *: z = (big / r) *: pulled z.
  rewrite scalerA /factor; congr (_ *: _); have t := gt_eqF (top0 z); have rn := gt_eqF r0.
  by set m := Num.max _ _ in t *; field; rewrite t rn.
have br : 0 <= big / r by rewrite divr_ge0 // ltW.
by rewrite !e -scalerBr normZ //; apply: ler_wpmul2l => //; apply: pulled_contracts.
Qed.

(** [normalize.md; preprocessing/normalize.py Rescale]
    Multiplication by a constant a >= 0 has Lipschitz constant a. *)
Theorem rescaled (a : R) x y : 0 <= a -> norm (a *: x - a *: y) <= a * norm (x - y).
Proof. by move=> a0; rewrite -scalerBr normZ. Qed.

(* Coordinate by coordinate. *)
Lemma coordinatewise (f : R -> R) x y : (forall u v, `|f u - f v| <= `|u - v|) ->
  norm (map_mx f x - map_mx f y) <= norm (x - y).
Proof.
move=> lip; rewrite /norm ler_wsqrtr //; apply: ler_sum => j _; rewrite !mxE.
rewrite -[X in X <= _]real_normK ?num_real // -[X in _ <= X]real_normK ?num_real //.
by apply: ler_expn2r; rewrite ?nnegrE ?normr_ge0.
Qed.
Definition clip (a b u : R) := Num.max a (Num.min u b).

Lemma clip_contracts a b u v : `|clip a b u - clip a b v| <= `|u - v|.
Proof.
wlog uv : u v / u <= v => [wl|].
  by case: (leP u v) => [|/ltW] le; [|rewrite distrC [X in _ <= X]distrC]; apply: wl.
have mono : clip a b u <= clip a b v.
  rewrite /clip le_maxl le_maxr lexx /= le_maxr.
  by apply/orP; right; rewrite le_minr !le_minl lexx uv orbT.
rewrite distrC [X in _ <= X]distrC !ger0_norm ?subr_ge0 // /clip.
have minD : Num.min v b - Num.min u b <= v - u.
  rewrite ler_subl_addr; case: (leP u b) => ub; first by rewrite subrK le_minl lexx.
  by rewrite le_minl ler_addr subr_ge0 uv orbT.
apply: le_trans minD; rewrite ler_subl_addr le_maxl.
have mm : Num.min u b <= Num.min v b by rewrite le_minr !le_minl lexx uv orbT.
apply/andP; split; first by rewrite addrC -ler_subl_addr le_maxr; apply/orP; left; rewrite ler_subl_addr ler_addl subr_ge0.
by rewrite -{1}(subrK (Num.min u b) (Num.min v b)) ler_add2l le_maxr lexx orbT.
Qed.

(** [encode.md, impute.md; preprocessing/encode.py ClipFeatures]
    Clipping each feature to declared bounds is 1-Lipschitz. *)
Theorem clip_features a b x y : norm (map_mx (clip a b) x - map_mx (clip a b) y) <= norm (x - y).
Proof. by apply: coordinatewise => u v; apply: clip_contracts. Qed.
End Rows.

Section OneHot.
Variables (R : rcfType) (q : nat).

(** [encode.md; preprocessing/encode.py OneHot]
    Two versions of one row differ by at most sqrt(r^2 + 2 q): r in the other features, 0 or sqrt 2 in each of q encoded ones. *)
Theorem one_hot_row (rest : R) (parts : 'I_q -> R) (r : R) : rest <= r ^+ 2 -> (forall j, parts j <= 2%:R) ->
  Num.sqrt (rest + \sum_j parts j) <= Num.sqrt (r ^+ 2 + 2%:R * q%:R).
Proof.
move=> le two; rewrite ler_wsqrtr //; apply: ler_add => //.
apply: le_trans (ler_sum _ (fun j _ => two j)) _.
by rewrite sumr_const card_ord -[X in X <= _]mulr_natr.
Qed.
End OneHot.

(* Two versions of one row on a grid. *)
Section Truncated.
Variables (R : rcfType) (d : nat).

(** [lattice.md, mean.md, covariance.md; exact/lattice.py Lattice.truncate]
    Truncation moves two versions of one row at most sqrt(d) steps further apart, if each coordinate's difference grows by at most one
    step. *)
Theorem truncated_versions (x y x' y' : 'rV[R]_d) : (forall j, `|x' 0 j - y' 0 j| <= `|x 0 j - y 0 j| + 1) ->
  norm (x' - y') <= norm (x - y) + Num.sqrt d%:R.
Proof.
move=> le; pose a := \row_j `|x 0 j - y 0 j| : 'rV[R]_d; pose one := \row_(j < d) (1 : R).
have na : norm a = norm (x - y).
  by rewrite /norm; congr Num.sqrt; apply: eq_bigr => j _; rewrite !mxE real_normK ?num_real.
have n1 : norm one = Num.sqrt d%:R.
  rewrite /norm; congr Num.sqrt; rewrite /normsq.
  by under eq_bigr do rewrite mxE expr1n; rewrite sumr_const card_ord.
rewrite -na -n1; apply: le_trans (ler_normD _ _); rewrite /norm ler_wsqrtr //; apply: ler_sum => j _.
rewrite !mxE -[X in X <= _]real_normK ?num_real //.
by apply: ler_expn2r; rewrite ?nnegrE ?normr_ge0 ?addr_ge0 ?ler01.
Qed.
End Truncated.

(* Maps of whole tables. *)
Section Whole.
Variables (R : rcfType) (n : nat).

(** [whole.md; preprocessing/_whole.py]
    N rows that move by m_1, ..., m_N move by at most sqrt(N) times the root of the sum of squares in total (Cauchy-Schwarz): sqrt(N) K times
    the Frobenius distance of what came in. *)
Theorem total_of_a_whole_map (moves : 'rV[R]_n) : \sum_j moves 0 j <= Num.sqrt n%:R * norm moves.
Proof.
pose one := \row_(j < n) (1 : R).
have -> : \sum_j moves 0 j = dot one moves by apply: eq_bigr => j _; rewrite mxE mul1r.
have <- : norm one = Num.sqrt n%:R.
  rewrite /norm; congr Num.sqrt; rewrite /normsq.
  by under eq_bigr do rewrite mxE expr1n; rewrite sumr_const card_ord.
exact: dot_le.
Qed.

(** [whole.md; preprocessing/_whole.py]
    What comes in: rows that move by at most rho each and tau in total, and D that became zero from norm at most R, differ by at most
    sqrt(rho tau + D R^2) in Frobenius norm. *)
Theorem frobenius_of_what_came_in (moves : seq R) (dropped : seq R) (rho tau big : R) :
  all (fun m => 0 <= m <= rho) moves -> \sum_(m <- moves) m <= tau -> all (fun x => 0 <= x <= big) dropped ->
  \sum_(m <- moves) m ^+ 2 + \sum_(x <- dropped) x ^+ 2 <= Num.max 0 rho * tau + (size dropped)%:R * big ^+ 2.
Proof.
move=> am st ad; apply: ler_add.
  apply: le_trans (ler_wpmul2l (_ : 0 <= Num.max 0 rho) st); last by rewrite le_maxr lexx.
  rewrite mulr_sumr big_seq [X in _ <= X]big_seq; apply: ler_sum => m mm.
  have /andP[m0 mr] := allP am _ mm; rewrite expr2; apply: ler_wpmul2r => //.
  by rewrite le_maxr mr orbT.
elim: dropped ad => [|x l IH] /=; first by rewrite big_nil mul0r.
case/andP=> /andP[x0 xb] /IH le; rewrite big_cons -[(size l).+1]add1n natrD mulrDl mul1r; apply: ler_add => //.
by apply: ler_expn2r; rewrite ?nnegrE // (le_trans x0).
Qed.
End Whole.
