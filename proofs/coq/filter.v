(* docs/proofs/ledger.md, Theorem 1 (basic): plans chosen from earlier outputs, each (eps_i, delta_i)-DP given the past,
   with sums within the cap on every path, are together (eps, delta)-DP. Outputs are finite. exp(eps_i) is the factor a_i:
   sums of eps are products of factors, so no exponential is needed. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Filter.
Variables (R : realFieldType) (Y : finType).

Definition law (p : Y -> R) := (forall y, 0 <= p y) /\ \sum_y p y = 1.
Definition private (P Q : Y -> R) a d := forall E : pred Y, \sum_(y | E y) P y <= a * (\sum_(y | E y) Q y) + d.

(* What an adversary may do: stop, or run a plan (its law on the two neighbours) and go on from its output. *)
Inductive play := Stop | Plan (P Q : Y -> R) (a d : R) (next : Y -> play).

Fixpoint prob (side : bool) (t : play) (E : pred (seq Y)) : R :=
  match t with
  | Stop => (E [::])%:R
  | Plan P Q a d next => \sum_y (if side then Q y else P y) * prob side (next y) (fun s => E (y :: s))
  end.

(* Granted within the cap (factor A, delta D) on every path. *)
Fixpoint within (t : play) (A D : R) : Prop :=
  match t with
  | Stop => 1 <= A /\ 0 <= D
  | Plan P Q a d next =>
      [/\ law P, law Q, private P Q a d & 1 <= a] /\ forall y, within (next y) (A / a) (D - d)
  end.

(* For functions into [0, 1], not only events. *)
Lemma private_fun P Q a d g : private P Q a d -> (forall y, 0 <= g y <= 1) ->
  \sum_y P y * g y <= a * (\sum_y Q y * g y) + d.
Proof.
move=> pr g01; rewrite -ler_subl_addl mulr_sumr -sumrB.
have h := pr (fun y => 0 < P y - a * Q y); rewrite -ler_subl_addl mulr_sumr -sumrB in h.
apply: le_trans h; rewrite [X in _ <= X]big_mkcond; apply: ler_sum => y _.
rewrite mulrA -mulrBl; case/andP: (g01 y) => g0 g1; case: ltrP => [pos|neg].
  by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: ltW.
exact: mulr_le0_ge0.
Qed.

Lemma prob_ge0 side t A D E : within t A D -> 0 <= prob side t E <= 1.
Proof.
elim: t A D E => [|P Q a d next IH] A D E /=; first by case: (E _); rewrite ?ler01 ?lexx.
case=> -[[P0 P1] [Q0 Q1] _ _] w; have p0 y : 0 <= (if side then Q y else P y) by case: (side).
have p1 : \sum_y (if side then Q y else P y) = 1 by case: (side).
apply/andP; split; first by apply: sumr_ge0 => y _; rewrite mulr_ge0 //; case/andP: (IH y _ _ (fun s => E (y :: s)) (w y)).
rewrite -p1; apply: ler_sum => y _; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //.
by case/andP: (IH y _ _ (fun s => E (y :: s)) (w y)).
Qed.

(** [ledger.md; no code: why the sums of the ledger are valid]
    Plans chosen from earlier outputs, each (epsilon, delta)-DP given the past, whose sums stay within the cap on every path, are together (epsilon, delta)-DP (finite outputs). *)
Theorem basic_filter t A D E : within t A D -> prob false t E <= A * prob true t E + D.
Proof.
elim: t A D E => [|P Q a d next IH] A D E /=.
  by case=> A1 D0; case: (E _); rewrite ?mulr1 ?mulr0 ?add0r //; apply: le_trans A1 _; rewrite ler_addl.
case=> -[lP lQ pr a1] w; have a0 : 0 < a by apply: lt_le_trans a1.
pose q y := prob true (next y) (fun s => E (y :: s)); pose p y := prob false (next y) (fun s => E (y :: s)).
have q01 y : 0 <= q y <= 1 by apply: prob_ge0 (w y).
have p01 y : 0 <= p y <= 1 by apply: prob_ge0 (w y).
pose B := A / a; pose g y := Num.min 1 (B * q y).
have step y : p y <= B * q y + (D - d) by apply: IH.
case: (boolP [exists y : Y, true]) => [/existsP[y0 _]|/existsPn none]; last first.
  by have := lP.2; rewrite big1 => [/eqP|y _]; [rewrite eq_sym oner_eq0|have := none y].
(* what is left is never negative: some path ends within it *)
have left t' A' D' : within t' A' D' -> 0 <= A' /\ 0 <= D'.
  elim: t' A' D' => [|P' Q' a' d' n' IH'] A' D' /=; first by case=> /(le_trans ler01).
  case=> -[[P0 P1] _ pr' a1'] w'; have a0' : 0 < a' by apply: lt_le_trans a1'.
  have [A0 D0] := IH' y0 _ _ (w' y0); split; first by move: A0; rewrite pmulr_lge0 ?invr_gt0.
  have d0 : 0 <= d' by have := pr' pred0; rewrite !big_pred0_eq mulr0 add0r.
  by rewrite -(subrK d' D') addr_ge0.
have [B0 D0] := left _ _ _ (w y0).
have g01 y : 0 <= g y <= 1.
  by rewrite /g le_minr ler01 /= mulr_ge0 //=; [rewrite le_minl lexx|case/andP: (q01 y)].
have pg y : p y <= g y + (D - d).
  rewrite /g; case: (lerP 1 (B * q y)) => _; last exact: step.
  by case/andP: (p01 y) => _ /le_trans; apply; rewrite ler_addl.
apply: (@le_trans _ _ (\sum_y P y * (g y + (D - d)))).
  by apply: ler_sum => y _; apply: ler_wpmul2l; [apply: lP.1|apply: pg].
under eq_bigr do rewrite mulrDr.
rewrite big_split -mulr_suml lP.2 mul1r /=.
apply: le_trans (ler_add (private_fun pr g01) (lexx _)) _.
rewrite -addrA [d + _]addrC subrK ler_add2r.
have -> : A * (\sum_y Q y * q y) = a * (\sum_y Q y * (B * q y)).
  have AB : a * B = A by rewrite /B mulrC divfK ?gt_eqF.
  by rewrite !mulr_sumr; apply: eq_bigr => y _; rewrite -AB -mulrA [B * _]mulrCA.
apply: ler_wpmul2l; first exact: ltW.
by apply: ler_sum => y _; apply: ler_wpmul2l; [apply: lQ.1|rewrite /g le_minl lexx orbT].
Qed.
End Filter.
