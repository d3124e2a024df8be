package workcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Status is the command `onefold work status`.
type Status struct{}

// Help explains the status. Kong prints it.
func (Status) Help() string {
	return `The status is read from the table, so the command runs anywhere. The lag of a shard is the time since its watermark, an upper bound on
the age of the oldest change that is not folded. DynamoDB keeps changes for 24 hours. The exit code is 3 if a change has not been
folded, or a shard has no news, for 12 hours; and if there is a gap that has not been repaired yet.`
}

// statusOutput is the JSON form of the status.
type statusOutput struct {
	At       time.Time      `json:"at"`
	LagSec   float64        `json:"lagSeconds"` // upper bound
	Known    bool           `json:"lagKnown"`
	Workers  []workerOutput `json:"workers"`
	Shards   []shardOutput  `json:"shards"`
	Finished int            `json:"finishedShards"`
	Gaps     []gapOutput    `json:"gaps"`
	Alarms   []string       `json:"alarms"`
}

type workerOutput struct {
	Name   string `json:"name"`
	Shards int    `json:"shards"`
}

type shardOutput struct {
	ID       string  `json:"id"`
	Owner    string  `json:"owner,omitempty"`
	State    string  `json:"state"`
	LagSec   float64 `json:"lagSeconds"` // upper bound
	Known    bool    `json:"lagKnown"`
	AgeSec   float64 `json:"ageSeconds"`
	Position string  `json:"position,omitempty"`
	Gaps     int     `json:"gaps,omitempty"`
}

type gapOutput struct {
	Shard    string    `json:"shard"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Found    time.Time `json:"found"`
	Repaired time.Time `json:"repaired,omitzero"`
	Report   string    `json:"report,omitempty"`
}

// errLate is returned if the status needs attention.
var errLate = errors.New("late")

// Run prints the status. If it needs attention, it returns an Alarm.
func (Status) Run(ctx context.Context, env *Env) error {
	return env.Look(ctx, func(t *table.Table, group string) error {
		o, err := fold.Read(ctx, t, group)
		if err != nil {
			return err
		}
		out := statusOf(&o)
		if env.JSON {
			err = terminal.JSON(env.Out, out)
		} else {
			err = out.print(env.Out)
		}
		if err == nil && len(out.Alarms) > 0 {
			err = env.Alarm(fmt.Errorf("%w: %s", errLate, strings.Join(out.Alarms, "; ")))
		}
		return err
	})
}

func statusOf(o *fold.Overview) *statusOutput {
	out := &statusOutput{
		At: o.At, LagSec: o.Lag().Seconds(), Known: o.Known, Finished: o.Finished, Alarms: alarms(o),
		Workers: []workerOutput{}, Shards: []shardOutput{}, Gaps: []gapOutput{},
	}
	shards := make(map[string]int)
	for i := range o.Shards {
		s := &o.Shards[i]
		if !s.Silent {
			shards[s.Owner]++
		}
		out.Shards = append(out.Shards, shardOutput{
			ID: s.ID, Owner: s.Owner, State: stateOf(s), LagSec: s.Lag.Seconds(), Known: !s.Mark.IsZero(), AgeSec: s.Age.Seconds(), Position: string(s.Position), Gaps: s.Gaps,
		})
	}
	for _, name := range o.Owners {
		out.Workers = append(out.Workers, workerOutput{name, shards[name]})
	}
	for _, name := range o.Idle {
		out.Workers = append(out.Workers, workerOutput{name, 0})
	}
	for i := range o.Gaps {
		m := &o.Gaps[i]
		out.Gaps = append(out.Gaps, gapOutput{m.Shard, m.From, m.To, m.Found, m.Repaired, m.Report})
	}
	return out
}

func stateOf(s *fold.ShardOverview) string {
	switch {
	case !s.Shared:
		return "not shared"
	case s.Ended:
		return "ended"
	case s.Owner == "":
		return "free"
	case s.Silent:
		return "silent"
	}
	return "read"
}

// alarms describes the problems that need attention, one per line.
func alarms(o *fold.Overview) []string {
	out := []string{}
	for i := range o.Shards {
		s := &o.Shards[i]
		switch {
		case s.Lag >= LateAfter:
			out = append(out, fmt.Sprintf("shard %s lags by %s; changes are lost after 24h: start workers, or find out what delays them", s.ID, brief(s.Lag)))
		case s.Shared && s.Age >= LateAfter:
			out = append(out, fmt.Sprintf("shard %s has had no news for %s: start workers", s.ID, brief(s.Age)))
		}
	}
	if n := o.OpenGaps(); n > 0 {
		out = append(out, fmt.Sprintf("changes were lost %s, and the repair is not complete yet: a worker runs it, see its log", terminal.Count(n, "time")))
	}
	return out
}

// maxLines bounds the number of gaps shown to people.
const maxLines = 10

func (s *statusOutput) print(w io.Writer) error {
	if len(s.Shards) == 0 {
		fmt.Fprintln(w, "Nothing has been folded yet: no worker has run.")
	} else {
		tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tab, "shard\tworker\tstate\tmax lag\tlast news\tone block per power of ten seconds")
		for i := range s.Shards {
			sh := &s.Shards[i]
			fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s ago\t%s\n", terminal.Printable(sh.ID), terminal.Printable(sh.Owner), sh.State, lagOf(sh.LagSec, sh.Known), seconds(sh.AgeSec), bar(sh.LagSec))
		}
		if err := tab.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s, %s", terminal.Count(len(s.Shards), "shard"), terminal.Count(len(s.Workers), "worker"))
		for i, c := range s.Workers {
			fmt.Fprintf(w, "%s%s %d", []string{": ", ", "}[min(i, 1)], terminal.Printable(c.Name), c.Shards)
		}
		fmt.Fprintf(w, "; the oldest unfolded change is at most %s old%s\n", seconds(s.LagSec), map[bool]string{false: ", in the shards whose lag is known"}[s.Known])
	}
	for i, m := range s.Gaps {
		if i == maxLines {
			fmt.Fprintf(w, "and %d more; use --json to list all\n", len(s.Gaps)-i)
			break
		}
		state := "not repaired yet"
		if !m.Repaired.IsZero() {
			state = "repaired " + m.Repaired.UTC().Format(time.DateTime) + ": " + terminal.Printable(m.Report)
		}
		fmt.Fprintf(w, "gap in %s, from %s to %s UTC: %s\n", terminal.Printable(m.Shard), m.From.UTC().Format(time.DateTime), m.To.UTC().Format(time.DateTime), state)
	}
	for _, line := range s.Alarms {
		fmt.Fprintln(w, "ALARM:", line)
	}
	return nil
}

// lagOf formats a lag. It is unknown for a shard without a worker so far, or without shared state.
func lagOf(s float64, known bool) string {
	if !known {
		return "unknown"
	}
	return seconds(s)
}

func seconds(s float64) string { return brief(time.Duration(s * float64(time.Second))) }

// brief formats a duration with little precision. It rounds up, because the value is an upper
// bound.
func brief(d time.Duration) string {
	switch {
	case d < time.Hour:
		return upTo(d, time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(upTo(d, time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", upTo(d, 24*time.Hour)/(24*time.Hour))
}

func upTo(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

// bar draws a lag: one block per power of ten seconds, with a mark at twelve hours.
func bar(lag float64) string {
	blocks := 0
	if lag >= 1 {
		blocks = min(int(math.Log10(lag))+1, 8)
	}
	b := strings.Repeat("█", blocks)
	if lag >= LateAfter.Seconds() {
		b += " !"
	}
	return b
}
