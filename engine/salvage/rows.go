package salvage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/row"
)

// rows are the current rows of the scratch store: the newest versions, without deleted ones.
type rows struct {
	scratch *pebble.DB
	erased  []erasure // by start
}

func newRows(scratch *pebble.DB, erased []erasure) *rows {
	erased = slices.Clone(erased)
	slices.SortFunc(erased, func(a, b erasure) int { return bytes.Compare(a.start, b.start) })
	return &rows{scratch, erased}
}

// each calls fn for the rows whose keys begin with prefix, in order. fn may store rows.
func (r *rows) each(prefix []byte, fn func(version) error) (err error) {
	it, err := r.scratch.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.UpperBound(prefix)})
	if err != nil {
		return fmt.Errorf("salvage: scratch: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	next, open := 0, []erasure(nil)
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("salvage: scratch: %w", err)
		}
		v := versionOf(it.Key(), value)
		for ; next < len(r.erased) && bytes.Compare(r.erased[next].start, v.key) <= 0; next++ {
			open = append(open, r.erased[next])
		}
		open = slices.DeleteFunc(open, func(e erasure) bool { return bytes.Compare(e.end, v.key) <= 0 })
		if v.deleted || slices.ContainsFunc(open, func(e erasure) bool { return e.seq > v.seq }) {
			continue
		}
		if err := fn(v); err != nil {
			return err
		}
	}
	return it.Error()
}

// get returns the newest version of a row, even a deletion, and whether there is one.
func (r *rows) get(key []byte) (v version, found bool, err error) {
	value, closer, err := r.scratch.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("salvage: scratch: %w", err)
	}
	v = versionOf(bytes.Clone(key), bytes.Clone(value))
	for _, e := range r.erased {
		if e.seq > v.seq && bytes.Compare(e.start, key) <= 0 && bytes.Compare(key, e.end) < 0 {
			v = version{key: v.key, seq: e.seq, deleted: true}
		}
	}
	return v, true, closer.Close()
}

func versionOf(key, noted []byte) version {
	return version{key: key, value: noted[noteLen:], seq: binary.BigEndian.Uint64(noted), deleted: noted[noteLen-1] == 1}
}

// note stores a newer version of a row.
func (r *rows) note(v version) error { return note(r.scratch, v) }

// newerThan reports whether a version is newer than the stored one and differs from it.
func (v *version) newerThan(there version, found bool) bool {
	return !found || cmp.Compare(v.seq, there.seq) > 0 && (there.deleted != v.deleted || !bytes.Equal(there.value, v.value))
}
