package devices

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Limits of testing a rule on past readings.
const (
	maxTried    = 400 * 24 * time.Hour
	maxTriedOf  = 300_000 // number of readings or aggregates
	trialMayRun = 30 * time.Second
)

// RulePath names a rule.
type RulePath struct {
	middleware.FleetPath
	Scope   string `path:"scope" enum:"device,profile" doc:"Whether the rule is of a device or a profile."`
	ScopeID string `path:"scopeId" maxLength:"64" doc:"The device or profile that the rule applies to."`
	Rule    string `path:"rule" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits, _ and -" doc:"ID of the rule."`
}

var ruleScopes = map[string]telemetry.RuleScope{"device": telemetry.ForDevice, "profile": telemetry.ForProfile}

func (in *RulePath) key() telemetry.RuleKey {
	return telemetry.RuleKey{Scope: ruleScopes[in.Scope], ScopeID: in.ScopeID, RuleID: in.Rule}
}

// RuleForm has the fields of a rule that people set. alerts.CheckRule validates them.
type RuleForm struct {
	Name     string             `json:"name,omitempty"`
	Metric   string             `json:"metric,omitempty"`
	Over     telemetry.Period   `json:"over,omitempty" doc:"10min, hourly or daily, for rules on aggregates. Absent: on the readings themselves."`
	Function string             `json:"function,omitempty" doc:"For rules on aggregates: mean, min, max, sum, count, first, last, deviation, p50, p90, p95, p99, increase or rate."`
	Below    bool               `json:"below,omitempty"`
	NoData   bool               `json:"noData,omitempty" doc:"The rule fires if nothing arrives for the duration in for."`
	Raise    string             `json:"raise,omitempty" doc:"A decimal. A value above it, or below it, breaches."`
	Clear    string             `json:"clear,omitempty" doc:"A decimal. A value at it, or beyond it on the good side, ends the alert. Default: raise."`
	For      int                `json:"for,omitempty" doc:"Seconds."`
	KeepFor  int                `json:"keepFor,omitempty" doc:"Seconds."`
	Severity telemetry.Severity `json:"severity" doc:"info, warning or critical."`
	Off      bool               `json:"off,omitempty"`
}

func (f *RuleForm) fill(r *telemetry.Rule) {
	r.Name, r.Metric, r.Over, r.Function, r.Below, r.NoData = f.Name, f.Metric, f.Over, f.Function, f.Below, f.NoData
	r.Raise, r.Clear, r.For, r.KeepFor, r.Severity, r.Off = f.Raise, f.Clear, f.For, f.KeepFor, f.Severity, f.Off
}

type ruleBody struct {
	ID      string `json:"id"`
	Scope   string `json:"scope" enum:"device,profile"`
	ScopeID string `json:"scopeId"`
	RuleForm
	Version int `json:"version,omitempty" doc:"Incremented by every change of more than the name."`
}

func describeRule(r *telemetry.Rule) ruleBody {
	scope := "device"
	if r.Scope == telemetry.ForProfile {
		scope = "profile"
	}
	return ruleBody{r.RuleID, scope, r.ScopeID, RuleForm{
		r.Name, r.Metric, r.Over, r.Function, r.Below, r.NoData, r.Raise, r.Clear, r.For, r.KeepFor, r.Severity, r.Off,
	}, r.Version}
}

type ruleAnswer struct{ Body ruleBody }

type rulesAnswer struct {
	Body struct {
		Rules []ruleBody `json:"rules"`
	}
}

type putRuleRequest struct {
	RulePath
	Body RuleForm
}

type testRuleRequest struct {
	middleware.FleetPath
	Body struct {
		Rule struct {
			Scope   string `json:"scope,omitempty" enum:"device,profile"`
			ScopeID string `json:"scopeId,omitempty" maxLength:"64"`
			RuleForm
		} `json:"rule"`
		Device string    `json:"device" maxLength:"64" doc:"The device whose readings are tested."`
		From   time.Time `json:"from"`
		To     time.Time `json:"to" doc:"Exclusive; at most 400 days after from."`
	}
}

type testRuleAnswer struct{ Body alerts.Replayed }

func (s *Service) ruleRoutes(api huma.API) {
	const list, one = fleetPath + "/rules", fleetPath + "/rules/{scope}/{scopeId}/{rule}"
	tags := []string{"alerts"}
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "rules", Method: http.MethodGet, Path: list, Summary: "List the rules of a fleet's devices and profiles", Tags: tags,
	}), s.rules)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "rule", Method: http.MethodGet, Path: one, Summary: "A rule", Tags: tags,
	}), s.rule)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-rule", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Create or replace a rule", Tags: tags, Errors: []int{http.StatusConflict},
		Description: "It applies to readings that arrive from now on. A change of more than the name ends its open alerts.",
	}), s.putRule)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-rule", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent, Summary: "Delete a rule", Description: "Its open alerts end.", Tags: tags,
	}), s.deleteRule)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "test-rule", Method: http.MethodPost, Path: list + "/test", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Test a rule on the past readings of a device", Description: "Nothing is stored. At most 300,000 readings or aggregates.", Tags: tags,
	}), s.testRule)
}

func (s *Service) rules(ctx context.Context, in *middleware.FleetPath) (*rulesAnswer, error) {
	_, err := telemetry.GetFleet(ctx, s.table, in.Fleet)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	all, err := telemetry.RulesOfFleet.Collect(ctx, s.table, telemetry.FleetIn{FleetID: in.Fleet})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(rulesAnswer)
	answer.Body.Rules = described(table.Page[telemetry.Rule]{Items: all}, describeRule)
	return answer, nil
}

// knownRule returns the rule that the path names.
func (s *Service) knownRule(ctx context.Context, in *RulePath) (telemetry.Rule, error) {
	r, err := telemetry.Rules.Get(ctx, s.table, in.key())
	if err == nil && r.FleetID != in.Fleet {
		err = table.ErrNotFound
	}
	return r, err
}

func (s *Service) rule(ctx context.Context, in *RulePath) (*ruleAnswer, error) {
	r, err := s.knownRule(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &ruleAnswer{describeRule(&r)}, nil
}

// putRule updates the rule if it exists, and otherwise creates it. The fleet is checked again
// within the update, because the rule may have been replaced since it was read.
func (s *Service) putRule(ctx context.Context, in *putRuleRequest) (*ruleAnswer, error) {
	r, err := s.knownRule(ctx, &in.RulePath)
	var before any
	switch {
	case err == nil:
		before = describeRule(&r)
		r, err = alerts.UpdateRule(ctx, s.table, in.key(), func(r *telemetry.Rule) error {
			if r.FleetID != in.Fleet {
				return table.ErrNotFound
			}
			in.Body.fill(r)
			return nil
		})
	case errors.Is(err, table.ErrNotFound):
		r = telemetry.Rule{RuleKey: in.key(), FleetID: in.Fleet}
		in.Body.fill(&r)
		r, err = alerts.CreateRule(ctx, s.table, r)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "rule.put", in.Fleet, in.Rule, before, describeRule(&r))
	return &ruleAnswer{describeRule(&r)}, nil
}

func (s *Service) deleteRule(ctx context.Context, in *RulePath) (*struct{}, error) {
	r, err := s.knownRule(ctx, in)
	if err == nil {
		err = alerts.DeleteRule(ctx, s.table, in.key())
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "rule.delete", in.Fleet, in.Rule, describeRule(&r), nil)
	return nil, nil
}

func (s *Service) testRule(ctx context.Context, in *testRuleRequest) (*testRuleAnswer, error) {
	b := &in.Body
	device := DevicePath{in.FleetPath, b.Device}
	if _, err := s.known(ctx, &device); err != nil {
		return nil, err
	}
	if b.From, b.To = b.From.UTC(), b.To.UTC(); !b.From.Before(b.To) || b.To.Sub(b.From) > maxTried {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "bad_range", "Choose a time range that ends after it begins, of at most 400 days.")
	}
	r := telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: b.Device, RuleID: "tried"}, FleetID: in.Fleet}
	if b.Rule.fill(&r); r.NoData {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "not_replayable", "Silence rules cannot be tested, because they depend on when readings arrive.")
	}
	ctx, cancel := context.WithTimeout(ctx, trialMayRun)
	defer cancel()
	did, err := s.replay(ctx, &device, r, b.From, b.To)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if did.Episodes == nil {
		did.Episodes = []alerts.Episode{}
	}
	return &testRuleAnswer{did}, nil
}

func (s *Service) replay(ctx context.Context, in *DevicePath, r telemetry.Rule, from, to time.Time) (alerts.Replayed, error) {
	if err := alerts.CheckRule(&r); err != nil {
		return alerts.Replayed{}, err
	}
	if r.Over != "" {
		ask, err := s.buckets(ctx, in, r.Over, from, to)
		if err != nil {
			return alerts.Replayed{}, err
		}
		return alerts.ReplayAggregates(r, in.Device, atMost(maxTriedOf, telemetry.AggregatesByTime.All(ctx, s.table, ask)))
	}
	retractions, err := telemetry.RetractionsOfDevice.Collect(ctx, s.table, telemetry.DeviceIn{DeviceID: in.Device})
	if err != nil {
		return alerts.Replayed{}, err
	}
	readings := (telemetry.ReadingsIn{DeviceID: in.Device, From: from, To: to}).All(ctx, s.table)
	return alerts.Replay(r, in.Device, atMost(maxTriedOf, readings), retractions)
}

// atMost fails after n items.
func atMost[T any](n int, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := n
		for one, err := range all {
			if left--; left < 0 {
				err = middleware.Problem(http.StatusUnprocessableEntity, "too_much", "This time range has too many readings to test a rule. Choose a shorter one.")
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}
