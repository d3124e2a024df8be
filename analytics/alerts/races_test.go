package alerts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics/alerts"
)

// A rule may be deleted while a process judges an hour. The alert that fires ends with the rule.
func TestDeletedWhileJudged(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	w.steady(monday.Add(-weekOf(8)), monday, count{100, 100}, nil)
	r := w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Drop}})
	w.Set(monday.Add(75 * time.Minute))
	w.beforeDelete = func() { w.evaluate(1) }
	_, err := alerts.Delete(w.Ctx, w.Table, r.Key)
	w.Must(err)
	if all := w.history(); len(all) > 1 || len(all) == 1 && all[0].Status != alerts.Resolved {
		t.Errorf("history %+v", all)
	}
	if rules, err := alerts.RulesOfSite.Collect(w.Ctx, w.Table, alerts.SiteIn{SiteID: "shop"}); err != nil || len(rules) != 0 {
		t.Errorf("rules %+v, %v", rules, err)
	}
}

// Rules that cannot be judged, such as those of sites that are being deleted, stay due. However many there
// are, others are judged.
func TestManyRulesThatCannotBeJudged(t *testing.T) {
	w := newWorld(t, "UTC", monday)
	w.steady(monday.Add(-weekOf(8)), monday, count{100, 100}, nil)
	stuck := make([]alerts.Rule, 1100)
	for i := range stuck {
		stuck[i] = alerts.Rule{Key: alerts.Key{SiteID: "gone", RuleID: fmt.Sprint("r", i)}, Settings: alerts.Settings{Kind: alerts.Drop}, Judged: monday, Next: monday}
	}
	w.Must(alerts.Rules.PutMany(w.Ctx, w.Table, stuck))
	w.put(alerts.Rule{Key: alerts.Key{RuleID: "r"}, Settings: alerts.Settings{Kind: alerts.Drop}})
	w.Set(monday.Add(75 * time.Minute))
	w.evaluate(1)
	if got := shown(w.history()); !slices.Equal(got, []string{"2026-05-11T01:00:00Z to "}) {
		t.Errorf("history %v", got)
	}
}
