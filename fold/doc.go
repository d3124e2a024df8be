// Package fold derives items from a table's change stream, exactly once. A stream delivers changes at least once,
// ordered per item, and forgets them after a day; this package is the one place that deals with that. A domain package
// says only what is derived: New and On make a Fold, a Worker runs folds, a Projection is the ordered kind of fold.
//
// # How a change is counted once
//
// Every derived item carries, beside its state, a version (`fv`) and one mark per stream shard (`fm`): the sequence
// number of the last change of that shard that the item has counted. One write, conditional on the version, commits
// effects and progress together. A flush does this:
//
//  1. Changes are routed and applied to deltas in memory: many changes, few items. The changes are kept.
//  2. States that are not held in memory are loaded, consistently. After that, not before, the durable checkpoint is
//     read of every shard for which a loaded item has no mark.
//  3. If an item has already counted part of its delta, the delta is built anew from the kept changes behind the mark.
//  4. Merged states are written on condition that the version is the one they were merged from. If the condition
//     fails, another writer was here: load, filter and merge again.
//  5. When every item is written, and what could not be applied is in dead letters, each shard's checkpoint advances,
//     on condition of its previous value.
//
// A fold with Hold leaves its items waiting over several flushes. Their deltas, and the changes of these, stay in memory,
// and the checkpoint stays before the first of these changes; what else was written bears marks beyond it.
//
// A fold with ExpectNew takes items that are not in memory for absent, as if they had been loaded, and found to be so, at the beginning of
// the flush: step 2 then reads the checkpoints. The condition of their put is that there is none. If it is refused, the item is loaded, and
// the checkpoints read again, like any that another writer has changed.
//
// An item may hold many facts: Each says which. They are one change with one sequence number, so nothing of the above is different: an
// item counts all facts of a change that touch it, or none. What is counted or built anew is fact by fact, and so is what cannot be applied.
//
// # States in a log
//
// A fold with Logged keeps its states in pages, many to an item (StateLog). What is said above of items holds of states, with the log's next
// page in place of the versions of the items: a page is put on condition that there is none of its number, so whoever puts it has seen all
// pages before, and what they say of every state of the log. If the put is refused, the pages that came in between are read, the states of
// the flush loaded anew, filtered by their marks and merged again. That a state is absent needs no read: no page has it.
//
// # Facts that are sent again
//
// Who sends facts sends them again when no answer came, and they arrive in another item. Once gives them names. A fact counts if and only if
// the item it is read from is the one that had it first, in the order of the stream. Which that was stands in windows: items beside those of the facts, each
// for a span of the facts' own time, to which every flush adds before checkpoints advance. Because a window names the item, and not only the
// fact, a change that is read again after a crash is decided as it was the first time, whether or not the crash came between a derived item and
// the window; a plain set of names would take it for a repetition of itself. Facts that may be repetitions of each other are in one partition, so
// in one line of stream shards, and a worker decides with all that came before: with the parts that were stored when it loaded the window, which
// are all up to the checkpoint at that time, and what it has read itself since. When it goes on elsewhere it forgets its windows. Parts are only
// ever added, by whoever, and all say the same of a fact, so nothing need be conditional.
//
// # Why this is safe
//
// The invariant: an item contains, of each shard, exactly the routed changes up to its effective mark. That is its mark
// if it has one, and else the shard's durable checkpoint. A mark at or below the durable checkpoint is dropped at the
// item's next write, for a checkpoint advances only when all items are written, so it says as much. A worker that is
// late (a zombie: paused, partitioned, its lease long lost) may hold changes that others have counted, and an item whose
// mark for them has been dropped. It is safe because a mark is only dropped after the checkpoint has passed it: the
// checkpoint, read after the item, covers everything that the item could have lost. Were the item read after the
// checkpoint, the mark could be dropped between the two. If the item changes between its load and its write, the
// version fails the write. So leases save work and carry no correctness, and a state held in memory is an ordinary
// loaded state whose age the version condition proves harmless.
//
// The same holds for an item that is taken for absent, and is absent when it is put. Had it counted a change of the delta, it would have
// been deleted since. But it outlives what it has counted by 48 hours, and a worker puts nothing so old: it reads a change within the 24 hours
// for which streams keep it, and gives it back after one more. That the checkpoints are read in the same flush makes it hold beyond that for items that are
// erased: a change that was durably counted by then is not counted again.
//
// A worker that has been silent longer than a checkpoint is kept must not go on with what it holds; it gives its batch
// back after an hour (maxBatchAge) and starts from the checkpoint.
package fold
