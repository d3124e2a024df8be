package readings

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// hourLayout is the format of hours in keys, in UTC.
const hourLayout = "2006-01-02T15"

// hourOf returns the hour of a time.
func hourOf(at time.Time) string { return at.UTC().Format(hourLayout) }

// SegmentKey names a part of a device's hour. Parts are numbered from 0.
type SegmentKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Hour     string `dynamodbav:"hour"`
	Part     int    `dynamodbav:"part"`
}

// Segment holds readings of a device that were measured in one hour, sorted by time. If a part is
// full, the hour gets another; parts may overlap in time. A part only gains readings, until they
// expire.
type Segment struct {
	SegmentKey
	FleetID string `dynamodbav:"fleet"`
	Body    []byte `dynamodbav:"body"`  // encoded columns
	Count   int    `dynamodbav:"count"` // number of readings
	Rev     int    `dynamodbav:"rev"`   // incremented at every write

	// ExpiresAt is when the part may be deleted: the latest expiry of its readings.
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// Segments holds the readings of devices by hour.
var Segments = table.Define[Segment, SegmentKey]("telemetry.segment", table.Def[Segment]{
	PK: devicePK, SK: "READINGS#{hour}#{part:03}",
	MaxBytes: maxSegmentBytes,
	Example:  exampleSegment,
	Doc:      "The readings of a device in one hour, in time order.",
	Growth:   table.Growth{Writes: 0.02, Items: 0.017, Bytes: 700, Keep: 30 * 24 * time.Hour},
})

var segmentRev = table.FieldOf(Segments, func(s *Segment) *int { return &s.Rev })

// segmentOf returns a part with the given sorted readings and their encoded body.
func segmentOf(k SegmentKey, readings []Reading, body []byte) Segment {
	s := Segment{SegmentKey: k, FleetID: readings[0].FleetID, Body: body, Count: len(readings), Rev: 1}
	_, _, s.ExpiresAt = extent(readings)
	return s
}

// Readings decodes the part's readings. Errors: ErrDamaged.
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
			return to, s.damaged(fmt.Errorf("reading of %s is out of order", r.At.Format(time.RFC3339)))
		}
	}
	return all, nil
}

func (s *Segment) damaged(err error) error {
	return fmt.Errorf("%w segment of device %s, %s, part %d: %w", ErrDamaged, s.DeviceID, s.Hour, s.Part, err)
}

// sortReadings sorts readings of one device. Of readings with the same key it keeps the first to
// arrive.
func sortReadings(all []Reading) []Reading {
	slices.SortStableFunc(all, func(a, b Reading) int {
		if c := a.Compare(&b.Key); c != 0 {
			return c
		}
		return int(min(max(a.Arrived-b.Arrived, -1), 1))
	})
	return slices.CompactFunc(all, func(a, b Reading) bool { return a.Compare(&b.Key) == 0 })
}
