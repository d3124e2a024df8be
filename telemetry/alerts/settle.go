package alerts

import (
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

const (
	keepAlerts = 365 * 24 * time.Hour // after they are resolved
	maxOps     = 90                   // operations per transaction; the limit is 100
	maxHistory = 200                  // notes of one alert
)

// errMoved means that the watch or an alert was written concurrently: evaluate again.
var errMoved = errors.New("alerts: changed meanwhile")

// AlertID returns the ID of the alert of a device and rule whose first reading is at since, epoch
// milliseconds.
func AlertID(deviceID, ruleID string, since int64) string {
	id := ulid.ULID{}
	if err := id.SetTime(uint64(max(since, 0))); err != nil { // later than the year 10889
		since = 0
	}
	sum := sha256.Sum256([]byte(deviceID + "\x00" + ruleID))
	copy(id[6:], sum[:])
	return id.String()
}

// change is a group of writes that belong together: an alert and its notifications.
type change struct {
	alert         telemetry.Alert
	before        *telemetry.Alert // as stored; nil: new
	notifications []Notification
}

// plan is the set of writes of a derivation.
type plan struct {
	d       *derivation
	now     time.Time
	changes []change // in order of time
	watch   Watch    // new state of the watch
}

func (d *derivation) plan(now time.Time) *plan {
	p := &plan{d: d, now: now}
	stored := make(map[string]*telemetry.Alert, len(d.old))
	for i := range d.old {
		stored[d.old[i].AlertID] = &d.old[i]
	}
	wanted := make(map[string]bool, len(d.episodes))
	for i := range d.episodes {
		id := AlertID(d.deviceID, d.rule.RuleID, d.episodes[i].First.At)
		wanted[id] = true
		p.put(p.alertOf(id, &d.episodes[i], stored[id]), stored[id])
	}
	for i := range d.old {
		if a := &d.old[i]; !wanted[a.AlertID] && d.counts(a) && !d.keeps(a.AlertID) && (d.settled == nil || firstOf(a).Compare(*d.settled) < 0) {
			p.withdraw(a)
		}
	}
	p.watch = d.nextWatch()
	return p
}

func (d *derivation) nextWatch() Watch {
	w := d.watch
	w.Version = d.rule.Version
	if d.settled == nil {
		w.Phase, w.FirstAt, w.FirstDisc = d.machine.Phase, d.machine.Episode.First.At, d.machine.Episode.First.Disc
	}
	if w.until().Compare(d.until) < 0 {
		w.UntilAt, w.UntilDisc = d.until.At, d.until.Disc
	}
	return w
}

// put adds a write, if the alert differs.
func (p *plan) put(a telemetry.Alert, before *telemetry.Alert) {
	if before == nil || !reflect.DeepEqual(a, *before) {
		p.changes = append(p.changes, change{alert: a, before: before})
	}
}

// alertOf returns an episode as an alert. Actions of people are kept.
func (p *plan) alertOf(id string, e *episode.Episode, before *telemetry.Alert) telemetry.Alert {
	r := &p.d.rule.Rule
	a := telemetry.Alert{AlertKey: telemetry.AlertKey{DeviceID: p.d.deviceID, AlertID: id}}
	if before != nil {
		a = *before
		a.Notified, a.History = slices.Clone(a.Notified), slices.Clone(a.History)
	}
	a.FleetID, a.RuleID, a.RuleVersion, a.RuleMade = r.FleetID, r.RuleID, r.Version, p.d.rule.made()
	a.Metric, a.Severity, a.Message = r.Metric, r.Severity, Describe(r)
	a.Since, a.First, a.Fired, a.Last, a.Resolved = e.First.At, e.First.Disc, e.Fired, e.Last.At, e.Resolved
	a.Value, a.Peak, a.State, a.Ended = e.Value.String(), e.Peak.String(), telemetry.Firing, ""
	a.ExpiresAt = time.Time{}
	if e.Resolved != 0 {
		a.State = telemetry.Resolved
		a.ExpiresAt = expiry(p.now, e.Resolved)
	}
	if before != nil && before.Withdrawn {
		a.Withdrawn = false
		note(&a, telemetry.AlertNote{At: p.now, What: "reinstated", Text: "readings came that make it again"})
	}
	if before == nil {
		p.inherit(&a)
	}
	return a
}

// expiry returns when an ended alert may be deleted. If it ended long ago, as after an import, it
// is kept as long from now.
func expiry(now time.Time, ended int64) time.Time {
	at := time.UnixMilli(ended).UTC()
	if at.Before(now) {
		at = now
	}
	return at.Add(keepAlerts).Truncate(24 * time.Hour)
}

// inherit lets a new alert take over the actions and notifications of an overlapping alert that it
// replaces.
func (p *plan) inherit(a *telemetry.Alert) {
	for i := range p.d.old {
		o := &p.d.old[i]
		if !p.d.counts(o) || p.d.keeps(o.AlertID) || o.Since > endOf(a) || endOf(o) < a.Since || p.isWanted(o.AlertID) {
			continue
		}
		a.Replaces, a.Notified = o.AlertID, slices.Clone(o.Notified)
		a.AckedAt, a.AckedBy, a.SnoozedUntil, a.History = o.AckedAt, o.AckedBy, o.SnoozedUntil, slices.Clone(o.History)
		return
	}
}

func (p *plan) isWanted(id string) bool {
	return slices.ContainsFunc(p.d.episodes, func(e episode.Episode) bool {
		return AlertID(p.d.deviceID, p.d.rule.RuleID, e.First.At) == id
	})
}

func endOf(a *telemetry.Alert) int64 {
	if a.Resolved != 0 {
		return a.Resolved
	}
	return max(a.Last, a.Fired)
}

// withdraw marks an alert as withdrawn. If another alert replaces it, the withdrawal is not
// notified.
func (p *plan) withdraw(before *telemetry.Alert) {
	a := *before
	a.Notified, a.History = slices.Clone(a.Notified), slices.Clone(a.History)
	a.Withdrawn, a.State, a.ExpiresAt = true, telemetry.Resolved, expiry(p.now, 0)
	if a.Resolved == 0 {
		a.Resolved = max(a.Last, a.Fired)
	}
	text := "what is known now makes no alert of it"
	for i := range p.changes {
		if p.changes[i].alert.Replaces == a.AlertID {
			text = "it is part of " + p.changes[i].alert.AlertID
			if !slices.Contains(a.Notified, telemetry.Withdraws) {
				a.Notified = append(a.Notified, telemetry.Withdraws)
			}
		}
	}
	note(&a, telemetry.AlertNote{At: p.now, What: "withdrawn", Text: text})
	p.changes = append(p.changes, change{alert: a, before: before})
}

// note adds to an alert's history, and drops the oldest note of a long one.
func note(a *telemetry.Alert, n telemetry.AlertNote) {
	if len(a.History) >= maxHistory {
		a.History = slices.Delete(a.History, 0, len(a.History)-maxHistory+1)
	}
	a.History = append(a.History, n)
}

var (
	watchRev = table.FieldOf(Watches, func(w *Watch) *int64 { return &w.Rev })
	alertRev = table.FieldOf(telemetry.Alerts, func(a *telemetry.Alert) *int64 { return &a.Rev })
)

// commit writes the plan with the watch, latest alerts first if it needs several transactions.
// Until the last transaction the watch keeps its state except for Rev. Errors: errMoved.
func (p *plan) commit(ctx context.Context, t *table.Table) error {
	if len(p.changes) == 0 && p.watch == p.d.watch {
		return nil
	}
	slices.SortStableFunc(p.changes, func(a, b change) int { return firstOf(&b.alert).Compare(firstOf(&a.alert)) })
	w, rest := p.d.watch, p.changes
	for done := false; !done; {
		tx := table.NewTx(t, "")
		for len(rest) > 0 && tx.Len()+1+len(rest[0].notifications) <= maxOps {
			rest[0].add(tx)
			rest = rest[1:]
		}
		if done = len(rest) == 0; done {
			rev := w.Rev
			w = p.watch
			w.Rev = rev
		}
		putWatch(tx, &w)
		if err := tx.Commit(ctx); err != nil {
			return moved(err)
		}
	}
	return nil
}

// putWatch adds the write of a watch, on condition that it is unchanged.
func putWatch(tx *table.Tx, w *Watch) {
	was := table.Absent()
	if w.Rev != 0 {
		was = watchRev.Eq(w.Rev)
	}
	w.Rev++
	Watches.TxPut(tx, w, was)
}

// add adds the writes of the alert, on condition that it is unchanged, and of its notifications.
func (c *change) add(tx *table.Tx) {
	a := c.alert
	a.Rev++
	switch {
	case c.before == nil:
		telemetry.Alerts.TxCreate(tx, &a)
	case c.before.Rev == 0:
		telemetry.Alerts.TxPut(tx, &a, alertRev.Missing())
	default:
		telemetry.Alerts.TxPut(tx, &a, alertRev.Eq(c.before.Rev))
	}
	for i := range c.notifications {
		Notifications.TxPut(tx, &c.notifications[i])
	}
}

// moved turns conflicts with other writers into errMoved.
func moved(err error) error {
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrConflict) {
		return errMoved
	}
	return err
}
