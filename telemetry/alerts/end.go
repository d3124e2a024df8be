package alerts

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Why alerts end that no reading ended.
const (
	ruleGone    = "its rule was changed, switched off or deleted"
	profileLeft = "the device has another profile now, for which its rule is not"
	overridden  = "the device has a rule of its own of this id"
)

// endAll ends what is open of rules that a batch says hold no longer.
func (s *seen) endAll(ctx context.Context, t *table.Table) (err error) {
	for i := range s.ended {
		if err == nil {
			err = endRule(ctx, t, &s.ended[i])
		}
	}
	for i := range s.made {
		if err == nil {
			err = endOverridden(ctx, t, &s.made[i])
		}
	}
	for i := range s.left {
		if err == nil {
			err = endProfile(ctx, t, &s.left[i])
		}
	}
	return err
}

// endRule ends what is open of a version of a rule that holds no longer.
func endRule(ctx context.Context, t *table.Table, r *telemetry.Rule) error {
	_, err := endOpen(ctx, t, telemetry.SeverityIn{Severity: r.Severity, FleetID: r.FleetID}, ruleGone, func(a *telemetry.Alert) bool {
		return madeBy(a, r) && a.RuleVersion <= r.Version
	})
	return err
}

// madeBy reports whether an alert is of a rule, of any version. Several devices may have a rule of one id.
func madeBy(a *telemetry.Alert, r *telemetry.Rule) bool {
	return a.RuleID == r.RuleID && (a.RuleMade == 0 || a.RuleMade == r.CreatedAt.UnixMilli()) &&
		(r.Scope != telemetry.ForDevice || a.DeviceID == r.ScopeID)
}

// endOverridden ends what is open of a device by its profile's rule of the id that a rule of its own has now.
func endOverridden(ctx context.Context, t *table.Table, own *telemetry.Rule) error {
	for _, severity := range severities {
		_, err := endOpen(ctx, t, telemetry.SeverityIn{Severity: severity, FleetID: own.FleetID}, overridden, func(a *telemetry.Alert) bool {
			return a.DeviceID == own.ScopeID && a.RuleID == own.RuleID && !madeBy(a, own)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endProfile ends what is open of a device by rules of a profile that it had, unless it has that again.
func endProfile(ctx context.Context, t *table.Table, was *telemetry.Device) error {
	now, err := telemetry.DeviceByID.Get(ctx, t, telemetry.DeviceIn{DeviceID: was.DeviceID})
	if errors.Is(err, table.ErrNotFound) || err == nil && now.ProfileID == was.ProfileID {
		return nil
	}
	if err != nil {
		return err
	}
	rules, err := telemetry.RulesOf.Collect(ctx, t, telemetry.RulesIn{Scope: telemetry.ForProfile, ScopeID: was.ProfileID})
	for i := range rules {
		r := &rules[i]
		if err == nil {
			_, err = endOpen(ctx, t, telemetry.SeverityIn{Severity: r.Severity, FleetID: r.FleetID}, profileLeft, func(a *telemetry.Alert) bool {
				return a.DeviceID == was.DeviceID && madeBy(a, r)
			})
		}
	}
	return err
}

// endOpen ends those of the open alerts of a severity that are to end, and says how many.
func endOpen(ctx context.Context, t *table.Table, in telemetry.SeverityIn, why string, ends func(*telemetry.Alert) bool) (n int, err error) {
	for a, err := range telemetry.OpenAlerts.All(ctx, t, in) {
		if err != nil {
			return n, err
		}
		if !ends(&a) {
			continue
		}
		if err := end(ctx, t, a, why); err != nil {
			return n, err // a batch is told again
		}
		n++
	}
	return n, nil
}

func end(ctx context.Context, t *table.Table, a telemetry.Alert, why string) error {
	before := a
	now := t.Now().UTC().Truncate(time.Millisecond)
	a.State, a.Resolved, a.Ended, a.ExpiresAt = telemetry.Resolved, max(now.UnixMilli(), a.Last), telemetry.RuleChanged, expiry(now, now.UnixMilli())
	note(&a, telemetry.AlertNote{At: now, What: "ended", Text: why})
	c := []change{{alert: a, before: &before}}
	if err := decideAll(ctx, t, c); err != nil {
		return err
	}
	tx := table.NewTx(t, "")
	c[0].add(tx)
	return tx.Commit(ctx)
}
