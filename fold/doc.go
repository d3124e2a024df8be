// Package fold derives items from a table's change stream and counts every change exactly once. The
// stream delivers changes at least once, ordered per item, and keeps them for a day; this package
// is the only one that has to handle that. Other packages just declare what to derive: New and On
// make a Fold, and a Worker runs folds. A Projection is a fold that applies events in order.
//
// # How a change is counted once
//
// Besides its state, every derived item stores a version (`fv`) and one mark per stream shard
// (`fm`): the sequence number of the last change of that shard counted in the item. State and
// progress are committed by a single write that is conditional on the version. A flush works like
// this:
//
//  1. Route changes to deltas in memory: many changes, few items. The changes are kept.
//  2. Load the states that are not in memory, with consistent reads. Afterwards, never before,
//     read the durable checkpoint of every shard for which a loaded item has no mark.
//  3. If an item has already counted part of its delta, rebuild the delta from the kept changes
//     after the mark.
//  4. Write the merged states on condition that the version is the one they were merged from.
//     If the condition fails, another worker wrote the item: load, filter and merge again.
//  5. When all items are written, and everything that could not be applied is in dead letters,
//     advance the checkpoint of each shard on condition that it has its previous value.
//
// A fold with Hold leaves items unwritten over several flushes. Their deltas and the changes in
// them stay in memory, and the checkpoint stays before the first of these changes. Items that are
// written in the meantime carry marks beyond the checkpoint.
//
// A fold with ExpectNew assumes that items which are not in memory do not exist, as if they had
// been loaded and found absent when the flush began; step 2 then reads the checkpoints. Their put
// requires that no item exists. If it is refused, the item is loaded and the checkpoints are read
// again, as after any conflict.
//
// An item may contain many facts, which Each extracts. They belong to one change with one sequence
// number, so the rules above are unchanged: an item counts either all facts of a change that touch
// it, or none. Deltas are built fact by fact, and a fact that cannot be processed becomes a dead
// letter without the other facts of its block.
//
// # States in a log
//
// A fold with Logged stores its states in pages, many states to an item (StateLog). Everything
// above holds for such states, except that the next page of the log takes the place of the item
// versions. A page is put on condition that its number is free. The worker that puts it has
// therefore seen all previous pages, and with them the current value of every state in the log. If
// the put is refused, the worker reads the pages that came in between, loads the states of the
// flush again, filters the deltas by the marks and merges again. No read is needed to know that a
// state is absent: no page contains it.
//
// # Facts that are sent again
//
// A client that gets no answer sends its facts again, and they arrive in another item. Once gives
// facts names for this case: a fact counts only in the item that had it first, in stream order.
//
// Windows record which item that was. They are stored alongside the items, each for a span of the
// facts' own time, and every flush adds to them before checkpoints advance. A window names the
// item, not just the fact. So a change that is read again after a crash is decided as it was the
// first time, whether the crash came before or after the window was written. A plain set of names
// would treat the change as a repetition of itself.
//
// Facts that may repeat each other are in one partition, hence in one line of stream shards. A
// worker decides with everything that came before: the parts that were stored when it loaded the
// window, which cover all changes up to the checkpoint of that moment, and what it has read since.
// When it continues at another position, it forgets its windows. Parts are only added, by any
// worker, and all of them agree about a fact, so these writes need no condition.
//
// # Why this is safe
//
// The invariant: for each shard, an item contains exactly the routed changes up to its effective
// mark. That is its own mark if it has one, otherwise the shard's durable checkpoint. A mark at or
// below the durable checkpoint is dropped when the item is next written: a checkpoint advances only
// after all items are written, so it implies the mark.
//
// A late worker (a zombie: paused, partitioned, its lease expired long ago) may hold changes that
// others have counted, and an item whose marks for them were dropped. This is safe because a mark
// is dropped only after the checkpoint has passed it: the checkpoint, read after the item, covers
// everything the item may have lost. If the item were read after the checkpoint, the mark could be
// dropped between the two reads. If the item changes between load and write, the version condition
// fails the write. Leases therefore only save work; correctness does not depend on them. A state
// kept in memory is simply a loaded state, and the version condition makes its age harmless.
//
// The same holds for an item that is assumed absent and is absent when it is put. If it had counted
// a change of the delta, it must have been deleted since. But derived items outlive the changes
// they have counted by 48 hours, and no worker puts changes that old: it reads a change within the
// 24 hours for which streams keep it, and gives it back after one more hour. Items that are erased
// earlier are covered too, because the checkpoints are read in the same flush: changes that were
// durably counted by then are not counted again.
//
// A worker that was silent for longer than a checkpoint is kept must not continue with what it
// holds. It gives its batch back after an hour (maxBatchAge) and restarts from the checkpoint.
package fold
