package cost_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/eventstore"
)

func pricesOf(t *testing.T, region string) cost.Prices {
	t.Helper()
	book, err := cost.PriceBook()
	if err != nil {
		t.Fatal(err)
	}
	p, err := book.Region(region)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServicesByHand checks the charges of services against their calculation by hand.
func TestServicesByHand(t *testing.T) {
	busy := &cost.Workload{EventsPerDay: 1e6, Shards: 4, Lines: []cost.Line{{Writes: 1e9}}}
	for _, c := range []struct {
		name     string
		region   string
		services cost.Services
		workload *cost.Workload
		want     []cost.Charge // quantities within a thousandth
	}{{
		name: "nothing", region: "us-east-1", workload: busy,
	}, {
		name: "two tasks", region: "us-east-1", workload: busy, services: cost.Services{Tasks: cost.Tasks{Count: 2, VCPU: 0.5, MemoryGB: 1}},
		want: []cost.Charge{
			{Service: "Fargate, processors", Quantity: 730, Unit: "vCPU-hours", Cost: 23.64}, // 730 × 0.03238 = 23.6374
			{Service: "Fargate, memory", Quantity: 1460, Unit: "GB-hours", Cost: 5.20},       // 1,460 × 0.00356 = 5.1976
		},
	}, {
		name: "batches of a busy table, and an ingest function", region: "eu-central-1", workload: busy,
		services: cost.Services{Functions: cost.Functions{Mode: cost.Batches, Duration: 100 * time.Millisecond, Events: 10}},
		want: []cost.Charge{ // 4 shards × 2,628,000 s / 10 = 1,051,200; windows 4 × 43,800 = 175,200; schedule 43,800; ingest 3,041,667
			{Service: "functions, requests", Quantity: 4.311867, Unit: "million", Cost: 0.86},
			{Service: "functions, duration", Quantity: 215_593, Unit: "GB-seconds", Cost: 2.87}, // 4,311,867 × 0.1 s × 0.5 GB × 0.0000133334
		},
	}, {
		name: "batches of a quiet table", region: "us-west-2", workload: &cost.Workload{Shards: 4, Lines: []cost.Line{{Writes: 1000}}},
		services: cost.Services{Functions: cost.Functions{Mode: cost.Batches, MemoryMB: 1024, Duration: time.Second}},
		want: []cost.Charge{ // each change is a batch and a window: 2,000; schedule 43,800
			{Service: "functions, requests", Quantity: 0.0458, Unit: "million", Cost: 0.01},
			{Service: "functions, duration", Quantity: 45_800, Unit: "GB-seconds", Cost: 0.61},
		},
	}, {
		name: "shifts", region: "us-east-1", workload: busy, services: cost.Services{Functions: cost.Functions{Mode: cost.Shifts}},
		want: []cost.Charge{ // 2,920 shifts of 885 s with 1,769 / 1,024 GB; the schedule takes no time here
			{Service: "functions, requests", Quantity: 0.04672, Unit: "million", Cost: 0.01},
			{Service: "functions, duration", Quantity: 4_464_306, Unit: "GB-seconds", Cost: 59.52},
		},
	}, {
		name: "logs, and transfer below what is free", region: "us-east-1", workload: busy, services: cost.Services{Logs: 12, Transfer: 100},
		want: []cost.Charge{{Service: "logs, ingested", Quantity: 12, Unit: "GB", Cost: 6}, {Service: "data transfer out", Quantity: 100, Unit: "GB"}},
	}, {
		name: "transfer in all tiers", region: "us-east-1", workload: busy, services: cost.Services{Transfer: 200_000},
		want: []cost.Charge{{Service: "data transfer out", Quantity: 200_000, Unit: "GB", Cost: 912.60 + 3481.60 + 7168 + 2320}}, // 10,140 × 0.09, 40,960 × 0.085, 102,400 × 0.07, 46,400 × 0.05
	}, {
		name: "transfer in Sydney", region: "ap-southeast-2", workload: busy, services: cost.Services{Transfer: 1100},
		want: []cost.Charge{{Service: "data transfer out", Quantity: 1100, Unit: "GB", Cost: 114}},
	}, {
		name: "Contributor Insights for throttled keys", region: "us-east-1", workload: &cost.Workload{Indexes: 2, Lines: []cost.Line{{WriteUnits: 1e8}}}, services: cost.Services{Insights: cost.ThrottledKeys},
		want: []cost.Charge{{Service: "Contributor Insights, rules", Quantity: 6, Unit: "rules", Cost: 3}},
	}, {
		name: "Contributor Insights for all keys, and backups", region: "us-east-1", services: cost.Services{Insights: cost.AllKeys, Backups: 3},
		workload: &cost.Workload{Indexes: 1, Lines: []cost.Line{{WriteUnits: 1e8, StoredGB: 10}, {ReadUnits: 3e8, StoredGB: 2.5}}},
		want: []cost.Charge{
			{Service: "Contributor Insights, rules", Quantity: 8, Unit: "rules", Cost: 4},
			{Service: "Contributor Insights, requests", Quantity: 400, Unit: "million", Cost: 12},
			{Service: "backups on demand", Quantity: 37.5, Unit: "GB", Cost: 3.75},
		},
	}, {
		name: "a Region without some prices", region: "eu-west-1", workload: busy, services: cost.Services{Logs: 12, Tasks: cost.Tasks{Count: 1, VCPU: 1, MemoryGB: 2}},
		want: []cost.Charge{
			{Service: "Fargate, processors", Quantity: 730, Unit: "vCPU-hours", Missing: true},
			{Service: "Fargate, memory", Quantity: 1460, Unit: "GB-hours", Missing: true},
			{Service: "logs, ingested", Quantity: 12, Unit: "GB", Missing: true},
		},
	}} {
		t.Run(c.name, func(t *testing.T) {
			p := pricesOf(t, c.region)
			got, err := c.services.Charges(c.workload, &p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, c.want, func(a, b cost.Charge) bool {
				near := math.Abs(a.Quantity-b.Quantity) <= b.Quantity/1000 && math.Abs(a.Cost-b.Cost) < 0.001
				a.Quantity, a.Cost = b.Quantity, b.Cost
				return near && a == b
			}) {
				t.Errorf("%+v, by hand %+v", got, c.want)
			}
		})
	}
}

// TestWorkersByHand checks what workers write and read to share shards.
func TestWorkersByHand(t *testing.T) {
	d, err := blueprint.New(t.Context(), eventstore.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                  string
		workers               cost.Workers
		shards                int
		leases, leaseReads    float64
		members, membersReads float64
	}{
		// 262,800 looks a month, for each of four shards and for scheduled work.
		{"one", cost.Workers{}, 4, 1_314_000, 1_051_200, 262_800, 262_800},
		// 788,400 looks at eight shards; scheduled work has leases of 30 seconds, and two others read that one.
		{"three, with leases of 10 seconds", cost.Workers{Count: 3, Shards: 8, LeaseFor: 10 * time.Second}, 8, 6_570_000, 19_447_200, 2_365_200, 2_365_200},
		// 100 members of 150 bytes take four units.
		{"a hundred", cost.Workers{Count: 100}, 4, 1_314_000, 131_137_200, 26_280_000, 105_120_000},
		{"functions", cost.Workers{Functions: true}, 4, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := cost.Declared(d, 0, cost.Options{Months: 1, Workers: c.workers})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]cost.Line{}
			for _, l := range w.Lines {
				if l.Pattern == "" {
					got[l.Entity] = l
				}
			}
			leases, members := got["fold.lease"], got["fold.member"]
			if w.Shards != c.shards || leases.WriteUnits != c.leases || leases.ReadUnits != c.leaseReads || members.WriteUnits != c.members || members.ReadUnits != c.membersReads {
				t.Errorf("%d shards, leases %+v, members %+v, by hand %+v", w.Shards, leases, members, c)
			}
		})
	}
}

// TestBillsAddUp checks that the totals of bills are the sums of their lines to the cent, from no
// events to the maximum, in all Regions.
func TestBillsAddUp(t *testing.T) {
	d, err := blueprint.New(t.Context(), eventstore.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	book, err := cost.PriceBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range book.Names() {
		p := pricesOf(t, region)
		for _, perDay := range []float64{0, 1, 12_345, 1e6, 7.7e8, cost.MaxEventsPerDay} {
			w, err := cost.Declared(d, perDay, cost.Options{Months: 12, Delayed: true})
			if err != nil {
				t.Fatal(err)
			}
			s := cost.Services{
				Tasks: cost.Tasks{Count: 1000, VCPU: 16, MemoryGB: 120}, Functions: cost.Functions{Mode: cost.Batches, Duration: 15 * time.Minute, Events: 1},
				Transfer: cost.UsualTransfer(perDay, 1000),
			}
			s.Logs = s.Functions.UsualLogs(w)
			charges, err := s.Charges(w, &p)
			if err != nil {
				t.Fatal(err)
			}
			b := cost.Of(w, region, p, 4).With(charges)
			sum := b.OnDemand.Writes + b.OnDemand.Reads + b.Storage + b.Backup + b.Streams
			for _, c := range b.Services {
				if c.Missing != (c.Cost == 0 && c.Service != "data transfer out") || math.IsInf(c.Cost, 0) || math.IsNaN(c.Cost) {
					t.Errorf("%s, %g events: %+v", region, perDay, c)
				}
				sum += c.Cost
			}
			if cents := math.Round(sum * 100); math.Round(b.Total*100) != cents || b.Cheapest > b.Total || b.Total < b.OnDemand.Writes {
				t.Errorf("%s, %g events: the total is %v, the lines add up to %v: %+v", region, perDay, b.Total, sum, b)
			}
			less := b.WithoutContinuousBackup().WithoutStream()
			if got, want := math.Round(less.Total*100), math.Round((sum-b.Backup-b.Streams)*100); got != want {
				t.Errorf("%s, %g events: without backup and stream %v cents, want %v", region, perDay, got, want)
			}
		}
	}
}

// TestSitesWriteTheirOwnItems checks that a hundred sites write as much as a hundred tables of one
// site each, and that the table of one busy site writes less.
func TestSitesWriteTheirOwnItems(t *testing.T) {
	const sites, perDay = 100, 1e6
	d, err := blueprint.New(t.Context(), analytics.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	units := func(perDay float64, sites int) (sum, storedGB float64) {
		w, err := cost.Declared(d, perDay, cost.Options{Months: 1, Sites: sites})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range w.Lines {
			if strings.HasPrefix(l.Entity, "analytics.") && l.WriteUnits > 0 {
				sum, storedGB = sum+l.WriteUnits, storedGB+l.StoredGB
			}
		}
		return sum, storedGB
	}
	all, allGB := units(perDay, sites)
	each, eachGB := units(perDay/sites, 1)
	one, oneGB := units(perDay, 1)
	if math.Abs(all/(sites*each)-1) > 1e-9 || math.Abs(allGB/(sites*eachGB)-1) > 1e-9 {
		t.Errorf("%g units and %g GB, those of single sites add up to %g and %g", all, allGB, sites*each, sites*eachGB)
	}
	if all <= one || allGB < oneGB {
		t.Errorf("%d sites take %g units and %g GB, one takes %g and %g", sites, all, allGB, one, oneGB)
	}
}

// TestServicesOutOfRange checks that services and workers are bounded.
func TestServicesOutOfRange(t *testing.T) {
	p, w := pricesOf(t, "us-east-1"), new(cost.Workload)
	for _, s := range []cost.Services{
		{Logs: -1}, {Logs: math.NaN()}, {Transfer: -1}, {Transfer: math.Inf(1)}, {Transfer: 1e10},
		{Tasks: cost.Tasks{Count: -1}}, {Tasks: cost.Tasks{Count: 1001}}, {Tasks: cost.Tasks{VCPU: -1}}, {Tasks: cost.Tasks{VCPU: math.NaN()}}, {Tasks: cost.Tasks{MemoryGB: 121}},
		{Insights: "some"}, {Backups: -1}, {Backups: cost.MaxBackups + 1},
		{Functions: cost.Functions{Mode: "both"}}, {Functions: cost.Functions{MemoryMB: 64}}, {Functions: cost.Functions{MemoryMB: 10_241}},
		{Functions: cost.Functions{Duration: -1}}, {Functions: cost.Functions{Duration: time.Hour}}, {Functions: cost.Functions{Events: 0.5}}, {Functions: cost.Functions{Events: math.NaN()}},
	} {
		if got, err := s.Charges(w, &p); !errors.Is(err, cost.ErrOptions) {
			t.Errorf("%+v: charges %+v, error %v", s, got, err)
		}
	}
	d, err := blueprint.New(t.Context(), eventstore.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sites := range []int{-1, cost.MaxSites + 1} {
		if _, err := cost.Declared(d, 1, cost.Options{Months: 1, Sites: sites}); !errors.Is(err, cost.ErrOptions) {
			t.Errorf("%d sites: error %v", sites, err)
		}
	}
	for _, workers := range []cost.Workers{{Count: -1}, {Count: 1001}, {Shards: -1}, {Shards: 100_001}, {LeaseFor: time.Millisecond}, {LeaseFor: -1}, {LeaseFor: time.Hour}} {
		if _, err := cost.Declared(d, 1, cost.Options{Months: 1, Workers: workers}); !errors.Is(err, cost.ErrOptions) {
			t.Errorf("%+v: error %v", workers, err)
		}
	}
}
