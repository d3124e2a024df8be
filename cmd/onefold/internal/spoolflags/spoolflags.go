// Package spoolflags has the flags of a server that queues events and readings on disk while its
// table is unreachable.
package spoolflags

import (
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Flags configure the spool.
type Flags struct {
	Spool      string        `help:"Directory that queues acknowledged events and readings while a DynamoDB table is unreachable; none rejects them instead (default: the directory of --data with .spool appended)." placeholder:"DIR" env:"ONEFOLD_SPOOL"`
	SpoolBytes int64         `help:"Maximum bytes in the queue; more is rejected." default:"1073741824" env:"ONEFOLD_SPOOL_BYTES"`
	Linger     time.Duration `help:"Maximum delay of a single event or reading, at most 10s, so that others share its write. Embedded stores never delay." default:"250ms" env:"ONEFOLD_LINGER"`
	SpoolRate  int           `help:"Queued events and readings to store per second, in addition to two for each new one." default:"2000" env:"ONEFOLD_SPOOL_RATE"`
}

// minBytes is the minimum size of a spool, which holds a few large requests.
const minBytes = 16 << 20

// maxLinger is shorter than the timeout of clients.
const maxLinger = 10 * time.Second

// none is the value of --spool that disables the spool.
const none = "none"

// Apply sets the collectors of a server, and its spool. It returns the spool, or nil if there is
// none; the caller closes it when the server has ended. identity is the unique ID of the table.
func (f *Flags) Apply(o *server.Options, data, identity string, logger *slog.Logger) (*spool.Spool, error) {
	if f.Linger < 0 || f.Linger > maxLinger {
		return nil, fmt.Errorf("bad_linger: --linger is %s, must be 0s to %s", f.Linger, maxLinger)
	}
	dir, wanted := f.Spool, o.Service != nil && f.Spool != none
	if dir == "" || dir == none {
		dir = data + ".spool"
	}
	kept, err := (*spool.Spool)(nil), error(nil)
	if wanted {
		kept, err = f.open(dir, identity, logger)
	} else {
		err = nothingLeft(dir)
	}
	if err != nil {
		return nil, err
	}
	f.collect(o, o.Table, kept)
	if kept != nil {
		sinks := o.Analytics.Collector.Sinks()
		maps.Copy(sinks, o.Devices.Collector.Sinks())
		o.Drain = &spool.Drain{Spool: kept, Sinks: sinks, Rate: f.SpoolRate, Logger: logger}
	}
	return kept, nil
}

func (f *Flags) open(dir, identity string, logger *slog.Logger) (*spool.Spool, error) {
	if f.SpoolBytes < minBytes {
		return nil, fmt.Errorf("bad_spool: --spool-bytes is %d, must be at least %d; or use --spool none", f.SpoolBytes, minBytes)
	}
	kept, err := spool.Open(dir, spool.Options{MaxBytes: f.SpoolBytes, For: identity})
	if err != nil {
		return nil, fmt.Errorf("--spool %s: %w", dir, err)
	}
	logStats(logger, dir, kept.Stats())
	return kept, nil
}

// nothingLeft returns an error if a spool that will not be used holds acknowledged records, since
// they would never be stored.
func nothingLeft(dir string) error {
	n, what, err := spool.Left(dir)
	if err != nil {
		return fmt.Errorf("--spool %s: %w", dir, err)
	}
	if n == 0 {
		return nil
	}
	if what == "" {
		what = "the DynamoDB table that was served before"
	}
	return fmt.Errorf("spool_left: %d acknowledged events and readings in %s belong to %s: serve that table with this --spool until /readyz reports an empty spool, or move the directory away", n, dir, what)
}

func (f *Flags) collect(o *server.Options, t *table.Table, kept *spool.Spool) {
	o.Analytics.Collector = analytics.NewCollector(t, analytics.CollectorOptions{Spool: kept, Linger: f.Linger})
	o.Devices.Collector = telemetry.NewCollector(t, telemetry.CollectorOptions{Spool: kept, Linger: f.Linger})
}

// logStats logs what an earlier process left in the spool.
func logStats(logger *slog.Logger, dir string, st spool.Stats) {
	if st.Records > 0 {
		logger.Info("spool: all queued records are stored", "dir", dir, "records", st.Records, "bytes", st.Bytes)
	}
	if st.Damaged > 0 {
		logger.Error("spool: unreadable records were lost", "dir", dir, "bytes", st.Damaged)
	}
}
