package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/episode"
	"github.com/onefold/onefold/table"
)

const (
	grace     = 10 * time.Minute   // after the end of an hour, for events on their way
	catchUp   = 24 * time.Hour     // hours before are not judged
	unjudged  = 7 * 24 * time.Hour // for which an alert keeps firing although no hour can be judged
	maxUntold = 2 * 24             // alerts of one evaluation
	maxErrors = 20                 // returned by Evaluate
)

var errStale = errors.New("alerts: another process has evaluated the rule, or it has changed")

// Evaluate judges the hours of rules that are due, and returns how many rules there were. settled
// returns when statistics contain all events that have arrived; Evaluate calls it if a rule is due, and
// judges nothing if it fails, because an hour that is not counted yet looks like a drop. A rule that
// fails does not keep others from being judged; it is retried in the next call. At most 20 errors are
// returned.
func Evaluate(ctx context.Context, t *table.Table, settled func(context.Context) error) (evaluated int, err error) {
	var e *evaluation
	failures := 0
	for due, failed := range dueRules.All(ctx, t, dueIn{t.Now().UTC().Add(time.Millisecond)}) {
		if failed = cmp.Or(failed, ctx.Err()); failed != nil {
			return evaluated, errors.Join(err, fmt.Errorf("alerts: %w", failed))
		}
		if e == nil {
			if err := settled(ctx); err != nil {
				return 0, fmt.Errorf("alerts: waiting for statistics: %w", err)
			}
			e = &evaluation{t: t, now: t.Now().UTC().Truncate(time.Millisecond)}
		}
		switch failed := e.rule(ctx, due.Key); {
		case failed == nil:
			evaluated++
		case !errors.Is(failed, errStale) && failures < maxErrors:
			failures++
			err = errors.Join(err, fmt.Errorf("alerts: rule %s of %s: %w", due.RuleID, due.SiteID, failed))
		}
	}
	return evaluated, err
}

// evaluation is one call of Evaluate. Rules that are due at the same time are in the order of their
// sites, so it loads the hours of most sites once for all rules.
type evaluation struct {
	t      *table.Table
	now    time.Time
	loaded *judge // of the last rule
	which  string // site and hours of loaded
}

// rule evaluates a rule. A rule that is no longer due, or whose site is being deleted, is left alone.
func (e *evaluation) rule(ctx context.Context, k Key) error {
	r, err := Rules.Get(ctx, e.t, k) // the index may be behind
	if errors.Is(err, table.ErrNotFound) || err == nil && r.Next.After(e.now) {
		return errStale
	}
	if err != nil {
		return err
	}
	site, err := analytics.GetSite(ctx, e.t, k.SiteID)
	if errors.Is(err, table.ErrNotFound) {
		return errStale
	}
	if err == nil {
		err = publish(ctx, e.t, &r) // of a process that died
	}
	if err != nil || r.Off {
		return err
	}
	changed, err := e.advanced(ctx, &r, &site)
	if err != nil {
		return err
	}
	if err := store(ctx, e.t, &r, changed); err != nil {
		return err
	}
	return publish(ctx, e.t, changed)
}

// advanced returns the rule after the hours that have ended.
func (e *evaluation) advanced(ctx context.Context, r *Rule, site *analytics.Site) (*Rule, error) {
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	until := e.now.Add(-grace)
	from := r.Judged
	if oldest := startOfHour(zone, until.Add(-catchUp)); from.Before(oldest) {
		from = oldest
	}
	changed := *r
	changed.Untold = nil
	hours := hoursUntil(zone, from, until)
	if len(hours) > 0 {
		j, err := e.judge(ctx, site, zone, r, hours)
		if err != nil {
			return nil, err
		}
		changed.Untold = changed.step(j, hours)
		if err := explain(ctx, e.t, j, &changed); err != nil {
			return nil, err
		}
		changed.Judged = hours[len(hours)-1].end
	}
	changed.Next = nextHour(zone, startOfHour(zone, until)).Add(grace)
	return &changed, nil
}

// judge loads the statistics for a rule.
func (e *evaluation) judge(ctx context.Context, site *analytics.Site, zone calendar.Zone, r *Rule, hours []hour) (*judge, error) {
	from, until := hours[0].start, hours[len(hours)-1].end
	if which := site.SiteID + " " + from.String() + " " + until.String(); which != e.which {
		loaded, err := loadHours(ctx, e.t, site, zone, from, until)
		if err != nil {
			return nil, err
		}
		e.which, e.loaded = which, loaded
	}
	j, s := *e.loaded, r.full()
	return &j, j.loadFor(ctx, e.t, &s, hours)
}

// step runs hours through the state machine of the rule, and returns the alerts that fired or ended. An
// alert that did both is returned once, as one to keep quiet about.
func (r *Rule) step(j *judge, hours []hour) (all []Alert) {
	s := r.full()
	m, levels, judgeHour := r.State.machine(), s.levels(), kindOf(s.Kind).judge
	end := func(h hour, g Judgement) {
		a := *r.State.Alert
		a.Status, a.EndedAt, a.Judgement, a.ExpiresAt = Resolved, h.end.UTC(), g, h.end.UTC().Add(keepResolved)
		a.Summary, a.Cause = summary(j, &s, h, &g), nil
		if i := slices.IndexFunc(all, func(o Alert) bool { return o.AlertID == a.AlertID }); i >= 0 {
			all, a.Quiet = slices.Delete(all, i, i+1), true
		}
		all = append(all, a)
	}
	for _, h := range hours {
		g := judgeHour(j, &s, h)
		if !g.Judged {
			if m.Phase == episode.Firing && h.end.UnixMilli()-m.Episode.Last.At >= unjudged.Milliseconds() {
				end(h, g)
				m = episode.Machine[float64]{}
				r.State.set(&m)
			}
			continue
		}
		before := m.Phase
		if m.Step(levels, &episode.Point[float64]{Key: episode.Key{At: h.end.UnixMilli()}, Value: g.Value}) != nil {
			end(h, g)
		}
		r.State.set(&m)
		if m.Phase == episode.Firing && before != episode.Firing {
			a := r.alert(j, &s, h, g)
			r.State.Alert, all = &a, append(all, a)
		}
	}
	return all
}

// alert returns an alert that fires in an hour.
func (r *Rule) alert(j *judge, s *Settings, h hour, g Judgement) Alert {
	return Alert{
		AlertKey: AlertKey{r.SiteID, h.end.UTC().Format(idTime) + "." + r.RuleID}, RuleID: r.RuleID, RuleName: r.Name, Kind: r.Kind, Status: Firing,
		Since: time.UnixMilli(r.State.First).UTC().Add(-time.Hour), FiredAt: h.end.UTC(), Judgement: g, Summary: summary(j, s, h, &g),
	}
}

// idTime begins IDs, so that they are in the order of time.
const idTime = "20060102T150405Z"

// store replaces the rule as it was read by the changed one, unless another process was faster.
func store(ctx context.Context, t *table.Table, read, changed *Rule) error {
	_, err := Rules.Modify(ctx, t, read.Key, func(now *Rule) error {
		if !now.Next.Equal(read.Next) || !now.Judged.Equal(read.Judged) || !now.Updated.Equal(read.Updated) || len(now.Untold) > 0 || now.Off {
			return errStale
		}
		now.Judged, now.Next, now.State, now.Untold = changed.Judged, changed.Next, changed.State, changed.Untold[:min(len(changed.Untold), maxUntold)]
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		return errStale
	}
	return err
}

// publish stores the untold alerts of a rule in the history, enqueues their messages, and removes them
// from the rule. Each step may be repeated.
func publish(ctx context.Context, t *table.Table, r *Rule) error {
	if len(r.Untold) == 0 {
		return nil
	}
	if err := keepAlerts(ctx, t, r.Untold); err != nil {
		return err
	}
	for i := range r.Untold {
		a := &r.Untold[i]
		if a.Quiet {
			continue
		}
		if _, err := notify.Enqueue(ctx, t, notify.News{
			SiteID: r.SiteID, ID: a.newsID(), Event: "alert." + string(a.Status), Title: a.title(), Content: a, Through: r.Channels,
		}); err != nil {
			return err
		}
	}
	told := r.Untold
	_, err := Rules.Modify(ctx, t, r.Key, func(now *Rule) error {
		now.Untold = slices.DeleteFunc(slices.Clone(now.Untold), func(a Alert) bool {
			return slices.ContainsFunc(told, func(o Alert) bool { return o.AlertID == a.AlertID && o.Status == a.Status })
		})
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = nil
	}
	if err == nil {
		r.Untold = nil
	}
	return err
}
