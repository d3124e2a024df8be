// Package recount compares what is derived of fleets with the raw readings, and replaces what differs: aggregates of hours and
// ten minutes, days, latest values, labels and counts. Writes may go on meanwhile. It also brings up to date what folds have
// missed.
package recount

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// ErrRange is returned when a range of days is malformed or ends before it begins.
var ErrRange = errors.New("recount: range of days")

// ErrDevice is returned when the fleet has no such device.
var ErrDevice = errors.New("recount: no such device in the fleet")

// RangeIn names what is compared: the devices of a fleet, or one of them, from a day to another, both included, YYYY-MM-DD in
// the fleet's time zone.
type RangeIn struct {
	Fleet  string
	Device string // default: all, and then the fleet's labels and counts, too
	From   string // default: the first that has readings or aggregates
	To     string // default: the last
}

// Verb says what is done with differences.
type Verb string

// The verbs.
const (
	Verifying  Verb = "verify"  // they are reported
	Rebuilding Verb = "rebuild" // they are mended
)

// Progress is reported after every day of a device.
type Progress struct {
	Verb      Verb
	Fleet     string
	Device    string // in work, or just finished
	Day       string
	Done, Of  int   // devices
	Readings  int64 // raw readings read so far
	Items     int64 // derived items compared so far
	Different int64
}

// Differences is what the derived items of a fleet were found to be.
type Differences struct {
	Devices  int            `dynamodbav:"devices" json:"devices"`
	Readings int64          `dynamodbav:"readings" json:"readings"` // raw readings that were read, some more than once
	Items    int64          `dynamodbav:"items" json:"items"`       // derived items that were compared
	Count    int64          `dynamodbav:"count" json:"count"`       // items that differed
	Mended   int64          `dynamodbav:"mended" json:"mended"`     // of these, by Rebuild
	Parts    map[Part]int64 `dynamodbav:"parts,omitempty" json:"parts,omitempty"`
	// List describes the first hundred of them.
	List []Difference `dynamodbav:"list,omitempty" json:"list,omitempty"`
	// Busy are the first hundred items that were written again and again, so that no state of theirs could be compared with a
	// settled set of readings. Ask again when there is less traffic.
	Busy []string `dynamodbav:"busy,omitempty" json:"busy,omitempty"`
	// Waiting are days of devices that were not compared because a retraction of them is being applied.
	Waiting int64 `dynamodbav:"waiting,omitempty" json:"waiting,omitempty"`
	// Sealed are the first hundred items, of SealedItems, that were left out because what they are made of may have expired.
	Sealed      []string `dynamodbav:"sealed,omitempty" json:"sealed,omitempty"`
	SealedItems int64    `dynamodbav:"sealedItems,omitempty" json:"sealedItems,omitempty"`
}

// Difference is one derived item that is not what the readings, or devices, say.
type Difference struct {
	Part   Part           `dynamodbav:"part" json:"part"`
	Device string         `dynamodbav:"device,omitempty" json:"device,omitempty"` // none: of the fleet
	Start  string         `dynamodbav:"start,omitempty" json:"start,omitempty"`   // of an aggregate's bucket; of a label, its kind and value
	Kind   DifferenceKind `dynamodbav:"kind" json:"kind"`
	Stored string         `dynamodbav:"stored,omitempty" json:"stored,omitempty"` // shortened
	Want   string         `dynamodbav:"want,omitempty" json:"want,omitempty"`     // shortened
}

// Item names the item.
func (d *Difference) Item() string {
	name := string(d.Part)
	for _, more := range []string{d.Device, d.Start} {
		if more != "" {
			name += " " + more
		}
	}
	return name
}

// Part says what a derived item is.
type Part string

// The parts.
const (
	Hour       Part = "hour"
	TenMinutes Part = "ten_minutes"
	Day        Part = "day"
	Latest     Part = "latest"
	Label      Part = "label"
	Counts     Part = "counts"
)

var partOf = map[telemetry.Period]Part{telemetry.Hourly: Hour, telemetry.TenMinutes: TenMinutes, telemetry.Daily: Day}

// DifferenceKind says how an item differs.
type DifferenceKind string

// The kinds of difference.
const (
	Missing DifferenceKind = "missing" // there are readings for it, but it is not there
	Wrong   DifferenceKind = "wrong"
	Extra   DifferenceKind = "extra" // it is there, but no readings are
)

const (
	maxListed  = 100
	maxListing = 400 // bytes of one side of a listed difference
	maxTries   = 6   // of what is being written
)

// Verify computes what is derived of a fleet's devices again and compares. What is in flight is no difference, nor is a day that
// waits for its roll-up. Items whose raw readings may have expired are left out and counted. If it was stopped, the same call
// goes on after the last device that it finished. Errors: ErrRange, ErrDevice, table.ErrNotFound when there is no such fleet.
func Verify(ctx context.Context, t *table.Table, w telemetry.Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return run(ctx, t, w, in, Verifying, progress)
}

// Rebuild is Verify that also replaces what differs, each item in one write on condition that it is still the one that was
// compared.
func Rebuild(ctx context.Context, t *table.Table, w telemetry.Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return run(ctx, t, w, in, Rebuilding, progress)
}

func run(ctx context.Context, t *table.Table, w telemetry.Folded, in RangeIn, verb Verb, progress func(Progress)) (Differences, error) {
	r := &recounter{t: t, w: w, in: in, verb: verb, report: progress}
	err := r.open(ctx)
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		return r.found, fmt.Errorf("recount: %s %s: %w", verb, in.Fleet, err)
	}
	return r.found, nil
}

// recounter compares one fleet.
type recounter struct {
	t      *table.Table
	w      telemetry.Folded
	in     RangeIn
	fleet  telemetry.Fleet
	zone   calendar.Zone
	verb   Verb
	report func(Progress)
	at     Progress
	found  Differences
}

func (r *recounter) open(ctx context.Context) (err error) {
	if err = r.in.Check(); err != nil {
		return err
	}
	if r.fleet, err = telemetry.GetFleet(ctx, r.t, r.in.Fleet); err != nil {
		return err
	}
	r.zone, err = calendar.LoadZone(r.fleet.TimeZone)
	return err
}

// Check refuses days that are none. Errors: ErrRange.
func (in *RangeIn) Check() error {
	for _, day := range []string{in.From, in.To} {
		if _, err := calendar.ParseDay(day); day != "" && err != nil {
			return fmt.Errorf("%w: %w", ErrRange, err)
		}
	}
	if in.From != "" && in.To != "" && in.To < in.From {
		return fmt.Errorf("%w: %s is after %s", ErrRange, in.From, in.To)
	}
	return nil
}

// run does device after device, and writes down how far it came.
func (r *recounter) run(ctx context.Context) error {
	ids, err := r.devices(ctx)
	if err != nil {
		return err
	}
	job, err := r.resume(ctx)
	if err != nil {
		return err
	}
	r.at = Progress{Verb: r.verb, Fleet: r.in.Fleet, Of: len(ids)}
	for _, id := range ids {
		if r.at.Device = id; id > job.Last {
			err := r.device(ctx, id)
			if err != nil && !(errors.Is(err, table.ErrNotFound) && r.in.Device == "") { // it was deleted meanwhile
				return fmt.Errorf("device %s: %w", id, err)
			}
			r.found.Devices++
			if err := r.finished(ctx, job, id); err != nil {
				return err
			}
		}
		r.at.Done++
		r.tell()
	}
	if r.in.Device == "" {
		if err := r.census(ctx); err != nil {
			return err
		}
	}
	if err := Jobs.Delete(ctx, r.t, job.JobKey); err != nil {
		return fmt.Errorf("forget the progress: %w", err)
	}
	return nil
}

// devices are the ids of those that are compared, in order. Labels, which list a fleet's devices, are among what is compared, so
// the devices of all fleets are looked at.
func (r *recounter) devices(ctx context.Context) (ids []string, err error) {
	if r.in.Device != "" {
		d, err := telemetry.GetDevice(ctx, r.t, r.in.Device)
		if errors.Is(err, table.ErrNotFound) || err == nil && d.FleetID != r.in.Fleet {
			err = fmt.Errorf("%w: %q", ErrDevice, r.in.Device)
		}
		return []string{r.in.Device}, err
	}
	for d, err := range telemetry.EachDevice(ctx, r.t) {
		if err != nil {
			return nil, err
		}
		if d.FleetID == r.in.Fleet && d.DeletedAt.IsZero() {
			ids = append(ids, d.DeviceID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (r *recounter) tell() {
	if r.report != nil {
		r.at.Readings, r.at.Items, r.at.Different = r.found.Readings, r.found.Items, r.found.Count
		r.report(r.at)
	}
}

// note counts an item that differs, and describes the first hundred.
func (r *recounter) note(d Difference) {
	r.noteMore(d.Part, 1)
	if len(r.found.List) < maxListed {
		d.Stored, d.Want = shorten(d.Stored), shorten(d.Want)
		r.found.List = append(r.found.List, d)
	}
}

// noteMore counts items that differ and are not described.
func (r *recounter) noteMore(p Part, n int64) {
	r.found.Count += n
	if r.verb == Rebuilding {
		r.found.Mended += n
	}
	if r.found.Parts == nil {
		r.found.Parts = make(map[Part]int64)
	}
	r.found.Parts[p] += n
}

// leaveOut notes an item that can no longer be compared.
func (r *recounter) leaveOut(names ...string) {
	r.found.SealedItems += int64(len(names))
	r.found.Sealed = append(r.found.Sealed, names[:min(len(names), maxListed-len(r.found.Sealed))]...)
}

func (r *recounter) busy(what string) {
	if len(r.found.Busy) < maxListed {
		r.found.Busy = append(r.found.Busy, what)
	}
}
