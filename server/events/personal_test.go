package events_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

const (
	people    = "/api/v1/events/aggregates/person"
	subjects  = "/api/v1/events/subjects"
	typePaths = "/api/v1/events/event-types"
)

// personSchema is a schema with personal data: a text, an object, and metadata.
const personSchema = `{"schema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"plan":{"type":"string"},
	"name":{"type":"string","x-personal-data":"id"},"home":{"type":"object","x-personal-data":"id"}},"x-personal-metadata":{"ip":"id"}}}`

// office is a shop whose server has master keys, on a database of the test's own.
type office struct {
	*shop
	options server.Options
	seeing  []string // header with a key that may see personal data
}

func newOffice(t *testing.T, db servertest.DB, masters ...shred.Master) *office {
	t.Helper()
	o := new(office)
	o.shop = furnish(servertest.On(t, db, func(options *server.Options) {
		options.Events.Keys = keysOf(t, options.Table, masters...)
		o.options = *options
	}))
	o.seeing = o.limitedKey(`"personalData":true`)
	return o
}

func keysOf(t *testing.T, on *table.Table, masters ...shred.Master) *shred.KeyStore {
	t.Helper()
	k, err := shred.New(on, shred.Options{Masters: masters, Sleep: func(context.Context, time.Duration) error { return nil }})
	servertest.Must(t, err)
	return k
}

func newMaster(t *testing.T) shred.Master {
	t.Helper()
	m, err := shred.NewMaster(time.Now())
	servertest.Must(t, err)
	return m
}

// again starts another server on the same table, as after a restart, with other keys.
func (o *office) again(masters ...shred.Master) *office {
	o.Helper()
	options := o.options
	if options.Events.Keys = nil; len(masters) > 0 {
		options.Events.Keys = keysOf(o.T, o.Table, masters...)
	}
	s, err := server.New(options)
	servertest.Must(o.T, err)
	web := httptest.NewServer(s.Handler())
	o.Cleanup(web.Close)
	o.Cleanup(s.Close)
	house := *o.Server
	house.URL, house.Server = web.URL, s
	copied := *o.shop
	copied.Server, copied.owner = &house, &servertest.Person{Server: &house, Web: o.owner.Web, CSRF: o.owner.CSRF}
	return &office{&copied, options, o.seeing}
}

func memory(t *testing.T) *engine.DB {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{})
	servertest.Must(t, err)
	t.Cleanup(func() { servertest.Must(t, db.Close()) })
	return db
}

func registered(subject, name, street, ip string) string {
	return fmt.Sprintf(`{"events":[{"type":"Registered","data":{"id":%q,"name":%q,"home":{"street":%q},"plan":"gold"},"metadata":{"ip":%q,"page":"3"}}]}`, subject, name, street, ip)
}

// everyRoute reads the events in all ways that there are, with a key.
func (o *office) everyRoute(key []string) map[string]string {
	o.Helper()
	servertest.Must(o.T, o.Worker.Drain(o.Context()))
	web, all := o.Browser(), map[string]string{}
	for name, path := range map[string]string{
		"read": people + "/1/events", "backwards": people + "/1/events?backwards=true", "export": people + "/1/export", "state": people + "/1/state",
		"feed": "/api/v1/events/feed", "of type": "/api/v1/events/of-type/Registered", "correlated": "/api/v1/events/correlated?id=story",
	} {
		all[name] = web.Want(200, "gold", "GET", path, "", key...)
	}
	all["query"] = web.Want(200, "gold", "POST", "/api/v1/events/query", `{"query":[{"tags":["all"]}]}`, key...)
	all["conflict"] = web.Want(409, "gold", "POST", people+"/1/events", `{"expected":0,"events":[{"type":"A"}]}`, key...)
	all["query conflict"] = web.Want(409, "gold", "POST", "/api/v1/events/appends", `{"appends":[{"type":"person","id":"2","events":[{"type":"A"}]}],"unless":{"query":[{"tags":["all"]}]}}`, key...)
	all["tail"], all["tail of all"] = o.firstOf("GET", people+"/1/tail?after=0", "", key), o.firstOf("GET", "/api/v1/events/tail?after=0", "", key)
	name := rand.Text()
	web.Want(201, "", "PUT", subscriptions+"/"+name, `{}`, key...)
	all["stream of deliveries"] = o.firstOf("POST", subscriptions+"/"+name+"/stream", `{"events":1}`, key)
	web.Want(201, "", "PUT", subscriptions+"/again"+name, `{}`, key...)
	all["receive"] = web.Want(200, "gold", "POST", subscriptions+"/again"+name+"/receive", `{}`, key...)
	return all
}

// firstOf returns the first event of a stream of server-sent events.
func (o *office) firstOf(method, path, body string, key []string) string {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, o.URL+path, strings.NewReader(body))
	servertest.Must(o.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(key[0], key[1])
	answer, err := http.DefaultClient.Do(r)
	servertest.Must(o.T, err)
	defer answer.Body.Close()
	var read strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(read.String(), "gold"); {
		n, err := answer.Body.Read(buffer)
		if read.Write(buffer[:n]); err != nil {
			o.Fatalf("%s ended: %v: %s", path, err, read.String())
		}
	}
	return read.String()
}

// Personal data is returned to those who may see it, on every route, after a restart, too. Others get
// placeholders, and so does everybody once the person is erased.
func TestPersonalData(t *testing.T) {
	master := newMaster(t)
	o := newOffice(t, memory(t), master)
	web := o.Browser()
	o.owner.Want(200, `"x-personal-data":"id"`, "PUT", typePaths+"/Registered/schema", personSchema)
	event := strings.Replace(registered("p-1", "Ada Lovelace", "Baker Street", "192.0.2.77"), `"type":`, `"tags":["all"],"correlationId":"story","type":`, 1)
	web.Want(201, `"version":1`, "POST", people+"/1/events", event, o.keys[accounts.Ingest]...)
	words := []string{"Ada Lovelace", "Baker Street", "192.0.2.77"}
	check := func(o *office, when string, key []string, sees bool, placeholder string) {
		t.Helper()
		for route, answer := range o.everyRoute(key) {
			for _, word := range words {
				metadata := word == words[2]
				if has := strings.Contains(answer, word); has != sees && !(sees && metadata && route == "state") {
					t.Errorf("%s, %s: says %q: %v: %s", when, route, word, has, answer)
				}
			}
			if !sees && (!strings.Contains(answer, placeholder) || !strings.Contains(answer, `"home":null`)) || strings.Contains(answer, "$sealed") {
				t.Errorf("%s, %s: %s", when, route, answer)
			}
		}
	}
	restarted, without := o.again(master), o.again()
	for when, at := range map[string]*office{"first": o, "restarted": restarted} {
		check(at, when+", key that sees", o.seeing, true, "")
		check(at, when+", other key", o.keys[accounts.Write], false, shred.Redacted)
	}
	check(without, "without master key", o.seeing, false, shred.Redacted)
	o.owner.Want(200, words[0], "GET", people+"/1/events", "")
	viewer := o.NewPerson("v@example.org", accounts.Grants{accounts.EventStore: accounts.Viewer})
	viewer.Want(200, shred.Redacted, "GET", people+"/1/events", "")

	web.Want(200, `"aggregates":[{"type":"person","id":"1"}]`, "GET", subjects+"/p-1", "", o.keys[accounts.Read]...)
	web.Want(403, "forbidden", "POST", subjects+"/p-1/erase", "", o.keys[accounts.Read]...)
	web.Want(403, "key_limited", "POST", subjects+"/p-1/erase", "", o.limitedKey(`"tenant":"acme"`)...)
	without.Browser().Want(409, "no_master_key", "POST", subjects+"/p-1/erase", "", o.keys[accounts.Write]...)
	for _, none := range []string{"p-2", "a%23b"} {
		web.Want(404, "no_such_subject", "POST", subjects+"/"+none+"/erase", "", o.keys[accounts.Write]...)
		web.Want(404, "no_such_subject", "GET", subjects+"/"+none, "", o.keys[accounts.Read]...)
	}
	for range 2 {
		receipt := web.Want(200, `"subject":"p-1"`, "POST", subjects+"/p-1/erase", "", o.keys[accounts.Write]...)
		if !strings.Contains(receipt, `"aggregateCount":1,"aggregates":[{"type":"person","id":"1"}]`) || strings.Contains(receipt, "finishedAt") {
			t.Error(receipt)
		}
	}
	for when, at := range map[string]*office{"erased": o, "erased and restarted": o.again(master)} {
		check(at, when, o.seeing, false, shred.Erased)
	}
	web.Want(409, "subject_erased", "POST", people+"/1/events", event, o.keys[accounts.Ingest]...)
	web.Want(200, `"erasedAt":"20`, "GET", subjects+"/p-1", "", o.keys[accounts.Read]...)
	o.owner.Want(200, `"action":"subject.erase"`, "GET", "/api/v1/audit", "")
}

// A server stores personal fields encrypted, whoever has declared them, or refuses the append.
func TestPersonalFieldsAreNeverPlain(t *testing.T) {
	o := newOffice(t, memory(t), newMaster(t))
	without := o.again()
	without.owner.Want(409, "no_master_key", "PUT", typePaths+"/Registered/schema", personSchema)
	o.owner.Want(404, "no_such_schema", "GET", typePaths+"/Registered/schema", "")
	schema, err := eventschema.Parse([]byte(`{"properties":{"who":{},"name":{"x-personal-data":"who"}}}`)) // by a program
	servertest.Must(t, err)
	_, err = eventschema.Put(t.Context(), o.Table, eventschema.Key{EventType: "Renamed", Version: 1}, schema)
	servertest.Must(t, err)
	const event = `{"commitId":"c","events":[{"type":"Renamed","data":{"who":"7","name":"Ada"}}]}`
	without.owner.Want(422, "personal_fields", "POST", people+"/1/events", event)
	without.owner.Want(404, "no_such_aggregate", "GET", people+"/1", "")
	o.owner.Want(201, "", "POST", people+"/1/events", event)
	o.owner.Want(200, `"again":true`, "POST", people+"/1/events", event)
	without.owner.Want(422, "personal_fields", "POST", people+"/1/events", strings.Replace(event, `"c"`, `"d"`, 1))
	without.owner.Want(201, "", "POST", people+"/1/events", `{"events":[{"type":"Other","data":{"name":"nobody"}}]}`)
	for data, code := range map[string]string{`{"name":"Ada"}`: "no_subject", `{"who":"a#b","name":"Ada"}`: "no_subject", `{"who":{"id":1},"name":"Ada"}`: "no_subject", `"text"`: "invalid_request"} {
		o.owner.Want(422, code, "POST", people+"/2/events", `{"events":[{"type":"Renamed","data":`+data+`}]}`)
	}
	o.owner.Want(422, "commit_reused", "POST", people+"/1/events", strings.Replace(event, "Ada", "Eve", 1))
	plain, err := eventstore.New(o.Table, eventstore.Options{})
	servertest.Must(t, err)
	for e, err := range plain.Read(t.Context(), eventstore.ID{Type: "person", ID: "1"}) {
		if err != nil || strings.Contains(string(e.Payload), "Ada") {
			t.Errorf("%s, %v", e.Payload, err)
		}
	}
}

// With other master keys, nothing is stored, and everything is there with the right one.
func TestWrongMasterKey(t *testing.T) {
	right := newMaster(t)
	o := newOffice(t, memory(t), right)
	o.owner.Want(200, "", "PUT", typePaths+"/Registered/schema", personSchema)
	o.owner.Want(201, "", "POST", people+"/1/events", registered("p-1", "Ada Lovelace", "Baker Street", ""))
	forged := shred.Master{ID: right.ID, Key: newMaster(t).Key}
	for name, masters := range map[string][]shred.Master{"another key": {newMaster(t)}, "another with the same name": {forged}} {
		wrong := o.again(masters...)
		wrong.owner.Want(500, "unreadable", "GET", people+"/1/events", "")
		wrong.owner.Want(200, shred.Redacted, "GET", people+"/1/events", "", o.keys[accounts.Read]...)
		wrong.owner.Want(500, "wrong_master_key", "POST", people+"/1/events", registered("p-2", "Grace Hopper", "", ""))
		wrong.owner.Want(500, "wrong_master_key", "POST", people+"/9/events", registered("p-1", "Grace Hopper", "", ""))
		wrong.owner.Want(404, "no_such_subject", "GET", subjects+"/p-2", "")
		if err := wrong.options.Events.Keys.Verify(t.Context()); !errors.Is(err, shred.ErrMaster) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := o.again(newMaster(t), right)
	again.owner.Want(200, "Ada Lovelace", "GET", people+"/1/events", "")
	again.owner.Want(201, "", "POST", people+"/1/events", registered("p-2", "Grace Hopper", "", ""))
}

// slowErasure has an erasure that takes until it may end.
type slowErasure struct {
	*office
	running, end chan bool
	arrived      chan bool // has an element for each request to erase

	mu   sync.Mutex
	runs map[eventstore.ID]int // at the same time
	most int
}

func newSlowErasure(t *testing.T) *slowErasure {
	s := &slowErasure{office: new(office), running: make(chan bool, 100), end: make(chan bool), arrived: make(chan bool, 100), runs: map[eventstore.ID]int{}}
	s.shop = furnish(servertest.On(t, memory(t), func(options *server.Options) {
		keys, err := shred.New(options.Table, shred.Options{Masters: []shred.Master{newMaster(t)}, Remake: s.remake, Sleep: func(context.Context, time.Duration) error { return nil }})
		servertest.Must(t, err)
		options.Events.Keys = keys
	}))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/erase") {
			s.arrived <- true
		}
		s.Server.Server.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.URL = front.URL
	return s
}

func (s *slowErasure) remake(id eventstore.ID) error {
	s.count(id, 1)
	defer s.count(id, -1)
	s.running <- true
	<-s.end
	return nil
}

func (s *slowErasure) count(id eventstore.ID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[id] += n
	s.most = max(s.most, s.runs[id])
}

// erase begins to erase a person, and returns once the request has arrived.
func (s *slowErasure) erase(subject string) (receipt chan string) {
	receipt = make(chan string, 1)
	go func() {
		_, answer := s.Browser().Do("POST", subjects+"/"+subject+"/erase", "", s.keys[accounts.Write]...)
		receipt <- answer
	}()
	<-s.arrived
	return receipt
}

// Requests to erase a person while an erasure of the person is running wait for that one, so that its
// receipt can be had, however long it takes. They do not keep others from being erased.
func TestRepeatedErasure(t *testing.T) {
	s := newSlowErasure(t)
	s.owner.Want(200, "", "PUT", typePaths+"/Registered/schema", personSchema)
	receipts := map[string][]chan string{}
	for i, subject := range []string{"p-1", "p-2"} {
		s.owner.Want(201, "", "POST", fmt.Sprint(people, "/", i, "/events"), registered(subject, "Ada Lovelace", "Baker Street", ""))
		for n := range 6 {
			if receipts[subject] = append(receipts[subject], s.erase(subject)); n == 0 {
				<-s.running
			}
		}
	}
	close(s.end)
	for subject, all := range receipts {
		for _, receipt := range all {
			if got := <-receipt; !strings.Contains(got, fmt.Sprintf(`"subject":%q`, subject)) || !strings.Contains(got, `"aggregateCount":1`) {
				t.Errorf("the receipt of %s: %s", subject, got)
			}
		}
	}
	if s.most != 1 {
		t.Errorf("%d erasures of a person were running at the same time", s.most)
	}
}

// While people are erased, others append. Each event is either refused or unreadable afterwards, and
// no answer has a person's data after the server said that the person was erased.
func TestEraseWhileAppending(t *testing.T) {
	o := newOffice(t, memory(t), newMaster(t))
	o.owner.Want(200, "", "PUT", typePaths+"/Registered/schema", personSchema)
	o.owner.Want(201, "", "POST", people+"/0/events", registered("p-1", "Ada Lovelace", "Baker Street", ""))
	var work sync.WaitGroup
	stored := make([]int, 4)
	started := make(chan struct{}, len(stored))
	for i := range stored {
		work.Go(func() {
			web := o.Browser()
			for n := 0; ; n++ {
				status, answer := web.Do("POST", fmt.Sprintf("%s/%d/events", people, i), registered("p-1", "Ada Lovelace", "Baker Street", ""), o.keys[accounts.Write]...)
				if n == 0 {
					started <- struct{}{}
				}
				if status != 201 {
					if status != 409 || !strings.Contains(answer, "subject_erased") {
						t.Errorf("%d %s", status, answer)
					}
					return
				}
				stored[i]++
			}
		})
	}
	for range stored {
		<-started
	}
	o.Browser().Want(200, "", "POST", subjects+"/p-1/erase", "", o.keys[accounts.Write]...)
	_, read := o.Browser().Do("GET", people+"/0/export", "", o.seeing...)
	work.Wait()
	total := 0
	for i := range stored {
		_, late := o.Browser().Do("GET", fmt.Sprintf("%s/%d/export", people, i), "", o.seeing...)
		read += late
		total += strings.Count(late, `"type":"Registered"`)
	}
	if strings.Contains(read, "Ada") || strings.Contains(read, "Baker") {
		t.Errorf("read after the erasure: %.500s", read)
	}
	sum := 1
	for _, n := range stored {
		sum += n
	}
	if total != sum {
		t.Errorf("%d events, appended %d", total, sum)
	}
	receipt := o.Browser().Want(200, "", "POST", subjects+"/p-1/erase", "", o.keys[accounts.Write]...)
	if !strings.Contains(receipt, `"aggregateCount":4`) {
		t.Errorf("the receipt of a later erasure: %s", receipt)
	}
}
