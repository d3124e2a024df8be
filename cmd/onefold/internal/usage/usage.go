// Package usage records the engine's meters in a file next to the table, one line per minute. The
// file can be read while a server runs.
package usage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/redact"
)

const (
	every    = time.Minute
	much     = 0.1      // share of a partition's capacity: see Recorder
	maxBytes = 16 << 20 // of a file; one older file is kept too
	maxLine  = 1 << 20
)

// Sample is the usage from the opening of the database until a time, with the hottest keys of the
// last two minutes.
type Sample struct {
	Since time.Time      `json:"since"` // when the database was opened
	At    time.Time      `json:"at"`
	Keys  []heat.Use     `json:"keys"`
	Used  []cost.Metered `json:"used"`            // writes by kind of item, reads by key prefix
	Facts int64          `json:"facts,omitempty"` // events and readings stored in blocks since the database was opened
}

// kept is the time for which usage is kept in memory.
const kept = 24 * time.Hour

// Recorder writes samples of a table, and keeps those of the last day in memory. A key that used a
// large share of a partition's capacity is written in full: whoever has the file also has the
// table, and needs the key to find the cause, such as a device that sends too often. All other keys
// are anonymized as in logs. The file outlives erasures from the table, and in a little-used table
// every user is among the hottest keys.
type Recorder struct {
	Path   string
	Table  string
	Meter  func() engine.Meter
	Facts  func() int64 // number of events and readings stored in blocks since the database was opened; nil: unknown
	Now    func() time.Time
	Since  time.Time    // when the database was opened
	Logger *slog.Logger // default: discards

	mu   sync.Mutex
	read bool // the file was read
	keys *redact.Keys
	uses []heat.Use // of the last day; keys are in full for this process, as written for earlier ones
}

// Run records a sample per minute until ctx ends, and a final one. If the file cannot be read, Run
// appends to it, and earlier usage is unknown. After an error it may be called again.
func (r *Recorder) Run(ctx context.Context) error {
	if err := r.Repair(); err != nil {
		return err
	}
	if samples, err := Read(r.Path); err == nil {
		r.remember(samples)
	} else if r.Logger != nil {
		r.Logger.Warn("cannot read earlier usage", "error", err)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(r.Record(), ctx.Err())
		case <-tick.C:
			if err := r.Record(); err != nil {
				return err
			}
		}
	}
}

// Repair removes an incomplete last line left by a crash, so that the next line is separate.
func (r *Recorder) Repair() error {
	b, err := os.ReadFile(r.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if whole := bytes.LastIndexByte(b, '\n') + 1; err == nil && whole < len(b) {
		return os.Truncate(r.Path, int64(whole))
	}
	return err
}

// remember adds the samples of the file, which are older than those of this process.
func (r *Recorder) remember(samples []Sample) {
	r.mu.Lock()
	first := !r.read
	r.read = true
	r.mu.Unlock()
	if first {
		r.keep(samples...)
	}
}

// keep adds the uses of samples, and drops those older than a day.
func (r *Recorder) keep(samples ...Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range samples {
		for _, u := range samples[i].Keys {
			u.At = samples[i].At
			r.uses = append(r.uses, u)
		}
	}
	begin := r.Now().Add(-kept)
	r.uses = slices.DeleteFunc(r.uses, func(u heat.Use) bool { return u.At.Before(begin) })
}

// Uses returns the usage of keys since a time, at most a day ago, in order of recording. The last
// entries are the present usage.
func (r *Recorder) Uses(since time.Time) []heat.Use {
	now := r.sample()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(slices.DeleteFunc(slices.Clone(r.uses), func(u heat.Use) bool { return u.At.Before(since) }), now.Keys...)
}

// sample returns the present sample.
func (r *Recorder) sample() Sample {
	s := Sample{Since: r.Since.UTC(), At: r.Now().UTC().Truncate(time.Second)}
	if r.Facts != nil {
		s.Facts = r.Facts()
	}
	use := r.Meter().Tables[r.Table]
	s.Used = used(&use)
	for _, k := range use.Hottest {
		s.Keys = append(s.Keys, heat.Use{At: s.At, Key: k.Key, Index: k.Index, PeakReads: k.PeakReads, PeakWrites: k.PeakWrites})
	}
	return s
}

// Record appends a sample. It does nothing if no key was used.
func (r *Recorder) Record() (err error) {
	s := r.sample()
	if len(s.Keys) == 0 {
		return nil
	}
	r.keep(s)
	if info, err := os.Stat(r.Path); err == nil && info.Size() > maxBytes {
		if err := os.Rename(r.Path, r.Path+".1"); err != nil {
			return err
		}
	}
	line, err := json.Marshal(r.discreet(s))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(line, '\n'))
	return err
}

// discreet returns a sample with anonymized keys.
func (r *Recorder) discreet(s Sample) Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = redact.New(redact.Products())
	}
	s.Keys = slices.Clone(s.Keys)
	for i := range s.Keys {
		if u := &s.Keys[i]; u.Share() <= much {
			u.Key = r.keys.Name(u.Key)
		}
	}
	return s
}

// used returns the writes of a table by kind of item, and its reads by key prefix, each sorted.
func used(t *engine.TableUse) (all []cost.Metered) {
	for _, word := range slices.Sorted(maps.Keys(t.Entities)) {
		all = append(all, cost.Metered{Name: word, Writes: float64(t.Entities[word].Writes), WriteUnits: t.Entities[word].WriteUnits})
	}
	for _, prefix := range slices.Sorted(maps.Keys(t.Prefixes)) {
		if units := t.Prefixes[prefix].ReadUnits; units > 0 {
			all = append(all, cost.Metered{Name: "reads of " + prefix, ReadUnits: units})
		}
	}
	return all
}

// Sum adds up samples: usage, number of facts in blocks, and duration. Each run of a server counts
// with its last sample.
func Sum(samples []Sample) (all []cost.Metered, facts int64, took time.Duration) {
	last := map[time.Time]*Sample{}
	for i := range samples {
		if s := &samples[i]; len(s.Used) > 0 {
			last[s.Since] = s
		}
	}
	sums := map[string]cost.Metered{}
	for since, s := range last {
		took, facts = took+s.At.Sub(since), facts+s.Facts
		for _, m := range s.Used {
			sum := sums[m.Name]
			sums[m.Name] = cost.Metered{Name: m.Name, Writes: sum.Writes + m.Writes, WriteUnits: sum.WriteUnits + m.WriteUnits, ReadUnits: sum.ReadUnits + m.ReadUnits}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, sums[name])
	}
	return all, facts, took
}

// Read returns the recorded samples, oldest first. It ignores an incomplete last line, which a
// crash may leave. Errors begin with bad_usage.
func Read(path string) (all []Sample, err error) {
	for _, name := range []string{path + ".1", path} {
		samples, err := readFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, samples...)
	}
	return all, nil
}

func readFile(name string) (all []Sample, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReaderSize(io.LimitReader(f, 2*maxBytes), maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("bad_usage: %s:%d: %w", name, n, err)
		}
		var s Sample
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("bad_usage: %s:%d: %w; delete the file, it holds only measurements", name, n, err)
		}
		all = append(all, s)
	}
}
