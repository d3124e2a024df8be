package readings

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// hourLayout names hours in keys, in UTC.
const hourLayout = "2006-01-02T15"

// hourOf names the hour that a time is in.
func hourOf(at time.Time) string { return at.UTC().Format(hourLayout) }

// SegmentKey names a part of what a device measured in an hour. Parts are numbered from 0.
type SegmentKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Hour     string `dynamodbav:"hour"`
	Part     int    `dynamodbav:"part"`
}

// Segment holds readings of a device that were measured in one hour, in the order of time. An hour has a second part when the first is
// full, and so on: parts may overlap in time. A part only gains readings, until they expire.
type Segment struct {
	SegmentKey
	FleetID string `dynamodbav:"fleet"`
	Body    []byte `dynamodbav:"body"`  // their columns
	Count   int    `dynamodbav:"count"` // of readings
	Rev     int    `dynamodbav:"rev"`   // one more at every write

	// ExpiresAt is when the part may be deleted: when the last of its readings may.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// Segments are what devices measured, by the hour.
var Segments = table.Define[Segment, SegmentKey]("telemetry.segment", table.Def[Segment]{
	PK: devicePK, SK: "READINGS#{hour}#{part:03}",
	MaxBytes: maxSegmentBytes,
	Example:  exampleSegment,
	Doc:      "What a device measured in one hour: readings in the order of time.",
	Growth:   table.Growth{Writes: 0.02, Items: 0.017, Bytes: 700, Keep: 30 * 24 * time.Hour},
})

var segmentRev = table.FieldOf(Segments, func(s *Segment) *int { return &s.Rev })

// segmentOf makes a part of readings in order. The body is theirs.
func segmentOf(k SegmentKey, readings []Reading, body []byte) Segment {
	s := Segment{SegmentKey: k, FleetID: readings[0].FleetID, Body: body, Count: len(readings), Rev: 1}
	_, _, s.ExpiresAt = extent(readings)
	return s
}

// Readings reads the part's readings. Errors: ErrDamaged.
func (s *Segment) Readings() ([]Reading, error) { return s.readings(nil) }

// readings appends the part's readings.
func (s *Segment) readings(to []Reading) ([]Reading, error) {
	all, err := segmentColumns.Decode(to, s.Body)
	if err != nil {
		return to, s.damaged(err)
	}
	hour, err := time.Parse(hourLayout, s.Hour)
	if err != nil {
		return to, s.damaged(err)
	}
	for i := len(to); i < len(all); i++ {
		r := &all[i]
		r.DeviceID, r.FleetID = s.DeviceID, s.FleetID
		if r.Arrived == 0 { // it arrived when it was measured
			r.Arrived = r.At.UnixMilli()
		}
		r.complete()
		if r.At.Before(hour) || r.At.Sub(hour) >= time.Hour {
			return to, s.damaged(fmt.Errorf("reading of %s is not in its place", r.At.Format(time.RFC3339)))
		}
	}
	return all, nil
}

func (s *Segment) damaged(err error) error {
	return fmt.Errorf("%w segment of device %s, %s, part %d: %w", ErrDamaged, s.DeviceID, s.Hour, s.Part, err)
}

// sortReadings orders readings of one device, and keeps of those with the same key the one that arrived first.
func sortReadings(all []Reading) []Reading {
	slices.SortStableFunc(all, func(a, b Reading) int {
		if c := a.Compare(&b.Key); c != 0 {
			return c
		}
		return int(min(max(a.Arrived-b.Arrived, -1), 1))
	})
	return slices.CompactFunc(all, func(a, b Reading) bool { return a.Compare(&b.Key) == 0 })
}
