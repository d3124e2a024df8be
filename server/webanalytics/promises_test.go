package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// TestPromises runs testdata/promises, which shows what docs/guides/analytics.md promises: events go
// in by HTTP, the folds run, and reports come out by HTTP. The site's day and clock are the test's.
//
//	site DAY                 a new, empty site, at the beginning of a day. Input, one setting a line:
//	                         "zone Europe/Berlin", "exclude path /admin/**", "property plan",
//	                         "exclude address 192.0.2.0/24", "respect dnt"
//	goal ID event NAME       a new goal. It may have value=2.50, and every, which counts each time
//	goal ID path PATTERN     instead of once per visit
//	send DAY                 Input, one event a line: "time visitor URL", then any of the fields of
//	                         header and body. The clock moves on to the event's time; an event before
//	                         the clock's time is late. The output counts the outcomes
//	clock DAY TIME           moves the clock on
//	fold                     folds the events sent so far
//	rollup                   adds up the days that are over, and their months
//	recount                  counts goals in the events that arrived before the goal, and folds
//	erase USER               erases a person, and folds
//	events                   the raw events
//	sessions                 the visits, with the times of their first and last event
//	report FROM [TO]         totals, and buckets with by=hour, by=day or by=month. Empty hours are left out
//	breakdown BY FROM [TO]   the values of a dimension, and their sum
//	goals FROM [TO]          the goals' conversions
//	verify FROM [TO]         compares everything derived with what the raw events give
//
// Times and days are in the site's zone. The column time is the total duration of visits.
func TestPromises(t *testing.T) {
	datadriven.Walk(t, "testdata/promises", func(t *testing.T, path string) {
		t.Parallel()
		var p *promise
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "site" {
				p = newPromise(t, d.CmdArgs[0].Key, d.Input)
				return ""
			}
			return p.run(d)
		})
	})
}

// promise is a site with its server, folds and clock.
type promise struct {
	*servertest.Server
	db     *enginetest.DB
	zone   *time.Location
	people map[string]int
	n      int // events sent
}

func newPromise(t *testing.T, day, settings string) *promise {
	t.Helper()
	p := &promise{zone: time.UTC, people: map[string]int{}}
	for line := range strings.Lines(settings) {
		if zone, ok := strings.CutPrefix(strings.TrimSpace(line), "zone "); ok {
			var err error
			p.zone, err = time.LoadLocation(zone)
			servertest.Must(t, err)
		}
	}
	start, err := time.ParseInLocation(time.DateOnly, day, p.zone)
	servertest.Must(t, err)
	p.db = enginetest.New(t, enginetest.At(start))
	p.Server = servertest.On(t, p.db, func(o *server.Options) { o.TrustProxy = true })
	p.Settings(func(s *analytics.Site) {
		s.TimeZone = p.zone.String()
		for line := range strings.Lines(settings) {
			set(t, s, strings.Fields(line))
		}
	})
	return p
}

func set(t *testing.T, s *analytics.Site, words []string) {
	t.Helper()
	last := words[len(words)-1]
	switch strings.Join(words[:len(words)-1], " ") {
	case "zone":
	case "exclude path":
		s.Exclude.Paths = append(s.Exclude.Paths, last)
	case "exclude address":
		s.Exclude.Addresses = append(s.Exclude.Addresses, last)
	case "respect":
		s.RespectDNT, s.RespectGPC = s.RespectDNT || last == "dnt", s.RespectGPC || last == "gpc"
	case "property":
		s.CustomProperties = append(s.CustomProperties, last)
	default:
		t.Fatalf("there is no setting %q", words)
	}
}

func (p *promise) run(d *datadriven.TestData) string {
	p.Helper()
	switch d.Cmd {
	case "goal":
		p.goal(strings.Fields(d.FullCmd())[1:])
	case "send":
		return p.send(d.CmdArgs[0].Key, d.Input)
	case "clock":
		p.wait(p.at(d.CmdArgs[0].Key, d.CmdArgs[1].Key))
	case "fold":
		p.fold()
	case "rollup":
		_, err := reconcile.RollUp(p.Context(), p.Table, "blog", p.db.Now())
		servertest.Must(p.T, err)
		p.fold()
	case "recount":
		return p.recount()
	case "erase":
		return p.erase(d.CmdArgs[0].Key)
	case "verify":
		return p.verify(d)
	default:
		return p.show(d)
	}
	return ""
}

func (p *promise) fold() {
	p.Helper()
	servertest.Must(p.T, p.Worker.Drain(p.Context()))
}

// wait moves the clock on. Folds must read a change within a day, so they run in longer waits.
func (p *promise) wait(until time.Time) {
	p.Helper()
	const most = 12 * time.Hour
	for by := until.Sub(p.db.Now()); by > 0; by = until.Sub(p.db.Now()) {
		if by >= most {
			p.fold()
		}
		p.db.Advance(min(by, most))
	}
}

// at parses a time of the site's day, which may have an offset from UTC: 02:30+01:00.
func (p *promise) at(day, clock string) time.Time {
	p.Helper()
	for _, layout := range []string{"15:04", "15:04:05", "15:04Z07:00"} {
		if at, err := time.ParseInLocation("2006-01-02 "+layout, day+" "+clock, p.zone); err == nil {
			return at
		}
	}
	p.Fatalf("%s %s is no time", day, clock)
	return time.Time{}
}

func (p *promise) goal(words []string) {
	p.Helper()
	g := analytics.Goal{GoalKey: analytics.GoalKey{SiteID: "blog", GoalID: words[0]}, Name: words[0]}
	switch words[1] {
	case "event":
		g.Event = words[2]
	case "path":
		g.Path = words[2]
	default:
		p.Fatalf("a goal is an event or a path, not %q", words[1])
	}
	for _, word := range words[3:] {
		value, ok := strings.CutPrefix(word, "value=")
		switch {
		case ok:
			g.Value = value
		case word == "every":
			g.Counting = analytics.EveryTime
		default:
			p.Fatalf("a goal has no %q", word)
		}
	}
	_, err := goals.Create(p.Context(), p.Table, g)
	servertest.Must(p.T, err)
	p.Collector.Forget("blog")
}

// send sends each line as a browser would, and counts the outcomes.
func (p *promise) send(day, lines string) string {
	p.Helper()
	var outcomes []string
	count := map[string]int{}
	for line := range strings.Lines(lines) {
		got := p.sendOne(day, strings.Fields(line))
		if count[got]++; count[got] == 1 {
			outcomes = append(outcomes, got)
		}
	}
	for i, o := range outcomes {
		outcomes[i] = fmt.Sprint(count[o], " ", o)
	}
	return strings.Join(outcomes, "\n") + "\n"
}

func (p *promise) sendOne(day string, words []string) string {
	p.Helper()
	at, visitor := p.at(day, words[0]), words[1]
	if p.people[visitor] == 0 {
		p.people[visitor] = len(p.people) + 1
	}
	p.n++
	id := fmt.Sprint("event ", p.n)
	headers := []string{"X-Forwarded-For", fmt.Sprint("192.0.2.", p.people[visitor])}
	body := map[string]any{"site": "blog", "url": words[2]}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "id":
			id = value
		case "agent":
			headers = append(headers, "User-Agent", value)
		case "country":
			headers = append(headers, "CF-IPCountry", value)
		case "address":
			headers[1] = value
		case "dnt":
			headers = append(headers, "DNT", value)
		case "gpc":
			headers = append(headers, "Sec-GPC", value)
		default:
			p.field(body, name, value)
		}
	}
	body["id"] = eventID(at, id)
	p.wait(at)
	text, err := json.Marshal(body)
	servertest.Must(p.T, err)
	return p.outcome(p.Post("/api/event", string(text), headers...))
}

// field sets a field of an event's body.
func (p *promise) field(body map[string]any, name, value string) {
	p.Helper()
	switch name {
	case "event":
		body["name"] = value
	case "user":
		body["userId"] = value
	case "session":
		body["sessionId"] = value
	case "referrer", "revenue":
		body[name] = value
	case "engaged":
		d, err := time.ParseDuration(value)
		servertest.Must(p.T, err)
		body["name"], body["engagedMs"] = analytics.EngagementEvent, d.Milliseconds()
	case "scroll":
		body["scroll"] = json.Number(value)
	case "plan":
		body["props"] = map[string]string{"plan": value}
	default:
		p.Fatalf("an event has no %q", name)
	}
}

// eventID returns the ID that a client makes: the event's time and, instead of chance, a name.
func eventID(at time.Time, name string) string {
	var id ulid.ULID
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	copy(id[8:], h.Sum(nil))
	_ = id.SetTime(ulid.Timestamp(at)) // fails after the year 10889
	return id.String()
}

func (p *promise) outcome(status int, body string) string {
	p.Helper()
	var answer struct{ Outcomes []analytics.Outcome }
	if status != http.StatusAccepted {
		p.Fatalf("%d %s", status, body)
	}
	servertest.Must(p.T, json.Unmarshal([]byte(body), &answer))
	o := answer.Outcomes[0]
	if o.Reason != "" {
		return fmt.Sprintf("%s: %s", o.Status, o.Reason)
	}
	return string(o.Status)
}

// recount waits until every collector knows the goals.
func (p *promise) recount() string {
	p.Helper()
	p.fold()
	p.wait(p.db.Now().Add(analytics.SettingsNotice))
	done, err := goals.Backfill(p.Context(), p.Table, "blog")
	servertest.Must(p.T, err)
	p.fold()
	return fmt.Sprintf("%d of %d events changed\n", done.Changed, done.Events)
}

func (p *promise) erase(user string) string {
	p.Helper()
	r, err := erasure.User(p.Context(), p.Table, p.Worker, "blog", user)
	if err != nil {
		return err.Error() + "\n"
	}
	p.fold()
	return fmt.Sprintf("erased %d events, %d visits, %d visitor's days, from %s to %s\n", r.Deleted.Events, r.Deleted.Sessions, r.Deleted.Visitors, r.FirstDay, r.LastDay)
}

func (p *promise) verify(d *datadriven.TestData) string {
	p.Helper()
	from, to := days(d, 0)
	found, err := reconcile.Verify(p.Context(), p.Table, p.Worker, reconcile.RangeIn{Site: "blog", From: from, To: to}, nil)
	servertest.Must(p.T, err)
	if found.Count == 0 && len(found.Busy)+found.SealedDays == 0 {
		return "clean\n"
	}
	return fmt.Sprintf("%+v\n", found)
}

// days returns the first and last day of a command, whose argument with this index is the first.
func days(d *datadriven.TestData, first int) (from, to string) {
	from, to = d.CmdArgs[first].Key, d.CmdArgs[first].Key
	if len(d.CmdArgs) > first+1 && len(d.CmdArgs[first+1].Vals) == 0 {
		to = d.CmdArgs[first+1].Key
	}
	return from, to
}
