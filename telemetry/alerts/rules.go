package alerts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Limits of rules.
const (
	maxRules = 100               // per device or profile
	maxName  = 200               // bytes
	maxFor   = 31 * 24 * 60 * 60 // seconds
	minQuiet = 60                // minimum seconds of silence
)

// RuleError names an invalid field of a rule or channel. It wraps telemetry.ErrInvalid.
type RuleError struct {
	Code  string // stable code, such as rule_raise
	Field string
	What  string
}

func (e *RuleError) Error() string { return fmt.Sprintf("%s: %s (%s)", e.Field, e.What, e.Code) }

// Unwrap returns telemetry.ErrInvalid.
func (e *RuleError) Unwrap() error { return telemetry.ErrInvalid }

func wrong(field, format string, args ...any) error {
	return &RuleError{Code: "rule_" + strings.ToLower(field), Field: field, What: fmt.Sprintf(format, args...)}
}

// CheckRule validates a rule. Errors: a *RuleError per invalid field, joined.
func CheckRule(r *telemetry.Rule) error {
	var errs []error
	refuse := func(bad bool, field, format string, args ...any) {
		if bad {
			errs = append(errs, wrong(field, format, args...))
		}
	}
	refuse(r.Scope != telemetry.ForDevice && r.Scope != telemetry.ForProfile, "scope", "use %s or %s", telemetry.ForDevice, telemetry.ForProfile)
	refuse(r.ScopeID == "", "scopeId", "name the device or profile of the rule")
	refuse(r.FleetID == "", "fleetId", "name the fleet")
	refuse(len(r.Name) > maxName || strings.ContainsAny(r.Name, "\r\n\x00"), "name", "use at most %d bytes on one line", maxName)
	refuse(rank(r.Severity) < 0, "severity", "use info, warning or critical")
	refuse(r.For < 0 || r.For > maxFor, "for", "use 0 to %d seconds", maxFor)
	refuse(r.KeepFor < 0 || r.KeepFor > maxFor, "keepFor", "use 0 to %d seconds", maxFor)
	if r.NoData {
		refuse(r.For < minQuiet, "for", "use at least %d seconds of silence", minQuiet)
		refuse(r.Metric != "" || r.Over != "" || r.Function != "" || r.Raise != "" || r.Clear != "" || r.KeepFor != 0, "noData",
			"a silence rule has no metric, aggregate, thresholds or keepFor")
		return errors.Join(errs...)
	}
	refuse(r.Metric == "" || len(r.Metric) > maxName || strings.Contains(r.Metric, "#"), "metric", "name the metric")
	switch r.Over {
	case "":
		refuse(r.Function != "", "function", "a function needs an aggregate: set over to a period")
	case telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily:
		refuse(figures[r.Function] == nil, "function", "use mean, min, max, sum, count, first, last, deviation, p50, p90, p95, p99, increase or rate")
	default:
		refuse(true, "over", "use %s, %s or %s, or leave it empty for readings", telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily)
	}
	return errors.Join(append(errs, checkLevels(r))...)
}

func checkLevels(r *telemetry.Rule) error {
	c, err := compile(*r)
	switch {
	case err != nil:
		return wrong("raise", "raise and clear must be decimal numbers: %v", err)
	case !r.Below && c.levels.Clear.Cmp(&c.levels.Raise) > 0:
		return wrong("clear", "%s is above %s: a value that raises the alert would also clear it", r.Clear, r.Raise)
	case r.Below && c.levels.Clear.Cmp(&c.levels.Raise) < 0:
		return wrong("clear", "%s is below %s: a value that raises the alert would also clear it", r.Clear, r.Raise)
	}
	return nil
}

// CreateRule creates a rule. It applies to readings that arrive from now on, whatever their own
// time. An empty RuleID is generated. Errors: telemetry.ErrInvalid (a *RuleError per fault),
// table.ErrNotFound if the fleet has no such device or profile, table.ErrExists.
func CreateRule(ctx context.Context, t *table.Table, r telemetry.Rule) (telemetry.Rule, error) {
	if r.RuleID == "" {
		r.RuleID = strings.ToLower(ulid.Make().String())
	}
	err := CheckRule(&r)
	if err == nil {
		err = checkScope(ctx, t, &r)
	}
	if err == nil {
		err = roomForRule(ctx, t, &r)
	}
	if err == nil {
		now := t.Now().UTC().Truncate(time.Millisecond)
		r.Version, r.CreatedAt, r.UpdatedAt = 1, now, now
		err = telemetry.Rules.Create(ctx, t, &r)
	}
	if err != nil {
		return r, fmt.Errorf("alerts: create rule: %w", err)
	}
	return r, nil
}

// checkScope checks that the rule's device or profile belongs to its fleet.
func checkScope(ctx context.Context, t *table.Table, r *telemetry.Rule) error {
	fleet := ""
	switch r.Scope {
	case telemetry.ForDevice:
		d, err := telemetry.GetDevice(ctx, t, r.ScopeID)
		if err != nil {
			return err
		}
		fleet = d.FleetID
	case telemetry.ForProfile:
		p, err := telemetry.ProfileByID.Get(ctx, t, telemetry.ProfileIn{ProfileID: r.ScopeID})
		if err != nil {
			return err
		}
		fleet = p.FleetID
	}
	if fleet != r.FleetID {
		return table.ErrNotFound
	}
	return nil
}

func roomForRule(ctx context.Context, t *table.Table, r *telemetry.Rule) error {
	all, err := telemetry.RulesOf.Collect(ctx, t, telemetry.RulesIn{Scope: r.Scope, ScopeID: r.ScopeID})
	if err == nil && len(all) >= maxRules {
		err = wrong("scopeId", "it has %d rules, the maximum is %d", len(all), maxRules)
	}
	return err
}

// UpdateRule changes a rule, except its scope and fleet. A change of more than the name starts a
// new version: alerts of the old version end, and the new one applies to readings that arrive from
// now on. Errors: as CreateRule.
func UpdateRule(ctx context.Context, t *table.Table, k telemetry.RuleKey, change func(*telemetry.Rule) error) (telemetry.Rule, error) {
	r, err := telemetry.Rules.Modify(ctx, t, k, func(r *telemetry.Rule) error {
		before := *r
		if err := change(r); err != nil {
			return err
		}
		r.RuleKey, r.FleetID, r.CreatedAt, r.Version, r.UpdatedAt = before.RuleKey, before.FleetID, before.CreatedAt, before.Version, before.UpdatedAt
		if err := CheckRule(r); err != nil {
			return err
		}
		if before.Name = r.Name; *r != before {
			r.Version++
			r.UpdatedAt = t.Now().UTC().Truncate(time.Millisecond)
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("alerts: update rule %s: %w", k.RuleID, err)
	}
	return r, nil
}

// DeleteRule deletes a rule. Its open alerts end; all its alerts stay listed until they expire.
func DeleteRule(ctx context.Context, t *table.Table, k telemetry.RuleKey) error {
	if err := telemetry.Rules.Delete(ctx, t, k); err != nil {
		return fmt.Errorf("alerts: delete rule %s: %w", k.RuleID, err)
	}
	return nil
}

// Describe describes a rule in words.
func Describe(r *telemetry.Rule) string {
	what := r.Metric
	if r.Over != "" {
		what = fmt.Sprintf("%s %s of %s", r.Over, r.Function, r.Metric)
	}
	side := "above"
	if r.Below {
		side = "below"
	}
	said := fmt.Sprintf("%s %s %s", what, side, r.Raise)
	if r.NoData {
		said = "no readings"
	}
	if r.For > 0 {
		said += " for " + spell(time.Duration(r.For)*time.Second)
	}
	if r.Name != "" {
		return r.Name + ": " + said
	}
	return said
}

// spell formats a duration of whole seconds, such as "1 h 30 min".
func spell(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			d -= n * unit.of
		}
	}
	return strings.Join(parts, " ")
}
