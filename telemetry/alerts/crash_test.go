package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// shaky loses requests: some are not executed, and of others only the response is lost.
type shaky struct {
	dynamo.API
	random *rand.Rand
	die    func() // ends the process; nil means that nothing is lost
	deaths int
}

func (s *shaky) lose() bool {
	if s.die == nil || s.random.IntN(3) > 0 {
		return false
	}
	s.deaths++
	s.die()
	return true
}

var errLost = errors.New("the connection broke")

func (s *shaky) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if s.lose() {
		return nil, errLost
	}
	out, err := s.API.TransactWriteItems(ctx, in, o...)
	if s.lose() {
		return nil, errLost
	}
	return out, err
}

// TestCrashes interrupts evaluations before and after their writes, and continues in another
// process.
func TestCrashes(t *testing.T) {
	deaths := 0
	defer func() {
		if deaths < 30 {
			t.Errorf("it died %d times only", deaths)
		}
	}()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			var s *shaky
			w := newWorld(t, func(db *engine.DB) dynamo.API {
				s = &shaky{API: db, random: random}
				return s
			})
			w.webhook()
			r := w.rule(func(r *telemetry.Rule) { r.Raise, r.Clear, r.For, r.KeepFor = "10", "8", 60, 60 })
			for range 6 {
				for range 1 + random.IntN(8) {
					w.ingest(temp(start.Add(time.Duration(random.IntN(60))*30*time.Second), fmt.Sprint(6+random.IntN(7))))
				}
				for range 3 {
					before := s.deaths
					ctx, cancel := context.WithCancel(w.Ctx)
					s.die = cancel
					if err := w.Worker.Drain(ctx); (err == nil) != (s.deaths == before) {
						t.Fatalf("%d deaths: %v", s.deaths-before, err)
					}
					cancel()
					w.Restart()
				}
				s.die = nil
				w.Drain()
				w.agree(r)
			}
			w.once()
			deaths += s.deaths
		})
	}
}

// TestSilence makes a device fall silent and come back.
func TestSilence(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	w.rule(func(r *telemetry.Rule) {
		*r = telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "meter", RuleID: "gone"}, FleetID: "plant",
			NoData: true, For: 600, Severity: telemetry.Critical}
	})
	beat := func() {
		t.Helper()
		w.ingest(telemetry.Incoming{DeviceID: "d1", At: w.Now(), Values: telemetry.Values{"temp": telemetry.Bool(true)}})
		w.Drain()
	}
	look := func(open int) {
		t.Helper()
		w.Must(alerts.Sweep(w.Ctx, w.Table, time.Time{}))
		w.Must(alerts.Sweep(w.Ctx, w.Table, time.Time{})) // in another process
		if got := w.open(); len(got) != open {
			t.Fatalf("%d open alerts, want %d", len(got), open)
		}
	}
	beat()
	heard := w.Now()
	w.Advance(9 * time.Minute)
	look(0)
	w.Advance(time.Minute)
	look(1)
	if a, _ := w.alerts("d1"); a[0].Since != heard.UnixMilli() || a[0].Fired != heard.Add(10*time.Minute).UnixMilli() || a[0].Message != "no readings for 10 min" {
		t.Errorf("the alert is %+v", a[0])
	}
	w.Advance(time.Minute)
	beat()
	look(0)
	if a, _ := w.alerts("d1"); len(a) != 1 || a[0].Resolved != w.Now().UnixMilli() || len(w.notifications()) != 2 {
		t.Errorf("alerts are %+v, %d notifications", a, len(w.notifications()))
	}
}

// TestInvalidRules checks that each invalid rule is rejected with the code of its invalid field.
func TestInvalidRules(t *testing.T) {
	good := telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: "d"}, FleetID: "f", Metric: "m", Raise: "1", Severity: telemetry.Info}
	if err := alerts.CheckRule(&good); err != nil {
		t.Fatal(err)
	}
	for code, change := range map[string]func(*telemetry.Rule){
		"rule_scope": func(r *telemetry.Rule) { r.Scope = "SITE" }, "rule_scopeid": func(r *telemetry.Rule) { r.ScopeID = "" },
		"rule_fleetid": func(r *telemetry.Rule) { r.FleetID = "" }, "rule_name": func(r *telemetry.Rule) { r.Name = "a\r\nBcc: b" },
		"rule_severity": func(r *telemetry.Rule) { r.Severity = "dire" }, "rule_for": func(r *telemetry.Rule) { r.For = -1 },
		"rule_keepfor": func(r *telemetry.Rule) { r.KeepFor = 1 << 40 }, "rule_metric": func(r *telemetry.Rule) { r.Metric = "a#b" },
		"rule_raise": func(r *telemetry.Rule) { r.Raise = "NaN" }, "rule_clear": func(r *telemetry.Rule) { r.Clear = "2" },
		"rule_over": func(r *telemetry.Rule) { r.Over = "yearly" }, "rule_function": func(r *telemetry.Rule) { r.Over = telemetry.Hourly; r.Function = "median" },
		"rule_nodata": func(r *telemetry.Rule) { r.NoData, r.For = true, 600 },
	} {
		r := good
		change(&r)
		err := alerts.CheckRule(&r)
		if !errors.Is(err, telemetry.ErrInvalid) || !strings.Contains(err.Error(), "("+code+")") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
