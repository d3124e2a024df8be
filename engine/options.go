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
	Clock           func() time.Time // default time.Now
	Region          string           // AWS Region named in ARNs and stream records; default "us-east-1"
	NoSync          bool             // acknowledge writes before they are on disk: a power loss may lose the last ones
	StreamShards    int              // open shards of a new stream, 1 to 256; default 1
	RollEvery       int              // records after which a shard is closed and a child opened; default never
	StreamRetention time.Duration    // age at which stream records are trimmed; default 24 h
	IndexDelay      time.Duration    // age, in whole milliseconds, at which writes become visible in global indexes; default 0, at once
	TTLInterval     time.Duration    // interval of background maintenance; default 1 min, negative: none
	CacheBytes      int64            // block cache; default 64 MB
	MemTableBytes   int              // size of a memory table, of which there are at most three; default 32 MB
	Logger          *slog.Logger     // default: slog.Default

	// DiskReserve is the free disk space to keep, in bytes. Below it, writes that add or change
	// items fail with a dynamo.Failure of kind Full. Reads and compactions continue, and so do
	// deletes and expiry down to a quarter of it. Default: 256 MB or 1 % of the file system,
	// whichever is larger; negative: none.
	DiskReserve int64

	// OnFatal is called once, with an ErrFatal, if the disk fails, so that the last writes may not
	// be stored, or if the engine panics while holding locks. The application should end the
	// process in it. It may be called with locks held, so it must not use the database or wait for
	// anything that does. If it returns, every call returns ErrFatal, including running ones, and
	// nothing is written any more; after a panic the process ends anyway. Default: log the error
	// and exit with ExitFatal.
	OnFatal func(error)

	// KeyPrefix returns the prefix under which Metered counts a partition key. Default: up to and
	// including the first '#'. It is called concurrently, with the text of strings, the digits of
	// numbers or the bytes of binaries.
	KeyPrefix func(partitionKey string) string
	FS        vfs.FS // file system; default the operating system's
}

// ErrOptions is returned if a field of Options is out of range.
var ErrOptions = errors.New("engine: invalid option")

const (
	defaultRegion    = "us-east-1"
	defaultRetention = 24 * time.Hour
	defaultUpkeep    = time.Minute
	defaultCache     = 64 << 20
	defaultMemTable  = 32 << 20
	maxStreamShards  = 256
)

// withDefaults fills in defaults and checks ranges.
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

// ExitFatal is the exit code used by the default OnFatal: EX_IOERR of sysexits.h.
const ExitFatal = 74

// exit is the default of OnFatal.
func (o *Options) exit(err error) {
	o.Logger.Error("the process exits because the engine failed; acknowledged writes are on disk; fix the cause and restart it", "error", err)
	os.Exit(ExitFatal)
}

// store returns the options for opening the store.
func (o *Options) store(memory bool) store.Options {
	return store.Options{
		FS: o.FS, Memory: memory, CacheBytes: o.CacheBytes, MemTableBytes: o.MemTableBytes, Reserve: o.DiskReserve, Logger: o.Logger, OnFatal: o.OnFatal,
	}
}

// setDefault sets *v to d if it is zero.
func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
