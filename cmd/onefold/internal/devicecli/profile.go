package devicecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"encoding/json"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Profiles are the profile commands.
type Profiles struct {
	Put  profilePut  `cmd:"" help:"Create or change a profile."`
	List profileList `cmd:"" help:"List the profiles of a fleet."`
	Show profileShow `cmd:"" help:"Show a profile in the form that put --stdin reads."`
}

type profilePut struct {
	ID           string   `arg:"" help:"Profile ID, unique in the installation."`
	Fleet        string   `required:"" help:"Fleet of the profile."`
	Name         string   `help:"Display name."`
	Metric       []string `help:"Metric as NAME:KIND[:UNIT[:MIN:MAX]], where KIND is gauge, counter or state. Repeat or separate by commas." placeholder:"NAME:KIND:UNIT"`
	Every        int      `help:"Expected interval between readings, in seconds; 0 learns it from each device."`
	Late         string   `help:"Policy for late readings: ${enum}." enum:"accept,correct,reject" default:"accept"`
	LateAfter    int      `help:"Age at which a reading is late, in seconds." default:"3600"`
	FutureWithin int      `help:"Maximum time that a device's clock may be ahead, in seconds." default:"600"`
	Stdin        bool     `help:"Read name, metrics, every and clock as JSON from standard input instead of flags."`
}

// profileOutput is the JSON form of a profile.
type profileOutput struct {
	ID      string                `json:"id"`
	Fleet   string                `json:"fleet"`
	Name    string                `json:"name,omitempty"`
	Every   int                   `json:"every,omitempty"`
	Clock   telemetry.ClockPolicy `json:"clock"`
	Metrics []telemetry.MetricDef `json:"metrics"`
}

func profileOutputOf(p *telemetry.Profile) profileOutput {
	return profileOutput{p.ProfileID, p.FleetID, p.Name, p.Every, p.Clock, p.Metrics}
}

// profile returns the profile given by the flags or by standard input.
func (c *profilePut) profile(stdin io.Reader) (p telemetry.Profile, err error) {
	p = telemetry.Profile{
		Name: c.Name, Every: c.Every,
		Clock: telemetry.ClockPolicy{Late: telemetry.LatePolicy(c.Late), LateAfter: c.LateAfter, FutureWithin: c.FutureWithin},
	}
	if c.Stdin {
		var in profileOutput
		decoder := json.NewDecoder(io.LimitReader(stdin, 1<<20))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return p, fmt.Errorf("malformed: %w", err)
		}
		p.Name, p.Every, p.Clock, p.Metrics = in.Name, in.Every, in.Clock, in.Metrics
	}
	for _, text := range c.Metric {
		m, err := metricOf(text)
		if err != nil {
			return p, err
		}
		p.Metrics = append(p.Metrics, m)
	}
	p.ProfileID, p.FleetID = c.ID, c.Fleet
	return p, nil
}

// metricOf parses NAME:KIND[:UNIT[:MIN:MAX]].
func metricOf(text string) (telemetry.MetricDef, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 5 || len(parts) == 4 {
		return telemetry.MetricDef{}, fmt.Errorf("invalid: metric %.100q: write NAME:KIND, NAME:KIND:UNIT or NAME:KIND:UNIT:MIN:MAX", text)
	}
	parts = append(parts, "", "", "")
	return telemetry.MetricDef{Name: parts[0], Kind: telemetry.MetricKind(parts[1]), Unit: parts[2], Min: parts[3], Max: parts[4]}, nil
}

// Run creates or changes the profile.
func (c *profilePut) Run(ctx context.Context, env *Env) error {
	p, err := c.profile(env.In)
	if err != nil {
		return err
	}
	return env.Open(ctx, func(s *Store) error {
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		p, err := telemetry.PutProfile(ctx, s.Table, p)
		if err != nil {
			return explain("profile", c.ID, err)
		}
		return showProfile(env, &p)
	})
}

type profileList struct {
	Fleet string `required:"" help:"Fleet ID."`
}

// Run lists the profiles.
func (c *profileList) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		profiles, err := telemetry.ProfilesOfFleet.Collect(ctx, s.Table, telemetry.FleetIn{FleetID: c.Fleet})
		if err != nil {
			return err
		}
		out := make([]profileOutput, len(profiles))
		for i := range profiles {
			out[i] = profileOutputOf(&profiles[i])
		}
		return terminal.List[profileOutput]{JSON: env.JSON, Columns: "PROFILE\tMETRICS\tNAME", Row: func(p *profileOutput) []any {
			names := make([]string, len(p.Metrics))
			for i := range p.Metrics {
				names[i] = p.Metrics[i].Name
			}
			return []any{p.ID, terminal.Printable(strings.Join(names, ", ")), terminal.Printable(p.Name)}
		}}.Print(env.Out, out)
	})
}

type profileShow struct {
	ID string `arg:"" help:"Profile ID."`
}

// Run shows the profile.
func (c *profileShow) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		p, err := telemetry.ProfileByID.Get(ctx, s.Table, telemetry.ProfileIn{ProfileID: c.ID})
		if errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("no_such_profile: there is no profile %q; `onefold profile list --fleet FLEET` lists all profiles", c.ID)
		}
		if err != nil {
			return err
		}
		return showProfile(env, &p)
	})
}

func showProfile(env *Env, p *telemetry.Profile) error {
	out := profileOutputOf(p)
	if env.JSON {
		return terminal.JSON(env.Out, out)
	}
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "profile\t%s\nfleet\t%s\nname\t%s\n", out.ID, out.Fleet, terminal.Printable(out.Name))
	if out.Every > 0 {
		fmt.Fprintf(w, "expected interval\t%d s\n", out.Every)
	}
	for _, m := range out.Metrics {
		bounds := ""
		if m.Min != "" || m.Max != "" {
			bounds = fmt.Sprintf("  %s to %s", m.Min, m.Max)
		}
		fmt.Fprintf(w, "%s\t%s %s%s\n", terminal.Printable(m.Name), m.Kind, m.Unit, bounds)
	}
	return w.Flush()
}
