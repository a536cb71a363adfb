-------------------------------- MODULE Gate --------------------------------
(* Writers do not NOTIFY while somebody looks anyway; nobody polls for rows.  *)
(* Promised: whatever is committed is handled, as long as one process lives.  *)
(* README.md says what stands for what, and what TLC found.                   *)
EXTENDS Naturals, FiniteSets, Sequences, TLC
CONSTANTS
  W,       \* the writers' transactions, each with one row
  P,       \* the listening processes
  Cap,     \* how many rows a process can have at work
  Faults,  \* how often each fault may come: a record
  Always,  \* FALSE: who opens calls the others, and these watch the word until it is closed
           \* TRUE: every process reads the word for ever, now and then; nobody calls
  Off      \* the rules that are switched off

Rules == {"xid first", "rows watched", "own bell", "settled first", "call first", "calling", "list dropped",
          "compared", "in one step", "listed later", "listed before the look", "linger", "pruned by the look",
          "watchers settle", "watchers linger", "taken over", "closed is new", "listen first",
          "start settles", "word read", "expiry", "writers see the time",
          "all rung", "in order", "owing watch"}  \* the last three of Owned.tla
ASSUME Off \subseteq Rules

VARIABLES
  ws,      \* a transaction and its row: idle, xid, quiet or loud (has read the word), free (committed,
           \* claimed by nobody), a process (which has claimed it), gone (handled or rolled back)
  word,    \* kind: closed, calling, awake; by: who is calling; over: its time has passed
  pc,      \* where a process is: down, idle, calling, called, open, taking, closed, listed
  bell,    \* has something to look for: rung by a NOTIFY, or known by itself
  watch,   \* reads the word until it is closed
  lis,     \* its connection listens
  list,    \* the transactions that it lingers for
  hung,    \* the processes that take no step, for a while or for ever
  left     \* the faults that may still come
vars == <<ws, word, pc, bell, watch, lis, list, hung, left>>
pvars == <<pc, bell, watch, lis, list, hung, left>>

On(rule) == rule \notin Off
Closed == [kind |-> "closed", by |-> "nobody", over |-> FALSE]
Awake == [kind |-> "awake", by |-> "nobody", over |-> FALSE]
Calling(p) == [kind |-> "calling", by |-> p, over |-> FALSE]
InFlight == {w \in W : ws[w] \in {"xid", "quiet", "loud"}}
Free == {w \in W : ws[w] = "free"}
Held(p) == {w \in W : ws[w] = p}
HasWorker(p) == Cardinality(Held(p)) < Cap
Up == {p \in P : pc[p] # "down"}
Runs(p) == p \in Up /\ p \notin hung
Set(f, p, v) == [f EXCEPT ![p] = v]

Init == /\ ws = [w \in W |-> "idle"] /\ word = Closed
        /\ pc = [p \in P |-> "idle"] /\ bell = [p \in P |-> FALSE] /\ watch = [p \in P |-> FALSE]
        /\ lis = [p \in P |-> TRUE] /\ list = [p \in P |-> {}] /\ hung = {} /\ left = Faults

\* ---------------------------------------------------------------- the writers
WhatItHears == IF word.kind = "awake" /\ (~word.over \/ ~On("writers see the time")) THEN "quiet" ELSE "loud"
WXid(w) == /\ IF On("xid first")
              THEN ws[w] = "idle" /\ ws' = Set(ws, w, "xid")
              ELSE \/ ws[w] = "idle" /\ ws' = Set(ws, w, WhatItHears \o ", no xid")
                   \/ ws[w] = "quiet, no xid" /\ ws' = Set(ws, w, "quiet")
                   \/ ws[w] = "loud, no xid" /\ ws' = Set(ws, w, "loud")
           /\ UNCHANGED <<word, pvars>>
WRead(w) == ws[w] = "xid" /\ ws' = Set(ws, w, WhatItHears) /\ UNCHANGED <<word, pvars>>
Rung == [p \in P |-> bell[p] \/ lis[p]]
WCommit(w) == /\ ws[w] \in {"quiet", "loud"} /\ ws' = Set(ws, w, "free")
              /\ bell' = IF ws[w] = "loud" THEN Rung ELSE bell
              /\ UNCHANGED <<word, pc, watch, lis, list, hung, left>>
WAbort(w) == w \in InFlight /\ ws' = Set(ws, w, "gone") /\ UNCHANGED <<word, pvars>>

\* --------------------------------------------------------------------- a look
\* Claims one free row; looks again while more are free, or others hold some, who may give them back.
Claim(p) == /\ HasWorker(p)
            /\ LET others == On("rows watched") /\ \E w \in W : ws[w] \in P \ {p}
               IN IF Free = {} THEN ws' = ws /\ bell' = Set(bell, p, others)
                  ELSE \E w \in Free : ws' = Set(ws, w, p) /\ bell' = Set(bell, p, others \/ Free # {w})
\* Who has no worker lets others look, and keeps its own bell: they may die before they have.
HandOver(p) == ~HasWorker(p) /\ ws' = ws /\ bell' = Set(Rung, p, IF On("own bell") THEN TRUE ELSE bell[p])
Look(p) == /\ Runs(p) /\ (pc[p] = "open" \/ (pc[p] = "idle" /\ bell[p])) /\ Claim(p)
           /\ UNCHANGED <<word, pc, watch, lis, list, hung, left>>
Handle(p) == /\ Runs(p) /\ \E w \in Held(p) : ws' = Set(ws, w, "gone")
             /\ UNCHANGED <<word, pvars>>

\* ------------------------------------------------------- opening, staying open
Spread(p) == IF Always /\ On("closed is new") THEN [q \in P |-> q # p \/ watch[q]] ELSE watch
Stay(p) == word' = Awake /\ pc' = Set(pc, p, "open") /\ watch' = Spread(p) /\ bell' = bell
\* Always allowed: nobody renews the word for it, so that it runs out, or others do.
Leave(p) == word' = word /\ pc' = Set(pc, p, "idle") /\ watch' = Set(watch, p, TRUE) /\ bell' = Set(bell, p, TRUE)
MayOpen(p) == ~bell[p] /\ (pc[p] = "idle" \/ (~On("settled first") /\ pc[p] \in {"closed", "listed"}))
Open(p) == /\ Runs(p) /\ MayOpen(p)
           /\ IF word.kind = "awake" \/ Always THEN Stay(p)
              ELSE /\ word' = IF ~On("call first") THEN Awake ELSE IF On("calling") THEN Calling(p) ELSE word
                   /\ pc' = Set(pc, p, "calling") /\ UNCHANGED <<watch, bell>>
           /\ list' = IF On("list dropped") THEN Set(list, p, {}) ELSE list
           /\ UNCHANGED <<ws, lis, hung, left>>
Call(p) == /\ Runs(p) /\ pc[p] = "calling"
           /\ watch' = [q \in P |-> watch[q] \/ (q # p /\ lis[q])]
           /\ pc' = Set(pc, p, IF On("call first") THEN "called" ELSE "open")
           /\ UNCHANGED <<ws, word, bell, lis, list, hung, left>>
SetAwake(p) == /\ Runs(p) /\ pc[p] = "called"
               /\ IF word.kind = "awake" \/ word.by = p \/ ~On("compared") \/ ~On("calling") THEN Stay(p) ELSE Leave(p)
               /\ UNCHANGED <<ws, lis, list, hung, left>>
Renew(p) == /\ Runs(p) /\ pc[p] = (IF On("in one step") THEN "open" ELSE "compared")
            /\ IF word.kind = "awake" \/ ~On("compared") \/ ~On("in one step") THEN Stay(p) ELSE Leave(p)
            /\ UNCHANGED <<ws, lis, list, hung, left>>
\* Only where "in one step" is off: compared now, set later.
Compare(p) == /\ ~On("in one step") /\ Runs(p) /\ pc[p] = "open"
              /\ IF word.kind = "awake" THEN pc' = Set(pc, p, "compared") /\ UNCHANGED <<word, bell, watch>> ELSE Leave(p)
              /\ UNCHANGED <<ws, lis, list, hung, left>>

\* ---------------------------------------------------------- closing, settling
\* To leave is not for those who count on no expiry and no successor.
Close(p) == /\ Runs(p)
            /\ \/ /\ pc[p] = (IF On("listed later") THEN "open" ELSE "early") /\ word' = Closed
                  /\ pc' = Set(pc, p, IF On("listed later") THEN "closed" ELSE "listed")
                  /\ watch' = Spread(p) /\ bell' = bell
               \/ pc[p] = "open" /\ On("expiry") /\ On("taken over") /\ Leave(p)
            /\ UNCHANGED <<ws, lis, list, hung, left>>
Then(first, second) == IF On("listed before the look") THEN first ELSE second
List(p) == /\ Runs(p) /\ pc[p] = Then("closed", "listed") /\ pc' = Set(pc, p, Then("listed", "idle"))
           /\ list' = Set(list, p, IF On("linger") THEN InFlight ELSE {})
           /\ UNCHANGED <<ws, word, bell, watch, lis, hung, left>>
\* Only where "listed later" is off: the list is taken before the word is closed.
ListEarly(p) == /\ ~On("listed later") /\ Runs(p) /\ pc[p] = "open" /\ pc' = Set(pc, p, "early")
                /\ list' = Set(list, p, InFlight) /\ UNCHANGED <<ws, word, bell, watch, lis, hung, left>>
SettleLook(p) == /\ Runs(p) /\ pc[p] = Then("listed", "closed") /\ pc' = Set(pc, p, Then("idle", "listed"))
                 /\ (Claim(p) \/ HandOver(p)) /\ UNCHANGED <<word, watch, lis, list, hung, left>>
LingerLook(p) == /\ Runs(p) /\ pc[p] = "idle" /\ (Claim(p) \/ HandOver(p))
                 /\ IF On("pruned by the look")
                    THEN /\ ~(list[p] \subseteq InFlight) /\ pc' = pc /\ list' = Set(list, p, list[p] \cap InFlight)
                    ELSE list[p] # {} /\ pc' = Set(pc, p, "looked") /\ list' = list
                 /\ UNCHANGED <<word, watch, lis, hung, left>>
\* Only where "pruned by the look" is off: by a later snapshot than that which looked.
Prune(p) == /\ Runs(p) /\ pc[p] = "looked" /\ pc' = Set(pc, p, "idle") /\ list' = Set(list, p, list[p] \cap InFlight)
            /\ UNCHANGED <<ws, word, bell, watch, lis, hung, left>>

\* ------------------------------------------------------------------- watching
Watch(p) == /\ Runs(p) /\ pc[p] = "idle" /\ watch[p] /\ watch' = Set(watch, p, FALSE)
            /\ \/ /\ word.kind = "closed"
                  /\ pc' = Set(pc, p, IF ~On("watchers settle") THEN "idle" ELSE IF On("watchers linger") THEN "closed" ELSE "listed")
               \/ /\ word.over /\ On("taken over") /\ pc' = Set(pc, p, "taking")
            /\ UNCHANGED <<ws, word, bell, lis, list, hung, left>>
TakeOver(p) == /\ Runs(p) /\ pc[p] = "taking" /\ pc' = Set(pc, p, "closed")
               /\ word' = Closed /\ watch' = Spread(p)
               /\ UNCHANGED <<ws, bell, lis, list, hung, left>>
\* Only where "closed is new" is off: it learns of an opening if it reads the word before the closing.
Notice(p) == /\ Always /\ ~On("closed is new") /\ Runs(p) /\ word.kind # "closed" /\ ~watch[p]
             /\ watch' = Set(watch, p, TRUE) /\ UNCHANGED <<ws, word, pc, bell, lis, list, hung, left>>
Relisten(p) == /\ Runs(p) /\ ~lis[p] /\ lis' = Set(lis, p, TRUE)
               /\ IF On("listen first")
                  THEN /\ bell' = Set(bell, p, TRUE)
                       /\ watch' = Set(watch, p, \/ watch[p] \/ On("start settles")
                                                 \/ On("word read") /\ word.kind # "closed")
                  ELSE pc[p] = "idle" /\ ~watch[p] /\ ~bell[p] /\ list[p] = {} /\ UNCHANGED <<watch, bell>>
               /\ UNCHANGED <<ws, word, pc, list, hung, left>>

\* ------------------------------------------------------------- time and faults
Expire == /\ On("expiry") /\ word.kind # "closed" /\ ~word.over /\ word' = [word EXCEPT !.over = TRUE]
          /\ UNCHANGED <<ws, pvars>>
Spend(what) == left[what] > 0 /\ left' = [left EXCEPT ![what] = @ - 1]
ClockBack == /\ Spend("clock") /\ word.over /\ word' = [word EXCEPT !.over = FALSE]
             /\ UNCHANGED <<ws, pc, bell, watch, lis, list, hung>>
Fail(p) == /\ Runs(p) /\ Spend("fail") /\ \E w \in Held(p) : ws' = Set(ws, w, "free")
           /\ bell' = Set(bell, p, TRUE) /\ UNCHANGED <<word, pc, watch, lis, list, hung>>
Hang(p) == /\ Runs(p) /\ Spend("hang") /\ hung' = hung \cup {p}
           /\ UNCHANGED <<ws, word, pc, bell, watch, lis, list>>
ComeBack(p) == p \in hung /\ hung' = hung \ {p} /\ UNCHANGED <<ws, word, pc, bell, watch, lis, list, left>>
GivenBack(ps) == [w \in W |-> IF ws[w] \in ps THEN "free" ELSE ws[w]]
\* What was under way on a connection that listened is lost. Where "listen first" is off, the look comes before the LISTEN.
Deafened(ps) == /\ lis' = [p \in P |-> lis[p] /\ p \notin ps]
                /\ bell' = [p \in P |-> IF p \in ps THEN ~On("listen first") ELSE bell[p]]
                /\ watch' = [p \in P |-> IF p \in ps THEN ~On("listen first") ELSE watch[p]]
Deaf(p) == /\ p \in Up /\ lis[p] /\ Spend("deaf") /\ Deafened({p})
           /\ UNCHANGED <<ws, word, pc, list, hung>>
Die(p) == /\ p \in Up /\ Spend("die") /\ pc' = Set(pc, p, "down") /\ ws' = GivenBack({p})
          /\ Deafened({p}) /\ list' = Set(list, p, {}) /\ hung' = hung \ {p} /\ UNCHANGED word
Start(p) == pc[p] = "down" /\ pc' = Set(pc, p, "idle") /\ UNCHANGED <<ws, word, bell, watch, lis, list, hung, left>>
\* The word comes back with any value that it may ever have had.
Restart == /\ Spend("restart") /\ ws' = [w \in W |-> IF w \in InFlight THEN "gone" ELSE GivenBack(P)[w]]
           /\ word' \in {Closed, Awake} \cup {Calling(p) : p \in P}
           /\ Deafened(P) /\ UNCHANGED <<pc, list, hung>>

Work(p) == Look(p) \/ List(p) \/ SettleLook(p) \/ LingerLook(p) \/ Call(p) \/ SetAwake(p)
Next == \/ \E w \in W : WXid(w) \/ WRead(w) \/ WCommit(w) \/ WAbort(w)
        \/ \E p \in P : \/ Work(p) \/ Handle(p) \/ Watch(p) \/ TakeOver(p) \/ Notice(p) \/ Relisten(p)
                        \/ Open(p) \/ Renew(p) \/ Compare(p) \/ Close(p) \/ ListEarly(p) \/ Prune(p)
                        \/ Fail(p) \/ Hang(p) \/ ComeBack(p) \/ Deaf(p) \/ Die(p) \/ Start(p)
        \/ Expire \/ ClockBack \/ Restart
Safe == Init /\ [][Next]_vars
\* Nothing is asked of writers, who may stay in flight for ever, nor of the dead, the hung, and those who are open.
Live == Safe /\ WF_vars(Expire)
             /\ \A p \in P : /\ WF_vars(Work(p)) /\ WF_vars(Handle(p)) /\ WF_vars(Relisten(p))
                             /\ WF_vars(Watch(p) \/ TakeOver(p)) /\ WF_vars(Notice(p))
Symmetry == Permutations(W) \cup Permutations(P)

\* ----------------------------------------------------------------- the promise
Committed(w) == ws[w] \in P \cup {"free"}
\* p has something before it that ends in a look at w. Who is "owing", of Owned.tla, may be for ever, because of others than w.
Knows(p, w) == \/ bell[p] \/ ~lis[p] \/ (watch[p] /\ (pc[p] # "owing" \/ On("owing watch")))
               \/ pc[p] \notin {"idle", "owing"} \/ w \in list[p]
               \/ Always /\ word.kind # "closed"
SomebodyKnows == \A w \in W : ws[w] = "free" /\ Up # {} => \E p \in Up : Knows(p, w)
\* Stronger, and what the rules keep: whoever dies or hangs, any one that is left is enough.
EverybodyKnows == \A w \in W : Committed(w) => \A p \in Up : ws[w] = p \/ Knows(p, w)
AllHandled == \A w \in W : Committed(w) ~> (ws[w] = "gone" \/ ws[w] \in hung \/ \A p \in P : ~Runs(p))
=============================================================================
