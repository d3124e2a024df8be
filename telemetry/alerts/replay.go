package alerts

import (
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// Episode is an alert that a rule would have made.
type Episode struct {
	AlertID  string    `json:"alertId"` // the id that it would have
	Since    time.Time `json:"since"`   // of the first reading that breached
	FiredAt  time.Time `json:"firedAt"`
	Last     time.Time `json:"last"` // of the last reading that kept it
	Resolved time.Time `json:"resolvedAt,omitzero"`
	Value    string    `json:"value"` // of the reading at Last
	Peak     string    `json:"peak"`
}

// Replayed says what a rule would have done.
type Replayed struct {
	Episodes  []Episode `json:"episodes"`
	Points    int       `json:"points"`    // that say something to the rule
	Breaching int       `json:"breaching"` // of these, those beyond the raise level
	Pending   time.Time `json:"pendingSince,omitzero"`
}

// Replay runs a rule over readings of one device, which come in order of time, as telemetry.ReadingsIn yields them, and
// says what alerts it would have made. Of readings it looks at all, whenever they arrived; those that were retracted when
// they came, or by the given retractions, are passed over. A rule over aggregates, or about silence, cannot be replayed so:
// see ReplayAggregates. Errors: telemetry.ErrInvalid, and what the readings yield.
func Replay(r telemetry.Rule, deviceID string, readings iter.Seq2[telemetry.Reading, error], retractions []telemetry.Retraction) (Replayed, error) {
	c, err := replayable(&r, r.Over == "")
	if err != nil {
		return Replayed{}, err
	}
	point := func(one *telemetry.Reading) (episode.Point, bool) { return c.point(one, retractions) }
	return c.replay(deviceID, points(readings, point, all))
}

// ReplayAggregates is Replay of a rule over aggregates, which come in order of time and are those of its period.
func ReplayAggregates(r telemetry.Rule, deviceID string, buckets iter.Seq2[telemetry.Aggregate, error]) (Replayed, error) {
	c, err := replayable(&r, r.Over != "")
	if err != nil {
		return Replayed{}, err
	}
	return c.replay(deviceID, points(buckets, (&aggregates{rule: c}).point, all))
}

func all(*episode.Point) bool { return true }

func replayable(r *telemetry.Rule, fits bool) (*compiled, error) {
	if r.Scope == "" { // a rule that is only tried is nobody's yet
		r.Scope, r.ScopeID = telemetry.ForDevice, "device"
	}
	if r.FleetID == "" {
		r.FleetID = "fleet"
	}
	if r.Severity == "" {
		r.Severity = telemetry.Warning
	}
	if err := CheckRule(r); err != nil {
		return nil, fmt.Errorf("alerts: replay: %w", err)
	}
	if r.NoData || !fits {
		return nil, fmt.Errorf("alerts: replay: %w", wrong("over", "a rule over %q cannot be replayed over these", r.Over))
	}
	return compile(*r)
}

func (c *compiled) replay(deviceID string, points iter.Seq2[episode.Point, error]) (out Replayed, err error) {
	var m episode.Machine
	add := func(e *episode.Episode) {
		one := Episode{
			AlertID: AlertID(deviceID, c.RuleID, e.First.At), Since: moment(e.First.At), FiredAt: moment(e.Fired), Last: moment(e.Last.At),
			Value: e.Value.String(), Peak: e.Peak.String(),
		}
		if e.Resolved != 0 {
			one.Resolved = moment(e.Resolved)
		}
		out.Episodes = append(out.Episodes, one)
	}
	for p, err := range points {
		if err != nil {
			return out, fmt.Errorf("alerts: replay: %w", err)
		}
		out.Points++
		if c.levels.Breaches(&p.Value) {
			out.Breaching++
		}
		if e := m.Step(&c.levels, &p); e != nil {
			add(e)
		}
	}
	switch m.Phase {
	case episode.Firing:
		add(&m.Episode)
	case episode.Pending:
		out.Pending = moment(m.Episode.First.At)
	}
	return out, nil
}

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
