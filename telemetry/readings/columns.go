package readings

import (
	"time"

	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/telemetry/internal/order"
)

// Numbers of the columns that are used by themselves.
const (
	columnDevice  = 1
	columnAt      = 2
	columnArrived = 6
	columnPast    = 12
	columnMade    = 21
)

// Columns of both blocks and segments. Their numbers are part of the format: never reuse one. Disc
// is derived from sequence number and session, or from the values; only if it is neither, it is
// stored.
var common = []block.Column[Reading]{
	block.Time(columnAt, func(r *Reading) *time.Time { return &r.At }),
	block.TextOf(3, oddDisc, func(r *Reading, disc string) { r.Disc = disc }),
	block.IntOf(4, numberOf, func(r *Reading, nth int64) { r.Disc = order.Numbered(nth-1, "") }),
	block.TextOf(5, sessionOf, func(r *Reading, session string) { r.Disc = order.Numbered(order.Nth(r.Disc)-1, session) }),
	block.IntOf(7, lifeOf, func(r *Reading, life int64) { r.ExpiresAt = time.Unix(secondOf(r.At)+life, 0).UTC() }),
	block.Int(8, func(r *Reading) *int { return &r.ZoneMinutes }),
	block.Bool(9, func(r *Reading) *bool { return &r.Fine }),
	block.Bool(10, func(r *Reading) *bool { return &r.Late }),
	block.Bool(11, func(r *Reading) *bool { return &r.Correction }),
	block.Bool(columnPast, func(r *Reading) *bool { return &r.Past }),
	block.Bool(13, func(r *Reading) *bool { return &r.Quiet }),
	block.TextList(14, func(r *Reading) *[]string { return &r.Counters }),
	block.TextList(15, func(r *Reading) *[]string { return &r.States }),
	block.TextList(16, func(r *Reading) *[]string { return &r.Void }),
	block.Cells(17, eachValue, setValue),
}

// blockColumns are the columns of a block: readings of many devices that arrived together.
var blockColumns = block.New('r', append([]block.Column[Reading]{
	block.Text(columnDevice, func(r *Reading) *string { return &r.DeviceID }).Apart(),
	block.Int(columnArrived, func(r *Reading) *int64 { return &r.Arrived }),
	block.Int(columnMade, func(r *Reading) *int64 { return &r.Made }),
}, common...)...)

// segmentColumns are the columns of a segment: readings of one device. The arrival is stored as a
// difference from the time of measurement.
var segmentColumns = block.New('s', append([]block.Column[Reading]{
	block.IntOf(columnArrived, func(r *Reading) int64 { return r.Arrived - r.At.UnixMilli() }, func(r *Reading, after int64) { r.Arrived = r.At.UnixMilli() + after }),
}, common...)...)

// oddDisc returns Disc if it can be derived neither from a sequence number nor from the values.
func oddDisc(r *Reading) string {
	if _, _, ok := order.Split(r.Disc); ok || r.Disc == Unnumbered(r.Values, 0) {
		return ""
	}
	return r.Disc
}

// numberOf returns the sequence number plus one, or 0 if Disc is not a sequence number.
func numberOf(r *Reading) int64 {
	nth, _, ok := order.Split(r.Disc)
	if !ok {
		return 0
	}
	return nth
}

// sessionOf returns the session of the sequence number.
func sessionOf(r *Reading) string {
	_, session, ok := order.Split(r.Disc)
	if !ok {
		return ""
	}
	return session
}

// secondOf returns a time in epoch seconds, rounded down.
func secondOf(at time.Time) int64 { return at.Unix() }

// lifeOf returns how many seconds after its time a reading expires.
func lifeOf(r *Reading) int64 {
	if r.ExpiresAt.IsZero() {
		return 0
	}
	return r.ExpiresAt.Unix() - secondOf(r.At)
}

func eachValue(r *Reading, cell func(block.Cell)) {
	for name, v := range r.Values {
		cell(block.Cell{Name: name, Kind: byte(v.form), Text: v.text})
	}
}

func setValue(r *Reading, n int, c block.Cell) {
	if r.Values == nil {
		r.Values = make(Values, n)
	}
	r.Values[c.Name] = Value{valueForm(c.Kind), c.Text}
}
