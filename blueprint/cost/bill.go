package cost

import "math"

// target is which share of provisioned capacity auto scaling keeps in use.
const target = 0.7

// A stream has a shard for each partition of its table: a table on demand begins with four. A worker asks each four times a second, which
// is the pause that fold keeps between reads of a service.
const (
	leastShards    = 4
	pollsPerSecond = 4
)

// Bill is what a workload costs a month, in the price book's currency.
type Bill struct {
	Region       string  `json:"region"`
	EventsPerDay float64 `json:"eventsPerDay"`
	WriteUnits   float64 `json:"writeUnits"` // a month
	ReadUnits    float64 `json:"readUnits"`  // a month
	StoredGB     float64 `json:"storedGB"`

	OnDemand  Requests    `json:"onDemand"`
	Peak      Provisioned `json:"provisionedForPeak"`     // capacity that is always there for the busiest second
	Scaled    Provisioned `json:"provisionedAutoScaling"` // capacity that follows the load, of which 70 % is in use
	BreakEven float64     `json:"breakEvenUse"`           // from which share of it in use provisioned capacity for writes is cheaper

	Storage float64 `json:"storage"`
	Backup  float64 `json:"continuousBackup"` // point-in-time recovery
	Full    float64 `json:"onDemandBackup"`   // one backup of all that is stored, kept for the month; not in the totals
	Streams float64 `json:"streams"`          // GetRecords of a worker, four a second of each shard; of AWS Lambda it is nothing

	Total      float64 `json:"total"`                      // on demand, with all else
	Cheapest   float64 `json:"cheapest"`                   // in the cheapest mode, with all else
	PerMillion float64 `json:"perMillionEvents,omitempty"` // events, of Total
}

// Requests are what reads and writes cost on demand.
type Requests struct {
	Writes float64 `json:"writes"`
	Reads  float64 `json:"reads"`
}

// Provisioned is what capacity costs that is kept ready.
type Provisioned struct {
	WriteCapacity float64 `json:"writeCapacity"` // units a second
	ReadCapacity  float64 `json:"readCapacity"`  // units a second
	Cost          float64 `json:"cost"`
}

// Of is the bill of a workload whose busiest second takes peak times as much as a mean one; less than 1 counts as 1.
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

// WithoutContinuousBackup is the bill of a table that has no point-in-time recovery.
func (b Bill) WithoutContinuousBackup() Bill {
	b.Total, b.Cheapest = rounded(b.Total-b.Backup), rounded(b.Cheapest-b.Backup)
	if b.EventsPerDay > 0 {
		b.PerMillion = rounded(b.Total / (b.EventsPerDay * daysMonth) * 1e6)
	}
	b.Backup = 0
	return b
}

// provisioned is capacity in whole units, at least one of each, as a table must have.
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
