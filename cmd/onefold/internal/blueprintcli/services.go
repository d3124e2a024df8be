package blueprintcli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/onefold/onefold/blueprint/cost"
)

// options returns the circumstances of the workload.
func (c *Cost) options() cost.Options {
	return cost.Options{
		Months: c.Months, Delayed: c.FoldDelay > 0 || c.Functions == string(cost.Shifts), Sites: c.Sites,
		Workers: cost.Workers{Count: c.Workers, Shards: c.Shards, LeaseFor: c.LeaseFor, Functions: c.Functions == string(cost.Batches)},
	}
}

// services returns what runs beside the table of a workload.
func (c *Cost) services(w *cost.Workload) cost.Services {
	s := cost.Services{Transfer: cost.UsualTransfer(w.EventsPerDay, c.Looks), Backups: c.Backups}
	if c.ContributorInsights != "none" {
		s.Insights = cost.InsightsMode(c.ContributorInsights)
	}
	if c.Functions != "none" {
		s.Functions = cost.Functions{Mode: cost.FunctionMode(c.Functions), MemoryMB: c.FunctionMemory, Duration: c.FunctionDuration, Events: c.IngestBatch}
	}
	if c.Fargate {
		s.Tasks = cost.Tasks{Count: c.Workers, VCPU: c.WorkerVCPU, MemoryGB: c.WorkerMemory}
	}
	s.Logs = s.Functions.UsualLogs(w)
	if c.Logs != nil {
		s.Logs = *c.Logs
	}
	if c.Transfer != nil {
		s.Transfer = *c.Transfer
	}
	return s
}

// checkWorkers rejects options of workers that exclude each other or are out of range.
func (c *Cost) checkWorkers() error {
	switch {
	case c.Sites < 1:
		return fmt.Errorf("%w: --sites must be 1 to %d, not %d", cost.ErrOptions, cost.MaxSites, c.Sites)
	case c.Workers < 1:
		return fmt.Errorf("%w: --workers must be 1 to %d, not %d", cost.ErrOptions, cost.MaxWorkers, c.Workers)
	case c.Fargate && c.Functions != "none":
		return fmt.Errorf("%w: --fargate runs workers, and --functions replaces them: use one of them", cost.ErrOptions)
	case c.Functions == "none" && c.IngestBatch != 0:
		return fmt.Errorf("%w: --ingest-batch needs --functions", cost.ErrOptions)
	case c.Functions == string(cost.Batches) && c.FoldDelay != 0:
		return fmt.Errorf("%w: functions that get batches cannot delay folds: omit --fold-delay, or use --functions shifts", cost.ErrOptions)
	}
	return nil
}

// spent returns the sum of charges.
func spent(all []cost.Charge) (sum float64) {
	for i := range all {
		sum += all[i].Cost
	}
	return sum
}

// services prints the charges beside the table.
func services(b *strings.Builder, o *costs) {
	if len(o.at.Services) == 0 {
		return
	}
	fmt.Fprintf(b, "Services beside the table, %s events per day\n", count(o.at.EventsPerDay))
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i := range o.at.Services {
		s := &o.at.Services[i]
		price := dollars(s.Cost)
		if s.Missing {
			price = "?"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s %s\n", price, s.Service, amount(s.Quantity), s.Unit)
	}
	_ = w.Flush() // cannot fail, the writer is a strings.Builder
	if slices.ContainsFunc(o.at.Services, func(s cost.Charge) bool { return s.Missing }) {
		fmt.Fprintf(b, "  ?: the price book has no price for %s; the total does not include it.\n", o.Region)
	}
	fmt.Fprintln(b)
}

// amount prints a quantity, with decimals if it is small.
func amount(v float64) string {
	if v < 100 && v != math.Trunc(v) {
		return fmt.Sprintf("%.2f", v)
	}
	return count(v)
}
