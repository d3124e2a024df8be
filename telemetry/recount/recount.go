// Package recount compares everything derived from a fleet's readings with the raw readings, and
// repairs differences: hourly, ten-minute and daily aggregates, latest values, labels and counts.
// Writes may continue at the same time. It also adds readings that folds missed.
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

// ErrRange is returned for a malformed range of days, or one that ends before it begins.
var ErrRange = errors.New("recount: range of days")

// ErrDevice is returned for a device that does not belong to the fleet.
var ErrDevice = errors.New("recount: no such device in the fleet")

// RangeIn selects all devices of a fleet, or one of them, and a range of days, both inclusive,
// YYYY-MM-DD in the fleet's time zone.
type RangeIn struct {
	Fleet  string
	Device string // default: all, and the fleet's labels and counts
	From   string // default: the first with readings or aggregates
	To     string // default: the last
}

// Verb is what to do with differences.
type Verb string

// The verbs.
const (
	Verifying  Verb = "verify"  // report differences
	Rebuilding Verb = "rebuild" // repair differences
)

// Progress is reported after every day of a device.
type Progress struct {
	Verb      Verb
	Fleet     string
	Device    string // current or just completed
	Day       string
	Done, Of  int   // devices
	Readings  int64 // raw readings read so far
	Items     int64 // derived items compared so far
	Different int64
}

// Differences is the result of comparing the derived items of a fleet.
type Differences struct {
	Devices  int            `dynamodbav:"devices" json:"devices"`
	Readings int64          `dynamodbav:"readings" json:"readings"` // raw readings read, some more than once
	Items    int64          `dynamodbav:"items" json:"items"`       // derived items compared
	Count    int64          `dynamodbav:"count" json:"count"`       // items that differed
	Repaired int64          `dynamodbav:"repaired" json:"repaired"` // of these, repaired by Rebuild
	Parts    map[Part]int64 `dynamodbav:"parts,omitempty" json:"parts,omitempty"`
	// List describes the first hundred differences.
	List []Difference `dynamodbav:"list,omitempty" json:"list,omitempty"`
	// Busy lists the first hundred items that were written so often that no state could be compared
	// with a fixed set of readings. Try again when there is less traffic.
	Busy []string `dynamodbav:"busy,omitempty" json:"busy,omitempty"`
	// Waiting counts days that were not compared because a retraction of them is being applied.
	Waiting int64 `dynamodbav:"waiting,omitempty" json:"waiting,omitempty"`
	// Sealed lists the first hundred of SealedItems items that were skipped, because some of their
	// sources may have expired.
	Sealed      []string `dynamodbav:"sealed,omitempty" json:"sealed,omitempty"`
	SealedItems int64    `dynamodbav:"sealedItems,omitempty" json:"sealedItems,omitempty"`
}

// Difference is a derived item that does not match its readings or devices.
type Difference struct {
	Part   Part           `dynamodbav:"part" json:"part"`
	Device string         `dynamodbav:"device,omitempty" json:"device,omitempty"` // "": the fleet
	Start  string         `dynamodbav:"start,omitempty" json:"start,omitempty"`   // start of an aggregate's bucket; kind and value of a label
	Kind   DifferenceKind `dynamodbav:"kind" json:"kind"`
	Stored string         `dynamodbav:"stored,omitempty" json:"stored,omitempty"` // shortened
	Want   string         `dynamodbav:"want,omitempty" json:"want,omitempty"`     // shortened
}

// Item returns a name for the item.
func (d *Difference) Item() string {
	name := string(d.Part)
	for _, more := range []string{d.Device, d.Start} {
		if more != "" {
			name += " " + more
		}
	}
	return name
}

// Part is the kind of a derived item.
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

// DifferenceKind is how an item differs.
type DifferenceKind string

// The kinds of difference.
const (
	Missing DifferenceKind = "missing" // not stored, although there are readings for it
	Wrong   DifferenceKind = "wrong"
	Extra   DifferenceKind = "extra" // stored without readings
)

const (
	maxListed  = 100
	maxListing = 400 // bytes of each side of a listed difference
	maxTries   = 6   // attempts on items that keep being written
)

// Verify recomputes everything derived from a fleet's devices and compares. Changes in flight and
// days that wait for a roll-up are not differences. Items whose raw readings may have expired are
// skipped and counted. An interrupted run is resumed after its last completed device, within 24
// hours. Errors: ErrRange, ErrDevice, table.ErrNotFound for the fleet; those of w and the store.
func Verify(ctx context.Context, t *table.Table, w telemetry.Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return run(ctx, t, w, in, Verifying, progress)
}

// Rebuild is Verify and also repairs differences. Each item is replaced in one write, on condition
// that it is still the one that was compared.
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

// Check validates the days. Errors: ErrRange.
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

// run compares device by device and stores its progress.
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
			err := r.compareDevice(ctx, id)
			if err != nil && !(errors.Is(err, table.ErrNotFound) && r.in.Device == "") { // it was deleted in the meantime
				return fmt.Errorf("device %s: %w", id, err)
			}
			r.found.Devices++
			if err := r.finished(ctx, job, id); err != nil {
				return err
			}
		}
		r.at.Done++
		r.reportProgress()
	}
	if r.in.Device == "" {
		if err := r.compareLabelsAndCounts(ctx); err != nil {
			return err
		}
	}
	if err := Jobs.Delete(ctx, r.t, job.JobKey); err != nil {
		return fmt.Errorf("delete the progress: %w", err)
	}
	return nil
}

// devices returns the sorted IDs of the devices to compare. It examines the devices of all fleets,
// because the labels that list a fleet's devices are themselves to be compared.
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

func (r *recounter) reportProgress() {
	if r.report != nil {
		r.at.Readings, r.at.Items, r.at.Different = r.found.Readings, r.found.Items, r.found.Count
		r.report(r.at)
	}
}

// addDifference counts a difference, and describes it if it is one of the first hundred.
func (r *recounter) addDifference(d Difference) {
	r.countDifferences(d.Part, 1)
	if len(r.found.List) < maxListed {
		d.Stored, d.Want = shorten(d.Stored), shorten(d.Want)
		r.found.List = append(r.found.List, d)
	}
}

// countDifferences counts differences without describing them.
func (r *recounter) countDifferences(p Part, n int64) {
	r.found.Count += n
	if r.verb == Rebuilding {
		r.found.Repaired += n
	}
	if r.found.Parts == nil {
		r.found.Parts = make(map[Part]int64)
	}
	r.found.Parts[p] += n
}

// addSealed records items that can no longer be compared.
func (r *recounter) addSealed(names ...string) {
	r.found.SealedItems += int64(len(names))
	r.found.Sealed = append(r.found.Sealed, names[:min(len(names), maxListed-len(r.found.Sealed))]...)
}

func (r *recounter) addBusy(what string) {
	if len(r.found.Busy) < maxListed {
		r.found.Busy = append(r.found.Busy, what)
	}
}
