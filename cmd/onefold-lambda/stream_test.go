package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	must(t, err)
	return b
}

// refusal returns the error message of a failed function.
func refusal(t testing.TB, err error) string {
	t.Helper()
	var failed *lambdasim.FunctionError
	if !errors.As(err, &failed) {
		t.Fatalf("%v is no failure of the function", err)
	}
	var said struct {
		Message string `json:"errorMessage"`
	}
	must(t, json.Unmarshal(failed.Body, &said))
	return said.Message
}

// Events of AWS's documentation: the response to a window has a state, and an event without a shard
// is rejected with advice.
func TestDocumentedEvents(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	pool := p.pool("stream")
	for _, c := range []struct{ payload, answer, refusal string }{
		{payload: string(read(t, "window.json")), answer: `{"state":{"1":"282"},"batchItemFailures":[]}`},
		{payload: string(read(t, "final.json")), answer: `{"state":{},"batchItemFailures":[]}`},
		{payload: string(read(t, "expired.json")), answer: `{"state":{},"batchItemFailures":[]}`},
		{payload: string(read(t, "noshard.json")), refusal: "no_shard: "},
		{payload: string(read(t, "url.json")), refusal: "bad_event: "},
		{payload: `{`, refusal: "bad_event: "},
		{payload: `null`, refusal: "bad_event: "},
		{payload: `{"Records":[{"eventSource":"aws:kinesis"}],"shardId":"s"}`, refusal: "bad_event: "},
		{payload: `{"Records":[{"eventSource":"aws:dynamodb","dynamodb":{"SequenceNumber":"7","NewImage":{"pk":{"S":7}}}}],"shardId":"s"}`,
			answer: `{"state":{},"batchItemFailures":[{"itemIdentifier":"7"}]}`},
	} {
		answer, err := pool.Invoke(t.Context(), []byte(c.payload), time.Minute, nil)
		switch {
		case c.refusal != "" && err == nil:
			t.Errorf("%.80s: answered %s", c.payload, answer)
		case c.refusal != "":
			if said := refusal(t, err); !strings.HasPrefix(said, c.refusal) {
				t.Errorf("%.80s: %q", c.payload, said)
			}
		case err != nil || string(answer) != c.answer:
			t.Errorf("%.80s: answered %s, %v, want %s", c.payload, answer, err, c.answer)
		}
	}
	if n := pool.Starts(); n != 1 {
		t.Errorf("there were %d processes", n)
	}
}

// A change that cannot be folded goes to the dead letters and blocks nothing.
func TestPoison(t *testing.T) {
	now := time.Now()
	p := newPlace(t, now, engine.Options{})
	all := facts(t, random(t), now, 60)
	p.put(all[:len(all)/2])
	p.put([]table.Item{{
		"pk": &types.AttributeValueMemberS{Value: "SITE#shop#SHARD#1"}, "sk": &types.AttributeValueMemberS{Value: "BLOCK#not-a-ulid"},
		"et":     &types.AttributeValueMemberS{Value: analytics.Blocks.Name()},
		"siteId": &types.AttributeValueMemberS{Value: "shop"}, "body": &types.AttributeValueMemberB{Value: []byte("no block")},
	}})
	p.put(all[len(all)/2:])
	must(t, p.mapping(p.pool("stream"), nil).Drain(t.Context()))
	for _, name := range []string{"analytics.stats", "analytics.visitors"} {
		n := 0
		for dead, err := range fold.DeadLettersOf.All(t.Context(), p.table, fold.FoldIn{Fold: name}) {
			must(t, err)
			if dead.ItemSK != "BLOCK#not-a-ulid" {
				t.Errorf("%s: dead letter %+v", name, dead)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%s has %d dead letters", name, n)
		}
	}
	worker := newPlace(t, now, engine.Options{})
	worker.put(all)
	worker.work()
	got, want := p.items(), worker.items()
	fed(got)
	fed(want)
	delete(got, "SITE#shop#SHARD#1 BLOCK#not-a-ulid")
	equal(t, got, want)
	if !strings.Contains(p.said.String(), `"deadLetters":`) {
		t.Error("the metrics do not tell of dead letters")
	}
}

// An invocation without enough time responds before it ends, names the first record that it did not
// handle, and handles it later.
func TestTime(t *testing.T) {
	now := time.Now()
	p := newPlace(t, now, engine.Options{})
	p.put(facts(t, random(t), now, 300))
	pool := p.pool("stream", "ONEFOLD_PIECE=20")
	hold := make(chan struct{})
	p.hold.Store(&hold)
	m := p.mapping(pool, nil)
	m.Timeout = 700 * time.Millisecond
	answers := 0
	m.Call = func(ctx context.Context, payload []byte, limit time.Duration, kill <-chan struct{}) ([]byte, error) {
		answer, err := pool.Invoke(ctx, payload, limit, kill)
		must(t, err)
		if answers++; answers == 1 {
			var b struct {
				Records []struct {
					Changed struct{ SequenceNumber string } `json:"dynamodb"`
				}
			}
			must(t, json.Unmarshal(payload, &b))
			if want := fmt.Sprintf(`{"state":{},"batchItemFailures":[{"itemIdentifier":%q}]}`, b.Records[0].Changed.SequenceNumber); string(answer) != want {
				t.Errorf("answered %s, want %s", answer, want)
			}
			p.hold.Store(nil)
			close(hold)
			m.Timeout = time.Minute
		}
		return answer, err
	}
	must(t, m.Drain(t.Context()))
	if pool.Starts() != 1 || !strings.Contains(p.said.String(), "no_time: ") {
		t.Errorf("%d processes; the log does not tell that there was no time, or a process did not answer", pool.Starts())
	}
	var pages int64
	for s, err := range analytics.StatsByTime.All(t.Context(), p.table, analytics.StatsIn{SiteID: "shop", Period: analytics.Hour, From: "2000", To: "3000"}) {
		must(t, err)
		pages += s.PageViews
	}
	if want := pageViews(t, p.items()); pages != want {
		t.Errorf("%d page views, want %d", pages, want)
	}
}

func pageViews(t testing.TB, items map[string]table.Item) (n int64) {
	for _, e := range eventsOf(t, items) {
		if e.Name == "" {
			n++
		}
	}
	return n
}

// Invalid settings are reported once, at startup, with an error code and advice.
func TestSettings(t *testing.T) {
	good := []string{"AWS_LAMBDA_RUNTIME_API=127.0.0.1:1", "AWS_REGION=us-east-1", "ONEFOLD_MODE=stream", "ONEFOLD_STORE=dynamodb://onefold"}
	for _, c := range []struct{ change, want string }{
		{"AWS_LAMBDA_RUNTIME_API=", "no_lambda: "},
		{"ONEFOLD_MODE=", "bad_mode: "},
		{"ONEFOLD_MODE=worker", "set it to stream, work, ingest or schedule"},
		{"ONEFOLD_STORE=", "bad_store: "},
		{"ONEFOLD_STORE=embedded:data", "bad_store: "},
		{"ONEFOLD_PIECE=0", "bad_setting: "},
		{"ONEFOLD_PIECE=many", "bad_setting: "},
		{"ONEFOLD_MODE=work\nONEFOLD_FOLD_DELAY=6m", "bad_delay: "},
		{"ONEFOLD_MODE=work\nONEFOLD_VISIT_DELAY=-1s", "bad_delay: "},
		{"ONEFOLD_MODE=work\nONEFOLD_LEASE_FOR=1ms", "bad_setting: "},
		{"ONEFOLD_MODE=ingest\nONEFOLD_TRUSTED_PROXY=x", "use a network such as"},
		{"ONEFOLD_MODE=ingest\nONEFOLD_TRACKER_PATH=/api/event", "choose a path like"},
		{"ONEFOLD_MODE=schedule\nONEFOLD_SMTP=mail", "smtp"},
	} {
		cmd := exec.Command(binary)
		cmd.Env = append(good[:len(good):len(good)], strings.Split(c.change, "\n")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		var line struct{ Level, Error string }
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || json.Unmarshal(out.Bytes(), &line) != nil || !strings.Contains(line.Error, c.want) {
			t.Errorf("%s: %v, said %s, want %q", c.change, err, out.String(), c.want)
		}
	}
}

// Logs and metrics contain no personal data.
func TestNothingOfPeopleIsLogged(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	pool := p.pool("ingest")
	payload := bytes.ReplaceAll(read(t, "url.json"), []byte("192.0.2.7"), []byte("192.0.2.77"))
	_, err = pool.Invoke(t.Context(), payload, time.Minute, nil)
	must(t, err)
	out, err := p.db.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String(products.TableName), KeyConditionExpression: aws.String("pk = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "SITE#shop"}}})
	must(t, err)
	if len(out.Items) == 0 {
		t.Error("nothing was stored")
	}
	for _, secret := range []string{"192.0.2.77", "Firefox", "ada@example.org"} {
		if strings.Contains(p.said.String(), secret) {
			t.Errorf("the log has %s: %s", secret, p.said)
		}
	}
}

// The role of the function allows what folds write less often: sessions, alerts, and notifications
// about them; see guarded, which reports what the role does not allow.
func TestStreamRole(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	_, err = telemetry.CreateFleet(t.Context(), p.table, telemetry.NewFleet{ID: "plant"})
	must(t, err)
	_, err = telemetry.CreateDevice(t.Context(), p.table, telemetry.NewDevice{ID: "pump", FleetID: "plant"})
	must(t, err)
	_, err = alerts.PutChannel(t.Context(), p.table, alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: "plant", ChannelID: "ops"}, Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}, Within: -1,
	})
	must(t, err)
	_, err = alerts.CreateRule(t.Context(), p.table, telemetry.Rule{
		RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: "pump", RuleID: "hot"}, FleetID: "plant", Metric: "bar", Raise: "5", Clear: "4", Severity: telemetry.Critical,
	})
	must(t, err)
	_, err = analytics.NewCollector(p.table, analytics.CollectorOptions{}).Ingest(t.Context(), "shop", []analytics.Hit{{URL: "/", UserID: "ann", UserAgent: "Mozilla/5.0", Address: "192.0.2.1"}})
	must(t, err)
	c := telemetry.NewCollector(p.table, telemetry.CollectorOptions{})
	nine, err := telemetry.Number("9")
	must(t, err)
	for i := range 3 {
		_, err = c.Ingest(t.Context(), []telemetry.Incoming{{DeviceID: "pump", At: p.db.Now().Add(time.Duration(i-3) * time.Second), Values: telemetry.Values{"bar": nine}}})
		must(t, err)
	}
	must(t, p.mapping(p.pool("stream"), nil).Drain(t.Context()))
	open, err := telemetry.OpenAlerts.Collect(t.Context(), p.table, telemetry.SeverityIn{Severity: telemetry.Critical})
	must(t, err)
	sessions, err := analytics.SessionsOfUser.Collect(t.Context(), p.table, analytics.UserIn{UserID: "ann"})
	must(t, err)
	if len(open) != 1 || len(sessions) != 1 {
		t.Errorf("%d alerts and %d sessions", len(open), len(sessions))
	}
}
