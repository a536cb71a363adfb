------------------------------- MODULE Owned --------------------------------
(* Gate.tla, where the word has an owner: who has set it last. Only he changes it before its time has *)
(* passed, but that who is to be awake may take it from one who owes. It is closed when nobody owes a *)
(* look any more, so that who reads closed has nothing to do.                                         *)
EXTENDS Gate

\* "calling" stands for announced and for owing: writers notify, and others watch.
AwakeOf(p) == [kind |-> "awake", by |-> p, over |-> FALSE]
\* No two writes are of the same value, so this is one comparison.
Mine(p) == word.by = p \/ ~On("compared")

OLook(p) == /\ Runs(p) /\ (pc[p] = "open" \/ (pc[p] \in {"idle", "owing"} /\ bell[p])) /\ Claim(p)
            /\ UNCHANGED <<word, pc, watch, lis, list, hung, left>>
OOpen(p) == /\ Runs(p) /\ pc[p] \in {"idle", "owing"} /\ ~bell[p]
            /\ IF word.kind = "awake" /\ ~word.over
               THEN watch' = Set(watch, p, TRUE) /\ UNCHANGED <<word, pc, list>>
               ELSE /\ word' = Calling(p) /\ pc' = Set(pc, p, "calling") /\ list' = Set(list, p, {})
                    /\ UNCHANGED watch
            /\ UNCHANGED <<ws, bell, lis, hung, left>>
\* SetAwake and Renew: awake, or owes.
OStay(p) == /\ Runs(p) /\ pc[p] \in {"called", "open"}
            /\ IF Mine(p) THEN word' = AwakeOf(p) /\ pc' = Set(pc, p, "open") ELSE word' = word /\ pc' = Set(pc, p, "closed")
            /\ UNCHANGED <<ws, bell, watch, lis, list, hung, left>>
OClose(p) == /\ Runs(p) /\ pc[p] \in {"called", "open"}
             /\ word' = (IF Mine(p) THEN Calling(p) ELSE word) /\ pc' = Set(pc, p, "closed")
             /\ UNCHANGED <<ws, bell, watch, lis, list, hung, left>>
OSettleLook(p) == /\ Runs(p) /\ pc[p] = "listed" /\ pc' = Set(pc, p, "owing")
                  /\ (Claim(p) \/ HandOver(p)) /\ UNCHANGED <<word, watch, lis, list, hung, left>>
\* Prunes, then looks; when the last has ended, all look.
OLinger(p) == /\ Runs(p) /\ pc[p] = "owing" /\ list' = Set(list, p, list[p] \cap InFlight)
              /\ IF list'[p] = {} THEN bell' = (IF On("all rung") THEN Rung ELSE bell) /\ pc' = Set(pc, p, "done")
                 ELSE list'[p] # list[p] /\ bell' = Set(bell, p, TRUE) /\ pc' = pc
              /\ UNCHANGED <<ws, word, watch, lis, hung, left>>
OBeat(p) == /\ Runs(p) /\ pc[p] = "owing" /\ word.by = p /\ word.over /\ word' = [word EXCEPT !.over = FALSE]
            /\ UNCHANGED <<ws, pvars>>
ODone(p) == /\ Runs(p) /\ pc[p] = "done" /\ word' = (IF Mine(p) THEN Closed ELSE word)
            /\ pc' = Set(pc, p, "idle") /\ watch' = Set(watch, p, TRUE)
            /\ UNCHANGED <<ws, bell, lis, list, hung, left>>
\* Who owes looks for long watches, too: who relies on a later word of another is not on its list.
OWatch(p) == /\ Runs(p) /\ (pc[p] = "idle" \/ (pc[p] = "owing" /\ On("owing watch"))) /\ watch[p] /\ watch' = Set(watch, p, FALSE)
             /\ \/ word.kind = "closed" /\ UNCHANGED <<word, pc>>
                \/ word.over /\ On("taken over") /\ word' = Calling(p) /\ pc' = Set(pc, p, "closed")
             /\ UNCHANGED <<ws, bell, lis, list, hung, left>>
ORelisten(p) == /\ Runs(p) /\ ~lis[p] /\ lis' = Set(lis, p, TRUE) /\ bell' = Set(bell, p, TRUE)
                /\ watch' = Set(watch, p, watch[p] \/ On("word read"))
                /\ UNCHANGED <<ws, word, pc, list, hung, left>>
\* In good order, a process hands on what it owes.
OStop(p) == /\ Runs(p) /\ Spend("stop") /\ Held(p) = {} /\ pc[p] \in {"called", "open", "owing"}
            /\ word' = IF Mine(p) THEN [Calling("nobody") EXCEPT !.over = TRUE] ELSE word
            /\ pc' = Set(pc, p, "down") /\ list' = Set(list, p, {}) /\ lis' = Set(lis, p, FALSE)
            /\ bell' = Set(Rung, p, FALSE) /\ watch' = [q \in P |-> q # p /\ (watch[q] \/ lis[q])]
            /\ UNCHANGED <<ws, hung>>
\* Prepared transactions survive. What comes back is no older than what a quiet one of them has read: since then the word was not closed,
\* and who owes has it on his list.
\* An earlier value is nobody's, unless it is the last that a process has written.
ORestart == /\ Spend("restart")
            /\ \E prepared \in SUBSET {w \in W : ws[w] = "quiet"} :
                 /\ ws' = [w \in W |-> IF w \in InFlight \ prepared THEN "gone" ELSE GivenBack(P)[w]]
                 /\ word' \in (IF prepared = {} \/ ~On("in order") THEN {Closed} ELSE {})
                              \cup {Awake, Calling("nobody")} \cup {word}
                              \cup {AwakeOf(p) : p \in {q \in P : pc[q] = "open"}}
                              \cup {Calling(p) : p \in {q \in P : \/ pc[q] \in {"calling", "called", "closed"}
                                                                   \/ (pc[q] \in {"listed", "owing", "done"} /\ prepared \subseteq list[q])}}
            /\ Deafened(P) /\ UNCHANGED <<pc, list, hung>>

OWork(p) == OLook(p) \/ List(p) \/ OSettleLook(p) \/ Call(p) \/ (pc[p] = "called" /\ OStay(p))
ONext == \/ \E w \in W : WXid(w) \/ WRead(w) \/ WCommit(w) \/ WAbort(w)
         \/ \E p \in P : \/ OWork(p) \/ Handle(p) \/ OWatch(p) \/ OLinger(p) \/ ODone(p) \/ OBeat(p) \/ ORelisten(p)
                         \/ OOpen(p) \/ OStay(p) \/ OClose(p) \/ OStop(p)
                         \/ Fail(p) \/ Hang(p) \/ ComeBack(p) \/ Deaf(p) \/ Die(p) \/ Start(p)
         \/ Expire \/ ClockBack \/ ORestart
OSafe == Init /\ [][ONext]_vars
OLive == OSafe /\ WF_vars(Expire)
               /\ \A p \in P : /\ WF_vars(OWork(p)) /\ WF_vars(Handle(p)) /\ WF_vars(ORelisten(p))
                               /\ WF_vars(OWatch(p)) /\ WF_vars(OLinger(p)) /\ WF_vars(ODone(p))
=============================================================================
