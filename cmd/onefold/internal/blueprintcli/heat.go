package blueprintcli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/usage"
)

// Heat lists the partition keys that were hot while a server ran.
type Heat struct {
	Share float64       `help:"Share of a partition's capacity (3,000 read and 1,000 write units per second) above which a key is hot." default:"0.5"`
	Last  time.Duration `help:"Length of the period, up to the last recorded minute." default:"24h"`
}

// Help explains which keys are shown in full. Kong prints it.
func (*Heat) Help() string {
	return `A key that used more than a tenth of a partition's capacity is printed as it is: anyone who can read the file can also read the table
next to it, and needs the key to find the cause, such as a device that sends too often. In all other keys, parts that may identify a
person are replaced by ~ and a hash, as in logs and on the dashboard, because the file keeps a key after the person's erasure.`
}

// heats is the printed result.
type heats struct {
	From    time.Time      `json:"from"`
	To      time.Time      `json:"to"`
	Hot     []heat.Finding `json:"hot"`
	Hottest *heat.Use      `json:"hottest,omitempty"`

	curve []float64
}

// Run prints the hot keys in the usage recorded by the server.
func (c *Heat) Run(e *Env) error {
	if !(c.Share > 0 && c.Share <= 100) || c.Last <= 0 {
		return fmt.Errorf("bad_options: --share is %g, must be above 0 and at most 100; --last is %s, must be above 0", c.Share, c.Last)
	}
	samples, err := usage.Read(e.Usage)
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return fmt.Errorf("no_usage: no usage is recorded in %s; onefold serve records usage once a minute", e.Usage)
	}
	latest := slices.MaxFunc(samples, func(a, b usage.Sample) int { return a.At.Compare(b.At) }) // not simply the last sample: the clock may have been set back
	h := &heats{To: latest.At, Hot: []heat.Finding{}}
	h.look(c, e, samples)
	if e.JSON {
		return terminal.JSON(e.Out, h)
	}
	_, err = e.Out.Write([]byte(h.text(c)))
	return err
}

func (h *heats) look(c *Heat, e *Env, samples []usage.Sample) {
	var uses []heat.Use
	begin := h.To.Add(-c.Last)
	h.From = h.To
	for i := range samples {
		s := &samples[i]
		if s.At.Before(begin) {
			continue
		}
		if s.At.Before(h.From) {
			h.From = s.At
		}
		for _, u := range s.Keys {
			u.At = s.At
			uses = append(uses, u)
		}
	}
	h.curve = make([]float64, terminal.PlotWidth)
	length := max(h.To.Sub(h.From), 1)
	for i := range uses {
		u := &uses[i]
		at := &h.curve[int(float64(len(h.curve)-1)*float64(u.At.Sub(h.From))/float64(length))]
		*at = max(*at, 100*u.Share())
		if h.Hottest == nil || u.Share() > h.Hottest.Share() {
			h.Hottest = u
		}
	}
	if hot := heat.Find(e.Schemas[0], uses, c.Share); hot != nil {
		h.Hot = hot
	}
}

func (h *heats) text(c *Heat) string {
	const minute = "2006-01-02 15:04"
	var b strings.Builder
	fmt.Fprintf(&b, "The hottest key of each minute, %% of a partition's capacity per second\n%s\n\n",
		terminal.Plot([]string{terminal.Ends(h.From.Format(minute), h.To.Format(minute)+" UTC")}, h.curve))
	if h.Hottest == nil {
		return "No key was used in this period.\n"
	}
	if len(h.Hot) == 0 {
		fmt.Fprintf(&b, "No key took more than %g %%. The hottest was %s with %.1f %%.\n", 100*c.Share, terminal.Printable(h.Hottest.Key), 100*h.Hottest.Share())
		return b.String()
	}
	for i := range h.Hot {
		f := &h.Hot[i]
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		where := terminal.Printable(f.Key)
		if f.Index != "" {
			where += " on " + f.Index
		}
		fmt.Fprintf(w, "%s\t%.0f %%\t%.0f write, %.0f read units in its busiest second, until %s\n", where, 100*f.Share, f.PeakWrites, f.PeakReads, f.At.Format(minute))
		_ = w.Flush() // cannot fail, the writer is a strings.Builder
		fmt.Fprintf(&b, "  entities: %s\n  patterns: %s\n  do: %s\n", strings.Join(f.Entities, ", "), strings.Join(f.Patterns, "; "), f.Fix)
	}
	return b.String()
}
