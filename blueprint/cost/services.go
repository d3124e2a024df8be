package cost

import (
	"fmt"
	"math"
	"time"
)

// Charge is the monthly cost of one service beside the table.
type Charge struct {
	Service  string  `json:"service"`
	Quantity float64 `json:"quantity"` // a month
	Unit     string  `json:"unit"`
	Cost     float64 `json:"cost"`              // 0 if Missing
	Missing  bool    `json:"missing,omitempty"` // the book has no price for the Region, so totals do not include the charge
}

// Services is what runs beside the table, and what it sends. The zero value costs nothing.
type Services struct {
	Tasks     Tasks
	Functions Functions
	Logs      float64 // GB a month that CloudWatch Logs ingests
	Transfer  float64 // GB a month sent to the internet
	Insights  InsightsMode
	Backups   int // backups on demand that are kept, each of all stored data, up to MaxBackups
}

// MaxBackups is the maximum number of backups on demand.
const MaxBackups = 10_000

// InsightsMode is what CloudWatch Contributor Insights counts, for the table and for each index.
type InsightsMode string

// Modes of Contributor Insights.
const (
	NoInsights    InsightsMode = ""
	ThrottledKeys InsightsMode = "throttled" // two rules each; the templates of package infra turn this on
	AllKeys       InsightsMode = "all"       // four rules each, which count every request
)

// Tasks are containers on Fargate that run all the time.
type Tasks struct {
	Count    int
	VCPU     float64 // of each
	MemoryGB float64 // of each
}

// Functions are the functions of onefold infra --functions, on Arm.
type Functions struct {
	Mode     FunctionMode
	MemoryMB int           // 128 to 10,240; 0 means that of the templates: 512, or 1,769 for the function that works in shifts
	Duration time.Duration // of an invocation, on average, up to 15 minutes; not that of shifts, which follow one another
	Events   float64       // events in a request to the ingest function; 0 means that there is none
}

// FunctionMode is how functions fold changes.
type FunctionMode string

// Modes of functions.
const (
	NoFunctions FunctionMode = ""
	Batches     FunctionMode = "batches" // Lambda passes changes
	Shifts      FunctionMode = "shifts"  // a function reads the stream, for a quarter of an hour each time
)

// What the templates of package infra configure.
const (
	memoryMB      = 512
	shiftMemoryMB = 1769
	batchSeconds  = 10              // that changes wait for a batch
	minutesMonth  = hoursMonth * 60 // the schedule function runs once a minute; Lambda ends a window of a shard once a minute
	shiftsMonth   = hoursMonth * 4
	shiftSeconds  = 885 // a quarter of an hour, without the pause between two shifts
)

// What is sent, estimated where it is not known.
const (
	logBytes      = 1000    // of an invocation: its start, end and report, and a line of figures
	responseBytes = 500     // of the answer to an event that was sent alone, with headers and TLS
	viewBytes     = 100_000 // of the answers to a page of the dashboard
)

func (f *Functions) check() error {
	switch {
	case f.Mode != NoFunctions && f.Mode != Batches && f.Mode != Shifts:
		return fmt.Errorf("%w: functions %q: use %s or %s", ErrOptions, f.Mode, Batches, Shifts)
	case f.MemoryMB != 0 && (f.MemoryMB < 128 || f.MemoryMB > 10_240):
		return fmt.Errorf("%w: functions of %d MB: use 128 to 10240", ErrOptions, f.MemoryMB)
	case f.Duration < 0 || f.Duration > 15*time.Minute:
		return fmt.Errorf("%w: invocations of %s: use 0s to 15m", ErrOptions, f.Duration)
	case !(f.Events == 0 || f.Events >= 1 && f.Events <= 1e6):
		return fmt.Errorf("%w: %g events in a request: use 1 to 1000000, or 0 without an ingest function", ErrOptions, f.Events)
	}
	return nil
}

func (s *Services) check() error {
	t := &s.Tasks
	switch {
	case t.Count < 0 || t.Count > MaxWorkers || !(t.VCPU >= 0 && t.VCPU <= 16) || !(t.MemoryGB >= 0 && t.MemoryGB <= 120):
		return fmt.Errorf("%w: %d tasks of %g vCPU and %g GB: use up to %d, 16 vCPU and 120 GB", ErrOptions, t.Count, t.VCPU, t.MemoryGB, MaxWorkers)
	case !(s.Logs >= 0 && s.Logs <= maxGB) || !(s.Transfer >= 0 && s.Transfer <= maxGB):
		return fmt.Errorf("%w: %g GB of logs and %g GB sent: use 0 to %g", ErrOptions, s.Logs, s.Transfer, maxGB)
	case s.Insights != NoInsights && s.Insights != ThrottledKeys && s.Insights != AllKeys:
		return fmt.Errorf("%w: Contributor Insights of %q keys: use %s or %s", ErrOptions, s.Insights, ThrottledKeys, AllKeys)
	case s.Backups < 0 || s.Backups > MaxBackups:
		return fmt.Errorf("%w: %d backups: use 0 to %d", ErrOptions, s.Backups, MaxBackups)
	}
	return s.Functions.check()
}

// use returns the rules, and the requests a month that they count. Units stand for requests.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
func (m InsightsMode) use(w *Workload, units float64) (rules, requests float64) {
	each := float64(1 + w.Indexes)
	switch m {
	case ThrottledKeys:
		return 2 * each, 0
	case AllKeys:
		return 4 * each, units
	}
	return 0, 0
}

// Charges returns the charges of services for a workload. Those of a Region without a price are
// Missing. Services that are not used have no charge. Errors: ErrOptions.
func (s *Services) Charges(w *Workload, p *Prices) ([]Charge, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	stored, requests := 0.0, 0.0
	for i := range w.Lines {
		l := &w.Lines[i]
		stored, requests = stored+l.StoredGB, requests+l.WriteUnits+l.ReadUnits
	}
	rules, counted := s.Insights.use(w, requests)
	hours := float64(s.Tasks.Count) * hoursMonth
	invocations, seconds := s.Functions.use(w)
	var all []Charge
	for _, c := range []struct {
		service, unit string
		quantity      float64
		price         Tiers
	}{
		{"functions, requests", "million", invocations / 1e6, flat(p.LambdaMillion)},
		{"functions, duration", "GB-seconds", seconds, p.LambdaGBSecond},
		{"Fargate, processors", "vCPU-hours", hours * s.Tasks.VCPU, flat(p.FargateVCPUHour)},
		{"Fargate, memory", "GB-hours", hours * s.Tasks.MemoryGB, flat(p.FargateGBHour)},
		{"logs, ingested", "GB", s.Logs, flat(p.LogsGB)},
		{"data transfer out", "GB", s.Transfer, p.TransferGB},
		{"Contributor Insights, rules", "rules", rules, flat(p.InsightsRule)},
		{"Contributor Insights, requests", "million", counted / 1e6, flat(p.InsightsMillion)},
		{"backups on demand", "GB", stored * float64(s.Backups), flat(p.BackupMonth)},
	} {
		if c.quantity > 0 {
			all = append(all, Charge{c.service, math.Round(c.quantity*1e6) / 1e6, c.unit, rounded(c.price.of(c.quantity)), len(c.price) == 0})
		}
	}
	return all, nil
}

// maxGB is the maximum of logs and of data transfer: an exabyte a month.
const maxGB = 1e9

// flat returns a price without tiers, or nil if it is missing.
func flat(price float64) Tiers {
	if price == 0 {
		return nil
	}
	return Tiers{{Price: price}}
}

// use returns the invocations and GB-seconds a month for a workload.
func (f *Functions) use(w *Workload) (invocations, gbSeconds float64) {
	if f.Mode == NoFunctions {
		return 0, 0
	}
	gb := func(otherwise int) float64 {
		if f.MemoryMB != 0 {
			return float64(f.MemoryMB) / 1024
		}
		return float64(otherwise) / 1024
	}
	invocations = minutesMonth // of the schedule function
	if f.Events > 0 {
		invocations += w.EventsPerDay * daysMonth / f.Events
	}
	if f.Mode == Batches {
		changes := 0.0
		for i := range w.Lines {
			changes += w.Lines[i].Writes
		}
		batches := min(changes, float64(w.Shards)*secondsMonth/batchSeconds)
		invocations += batches + min(batches, float64(w.Shards)*minutesMonth)
	}
	gbSeconds = invocations * f.Duration.Seconds() * gb(memoryMB)
	if f.Mode == Shifts {
		invocations += shiftsMonth
		gbSeconds += shiftsMonth * shiftSeconds * gb(shiftMemoryMB)
	}
	return invocations, gbSeconds
}

// UsualLogs returns an estimate of Services.Logs for a workload: a kilobyte for each invocation of a
// function. Servers and workers log next to nothing.
func (f *Functions) UsualLogs(w *Workload) float64 {
	invocations, _ := f.use(w)
	return invocations * logBytes / gigabyte
}

// UsualTransfer returns an estimate of Services.Transfer: the answers to events sent one at a time,
// and the pages of dashboards, for a number of views a day.
func UsualTransfer(eventsPerDay, views float64) float64 {
	return (eventsPerDay*responseBytes + views*viewBytes) * daysMonth / gigabyte
}
