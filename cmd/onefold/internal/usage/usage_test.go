package usage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/usage"
	"github.com/onefold/onefold/engine"
)

func TestWhatIsRecordedIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.usage")
	now := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	var hottest []engine.KeyUse
	r := usage.Recorder{Path: path, Table: "t", Now: func() time.Time { return now }, Meter: func() engine.Meter {
		return engine.Meter{Tables: map[string]engine.TableUse{"t": {Hottest: hottest}, "other": {Hottest: []engine.KeyUse{{Key: "x"}}}}}
	}}
	record := func() {
		t.Helper()
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want int) []usage.Sample {
		t.Helper()
		all, err := usage.Read(path)
		if err != nil || len(all) != want {
			t.Fatalf("%d samples, want %d, error %v", len(all), want, err)
		}
		return all
	}
	read(0)
	record() // nothing was used
	read(0)
	hottest = []engine.KeyUse{{Key: "A#1", Index: "gsi1", PeakReads: 2, PeakWrites: 700}}
	record()
	now = now.Add(time.Minute)
	record()
	if k := read(2)[1].Keys[0]; k.Key != "A#1" || k.Index != "gsi1" || k.PeakReads != 2 || k.PeakWrites != 700 || !k.At.Equal(now) {
		t.Errorf("%+v", k)
	}
	add(t, path, `{"at":"2026-05`) // a crash
	read(2)
	if err := r.Repair(); err != nil {
		t.Fatal(err)
	}
	record()
	read(3)
	if got := r.Uses(now); len(got) != 3 || !got[0].At.Equal(now) || got[2].Key != "A#1" || got[1].PeakWrites != 700 { // the recorded samples, and the present one
		t.Errorf("uses %+v", got)
	}
	add(t, path, "{\n")
	if _, err := usage.Read(path); err == nil || !strings.Contains(err.Error(), "bad_usage") || !strings.Contains(err.Error(), ":4:") {
		t.Errorf("error %v", err)
	}
	if err := os.Truncate(path, 17<<20); err != nil { // a full file is rotated
		t.Fatal(err)
	}
	record()
	if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
		t.Errorf("%v, error %v", info, err)
	}
}

// The file outlives erasures from the table. It names only keys that use so much that they must be
// found.
func TestOnlyWhatTakesMuchIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.usage")
	r := usage.Recorder{Path: path, Table: "t", Now: time.Now, Meter: func() engine.Meter {
		return engine.Meter{Tables: map[string]engine.TableUse{"t": {Hottest: []engine.KeyUse{
			{Key: "DEVICE#loud", PeakWrites: 101}, {Key: "DEVICE#zoe", PeakWrites: 100}, {Key: "USER#zoe@example.com", Index: "gsi1", PeakReads: 300}, {Key: "SITE#blog#SHARD#0", PeakWrites: 1},
		}}}}
	}}
	for range 2 {
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "zoe") {
		t.Errorf("%s, error %v", text, err)
	}
	all, err := usage.Read(path)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, error %v", all, err)
	}
	keys := all[0].Keys
	if keys[0].Key != "DEVICE#loud" || !strings.HasPrefix(keys[1].Key, "DEVICE#~") || !strings.HasPrefix(keys[2].Key, "USER#~") || keys[3].Key != "SITE#blog#SHARD#0" || all[1].Keys[1].Key != keys[1].Key {
		t.Errorf("keys %+v, then %+v", keys, all[1].Keys)
	}
	if live := r.Uses(time.Time{}); live[1].Key != "DEVICE#zoe" {
		t.Errorf("what is not written is changed, too: %+v", live)
	}
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// After a restart the usage of a day is known. A file that cannot be read is appended to.
func TestADayIsKnownAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.usage")
	now := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	restart := func() *usage.Recorder {
		r := &usage.Recorder{Path: path, Table: "t", Now: func() time.Time { return now }, Meter: func() engine.Meter {
			return engine.Meter{Tables: map[string]engine.TableUse{"t": {Hottest: []engine.KeyUse{{Key: "A#1", PeakReads: 2}}}}}
		}}
		ctx, stop := context.WithCancel(t.Context())
		stop() // it records once and ends
		if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return r
	}
	restart()
	now = now.Add(23 * time.Hour)
	if got := restart().Uses(time.Time{}); len(got) != 3 || now.Sub(got[0].At) != 23*time.Hour {
		t.Errorf("after 23 hours: %+v", got)
	}
	now = now.Add(2 * time.Hour)
	if got := restart().Uses(time.Time{}); len(got) != 3 || now.Sub(got[0].At) != 2*time.Hour {
		t.Errorf("after 25 hours: %+v", got)
	}
	if err := os.WriteFile(path, []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := restart().Uses(time.Time{}); len(got) != 2 {
		t.Errorf("of a damaged file: %+v", got)
	}
	if _, err := usage.Read(path); err == nil {
		t.Error("a damaged file was read")
	}
}
