package alerts

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Reasons, in the history of alerts, why an alert ended without a reading.
const (
	ruleGone    = "its rule was changed, switched off or deleted"
	profileLeft = "the device has another profile now, for which its rule is not"
	overridden  = "the device has a rule of its own of this id"
)

// endAll ends the open alerts of rules that no longer apply, according to a batch.
func (s *batchChanges) endAll(ctx context.Context, t *table.Table) (err error) {
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

// endRule ends the open alerts of a rule version that no longer applies.
func endRule(ctx context.Context, t *table.Table, r *telemetry.Rule) error {
	_, err := endOpen(ctx, t, telemetry.SeverityIn{Severity: r.Severity, FleetID: r.FleetID}, ruleGone, func(a *telemetry.Alert) bool {
		return madeBy(a, r) && a.RuleVersion <= r.Version
	})
	return err
}

// madeBy reports whether an alert comes from a rule, of any version. Rules of different devices may
// share an ID.
func madeBy(a *telemetry.Alert, r *telemetry.Rule) bool {
	return a.RuleID == r.RuleID && (a.RuleMade == 0 || a.RuleMade == r.CreatedAt.UnixMilli()) &&
		(r.Scope != telemetry.ForDevice || a.DeviceID == r.ScopeID)
}

// endOverridden ends a device's open alerts from a profile rule that a new rule of the device
// overrides.
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

// endProfile ends a device's open alerts from the rules of its previous profile, unless it has that
// profile again.
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

// endOpen ends the open alerts of a severity that ends selects, and returns their number.
func endOpen(ctx context.Context, t *table.Table, in telemetry.SeverityIn, why string, ends func(*telemetry.Alert) bool) (n int, err error) {
	for a, err := range telemetry.OpenAlerts.All(ctx, t, in) {
		if err != nil {
			return n, err
		}
		if !ends(&a) {
			continue
		}
		if err := end(ctx, t, a, why); err != nil {
			return n, err // the batch is delivered again
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
