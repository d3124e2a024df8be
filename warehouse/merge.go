package warehouse

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Merge yields the rows of sorted sequences in order. No fact should be in two of the sequences; if
// one is, its rows are yielded one after the other.
func Merge(sequences ...iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	if len(sequences) == 1 {
		return sequences[0]
	}
	return func(yield func(Row, error) bool) {
		h, err := begin(sequences)
		defer func() {
			for _, one := range h {
				one.stop()
			}
		}()
		if err != nil {
			yield(nil, err)
			return
		}
		for len(h) > 0 {
			one := h[0]
			if !yield(one.row, nil) {
				return
			}
			more, err := one.step()
			if err != nil {
				yield(nil, err)
				return
			}
			if more {
				heap.Fix(&h, 0)
			} else {
				one.stop()
				heap.Pop(&h)
			}
		}
	}
}

// begin moves each sequence to its first row. The caller must stop the returned sequences, even
// after an error.
func begin(sequences []iter.Seq2[Row, error]) (h heads, err error) {
	for _, s := range sequences {
		next, stop := iter.Pull2(s)
		one := &head{next: next, stop: stop}
		more, err := one.step()
		if err != nil || !more {
			stop()
		}
		if err != nil {
			return h, err
		}
		if more {
			h = append(h, one)
		}
	}
	heap.Init(&h)
	return h, nil
}

// head is a sequence and its next row.
type head struct {
	row  Row
	key  Key
	next func() (Row, error, bool)
	stop func()
}

func (h *head) step() (bool, error) {
	row, err, ok := h.next()
	if err != nil || !ok {
		return false, err
	}
	h.row, h.key = row, row.Key()
	return true, nil
}

type heads []*head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].key.Compare(h[j].key) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any) {
	if one, ok := x.(*head); ok {
		*h = append(*h, one)
	}
}

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Sorted returns a sequence of rows that are in order already.
func Sorted(rows []Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Between yields the rows of a dataset for one site, fleet or type with times in [from, to),
// ordered by time. If a file is replaced meanwhile, reading continues in the file that replaced it.
// Errors: ErrDamaged, those of the objects.
func (w *Warehouse) Between(ctx context.Context, d Dataset, key string, from, to time.Time) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		last := Key{At: from.UnixMilli()}
		end := to.UnixMilli()
		for day := from.UTC().Truncate(24 * time.Hour); day.Before(to); day = day.Add(24 * time.Hour) {
			p := Partition{Dataset: d, Key: key, Date: day.Format(time.DateOnly)}
			more, err := w.eachIn(ctx, p, &last, end, func(r Row) bool { return yield(r, nil) })
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// maxMoves is how often files may be replaced while one partition is read.
const maxMoves = 20

// eachIn reads the rows of a partition after a key and before a time.
func (w *Warehouse) eachIn(ctx context.Context, p Partition, last *Key, end int64, do func(Row) bool) (bool, error) {
	for moved := 0; ; moved++ {
		more, err := w.eachOnce(ctx, p, last, end, do)
		if !errors.Is(err, ErrNotFound) || moved == maxMoves {
			return more, err
		}
		if err := w.Refresh(ctx); err != nil {
			return false, err
		}
	}
}

func (w *Warehouse) eachOnce(ctx context.Context, p Partition, last *Key, end int64, do func(Row) bool) (bool, error) {
	var sequences []iter.Seq2[Row, error]
	for _, f := range w.In(p) {
		if f.has(last.At, end-1) {
			sequences = append(sequences, w.rows(ctx, f, forms[p.Dataset], last.At, end-1))
		}
	}
	for r, err := range Merge(sequences...) {
		if err != nil {
			return false, err
		}
		k := r.Key()
		if k.Compare(*last) <= 0 || k.At >= end {
			continue
		}
		if *last = k; !do(r) {
			return false, nil
		}
	}
	return true, nil
}

// Events yields the events of a site with times in [from, to), ordered by time and ID. See Between.
func (w *Warehouse) Events(ctx context.Context, site string, from, to time.Time) iter.Seq2[*EventRow, error] {
	return func(yield func(*EventRow, error) bool) {
		for r, err := range w.Between(ctx, Events, site, from, to) {
			e, ok := r.(*EventRow)
			if err == nil && !ok {
				err = fmt.Errorf("%w: a row is a %T", ErrDamaged, r)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
