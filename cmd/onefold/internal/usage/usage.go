// Package usage keeps what the engine's meters say over time in a file beside the table, a line a minute, where it can be
// read while a server runs. It belongs to the command line.
package usage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/engine"
)

const (
	every    = time.Minute
	maxBytes = 16 << 20 // of a file; the one before it is kept, too
	maxLine  = 1 << 20
)

// Sample is what was used until a time, since the database was opened, and which keys were the hottest in the last two minutes.
type Sample struct {
	At   time.Time  `json:"at"`
	Keys []heat.Use `json:"keys"`
}

// Recorder writes samples of a table.
type Recorder struct {
	Path  string
	Table string
	Meter func() engine.Meter
	Now   func() time.Time
}

// Run records a sample a minute until ctx ends, and one then.
func (r *Recorder) Run(ctx context.Context) error {
	if err := r.Mend(); err != nil {
		return err
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

// Mend cuts off a last line that a crash left unfinished, so that the next one stands by itself.
func (r *Recorder) Mend() error {
	b, err := os.ReadFile(r.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if whole := bytes.LastIndexByte(b, '\n') + 1; err == nil && whole < len(b) {
		return os.Truncate(r.Path, int64(whole))
	}
	return err
}

// Record appends a sample; nothing when no key was used.
func (r *Recorder) Record() (err error) {
	s := Sample{At: r.Now().UTC().Truncate(time.Second)}
	for _, k := range r.Meter().Tables[r.Table].Hottest {
		s.Keys = append(s.Keys, heat.Use{At: s.At, Key: k.Key, Index: k.Index, PeakReads: k.PeakReads, PeakWrites: k.PeakWrites})
	}
	if len(s.Keys) == 0 {
		return nil
	}
	if info, err := os.Stat(r.Path); err == nil && info.Size() > maxBytes {
		if err := os.Rename(r.Path, r.Path+".1"); err != nil {
			return err
		}
	}
	line, err := json.Marshal(s)
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

// Read is what was recorded, the oldest first. A last line that is cut off, as a crash leaves it, is left out.
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
			return nil, fmt.Errorf("bad_usage: %s:%d: %w; remove the file, it holds measurements only", name, n, err)
		}
		all = append(all, s)
	}
}
