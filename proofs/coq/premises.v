(* docs/proofs/holdout.md, "Premises": which of them every part of the rows inherits; placed/ and runs/premises.py of the code. *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Parts.
Variable record : eqType.
Implicit Types (s part : seq record) (m : nat).

(* A part of the rows: some of them, by coins, in their order. *)
Definition coins := seq bool.
Definition part_of (c : coins) s := mask c s.

Lemma count_part (P : pred record) c s : count P (part_of c s) <= count P s.
Proof.
elim: s c => [|x s IH] [|b c] //=; rewrite /part_of.
case: b => /=; first by rewrite leq_add2l; apply: IH.
by apply: leq_trans (IH c) _; apply: leq_addl.
Qed.

(** [holdout.md; preprocessing/impute_caps.py FewMissing]
    FewMissing: if at most m of all records miss a cell, at most m of any part do. *)
Theorem few_missing_inherited (misses : pred record) m c s : count misses s <= m -> count misses (part_of c s) <= m.
Proof. by apply: leq_trans; apply: count_part. Qed.

(* Uncrowded, with any relation that two records have by themselves: near, and of the same label. *)
Definition uncrowded (near : rel record) m s := all (fun x => count (near x) s <= m) s.

(** [holdout.md; preprocessing/_crowd.py Uncrowded]
    Uncrowded: if no record has more than m records near it, itself included, none has in any part. *)
Theorem uncrowded_inherited (near : rel record) m c s : uncrowded near m s -> uncrowded near m (part_of c s).
Proof.
move=> /allP crowd; apply/allP => x xp; have xs : x \in s by apply: mem_mask xp.
exact: leq_trans (count_part _ _ _) (crowd _ xs).
Qed.

(** [holdout.md; runs/premises.py of_part]
    The same of every premise "max over i of the records that stand in a relation to i is at most m", the form of both. *)
Theorem counts_inherited (relation : rel record) m c s :
  (forall x, x \in s -> count (relation x) s <= m) -> forall x, x \in part_of c s -> count (relation x) (part_of c s) <= m.
Proof. by move=> le x /mem_mask xs; apply: leq_trans (count_part _ _ _) (le _ xs). Qed.

(** [holdout.md; preprocessing/impute_caps.py MissingCaps.of]
    A share is not inherited: of four records one misses its cell, a share of a quarter, and of the part {that record} all do. *)
Theorem share_not_inherited (x y : record) : x != y ->
  let s := [:: x; y; y; y] in let part := part_of [:: true; false; false; false] s in
  4 * count (pred1 x) s <= size s /\ size part < 4 * count (pred1 x) part.
Proof. by move=> xy /=; rewrite eqxx (eq_sym y x) (negbTE xy). Qed.
End Parts.

(* Replace-one and coins: the parts of neighbours are equal but for the part of the record. *)
Section Neighbours.
Variables (record : eqType) (k : nat).
Implicit Types (s r : seq record).
Definition in_part (c : seq 'I_k) (j : 'I_k) s := mask [seq i == j | i <- c] s.

(** [holdout.md; evaluation/holdout.py]
    With the same coins, tables that differ in one record have the same parts, but for the part that its coin names, where they differ
    in that record. *)
Theorem parts_of_neighbours (a b : seq record) x x' ca cb i j : size ca = size a ->
  in_part (ca ++ i :: cb) j (a ++ x :: b) =
    in_part ca j a ++ (if i == j then [:: x] else [::]) ++ in_part cb j b /\
  in_part (ca ++ i :: cb) j (a ++ x' :: b) =
    in_part ca j a ++ (if i == j then [:: x'] else [::]) ++ in_part cb j b.
Proof.
move=> sz; have e (y : record) : in_part (ca ++ i :: cb) j (a ++ y :: b) =
    in_part ca j a ++ (if i == j then [:: y] else [::]) ++ in_part cb j b.
  by rewrite /in_part map_cat mask_cat ?size_map //=; case: (i == j).
by split.
Qed.

(** [holdout.md; evaluation/holdout.py]
    Add or remove one: with the coin of the record taken away with it, all other parts are the same. *)
Theorem parts_without_a_record (a b : seq record) x ca cb i j : size ca = size a ->
  in_part (ca ++ i :: cb) j (a ++ x :: b) =
    in_part ca j a ++ (if i == j then [:: x] else [::]) ++ in_part cb j b /\
  in_part (ca ++ cb) j (a ++ b) = in_part ca j a ++ in_part cb j b.
Proof.
move=> sz; split; first by rewrite /in_part map_cat mask_cat ?size_map //=; case: (i == j).
by rewrite /in_part map_cat mask_cat ?size_map.
Qed.
End Neighbours.
