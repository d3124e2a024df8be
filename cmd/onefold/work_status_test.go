package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/table"
)

// Monitors rely on the exit code of `onefold work status`: 3 if something needs attention, whatever
// is printed.
func TestWorkStatusAlarms(t *testing.T) {
	t.Parallel()
	s := startDatabase(t, "--memory")
	at := storeAt(s.url, "onefold")
	makeTable(t, at)
	g := &globals{Store: at, Data: filepath.Join(t.TempDir(), "none")}
	put := func(change func(context.Context, *store) error) {
		t.Helper()
		if err := g.withStore(t.Context(), t.Output(), tuning{existing: true}, func(s *store) error { return change(t.Context(), s) }); err != nil {
			t.Fatal(err)
		}
	}
	renewed := func(ago time.Duration) {
		put(func(ctx context.Context, s *store) error {
			l := &lease.Lease{Key: lease.Key{Group: products.Group, Shard: "shardId-1"}, Owner: "w1", Turn: 1, For: time.Minute, At: time.Now().Add(-ago), Progress: lease.Progress{Mark: time.Now().Add(-ago)}}
			return lease.Leases.Put(ctx, s.table, l)
		})
	}
	missed := func(mended time.Time) {
		put(func(ctx context.Context, s *store) error {
			now := time.Now()
			m := &fold.Gap{GapKey: fold.GapKey{Group: products.Group, Shard: "shardId-0", After: "0"}, From: now.Add(-30 * time.Hour), To: now.Add(-25 * time.Hour), Found: now, Repaired: mended}
			return fold.Gaps.Put(ctx, s.table, m)
		})
	}
	for _, c := range []struct {
		name  string
		do    func()
		code  int
		alarm string
	}{
		{"nobody has worked", func() {}, exitOK, ""},
		{"a worker that works", func() { renewed(0) }, exitOK, ""},
		{"silent for eleven hours", func() { renewed(11 * time.Hour) }, exitOK, ""},
		{"silent for thirteen hours", func() { renewed(13 * time.Hour) }, exitDifferences, "shardId-1 lags by 13h"},
		{"it works again", func() { renewed(0) }, exitOK, ""},
		{"changes were missed", func() { missed(time.Time{}) }, exitDifferences, "changes were lost"},
		{"and made again", func() { missed(time.Now()) }, exitOK, ""},
	} {
		c.do()
		for _, args := range [][]string{{"work", "status"}, {"--json", "work", "status"}} {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"--store", at}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs})
			if code != c.code || c.alarm != "" && (!strings.Contains(out.String(), c.alarm) || !strings.Contains(errs.String(), "late: ")) {
				t.Errorf("%s: %v: exit code %d, want %d\n%s%s", c.name, args, code, c.code, out.String(), errs.String())
			}
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// Servers and workers on a table that moves away exit and report the new store. They do not start
// again on the old one, whose new data would be lost.
func TestServersLeaveATableThatMoved(t *testing.T) {
	t.Parallel()
	s := startDatabase(t, "--memory")
	at := storeAt(s.url, "onefold")
	makeTable(t, at)
	data := filepath.Join(t.TempDir(), "near")
	args := [][]string{
		{"--data", data, "--store", at, "serve", "--addr", "127.0.0.1:0", "--token", testToken},
		{"--data", data + "2", "--store", at, "work"},
	}
	var members []*member
	for _, a := range args {
		m := &member{name: a[4], args: a}
		if m.start(t); !m.serving(t, 5*time.Minute) {
			t.Fatalf("%s does not start", m.name)
		}
		members = append(members, m)
	}
	where, err := storeurl.Parse(at, "")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := where.Clients(t.Context()) // with the clients of a migration
	if err == nil {
		err = migration.States.Put(t.Context(), table.New(opened.API, opened.Table, table.Options{}), &migration.State{Phase: migration.Away, Peer: "dynamodb://elsewhere", Saved: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range members {
		<-m.log // it exits by itself
		if err := m.process.Wait(); err == nil || m.process.ProcessState.ExitCode() != exitFailed {
			t.Errorf("%s ended with %v", m.name, err)
		}
		if code, errs := fails(args[i]...); code != exitFailed || !strings.Contains(errs, "moved_away: ") || !strings.Contains(errs, "dynamodb://elsewhere") {
			t.Errorf("%s, started again: %d %s", m.name, code, errs)
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
}
