package warehouse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/onefold/onefold/telemetry"
)

// ReadingRow is one value of a reading of a device. Its fleet is in the path. A reading without
// values is stored as one row without a metric, so no reading is left out.
type ReadingRow struct {
	Time        int64    `parquet:"time,timestamp(millisecond),delta"`
	DeviceID    string   `parquet:"device_id,dict"`
	Disc        string   `parquet:"disc"`
	Metric      string   `parquet:"metric,dict"`
	Kind        string   `parquet:"kind,dict"`
	Number      *float64 `parquet:"number,optional"`
	Text        *string  `parquet:"text,optional,dict"`
	Bool        *bool    `parquet:"bool,optional"`
	Decimal     string   `parquet:"decimal,optional"`
	Void        bool     `parquet:"void"`
	Late        bool     `parquet:"late"`
	Correction  bool     `parquet:"correction"`
	ArrivedAt   int64    `parquet:"arrived_at,timestamp(millisecond)"`
	ZoneMinutes int32    `parquet:"zone_minutes,dict"`
	ExpiresAt   *int64   `parquet:"expires_at,optional,timestamp(millisecond)"`
}

// Key orders readings by time, device, discriminator and metric.
func (r *ReadingRow) Key() Key {
	return Key{At: r.Time, ID: readingID(r.DeviceID, r.Disc), Sub: r.Metric}
}

// Expires returns when the reading may be deleted from the table.
func (r *ReadingRow) Expires() int64 { return orZero(r.ExpiresAt) }

type readingKeys struct {
	Time      int64  `parquet:"time,timestamp(millisecond),delta"`
	DeviceID  string `parquet:"device_id,dict"`
	Disc      string `parquet:"disc"`
	Metric    string `parquet:"metric,dict"`
	ExpiresAt *int64 `parquet:"expires_at,optional,timestamp(millisecond)"`
}

func (r *readingKeys) Key() Key {
	return Key{At: r.Time, ID: readingID(r.DeviceID, r.Disc), Sub: r.Metric}
}

func (r *readingKeys) Expires() int64 { return orZero(r.ExpiresAt) }

// readingID distinguishes the readings of one millisecond. No device ID contains the separator.
func readingID(device, disc string) string { return device + "#" + disc }

// NewReadingRows returns the rows of a reading, ordered by metric.
func NewReadingRows(r *telemetry.Reading) []Row {
	base := ReadingRow{
		Time: r.At.UnixMilli(), DeviceID: r.DeviceID, Disc: r.Disc, Late: r.Late, Correction: r.Correction, ArrivedAt: r.Arrived,
		ZoneMinutes: int32(r.ZoneMinutes), ExpiresAt: instant(r.ExpiresAt),
	}
	if len(r.Values) == 0 {
		return []Row{&base}
	}
	rows := make([]Row, 0, len(r.Values))
	for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
		row := base
		row.Metric, row.Kind = metric, string(kindOf(r, metric))
		row.Void = slices.Contains(r.Void, metric) || slices.Contains(r.Void, "*")
		row.value(r.Values[metric])
		rows = append(rows, &row)
	}
	return rows
}

func kindOf(r *telemetry.Reading, metric string) telemetry.MetricKind {
	switch {
	case slices.Contains(r.Counters, metric):
		return telemetry.Counter
	case !r.Values[metric].IsNumber() || slices.Contains(r.States, metric):
		return telemetry.State
	}
	return telemetry.Gauge
}

// value fills in the column for the value's type. A number that no float represents exactly is also
// kept as digits.
func (r *ReadingRow) value(v telemetry.Value) {
	text := v.String()
	switch {
	case v.IsNumber():
		r.Number = float(text)
		if r.Number == nil || strconv.FormatFloat(*r.Number, 'f', -1, 64) != text {
			r.Decimal = text
		}
	case v == telemetry.Bool(true) || v == telemetry.Bool(false):
		b := v == telemetry.Bool(true)
		r.Bool = &b
	case !v.IsZero():
		r.Text = &text
	}
}
