(* docs/proofs/ledger.md "Arithmetic", "Order and concurrency", "Finitely many plans"; ledger/book.py charge, units.py. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

(* Quanta(main, delta) and Quanta.fits. *)
Definition quanta := (nat * nat)%type.
Definition add (a b : quanta) : quanta := (a.1 + b.1, a.2 + b.2).
Definition fits (a cap : quanta) := (a.1 <= cap.1) && (a.2 <= cap.2).

(* Several processes, each choosing its next cost from all it has seen (its local state); a charge is one
   transaction: it reads what is booked, compares and books. *)
Section Processes.
Variable cap : quanta.
Variables (process : eqType) (local : Type).
Variable cost : process -> local -> quanta.
Variable learn : process -> local -> bool -> quanta -> local.   (* granted?, and what is booked now *)

Record state := State { booked : quanta; granted : seq quanta; locals : process -> local }.

Definition charge (s : state) (p : process) : state :=
  let c := cost p (locals s p) in
  let yes := fits (add (booked s) c) cap in
  let now := if yes then add (booked s) c else booked s in
  State now (if yes then c :: granted s else granted s)
    (fun q => if q == p then learn p (locals s p) yes now else locals s q).

Definition run (s : state) (schedule : seq process) := foldl charge s schedule.

Definition sum (cs : seq quanta) := foldr add (0, 0) cs.

Definition sound (s : state) := booked s = sum (granted s) /\ fits (booked s) cap.

Lemma charge_sound s p : sound s -> sound (charge s p).
Proof.
case=> b f; rewrite /sound /charge; case: ifP => fc //=.
by split=> //; rewrite b /add /= addnC [X in (_, X)]addnC.
Qed.

(* Any interleaving, any length, any strategy. *)
(** [ledger.md; ledger/book.py Ledger.charge]
    Processes that charge in any order and number, each choosing its cost from all that it has seen: what is booked is always the sum of what was granted, and within the cap (a charge is one transaction). *)
Theorem never_over schedule s : sound s -> sound (run s schedule).
Proof. by elim: schedule s => //= p sch IH s /(charge_sound p); apply: IH. Qed.

(** [ledger.md; ledger/book.py Ledger.charge]
    From an empty book: the granted costs sum to at most the cap, in both parts. *)
Corollary granted_fit schedule l : fits (sum (granted (run (State (0, 0) [::] l) schedule))) cap.
Proof.
have [] // : sound (run (State (0, 0) [::] l) schedule); last by move=> <-.
by apply: never_over; split.
Qed.

(* A cost is never zero (units.cost refuses it), so there are finitely many plans. *)
(** [ledger.md; ledger/book.py Ledger.charge]
    If no cost is zero, no more plans are granted than the cap has quanta. *)
Theorem finitely_many schedule l : (forall p x, 0 < (cost p x).1 + (cost p x).2) ->
  size (granted (run (State (0, 0) [::] l) schedule)) <= cap.1 + cap.2.
Proof.
move=> pos; pose P (c : quanta) := 0 < c.1 + c.2.
have gen sch s0 : all P (granted s0) -> all P (granted (run s0 sch)).
  elim: sch s0 => //= p sch IH s0 h; apply: IH; rewrite /charge; case: ifP => //= _.
  by rewrite h /P pos.
have /andP[f1 f2] := granted_fit schedule l; apply: leq_trans (leq_add f1 f2).
have := gen schedule (State (0, 0) [::] l) isT.
elim: (granted _) => //= c cs IH /andP[c0 /IH le].
by rewrite addnACA -add1n leq_add.
Qed.
End Processes.

(* It has to be one transaction: read first, book later, and two plans of the whole cap are granted. *)
Inductive event := Read of bool | Book of bool.
Definition loose (cap cost : nat) (s : nat * (bool -> nat) * nat) e :=
  let: (booked, seen, total) := s in
  match e with
  | Read p => (booked, (fun q => if q == p then booked else seen q), total)
  | Book p => if seen p + cost <= cap then (seen p + cost, seen, total + cost) else s
  end.
(** [ledger.md; ledger/book.py Ledger.charge]
    Where reading and booking are two steps, two plans of the whole cap are both granted: a charge has to be one transaction. *)
Theorem not_atomic_overspends :
  (foldl (loose 1 1) (0, fun=> 0, 0) [:: Read true; Read false; Book true; Book false]).2 = 2.
Proof. by []. Qed.

(* Costs rounded up, caps down: whole numbers that fit are real amounts that fit (each of the two parts). *)
Section Rounding.
Local Open Scope ring_scope.
Variables (R : realFieldType) (quantum : R).
Hypothesis quantum0 : 0 < quantum.
(** [ledger.md; ledger/currency.py]
    Costs rounded up and the cap rounded down: whole numbers that fit are real amounts that fit. *)
Theorem real_cap (plan : Type) (plans : seq plan) (amount : plan -> R) (cost : plan -> nat) (cap : R) (whole : nat) :
  (forall p, amount p <= (cost p)%:R * quantum) -> whole%:R * quantum <= cap ->
  (\sum_(p <- plans) cost p <= whole)%N -> \sum_(p <- plans) amount p <= cap.
Proof.
move=> up down le; apply: le_trans down; apply: (@le_trans _ _ ((\sum_(p <- plans) cost p)%N%:R * quantum)).
  by rewrite natr_sum mulr_suml; apply: ler_sum => p _; apply: up.
by rewrite ler_pmul2r // ler_nat.
Qed.

(* ledger.md: a float x stands for the decimal that Python prints, |x - d| <= u x: the cap grows by that much. *)
(** [ledger.md; ledger/currency.py]
    If each amount exceeds its printed decimal by a relative u at most, and the decimals fit, the amounts fit cap (1 + u). *)
Theorem printed_cap (plan : Type) (plans : seq plan) (amount decimal : plan -> R) (u cap : R) :
  0 <= u -> (forall p, 0 <= decimal p) -> (forall p, amount p <= decimal p * (1 + u)) ->
  \sum_(p <- plans) decimal p <= cap -> \sum_(p <- plans) amount p <= cap * (1 + u).
Proof.
move=> u0 d0 le fit; apply: (@le_trans _ _ ((\sum_(p <- plans) decimal p) * (1 + u))).
  by rewrite mulr_suml; apply: ler_sum => p _; apply: le.
by apply: ler_wpmul2r => //; rewrite addr_ge0 ?ler01.
Qed.
End Rounding.
