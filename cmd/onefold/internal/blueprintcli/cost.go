package blueprintcli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/usage"
)

// Cost estimates the monthly cost of a schema's table on DynamoDB.
type Cost struct {
	Schema       string        `help:"Schema, as in onefold design." default:"analytics"`
	EventsPerDay float64       `help:"Events per day, in addition to 10 thousand, 100 thousand and a million." placeholder:"N"`
	Region       string        `help:"AWS Region: us-east-1, us-west-2, eu-west-1, eu-central-1 or ap-southeast-2." default:"us-east-1"`
	Months       int           `help:"Months of stored events." default:"12"`
	Observed     bool          `help:"Use the usage metered by a server on --data instead of the schema's declarations. An event is then a stored event or reading. Storage is not metered and is left out."`
	FoldDelay    time.Duration `help:"Fold delay, as in onefold serve: 0, or 30s and more, with which derived items are written far less often." default:"0"`
	Looks        float64       `help:"Dashboard views per day; each reads what one page shows." default:"1000"`
	PITR         bool          `help:"Include continuous backup (point-in-time recovery)." default:"true" negatable:""`
	Peak         float64       `help:"Ratio of the busiest second to the mean." default:"4"`

	Sites    int           `help:"Sites or fleets that share the events evenly; each writes items of its own." default:"1"`
	Workers  int           `help:"Processes that fold changes: onefold serve and onefold work." default:"1"`
	Shards   int           `help:"Open shards of the table's stream (default: 4, and one for each started 1,000 write units per second)." placeholder:"N"`
	LeaseFor time.Duration `help:"Duration of workers' leases, as in onefold work: 1s to 10m." default:"30s"`

	Fargate      bool    `help:"Include workers as tasks on AWS Fargate (Arm)."`
	WorkerVCPU   float64 `name:"worker-vcpu" help:"vCPUs of each worker on Fargate." default:"1"`
	WorkerMemory float64 `help:"Memory of each worker on Fargate, in GB." default:"2"`

	Functions        string        `help:"Fold with AWS Lambda functions (Arm) instead of workers: ${enum}." enum:"none,batches,shifts" default:"none"`
	FunctionMemory   int           `help:"Memory of functions, in MB (default: that of the templates, 512, and 1,769 for shifts)." placeholder:"MB"`
	FunctionDuration time.Duration `help:"Mean duration of an invocation, except that of shifts, which follow one another." default:"100ms"`
	IngestBatch      float64       `help:"Events per request to the ingest function; 0 means that there is none." default:"0"`

	ContributorInsights string `help:"CloudWatch Contributor Insights, for the table and each index: ${enum}. CloudFormation templates turn it on for throttled keys." enum:"none,throttled,all" default:"none"`
	Backups             int    `help:"On-demand backups kept, each of all stored data." default:"0"`

	Logs     *float64 `help:"GB sent to CloudWatch Logs a month (default: 1 kB per invocation of a function)." placeholder:"GB"`
	Transfer *float64 `help:"GB sent to the internet a month (default: 500 bytes per event and 100 kB per dashboard view)." placeholder:"GB"`
}

// costs is the printed result.
type costs struct {
	Schema    string         `json:"schema"`
	Prices    string         `json:"prices"` // date of the price book
	Source    string         `json:"source"`
	Region    string         `json:"region"`
	Bills     []cost.Bill    `json:"bills"`
	ByEntity  []cost.Sum     `json:"byEntity"` // for the largest workload, or for a million events
	ByPattern []cost.Sum     `json:"byPattern"`
	Workload  *cost.Workload `json:"workload"`

	prices cost.Prices
	at     cost.Bill
}

// standard are the workloads, in events per day, that are always priced.
var standard = []float64{10_000, 100_000, 1_000_000}

// Run prints the costs.
func (c *Cost) Run(ctx context.Context, e *Env) error {
	name, of, err := c.workloads(ctx, e)
	if err != nil {
		return err
	}
	out, curve, err := c.bills(name, of)
	if err != nil {
		return err
	}
	if e.JSON {
		return terminal.JSON(e.Out, out)
	}
	_, err = e.Out.Write([]byte(c.text(out, curve)))
	return err
}

// workloads returns a name for the workload, and a function that returns the workload for a number
// of events per day.
func (c *Cost) workloads(ctx context.Context, e *Env) (string, func(perDay float64) (*cost.Workload, error), error) {
	if c.Observed {
		return c.observed(e)
	}
	s, err := e.schema(c.Schema)
	if err != nil {
		return "", nil, err
	}
	d, err := e.design(ctx, s, 2)
	if err == nil && c.FoldDelay != 0 && c.FoldDelay < leastDelay {
		err = fmt.Errorf("%w: --fold-delay %s: writes are known for 0 and for %s, which also stands for longer delays", cost.ErrOptions, c.FoldDelay, leastDelay)
	}
	if err == nil && !(c.Looks >= 0 && c.Looks <= 1e9) {
		err = fmt.Errorf("%w: --looks must be 0 to 1e9, not %g", cost.ErrOptions, c.Looks)
	}
	return c.Schema, func(perDay float64) (*cost.Workload, error) {
		w, err := cost.Declared(d, perDay, c.options())
		if err == nil && slices.ContainsFunc(d.Entities, func(e blueprint.Entity) bool { return e.Growth.Writes > 0 }) {
			w.SetDailyViews(c.Looks)
		}
		return w, err
	}, err
}

// observed is workloads for the metered usage of a server.
func (c *Cost) observed(e *Env) (string, func(perDay float64) (*cost.Workload, error), error) {
	samples, err := usage.Read(e.Usage)
	if err != nil {
		return "", nil, err
	}
	used, facts, took := usage.Sum(samples)
	events := float64(facts)
	for _, m := range used {
		if m.Name == "EVENT" { // an event of the event store is one item
			events += m.Writes
		}
	}
	if events == 0 {
		return "", nil, fmt.Errorf("no_usage: no events are recorded in %s; onefold serve records usage once a minute", e.Usage)
	}
	name := fmt.Sprintf("Usage metered in %s, with %s events,", took.Round(time.Second), count(events))
	return name, func(perDay float64) (*cost.Workload, error) { return cost.Observed(name, used, took, events, perDay) }, nil
}

// leastDelay is the fold delay for which schemas declare the number of writes of derived items,
// besides no delay.
const leastDelay = 30 * time.Second

func (c *Cost) bill(w *cost.Workload, p cost.Prices) (cost.Bill, error) {
	services := c.services(w)
	charges, err := services.Charges(w, &p)
	if err != nil {
		return cost.Bill{}, err
	}
	b := cost.Of(w, c.Region, p, c.Peak).With(charges)
	if !c.PITR {
		b = b.WithoutContinuousBackup()
	}
	if services.Functions.Mode == cost.Batches {
		b = b.WithoutStream()
	}
	return b, nil
}

// bills computes the costs, and the curve of a plot from the smallest to the largest workload.
func (c *Cost) bills(name string, of func(perDay float64) (*cost.Workload, error)) (*costs, []float64, error) {
	book, err := cost.PriceBook()
	if err != nil {
		return nil, nil, err
	}
	prices, err := book.Region(c.Region)
	if err != nil {
		return nil, nil, err
	}
	if err := c.checkWorkers(); err != nil {
		return nil, nil, err
	}
	if !(c.Peak >= 1 && c.Peak <= 1e6) {
		return nil, nil, fmt.Errorf("%w: --peak must be 1 to 1,000,000, not %g", cost.ErrOptions, c.Peak)
	}
	out := &costs{Schema: name, Prices: book.Date, Source: book.Source, Region: c.Region, prices: prices}
	rates := slices.Clone(standard)
	if c.EventsPerDay != 0 {
		rates = append(rates, c.EventsPerDay)
	}
	for _, perDay := range rates {
		if out.Workload, err = of(perDay); err != nil {
			return nil, nil, err
		}
		if out.at, err = c.bill(out.Workload, prices); err != nil {
			return nil, nil, err
		}
		out.Bills = append(out.Bills, out.at)
	}
	out.ByEntity = out.Workload.By(&prices, func(l *cost.Line) string { return l.Entity })
	out.ByPattern = out.Workload.By(&prices, func(l *cost.Line) string {
		if l.Pattern == "" {
			return ""
		}
		return l.Pattern + " " + l.Question
	})
	curve, err := c.curve(rates, of, prices)
	return out, curve, err
}

// curve returns the totals from the smallest to the largest workload.
func (c *Cost) curve(rates []float64, of func(perDay float64) (*cost.Workload, error), prices cost.Prices) ([]float64, error) {
	least, most := slices.Min(rates), slices.Max(rates)
	curve := make([]float64, terminal.PlotWidth)
	for i := range curve {
		w, err := of(least * math.Pow(most/least, float64(i)/float64(len(curve)-1)))
		if err != nil {
			return nil, err
		}
		b, err := c.bill(w, prices)
		if err != nil {
			return nil, err
		}
		curve[i] = b.Total
	}
	return curve, nil
}

func count(v float64) string { return terminal.Grouped(int64(math.Round(v))) }

func dollars(v float64) string {
	cents := int64(math.Round(v * 100))
	return fmt.Sprintf("$%s.%02d", terminal.Grouped(cents/100), cents%100)
}

func (c *Cost) text(o *costs, curve []float64) string {
	var b strings.Builder
	storage := fmt.Sprintf("with %d months of events stored", c.Months)
	if c.Observed {
		storage = "without storage, which is not metered"
	}
	fmt.Fprintf(&b, "%s on DynamoDB, monthly cost in %s (%s), at prices of %s, %s.\n\n", o.Schema, o.Region, o.prices.Name, o.Prices, storage)
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "events per day\twrite units\tread units\tstored\ton demand\tfor %g× peaks\tauto scaling\tstorage\tbackup\tstream\tservices\ttotal\t\n", c.Peak)
	for i := range o.Bills {
		l := &o.Bills[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f GB\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", count(l.EventsPerDay), count(l.WriteUnits), count(l.ReadUnits), l.StoredGB,
			dollars(l.OnDemand.Writes+l.OnDemand.Reads), dollars(l.Peak.Cost), dollars(l.Scaled.Cost), dollars(l.Storage), dollars(l.Backup), dollars(l.Streams), dollars(spent(l.Services)), dollars(l.Total))
	}
	_ = w.Flush() // cannot fail, the writer is a strings.Builder
	fmt.Fprintf(&b, "\nThe total is on demand. The next two columns are the cost of reads and writes with provisioned capacity: sized for the busiest second, and\n"+
		"scaled with the load at 70 %% utilization. Provisioned capacity is cheaper above %.1f %% utilization, that is, if the busiest\n"+
		"second takes less than %.1f times the mean.\n\n", 100*o.at.BreakEven, 1/o.at.BreakEven)
	if o.at.Full > 0 {
		fmt.Fprintf(&b, "Backup is continuous (point-in-time recovery); --no-pitr omits it. An on-demand backup with %s events per day costs %s a month while it is kept; add it with --backups.\n\n", count(o.at.EventsPerDay), dollars(o.at.Full))
	}
	services(&b, o)
	sums(&b, fmt.Sprintf("By entity, %s events per day", count(o.at.EventsPerDay)), o.ByEntity)
	sums(&b, "By pattern; writes of folds belong to no pattern", o.ByPattern)
	fmt.Fprintf(&b, "Monthly total, by events per day\n%s\n\n", terminal.Plot([]string{terminal.Ends(count(slices.Min(rates(o))), count(slices.Max(rates(o))))}, curve))
	fmt.Fprintf(&b, "A million events cost %s in total. A month is 730 hours. Not included: global tables, storage of logs, the free tier except that of\ndata transfer, machines outside Fargate, and Contributor Insights without\n--contributor-insights (`onefold infra cloudformation` enables it for throttled keys).\nPrices: %s.\nCompared with a second source: %s. Check current prices before you decide.\n",
		dollars(o.at.PerMillion), o.Source, cmp.Or(strings.Join(o.prices.Compared, ", "), "none for this Region"))
	return b.String()
}

func rates(o *costs) (all []float64) {
	for i := range o.Bills {
		all = append(all, o.Bills[i].EventsPerDay)
	}
	return all
}

const mostSums = 12

func sums(b *strings.Builder, title string, all []cost.Sum) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(b, title)
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i := range all {
		s := &all[i]
		if i == mostSums {
			rest := 0.0
			for _, r := range all[i:] {
				rest += r.Cost
			}
			fmt.Fprintf(w, "  %s\tand %d more\n", dollars(rest), len(all)-i)
			break
		}
		fmt.Fprintf(w, "  %s\t%s\t%s write, %s read units, %.2f GB\n", dollars(s.Cost), terminal.Printable(s.Name), count(s.WriteUnits), count(s.ReadUnits), s.StoredGB)
	}
	_ = w.Flush() // cannot fail, the writer is a strings.Builder
	fmt.Fprintln(b)
}
