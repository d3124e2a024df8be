package cost

import "math"

// target is the share of provisioned capacity that auto scaling keeps in use.
const target = 0.7

// A stream has a shard for each partition of its table; an on-demand table starts with four. A
// worker polls each shard four times a second, which is the interval that package fold keeps
// between reads of a service.
const (
	leastShards    = 4
	pollsPerSecond = 4
)

// Bill is the monthly cost of a workload, in the price book's currency.
type Bill struct {
	Region       string  `json:"region"`
	EventsPerDay float64 `json:"eventsPerDay"`
	WriteUnits   float64 `json:"writeUnits"` // per month
	ReadUnits    float64 `json:"readUnits"`  // per month
	StoredGB     float64 `json:"storedGB"`

	OnDemand  Requests    `json:"onDemand"`
	Peak      Provisioned `json:"provisionedForPeak"`     // capacity that is always available for the busiest second
	Scaled    Provisioned `json:"provisionedAutoScaling"` // capacity that follows the load, with 70 % in use
	BreakEven float64     `json:"breakEvenUse"`           // share of use above which provisioned write capacity is cheaper

	Storage float64 `json:"storage"`
	Backup  float64 `json:"continuousBackup"` // point-in-time recovery
	Full    float64 `json:"onDemandBackup"`   // one backup of all stored data, kept for the month; not in the totals
	Streams float64 `json:"streams"`          // GetRecords calls of a worker, four a second per shard; free for AWS Lambda

	Total      float64 `json:"total"`                      // on-demand, including everything else
	Cheapest   float64 `json:"cheapest"`                   // in the cheapest mode, including everything else
	PerMillion float64 `json:"perMillionEvents,omitempty"` // events, based on Total
}

// Requests is the on-demand cost of reads and writes.
type Requests struct {
	Writes float64 `json:"writes"`
	Reads  float64 `json:"reads"`
}

// Provisioned is the cost of provisioned capacity.
type Provisioned struct {
	WriteCapacity float64 `json:"writeCapacity"` // units per second
	ReadCapacity  float64 `json:"readCapacity"`  // units per second
	Cost          float64 `json:"cost"`
}

// Of returns the bill of a workload whose busiest second has peak times the average load; values
// below 1 count as 1.
func Of(w *Workload, region string, p Prices, peak float64) Bill {
	b := Bill{Region: region, EventsPerDay: w.EventsPerDay, BreakEven: p.WriteCapacityHour / (3600 * p.WriteMillion / 1e6)}
	writes := 0.0
	for i := range w.Lines {
		l := &w.Lines[i]
		b.WriteUnits, b.ReadUnits, b.StoredGB, writes = b.WriteUnits+l.WriteUnits, b.ReadUnits+l.ReadUnits, b.StoredGB+l.StoredGB, writes+l.Writes
	}
	b.OnDemand = Requests{p.requests(b.WriteUnits, 0), p.requests(0, b.ReadUnits)}
	write, read := b.WriteUnits/secondsMonth, b.ReadUnits/secondsMonth
	b.Peak = p.provisioned(write*math.Max(peak, 1), read*math.Max(peak, 1))
	b.Scaled = p.provisioned(write/target, read/target)
	b.Storage, b.Backup, b.Full = b.StoredGB*p.StorageMonth, b.StoredGB*p.ContinuousBackupMonth, b.StoredGB*p.BackupMonth
	if writes > 0 {
		shards := math.Max(leastShards, math.Ceil(write/1000))
		b.Streams = shards * pollsPerSecond * secondsMonth / 1e5 * p.StreamReads100k
	}
	rest := b.Storage + b.Backup + b.Streams
	b.Total = b.OnDemand.Writes + b.OnDemand.Reads + rest
	b.Cheapest = math.Min(b.Total, math.Min(b.Peak.Cost, b.Scaled.Cost)+rest)
	if b.EventsPerDay > 0 {
		b.PerMillion = b.Total / (b.EventsPerDay * daysMonth) * 1e6
	}
	b.round()
	return b
}

// WithoutContinuousBackup returns the bill for a table without point-in-time recovery.
func (b Bill) WithoutContinuousBackup() Bill {
	b.Total, b.Cheapest = rounded(b.Total-b.Backup), rounded(b.Cheapest-b.Backup)
	if b.EventsPerDay > 0 {
		b.PerMillion = rounded(b.Total / (b.EventsPerDay * daysMonth) * 1e6)
	}
	b.Backup = 0
	return b
}

// provisioned returns capacity in whole units, at least one of each, as tables require.
func (p *Prices) provisioned(write, read float64) Provisioned {
	c := Provisioned{WriteCapacity: math.Max(1, math.Ceil(write)), ReadCapacity: math.Max(1, math.Ceil(read))}
	c.Cost = hoursMonth * (c.WriteCapacity*p.WriteCapacityHour + c.ReadCapacity*p.ReadCapacityHour)
	return c
}

func (b *Bill) round() {
	for _, v := range []*float64{
		&b.OnDemand.Writes, &b.OnDemand.Reads, &b.Peak.Cost, &b.Scaled.Cost, &b.Storage, &b.Backup, &b.Full, &b.Streams, &b.Total, &b.Cheapest, &b.PerMillion,
	} {
		*v = rounded(*v)
	}
	b.WriteUnits, b.ReadUnits, b.StoredGB = math.Round(b.WriteUnits), math.Round(b.ReadUnits), math.Round(b.StoredGB*1000)/1000
	b.BreakEven = math.Round(b.BreakEven*1000) / 1000
}
