package alerts

import (
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// Episode is an alert that a rule would have created.
type Episode struct {
	AlertID  string    `json:"alertId"` // ID that it would have
	Since    time.Time `json:"since"`   // first breaching reading
	FiredAt  time.Time `json:"firedAt"`
	Last     time.Time `json:"last"` // last reading that sustained it
	Resolved time.Time `json:"resolvedAt,omitzero"`
	Value    string    `json:"value"` // value of the reading at Last
	Peak     string    `json:"peak"`
}

// Replayed is the result of a back-test.
type Replayed struct {
	Episodes  []Episode `json:"episodes"`
	Points    int       `json:"points"`    // points that the rule considers
	Breaching int       `json:"breaching"` // points beyond the raise level
	Pending   time.Time `json:"pendingSince,omitzero"`
}

// Replay back-tests a rule over readings of one device, in order of time as telemetry.ReadingsIn
// yields them, and returns the alerts that it would have created. It considers all readings,
// regardless of their arrival, except those that are retracted, at arrival or by the given
// retractions. For rules over aggregates use ReplayAggregates; rules about silence cannot be
// replayed. Errors: telemetry.ErrInvalid, those of readings.
func Replay(r telemetry.Rule, deviceID string, readings iter.Seq2[telemetry.Reading, error], retractions []telemetry.Retraction) (Replayed, error) {
	c, err := replayable(&r, r.Over == "")
	if err != nil {
		return Replayed{}, err
	}
	point := func(one *telemetry.Reading) (episode.Point, bool) { return c.point(one, retractions) }
	return c.replay(deviceID, points(readings, point, all))
}

// ReplayAggregates is Replay for a rule over aggregates. buckets must have the rule's period, in
// order of time.
func ReplayAggregates(r telemetry.Rule, deviceID string, buckets iter.Seq2[telemetry.Aggregate, error]) (Replayed, error) {
	c, err := replayable(&r, r.Over != "")
	if err != nil {
		return Replayed{}, err
	}
	return c.replay(deviceID, points(buckets, (&aggregates{rule: c}).point, all))
}

func all(*episode.Point) bool { return true }

func replayable(r *telemetry.Rule, fits bool) (*compiled, error) {
	if r.Scope == "" { // a rule under test need not have an owner
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
