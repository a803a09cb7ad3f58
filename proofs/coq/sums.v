(* docs/proofs/lattice.md P1-P4, gradient_sum.md "Exact sum" and "Any engine": sums of whole numbers. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import norm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Sum.
Variables (T : eqType) (m : nat) (c : T -> 'rV[int]_m).
Implicit Types (s : seq T) (t : T).

(* c is a function of the record alone: it is not given the table. *)
Definition total s := \sum_(t <- s) c t.

(** [lattice.md, gradient_sum.md; exact/gradient_sum.py GradientSum, exact/lattice.py Lattice]
    Where the contribution of a record is a function of that record alone, the sum of whole numbers is the same for every order of the records. *)
Theorem total_any_order s s' : perm_eq s s' -> total s = total s'.
Proof. exact: perm_big. Qed.

(** [lattice.md, gradient_sum.md; exact/gradient_sum.py GradientSum]
    However the records fall into parts, the sums of the parts add up to the sum of all. *)
Theorem total_in_parts (parts : seq (seq T)) s :
  perm_eq s (flatten parts) -> total s = \sum_(p <- parts) total p.
Proof. by move/total_any_order->; rewrite /total big_flatten. Qed.

(* Neighbours, as multisets. *)
Definition replaced s s' := exists t t' r, perm_eq s (t :: r) /\ perm_eq s' (t' :: r).
Definition removed s s' := exists t, perm_eq s (t :: s').

Variable C : int.
Hypothesis within : forall t, normsq (c t) <= C ^+ 2.

(** [lattice.md, gradient_sum.md, units.md; exact/lattice.py Lattice]
    Contributions of norm at most C: a record (or a whole unit, as one contribution) that is removed moves the sum by a vector of squared norm at most C^2. *)
Theorem total_removed s s' : removed s s' -> normsq (total s - total s') <= C ^+ 2.
Proof.
by case=> t /total_any_order->; rewrite /total big_cons addrK within.
Qed.

(** [lattice.md, gradient_sum.md, units.md; exact/lattice.py Lattice]
    The same for a record or unit that is added. *)
Theorem total_added s s' : removed s' s -> normsq (total s - total s') <= C ^+ 2.
Proof. by move/total_removed; rewrite -normsqN opprB. Qed.

(** [lattice.md, gradient_sum.md, units.md; exact/lattice.py Lattice]
    The same for one that is replaced: squared norm at most (2C)^2. *)
Theorem total_replaced s s' : replaced s s' -> normsq (total s - total s') <= (2%:R * C) ^+ 2.
Proof.
case=> t [t' [r [/total_any_order-> /total_any_order->]]].
rewrite /total !big_cons opprD addrACA subrr addr0.
apply: le_trans (normsqB _ _) _; rewrite exprMn -[2%:R ^+ 2]/(2%:R * 2%:R : int) -mulrA.
by rewrite ler_pmul2l // mulr_natl mulr2n ler_add.
Qed.

(* The same, as a Euclidean distance in any real closed field. *)
(** [lattice.md; exact/lattice.py Lattice]
    As a Euclidean distance in any real closed field: at most 2C. *)
Theorem total_replaced_norm (R : rcfType) s s' : 0 <= C -> replaced s s' ->
  norm (map_mx intr (total s - total s') : 'rV[R]_m) <= 2%:R * C%:~R.
Proof.
move=> C0 /total_replaced le; rewrite norm_leP ?mulr_ge0 ?ler0n ?ler0z //.
have -> : normsq (map_mx intr (total s - total s') : 'rV[R]_m) = (normsq (total s - total s'))%:~R.
  by rewrite /normsq rmorph_sum; apply: eq_bigr => j _; rewrite mxE rmorphX.
by rewrite -[2%:R]/((2%:Z)%:~R) -intrM -rmorphX ler_int.
Qed.
End Sum.

(* Whatever order, block and thread: a machine adds two partial results at a time. *)
Section Machine.
Variable T : eqType.
Inductive parts := Rec of T | Add of parts & parts.
Fixpoint records p := match p with Rec t => [:: t] | Add l r => records l ++ records r end.
Fixpoint run (add : int -> int -> int) (f : T -> int) p :=
  match p with Rec t => f t | Add l r => add (run add f l) (run add f r) end.

(* Any word: half is 2^63 for int64. (Never written out: mathcomp's whole numbers are unary.) *)
Variable half64 : int.
Hypothesis half64_gt0 : 0 < half64.
Definition full64 : int := half64 + half64.
Definition wrap64 (z : int) : int := ((z + half64) %% full64)%Z - half64.
Definition add64 a b := wrap64 (a + b).

Lemma wrap64D a b : wrap64 (wrap64 a + wrap64 b) = wrap64 (a + b).
Proof.
rewrite /wrap64; congr (_ - _); set h := half64; set M := full64.
have -> : ((a + h) %% M)%Z - h + (((b + h) %% M)%Z - h) + h = ((a + h) %% M)%Z + (((b + h) %% M)%Z - h).
  by rewrite -addrA subrK -addrA [- h + _]addrC.
rewrite modzDml [X in (X %% _)%Z]addrC -addrA modzDml.
by congr (_ %% _)%Z; ring.
Qed.

Lemma wrap64_small z : - half64 <= z < half64 -> wrap64 z = z.
Proof.
case/andP=> lo hi; rewrite /wrap64 modz_small ?addrK // -ler_subl_addr sub0r lo /=.
by rewrite /full64 ltr_add2r.
Qed.

(** [lattice.md, gradient_sum.md; exact/gradient_sum.py GradientSum]
    Whatever tree of additions a machine uses for the records, in words that wrap around, the result is the true sum, wrapped. *)
Theorem int64_any_engine f p : (forall t, wrap64 (f t) = f t) ->
  run add64 f p = wrap64 (\sum_(t <- records p) f t).
Proof.
move=> small; elim: p => [t|l IHl r IHr] /=; first by rewrite big_seq1 small.
by rewrite IHl IHr big_cat /add64 wrap64D.
Qed.

(** [lattice.md, gradient_sum.md; exact/gradient_sum.py GradientSum]
    So two engines that add the same records in any two trees get the same word. *)
Corollary int64_any_order f p q : (forall t, wrap64 (f t) = f t) ->
  perm_eq (records p) (records q) -> run add64 f p = run add64 f q.
Proof. by move=> small pq; rewrite !int64_any_engine // (perm_big _ pq). Qed.

(* No overflow where the bound on records leaves room: n C < 2^63. *)
(** [lattice.md; exact/lattice.py Lattice]
    If n contributions of modulus at most B satisfy n B < half a word, nothing wraps: the result is the true sum. *)
Corollary int64_exact f p (B : int) : (forall t, `|f t| <= B) -> (size (records p))%:Z * B < half64 ->
  run add64 f p = \sum_(t <- records p) f t.
Proof.
move=> fB room.
have ge : forall s : seq T, `|\sum_(t <- s) f t| <= (size s)%:Z * B.
  elim=> [|t s IH] /=; first by rewrite big_nil mul0r.
  rewrite big_cons -addn1 PoszD mulrDl mul1r addrC.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add.
have n1 : (0 < size (records p))%N by elim: p {room} => //= l IH r _; rewrite size_cat addn_gt0 IH.
have small z : `|z| < half64 -> wrap64 z = z.
  by rewrite ltr_norml => /andP[lo hi]; rewrite wrap64_small // ltW.
rewrite int64_any_engine => [|t]; first by apply/small/(le_lt_trans (ge _)).
apply: small; apply: le_lt_trans (fB t) (le_lt_trans _ room).
by rewrite ler_pemull ?(le_trans _ (fB t)) // lez_nat.
Qed.

(* float64: any addition that is exact while results stay below 2^53 is exact in any order,
   if the absolute values of the terms sum to at most that. *)
(** [gradient_sum.md, covariance.md; exact/gradient_sum.py GradientSum]
    If an addition is exact whenever its operands and result stay within M, and the absolute values of the terms sum to at most M, every tree of such additions gives the true sum. *)
Theorem float_any_engine (fadd : int -> int -> int) (M : int) f p :
  (forall a b, `|a| <= M -> `|b| <= M -> `|a + b| <= M -> fadd a b = a + b) ->
  \sum_(t <- records p) `|f t| <= M -> run fadd f p = \sum_(t <- records p) f t.
Proof.
move=> exact; elim: p => [t|l IHl r IHr] /=; first by rewrite !big_seq1.
rewrite !big_cat /= => le.
have pos s : 0 <= \sum_(t <- s) `|f t| by apply: sumr_ge0.
have leL : \sum_(t <- records l) `|f t| <= M by apply: le_trans le; rewrite ler_addl.
have leR : \sum_(t <- records r) `|f t| <= M by apply: le_trans le; rewrite ler_addr.
rewrite IHl // IHr // exact //.
- by apply: le_trans leL; apply: ler_norm_sum.
- by apply: le_trans leR; apply: ler_norm_sum.
by apply: le_trans le; apply: le_trans (ler_norm_add _ _) _; apply: ler_add; apply: ler_norm_sum.
Qed.
End Machine.
