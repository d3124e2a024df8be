package warehouse

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrConflict is returned by Commit if another writer has made a commit that this one cannot
// follow. The caller must then read its input again.
var ErrConflict = errors.New("warehouse: a conflicting commit was first")

// Options configures a Warehouse.
type Options struct {
	Clock func() time.Time // default time.Now
	Temp  string           // directory for files that are being written; default is the system's
}

// Warehouse is an open warehouse, with its log as far as it has been read. It is safe for
// concurrent use.
type Warehouse struct {
	objects Objects
	now     func() time.Time
	temp    string

	mu    sync.Mutex
	state *state
	left  []string // files removed by its own commits that could not be deleted yet
}

// Open reads the log. An empty place is an empty warehouse. Errors: ErrDamaged, ErrFormat, those of
// the objects.
func Open(ctx context.Context, objects Objects, o Options) (*Warehouse, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	w := &Warehouse{objects: objects, now: o.Clock, temp: o.Temp, state: newState()}
	return w, w.Refresh(ctx)
}

// Refresh reads what was committed since the last read. Errors: ErrDamaged, ErrFormat, those of the
// objects.
func (w *Warehouse) Refresh(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refresh(ctx, nil)
}

// refresh reads the new part of the log and passes the entries to each, unless it read a checkpoint
// instead of them. The caller must hold the lock.
func (w *Warehouse) refresh(ctx context.Context, each func(*Entry)) error {
	for attempt := 0; ; attempt++ {
		err := w.readOn(ctx, each)
		if err == nil || attempt == 5 || !errors.Is(err, ErrNotFound) {
			return err
		}
		// A listed object was deleted before it was read, so there is a later checkpoint.
	}
}

func (w *Warehouse) readOn(ctx context.Context, each func(*Entry)) error {
	after := entryName(w.state.Version)
	if w.state.Version == 0 {
		after = ""
	}
	entries, checks, err := w.listLog(ctx, after)
	if err != nil {
		return err
	}
	if len(entries) > 0 && entries[0] != w.state.Version+1 || len(entries) == 0 && len(checks) > 0 {
		if entries, err = w.readCheckpoint(ctx, checks); err != nil {
			return err
		}
		each = nil
	}
	for _, v := range entries {
		e, err := w.readEntry(ctx, v)
		if err != nil {
			return err
		}
		if err := w.state.apply(e); err != nil {
			return err
		}
		if each != nil {
			each(e)
		}
	}
	return nil
}

// readCheckpoint loads the latest checkpoint and returns the versions of the entries that follow
// it.
func (w *Warehouse) readCheckpoint(ctx context.Context, checks []int64) ([]int64, error) {
	if len(checks) == 0 {
		return nil, fmt.Errorf("%w: the beginning of its log is missing", ErrDamaged)
	}
	name := checkName(checks[len(checks)-1])
	b, err := readAll(ctx, w.objects, name)
	if err != nil {
		return nil, err
	}
	s, err := parseState(name, b)
	if err != nil {
		return nil, err
	}
	entries, _, err := w.listLog(ctx, entryName(s.Version))
	if err == nil {
		w.state = s
	}
	return entries, err
}

// listLog lists the entries and checkpoints after a name.
func (w *Warehouse) listLog(ctx context.Context, after string) (entries, checks []int64, err error) {
	for name, err := range w.objects.List(ctx, logFolder, after) {
		if err != nil {
			return nil, nil, err
		}
		switch v, checkpoint, ok := parseLogName(name); {
		case ok && checkpoint:
			checks = append(checks, v)
		case ok:
			entries = append(entries, v)
		}
	}
	return entries, checks, nil
}

func (w *Warehouse) readEntry(ctx context.Context, version int64) (*Entry, error) {
	name := entryName(version)
	b, err := readAll(ctx, w.objects, name)
	if err != nil {
		return nil, err
	}
	return parseEntry(name, b)
}

// Commit writes an entry and fills in its number, ID and time. base is the Version of the Warehouse
// when the entry was begun. If other writers have committed since, the entry follows theirs. If it
// conflicts with one of theirs, it is not written, and Commit returns ErrConflict. After any other
// error, the entry may or may not have been written; call Refresh to find out.
func (w *Warehouse) Commit(ctx context.Context, base int64, e *Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if base != w.state.Version {
		return fmt.Errorf("%w: the entry was started at version %d, but the version is %d", ErrConflict, base, w.state.Version)
	}
	e.Format, e.ID, e.At = logFormat, rand.Text(), w.now().UTC()
	for {
		e.Version = w.state.Version + 1
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("warehouse: commit: %w", err)
		}
		err = w.objects.PutIfAbsent(ctx, entryName(e.Version), b)
		if err == nil {
			return w.committed(ctx, e)
		}
		if !errors.Is(err, ErrExists) {
			return fmt.Errorf("warehouse: commit: %w", err)
		}
		won, err := w.lost(ctx, e)
		if won {
			w.clear(ctx, e.Remove)
		}
		if err != nil || won {
			return err
		}
	}
}

// lost reads what other writers have written in place of an entry. won is true if the entry was
// written after all, by an attempt whose response was lost.
func (w *Warehouse) lost(ctx context.Context, e *Entry) (won bool, err error) {
	conflict, known := false, w.state.Version
	err = w.refresh(ctx, func(o *Entry) {
		known = o.Version
		won = won || o.ID == e.ID
		conflict = conflict || o.ID != e.ID && e.conflicts(o)
	})
	switch {
	case err != nil || won:
		return won, err
	case conflict || known != w.state.Version: // a checkpoint hides the other entries
		return false, ErrConflict
	}
	return false, nil
}

// committed applies an entry of this Warehouse, deletes the files it removed, and writes a
// checkpoint if one is due. A failure after the entry was written does not fail the commit: clear
// and Sweep delete what is left, and the next commit writes the checkpoint.
func (w *Warehouse) committed(ctx context.Context, e *Entry) error {
	if err := w.state.apply(e); err != nil {
		return err
	}
	w.clear(ctx, e.Remove)
	if e.Version%checkEvery == 0 {
		w.checkpoint(ctx)
	}
	return nil
}

// clear deletes the files that a commit removed. If that fails, the next commit tries again. Sweep
// deletes them too.
func (w *Warehouse) clear(ctx context.Context, removed []string) {
	w.left = append(w.left, removed...)
	if len(w.left) > 0 && w.objects.Delete(ctx, w.left...) == nil {
		w.left = nil
	}
	w.left = w.left[:min(len(w.left), maxLeft)]
}

// maxLeft limits how many files that could not be deleted are remembered.
const maxLeft = 10_000

// checkpoint writes the state and deletes the part of the log that it replaces. It deletes only
// what is old enough, so that current readers of the log still find it.
func (w *Warehouse) checkpoint(ctx context.Context) {
	w.state.Checks = append(w.state.Checks, check{w.state.Version, w.now()})
	old := int64(0)
	for len(w.state.Checks) > 1 && w.now().Sub(w.state.Checks[0].At) > keepLog {
		old = w.state.Checks[0].Version
		w.state.Checks = w.state.Checks[1:]
	}
	b, err := w.state.encode()
	if err == nil {
		err = w.objects.Put(ctx, checkName(w.state.Version), bytes.NewReader(b))
	}
	if err != nil || old == 0 {
		return
	}
	var names []string
	for name, err := range w.objects.List(ctx, logFolder, "") {
		if v, _, ok := parseLogName(name); err != nil || ok && v > old {
			break
		} else if ok {
			names = append(names, name)
		}
	}
	_ = w.objects.Delete(ctx, names...) // the next checkpoint deletes what is left
}

// Version returns the number of the last commit that was read; 0 means none.
func (w *Warehouse) Version() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Version
}

// Files returns the files of the datasets, or of all datasets if none is named, ordered by
// partition and time.
func (w *Warehouse) Files(datasets ...Dataset) []File {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.sorted(func(f File) bool { return len(datasets) == 0 || slices.Contains(datasets, f.Partition.Dataset) })
}

// In returns the files of a partition, ordered by time.
func (w *Warehouse) In(p Partition) []File {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []File
	for path := range w.state.parts[p] {
		all = append(all, w.state.files[path])
	}
	slices.SortFunc(all, compareFiles)
	return all
}

// Partitions returns the partitions that have files, in order.
func (w *Warehouse) Partitions() []Partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Keys(w.state.parts), Partition.Compare)
}

// Status is the state of a warehouse.
type Status struct {
	Version   int64               `json:"version"`
	At        time.Time           `json:"at"`                // time of the last commit
	Read      time.Time           `json:"read,omitzero"`     // when progress was last committed
	Source    string              `json:"source,omitempty"`  // the stream
	Positions map[string]Position `json:"positions"`         // by shard
	Repair    *Repair             `json:"repair,omitempty"`  // the repair in progress, if any
	Missed    []Gap               `json:"missed,omitempty"`  // the most recent losses of changes that were trimmed before they were read
	Skipped   int64               `json:"skipped,omitempty"` // number of changes that could not be read
}

// Status returns the state of the warehouse.
func (w *Warehouse) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	status := Status{
		Version: s.Version, At: s.At, Read: s.Read, Source: s.Source, Positions: maps.Clone(s.Positions),
		Missed: slices.Clone(s.Missed), Skipped: s.Skipped,
	}
	if s.Repair != nil {
		r := *s.Repair
		status.Repair = &r
	}
	return status
}

// Sweep deletes files that no entry names, because their commits were never written. It first
// commits a fence, so that commits which are still in progress with such files fail. It returns how
// many files it deleted. Errors: ErrConflict, those of the objects.
func (w *Warehouse) Sweep(ctx context.Context) (int, error) {
	unknown, err := w.unnamed(ctx)
	if err != nil || len(unknown) == 0 {
		return 0, err
	}
	if err := w.Commit(ctx, w.Version(), &Entry{Why: "sweep", Fence: true}); err != nil {
		return 0, fmt.Errorf("warehouse: sweep: %w", err)
	}
	w.mu.Lock()
	unknown = slices.DeleteFunc(unknown, func(path string) bool { _, ok := w.state.files[path]; return ok })
	w.mu.Unlock()
	if err := w.objects.Delete(ctx, unknown...); err != nil {
		return 0, fmt.Errorf("warehouse: sweep: %w", err)
	}
	return len(unknown), nil
}

// unnamed lists the files that no entry read so far names.
func (w *Warehouse) unnamed(ctx context.Context) ([]string, error) {
	var names []string
	for _, d := range Datasets() {
		for name, err := range w.objects.List(ctx, string(d)+"/", "") {
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(name, extension) {
				names = append(names, name)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(names, func(path string) bool { _, ok := w.state.files[path]; return ok }), nil
}
