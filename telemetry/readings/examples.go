package readings

import (
	"time"
)

// Examples for the generated documents.

// exampleReadings returns readings of a pump.
func exampleReadings(at time.Time, n int) []Reading {
	all := make([]Reading, n)
	for i := range all {
		at := at.Add(time.Duration(i) * time.Minute)
		all[i] = Reading{
			Key: Key{DeviceID: "pump-1", At: at}, FleetID: "north", Arrived: at.UnixMilli() + 40, ZoneMinutes: 120,
			Values: Values{"temperature": Value{isNumber, []string{"21.5", "21.6"}[i%2]}, "running": Bool(true)}, ExpiresAt: at.Add(30 * 24 * time.Hour).Truncate(time.Second),
		}
		all[i].Disc = Unnumbered(all[i].Values, 0)
	}
	return all
}

func exampleBlock(b *Block) {
	all := exampleReadings(time.Date(2026, 5, 12, 14, 0, 0, 250e6, time.UTC), 2)
	body, err := blockColumns.Append(nil, all)
	if err != nil {
		panic(err) // two small readings
	}
	key := b.BlockKey
	*b = blockOf(all, body)
	b.BlockKey = key
}

func exampleSegment(s *Segment) {
	s.Hour = "2026-05-12T14"
	all := exampleReadings(time.Date(2026, 5, 12, 14, 0, 0, 250e6, time.UTC), 60)
	body, err := segmentColumns.Append(nil, all)
	if err != nil {
		panic(err) // sixty small readings
	}
	*s = segmentOf(s.SegmentKey, all, body)
}

func exampleRemoval(r *Removal) {
	s := Segment{SegmentKey: SegmentKey{DeviceID: "pump-1"}}
	exampleSegment(&s)
	r.Hour, r.Body = s.Hour, s.Body
}

func exampleWindow(w *Window) {
	w.Span = "2026-05-12T14:00Z"
}
