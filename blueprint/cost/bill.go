package cost

import (
	"cmp"
	"math"
)

// target is the share of provisioned capacity that auto scaling keeps in use.
const target = 0.7

// pollsPerSecond is how often a worker reads a shard: package fold keeps that interval between reads
// of a service.
const pollsPerSecond = 4

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
	Streams float64 `json:"streams"`          // GetRecords calls of workers, four a second per shard; AWS Lambda makes them free of charge

	Services []Charge `json:"services"` // other services, in the order of Services; see Of

	Total      float64 `json:"total"`                      // on-demand, including everything else that has a price
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
// below 1 count as 1. Amounts are rounded to the cent, and totals are sums of rounded amounts. The
// bill has no services: see With.
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
		b.Streams = float64(cmp.Or(w.Shards, Workers{}.shards(w))) * pollsPerSecond * secondsMonth / 1e5 * p.StreamReads100k
	}
	b.round()
	b.sum()
	return b
}

// With returns the bill with the charges of other services.
func (b Bill) With(services []Charge) Bill {
	b.Services = services
	b.sum()
	return b
}

// WithoutStream returns the bill for a stream that only AWS Lambda reads.
func (b Bill) WithoutStream() Bill {
	b.Streams = 0
	b.sum()
	return b
}

// sum computes the totals.
func (b *Bill) sum() {
	rest := b.Storage + b.Backup + b.Streams
	for i := range b.Services {
		rest += b.Services[i].Cost
	}
	requests := b.OnDemand.Writes + b.OnDemand.Reads
	b.Total = rounded(requests + rest)
	b.Cheapest = rounded(min(requests, b.Peak.Cost, b.Scaled.Cost) + rest)
	if b.EventsPerDay > 0 {
		b.PerMillion = rounded(b.Total / (b.EventsPerDay * daysMonth) * 1e6)
	}
}

// WithoutContinuousBackup returns the bill for a table without point-in-time recovery.
func (b Bill) WithoutContinuousBackup() Bill {
	b.Backup = 0
	b.sum()
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
		&b.OnDemand.Writes, &b.OnDemand.Reads, &b.Peak.Cost, &b.Scaled.Cost, &b.Storage, &b.Backup, &b.Full, &b.Streams,
	} {
		*v = rounded(*v)
	}
	b.WriteUnits, b.ReadUnits, b.StoredGB = math.Round(b.WriteUnits), math.Round(b.ReadUnits), math.Round(b.StoredGB*1000)/1000
	b.BreakEven = math.Round(b.BreakEven*1000) / 1000
}
