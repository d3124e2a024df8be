package engine

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/store"
)

// Options configures a DB. The zero value is a good default.
type Options struct {
	Clock           func() time.Time // source of the time; default time.Now
	Region          string           // AWS Region named in ARNs and stream records; default "us-east-1"
	NoSync          bool             // acknowledge writes before they are on disk: a power loss takes the last of them
	StreamShards    int              // open shards of a new stream, 1 to 256; default 1
	RollEvery       int              // records after which a shard is closed and succeeded by a child; default never
	StreamRetention time.Duration    // age at which stream records are trimmed; default 24 h
	IndexDelay      time.Duration    // age, in whole milliseconds, at which a write is seen in global indexes; default 0: at once
	TTLInterval     time.Duration    // pause between two rounds of background upkeep; default 1 min, negative: none
	CacheBytes      int64            // block cache; default 64 MB
	MemTableBytes   int              // one memory table, of which there are at most three; default 32 MB
	Logger          *slog.Logger     // default: slog.Default

	// DiskReserve is how many bytes of the disk growth leaves free: below it, writes that add or change items are refused with
	// a dynamo.Failure of the kind Full. Reads, deletes, expiry and compactions go on, deletes and expiry down to a quarter of
	// it. Default: the larger of 256 MB and 1 % of the file system; negative: none.
	DiskReserve int64

	// OnFatal is called once, with an ErrFatal, when the disk fails, so that what was written last may not be on it, and when
	// the engine panics while it holds locks. It may be called with locks held: it must not use the database, nor wait for who
	// does. Whoever embeds the engine ends the process in it. If it returns, every call is answered with ErrFatal, those
	// under way included, and nothing is written any more; after a panic the process ends all the same. Default: log the error and end the process with ExitFatal.
	OnFatal func(error)

	// KeyPrefix says under which prefix Metered accounts a partition key; default: what stands up to and including its
	// first '#'. It is called with the text of strings, the digits of numbers and the bytes of binaries, concurrently.
	KeyPrefix func(partitionKey string) string
	FS        vfs.FS // file system; default the operating system's
}

// ErrOptions is returned when an Options field is out of its range.
var ErrOptions = errors.New("engine: invalid option")

const (
	defaultRegion    = "us-east-1"
	defaultRetention = 24 * time.Hour
	defaultUpkeep    = time.Minute
	defaultCache     = 64 << 20
	defaultMemTable  = 32 << 20
	maxStreamShards  = 256
)

// withDefaults fills what the caller left zero.
func (o Options) withDefaults() (Options, error) {
	if o.StreamShards < 0 || o.StreamShards > maxStreamShards || o.RollEvery < 0 || o.CacheBytes < 0 || o.MemTableBytes < 0 || o.StreamRetention < 0 || o.IndexDelay < 0 {
		return o, ErrOptions
	}
	setDefault(&o.Region, defaultRegion)
	setDefault(&o.StreamShards, 1)
	setDefault(&o.StreamRetention, defaultRetention)
	setDefault(&o.TTLInterval, defaultUpkeep)
	setDefault(&o.CacheBytes, defaultCache)
	setDefault(&o.MemTableBytes, defaultMemTable)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnFatal == nil {
		o.OnFatal = o.exit
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o, nil
}

// ExitFatal is the exit code of a process that Options.OnFatal ends by default: EX_IOERR of sysexits.h.
const ExitFatal = 74

// exit is the default of OnFatal.
func (o *Options) exit(err error) {
	o.Logger.Error("the process ends: what was acknowledged is on disk; restart it when the disk is well", "error", err)
	os.Exit(ExitFatal)
}

// store is how the store is opened.
func (o *Options) store(memory bool) store.Options {
	return store.Options{
		FS: o.FS, Memory: memory, CacheBytes: o.CacheBytes, MemTableBytes: o.MemTableBytes, Reserve: o.DiskReserve, Logger: o.Logger, OnFatal: o.OnFatal,
	}
}

// setDefault gives *v the value d when it is zero.
func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
