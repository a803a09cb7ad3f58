(* Results of the definitions that the theorems are about, over binary integers, for tests/proofs to compare with the package.
   Inputs come from a fixed linear congruence; each row is (inputs, outputs). *)
From Coq Require Import ZArith String List.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
Require Import ledger impute order median trimmed counts dedup.
Import ListNotations.
Open Scope Z_scope.

Definition next (x : Z) : Z := (x * 1103515245 + 12345) mod 2147483648.
Fixpoint draws (n : nat) (x : Z) : list Z * Z :=
  match n with O => ([], x) | S k => let y := next x in let (l, z) := draws k y in (((y / 65536)%Z) :: l, z) end.
Fixpoint cases {A : Type} (n : nat) (f : list Z -> A) (width : nat) (x : Z) : list A :=
  match n with O => [] | S k => let (l, y) := draws width x in f l :: cases k f width y end.
Definition at_ (l : list Z) (i : nat) := List.nth i l 0.
Definition below (m : Z) (l : list Z) := map (fun x => x mod m) l.
Definition first_k (f : nat -> bool) (n : nat) : Z :=
  (fix go (fuel k : nat) : Z := match fuel with O => -1 | S g => if f k then Z.of_nat k else go g (S k) end) n O.

(* 0 to 9 cells in [0, 12], a gap G in 0..12: the cells, G, the lower median, whether the premise holds, the distance (-1: never). *)
Definition of_median (l : list Z) :=
  let n := Z.to_nat (at_ l 0 mod 10) in let G := at_ l 1 mod 13 in let s := below 13 (firstn n (skipn 2 l)) in
  (s, [G; @order.median _ 0 12 6 s; if @order.near_median _ 0 12 s G then 1 else 0;
       first_k (fun k => Z.ltb G (@median.median_gap _ 0 12 s k)) (n + 3)]).
(* e at each end, a spread: x_(k-e+1) - x_(e), and the distance. *)
Definition of_trimmed (l : list Z) :=
  let n := Z.to_nat (at_ l 0 mod 9 + 3) in let e := Z.to_nat (at_ l 1 mod 2 + 1) in let G := at_ l 2 mod 13 in
  let s := below 13 (firstn n (skipn 3 l)) in
  (s, [Z.of_nat e; G; @trimmed.end_span _ 0 12 e s;
       first_k (fun k => Z.ltb G (@trimmed.grown _ 0 12 e s k)) (e + 1)]).
(* Points on a line, eta: which are good centres. *)
Definition distance (x y : Z) := Z.abs (x - y).
Definition of_good (l : list Z) :=
  let n := Z.to_nat (at_ l 0 mod 9 + 2) in let eta := at_ l 1 mod 4 + 1 in let s := below 40 (firstn n (skipn 2 l)) in
  (s, (eta, map (fun c => if @dedup.good _ _ distance eta s c then 1 else 0) s)).
(* Costs charged one after the other against a cap: booked, and which were granted. *)
Definition of_charges (l : list Z) :=
  let cost (k : nat) := (Z.to_nat (at_ l k mod 6), Z.to_nat (at_ l (k + 8)%N mod 3)) in
  let costs := map cost [0; 1; 2; 3; 4; 5; 6; 7]%nat in let cap := (Z.to_nat (at_ l 16 mod 25), Z.to_nat (at_ l 17 mod 9)) in
  let s := ledger.run cap (fun (_ : unit_eqType) (q : seq ledger.quanta) => head (O, O) q) (fun _ q _ _ => behead q)
    (ledger.State (O, O) [::] (fun _ => costs)) (nseq 8 tt) in
  let two (q : nat * nat) := [Z.of_nat q.1; Z.of_nat q.2] in
  (map two costs, (two cap, (two (ledger.booked s), map two (rev (ledger.granted s))))).
(* The weight of q missing cells, caps p and m: numerator and denominator. *)
Definition of_weight (l : list Z) :=
  let p := Z.to_nat (at_ l 0 mod 12) in let m := Z.to_nat (at_ l 1 mod 12 + 1) in let q := Z.to_nat (at_ l 2 mod 26) in
  let w := @impute.phi rat_realFieldType p m q in
  [Z.of_nat p; Z.of_nat m; Z.of_nat q; Z_of_int (numq w); Z_of_int (denq w)].
(* The score of the private quantile: wanted count, N_j, N_(j+1). *)
Definition of_score (l : list Z) :=
  let values := below 8 (firstn 6 (skipn 1 l)) in let a := at_ l 0 mod 8 in
  let N j := int_of_Z (Z.of_nat (length (filter (fun k => Z.leb j k) values))) in
  (a, (values, map (fun j => Z_of_int (counts.score (int_of_Z a) (N j) (N (j + 1)))) [0; 1; 2; 3; 4; 5; 6; 7])).

Eval vm_compute in ("median"%string, cases 1200 of_median 12 1).
Eval vm_compute in ("trimmed"%string, cases 800 of_trimmed 15 2).
Eval vm_compute in ("good"%string, cases 600 of_good 13 3).
Eval vm_compute in ("charges"%string, cases 400 of_charges 18 4).
Eval vm_compute in ("weight"%string, cases 600 of_weight 3 5).
Eval vm_compute in ("score"%string, cases 500 of_score 7 6).
