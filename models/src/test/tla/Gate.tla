-------------------------------- MODULE Gate --------------------------------
(* The notify gate, sql/V013__wake_ups.sql. README.md says what stands for what. *)
EXTENDS Naturals, TLC
CONSTANTS
  W,       \* the writers' transactions, each with one row
  P,       \* the listening processes
  Faults,  \* how many deaths and stops there may be
  Off      \* the rules that are switched off

Rules == {"poll", "mended", "rows locked", "claim behind opening", "claim behind closing"}
ASSUME Off \subseteq Rules
On(rule) == rule \notin Off

VARIABLES
  row,   \* idle; stored; quiet or loud: its writer has read the gate; there: committed; gone
  held,  \* the rows that each process has claimed
  done,  \* how often each row was handled
  gate,  \* closed, nobody (listens), or the process that opened it, whose values nobody else sets
  over,  \* the time that the gate says has passed
  pc,    \* where a process is, see below
  bell,  \* a NOTIFY that a process has not answered
  early, \* rows that were committed before the gate was closed, unannounced
  left   \* the faults that may still come
vars == <<row, held, done, gate, over, pc, bell, early, left>>

\* idle, opening (has read that the gate is closed), opened (claims next), open (claims again and again), renewing (has read its own value),
\* closing (the same), closed (claims once more), leaving (off the registry), nobody (is about to say so), down
Up == {p \in P : pc[p] \notin {"down", "leaving", "nobody"}}
IsOpen == gate \in P /\ ~over
Set(f, x, v) == [f EXCEPT ![x] = v]
Goes(p, to) == pc' = Set(pc, p, to)
Init == /\ row = [w \in W |-> "idle"] /\ held = [p \in P |-> {}] /\ done = [w \in W |-> 0] /\ gate = "closed" /\ over = FALSE
        /\ pc = [p \in P |-> "idle"] /\ bell = [p \in P |-> FALSE] /\ early = {} /\ left = Faults

\* A writer stores, reads the gate, commits. Any step may be as late as it likes.
Store(w) == row[w] = "idle" /\ row' = Set(row, w, "stored") /\ UNCHANGED <<held, done, gate, over, pc, bell, early, left>>
Read(w) == /\ row[w] = "stored" /\ row' = Set(row, w, IF IsOpen \/ gate = "nobody" THEN "quiet" ELSE "loud")
           /\ UNCHANGED <<held, done, gate, over, pc, bell, early, left>>
Commit(w) == /\ row[w] \in {"quiet", "loud"} /\ row' = Set(row, w, "there")
             /\ bell' = [p \in P |-> bell[p] \/ (row[w] = "loud" /\ p \in Up)]
             /\ early' = IF row[w] = "quiet" /\ IsOpen THEN early \cup {w} ELSE early
             /\ UNCHANGED <<held, done, gate, over, pc, left>>

\* A claim takes one row, and is followed by others until it finds none.
Found(p) == {w \in W : row[w] = "there" /\ w \notin held[p] /\ (On("rows locked") => \A q \in P : w \notin held[q])}
Claims(p, then) == IF Found(p) = {} THEN held' = held /\ Goes(p, then)
                   ELSE \E w \in Found(p) : held' = Set(held, p, held[p] \cup {w}) /\ pc' = pc
Answer(p) == /\ bell[p] /\ pc[p] \in {"idle", "open"} /\ Claims(p, pc[p]) /\ bell' = Set(bell, p, Found(p) # {})
             /\ UNCHANGED <<row, done, gate, over, early, left>>
Poll(p) == /\ On("poll") /\ p \in Up /\ \E w \in Found(p) : held' = Set(held, p, held[p] \cup {w})
           /\ UNCHANGED <<row, done, gate, over, pc, bell, early, left>>
Mend(p) == /\ On("mended") /\ p \in Up /\ gate = "nobody" /\ gate' = "closed"
           /\ UNCHANGED <<row, held, done, over, pc, bell, early, left>>
Handle(p) == /\ \E w \in held[p] : row' = Set(row, w, "gone") /\ done' = Set(done, w, done[w] + 1) /\ held' = Set(held, p, held[p] \ {w})
             /\ UNCHANGED <<gate, over, pc, bell, early, left>>

\* The gate is read and set in two steps: nothing is locked.
Open(p) == pc[p] = "idle" /\ ~IsOpen /\ gate # "nobody" /\ Goes(p, "opening") /\ UNCHANGED <<row, held, done, gate, over, bell, early, left>>
SetOpen(p) == /\ pc[p] \in {"opening", "renewing"} /\ gate' = p /\ over' = FALSE
              /\ Goes(p, IF pc[p] = "opening" /\ On("claim behind opening") THEN "opened" ELSE "open")
              /\ UNCHANGED <<row, held, done, bell, early, left>>
ClaimOpened(p) == pc[p] = "opened" /\ Claims(p, "open") /\ UNCHANGED <<row, done, gate, over, bell, early, left>>
Tick(p) == pc[p] = "open" /\ Found(p) # {} /\ Claims(p, "open") /\ UNCHANGED <<row, done, gate, over, bell, early, left>>
Compare(p) == /\ pc[p] = "open"
              /\ IF gate = p THEN Goes(p, "renewing") \/ Goes(p, IF On("claim behind closing") THEN "closing" ELSE "last")
                             ELSE Goes(p, "closed")
              /\ UNCHANGED <<row, held, done, gate, over, bell, early, left>>
Close(p) == /\ pc[p] = "closing" /\ gate' = "closed" /\ Goes(p, IF On("claim behind closing") THEN "closed" ELSE "idle")
            /\ UNCHANGED <<row, held, done, over, bell, early, left>>
ClaimClosed(p) == /\ pc[p] \in {"closed", "last"} /\ Claims(p, IF pc[p] = "closed" THEN "idle" ELSE "closing")
                  /\ UNCHANGED <<row, done, gate, over, bell, early, left>>
Expire == gate \in P /\ ~over /\ over' = TRUE /\ UNCHANGED <<row, held, done, gate, pc, bell, early, left>>

\* A process is killed, wherever it is; or stops, and says that nobody listens where it sees no other.
Ends(p, to) == /\ left > 0 /\ left' = left - 1 /\ Goes(p, to) /\ held' = Set(held, p, {}) /\ bell' = Set(bell, p, FALSE)
               /\ UNCHANGED <<row, done, gate, over, early>>
Die(p) == pc[p] # "down" /\ Ends(p, "down")
Stop(p) == pc[p] = "idle" /\ Ends(p, IF Up = {p} THEN "nobody" ELSE "leaving")
Leave(p) == /\ pc[p] \in {"leaving", "nobody"} /\ Goes(p, "down") /\ gate' = IF pc[p] = "nobody" THEN "nobody" ELSE gate
            /\ UNCHANGED <<row, held, done, over, bell, early, left>>
Start(p) == /\ pc[p] = "down" /\ Goes(p, "closed") /\ gate' = IF gate = "nobody" THEN "closed" ELSE gate
            /\ UNCHANGED <<row, held, done, over, bell, early, left>>

Claim(p) == Answer(p) \/ ClaimOpened(p) \/ Tick(p) \/ ClaimClosed(p)
Next == \/ \E w \in W : Store(w) \/ Read(w) \/ Commit(w)
        \/ \E p \in P : \/ Claim(p) \/ Poll(p) \/ Mend(p) \/ Handle(p)
                        \/ Open(p) \/ SetOpen(p) \/ Compare(p) \/ Close(p) \/ Die(p) \/ Stop(p) \/ Leave(p) \/ Start(p)
        \/ Expire
Safe == Init /\ [][Next]_vars
\* Nothing is asked of writers, who may stay open for ever, nor of the dead.
Live == Safe /\ \A p \in P : /\ SF_vars(Claim(p)) /\ WF_vars(Poll(p)) /\ WF_vars(Mend(p)) /\ WF_vars(Handle(p))
                           /\ WF_vars(SetOpen(p)) /\ WF_vars(Close(p)) /\ WF_vars(Leave(p))

AtMostOnce == \A w \in W : done[w] <= 1
Handled == \A w \in W : (row[w] = "there") ~> (row[w] = "gone" \/ Up = {})
Mended == (gate = "nobody" /\ Up # {}) ~> (gate # "nobody" \/ Up = {})
\* A row that is committed, unannounced, before the gate is closed does not wait for the poll: where nobody ends, a claim is to come.
InTime == \A w \in early : row[w] = "there" => \E p \in P : w \in held[p] \/ bell[p] \/ pc[p] \notin {"idle", "opening"}
\* Not so: two that open at once both have it open, until the first to renew finds the other's value.
OneOpens == \E p \in P : pc[p] # "open"
=============================================================================
