package fleetquery_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/fleetquery/fleetparquet"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// plant is a server with a fleet of three devices that have measured for two hours, a minute apart.
type plant struct {
	*servertest.Server
	start time.Time
	key   string // reads the fleet
}

func newPlant(t *testing.T) *plant {
	t.Helper()
	p := &plant{Server: servertest.New(t, func(o *server.Options) { o.Fleets.Parquet = fleetparquet.Write }), start: time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)}
	ctx := t.Context()
	for _, fleet := range []string{"plant", "other"} {
		_, err := telemetry.CreateFleet(ctx, p.Table, telemetry.NewFleet{ID: fleet, TimeZone: "Europe/Berlin", Limits: telemetry.Limits{PerMinute: 100_000}})
		servertest.Must(t, err)
	}
	_, err := telemetry.PutProfile(ctx, p.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "meter"}, FleetID: "plant", Metrics: []telemetry.MetricDef{
		{Name: "pulses", Kind: telemetry.Counter, Unit: "kWh"}, {Name: "temp", Kind: telemetry.Gauge, Unit: "C"}, {Name: "=mode", Kind: telemetry.State},
	}})
	servertest.Must(t, err)
	c := telemetry.NewCollector(p.Table, telemetry.CollectorOptions{})
	var all []telemetry.Incoming
	for n, d := range []telemetry.NewDevice{{ID: "a", Tags: []string{"north"}}, {ID: "b", Tags: []string{"north", "=wet"}}, {ID: "c"}} {
		d.FleetID, d.ProfileID = "plant", "meter"
		_, err := telemetry.CreateDevice(ctx, p.Table, d)
		servertest.Must(t, err)
		for m := range 120 {
			all = append(all, telemetry.Incoming{DeviceID: d.ID, At: p.start.Add(time.Duration(m) * time.Minute), Imported: true, Values: telemetry.Values{
				"temp": number(m%60 + 100*n), "pulses": number(m), "cpu.idle{cpu=cpu0}": number(50), "=mode": telemetry.Text([]string{"=on", "off"}[m/90]),
			}})
		}
	}
	_, err = c.Ingest(ctx, all)
	servertest.Must(t, err)
	servertest.Must(t, p.Worker.Drain(ctx))
	_, p.key, err = p.Accounts.AddKey(ctx, accounts.NewKey{Site: accounts.OfFleet("plant"), Scope: accounts.Read})
	servertest.Must(t, err)
	return p
}

func number(n int) telemetry.Value {
	v, err := telemetry.Number(fmt.Sprint(n))
	if err != nil {
		panic(err)
	}
	return v
}

// query asks for figures of the two hours.
func (p *plant) query(parameters string) (int, string) {
	p.Helper()
	path := fmt.Sprintf("/api/v1/fleets/plant/query?from=%s&to=%s&%s", p.start.Format(time.RFC3339), p.start.Add(2*time.Hour).Format(time.RFC3339), parameters)
	return p.Get(path, "Authorization", "Bearer "+p.key)
}

// Figures are sent in every format, with the same rows. What a spreadsheet would run is made harmless.
func TestFiguresInEveryFormat(t *testing.T) {
	p := newPlant(t)
	first, second := p.start.Format(time.RFC3339), p.start.Add(time.Hour).Format(time.RFC3339)
	for parameters, want := range map[string]string{
		"metric=temp":                                                             `{"rows":[{"group":"","at":"` + first + `","value":129.5},{"group":"","at":"` + second + `","value":129.5}],"devices":3,"aggregates":6,"readings":0}`,
		"metric=temp&function=p50&step=all":                                       `{"rows":[{"group":"","at":"` + first + `","value":129}],"devices":3,"aggregates":6,"readings":0}`,
		"metric=temp&function=max&groupBy=tag&step=all":                           `{"rows":[{"group":"","at":"` + first + `","value":259},{"group":"=wet","at":"` + first + `","value":159},{"group":"north","at":"` + first + `","value":159}],"devices":3,"aggregates":6,"readings":0}`,
		"metric=temp&function=sum&device=a&device=b&step=all&source=readings":     `{"rows":[{"group":"","at":"` + first + `","value":19080}],"devices":2,"aggregates":0,"readings":240}`,
		"metric=pulses&function=increase&tag=north":                               `{"rows":[{"group":"","at":"` + first + `","value":118},{"group":"","at":"` + second + `","value":120}],"devices":2,"aggregates":4,"readings":0}`,
		"metric=pulses&function=rate&profile=meter&groupBy=profile&format=csv":    "group,at,state,value\nmeter," + first + ",,0.049166666666666666667\nmeter," + second + ",,0.05\n",
		"metric=%3Dmode&function=durations&device=a&step=all&format=jsonl":        `{"group":"","at":"` + first + `","state":"=on","value":5400}` + "\n" + `{"group":"","at":"` + first + `","state":"off","value":1800}` + "\n",
		"metric=%3Dmode&function=durations&device=a&step=all&format=csv":          "group,at,state,value\n," + first + ",'=on,5400\n," + first + ",off,1800\n",
		"metric=%3Dmode&function=last&groupBy=tag&step=90m&tag=%3Dwet&format=csv": "group,at,state,value\n'=wet," + first + ",,'=on\n'=wet," + p.start.Add(90*time.Minute).Format(time.RFC3339) + ",,off\nnorth," + first + ",,'=on\nnorth," + p.start.Add(90*time.Minute).Format(time.RFC3339) + ",,off\n",
		"metric=nothing": `{"rows":[],"devices":3,"aggregates":6,"readings":0}`,
	} {
		if status, got := p.query(parameters); status != http.StatusOK || strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %d %s\nwant %s", parameters, status, got, want)
		}
	}
	_, file := p.query("metric=temp&function=avg&groupBy=device&format=parquet")
	rows, err := parquet.Read[struct {
		Group string    `parquet:"group"`
		At    time.Time `parquet:"at,timestamp(millisecond)"`
		Value *float64  `parquet:"value,optional"`
		Text  string    `parquet:"text"`
	}](bytes.NewReader([]byte(file)), int64(len(file)))
	servertest.Must(t, err)
	if len(rows) != 6 || rows[2].Group != "b" || !rows[3].At.Equal(p.start.Add(time.Hour)) || *rows[3].Value != 129.5 || rows[3].Text != "129.5" {
		t.Errorf("%d rows, %+v", len(rows), rows)
	}
}

// Errors say what to change, with a stable code. Nothing of another fleet is shown.
func TestErrorsOfQueries(t *testing.T) {
	p := newPlant(t)
	for parameters, want := range map[string]string{
		"metric=temp&function=median":                 "invalid_query",
		"metric=temp&function=p101":                   "invalid_query",
		"metric=temp&function=pNaN":                   "invalid_query",
		"metric=temp&step=0s":                         "invalid_query",
		"metric=temp&step=1.5s":                       "invalid_query",
		"metric=temp&step=-1h":                        "invalid_query",
		"metric=temp&step=1s&function=count&device=a": "",
		"metric=temp&step=1s&groupBy=device&to2=x":    "unknown_parameter",
		"metric=a%23b":                                "invalid_query",
		"metric=temp&device=theirs":                   "invalid_query",
		"metric=temp&device=a%23":                     "invalid_query",
		"metric=temp&groupBy=colour":                  "invalid_request",
		"metric=temp&tag=a%23b":                       "",
	} {
		status, got := p.query(parameters)
		if want == "" && status != http.StatusOK || want != "" && !strings.Contains(got, "urn:onefold:error:"+want+`"`) {
			t.Errorf("%s: %d %.300s, want %s", parameters, status, got, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/fleets/plant/query?metric=temp&step=1s":                   "query_too_large",
		"/api/v1/fleets/plant/query?metric=temp&from=1900-01-01T00:00:00Z": "invalid_query",
		"/api/v1/fleets/other/query?metric=temp":                           "forbidden",
		"/api/v1/fleets/nowhere/query?metric=temp":                         "forbidden",
		"/api/v1/fleets/other/prometheus/api/v1/query?query=1":             "forbidden",
	} {
		if status, got := p.Get(path, "Authorization", "Bearer "+p.key); !strings.Contains(got, "urn:onefold:error:"+want+`"`) {
			t.Errorf("%s: %d %.300s, want %s", path, status, got, want)
		}
	}
}

// grafana sends a request as Grafana's data source for Prometheus does: with the key as the password of
// basic authentication.
func (p *plant) grafana(method, path string, parameters url.Values, headers ...string) (int, string) {
	p.Helper()
	address, body := p.URL+"/api/v1/fleets/plant/prometheus"+path, ""
	if method == http.MethodPost {
		body = parameters.Encode()
	} else if len(parameters) > 0 {
		address += "?" + parameters.Encode()
	}
	r, err := http.NewRequestWithContext(p.Context(), method, address, strings.NewReader(body))
	servertest.Must(p.T, err)
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("grafana:"+p.key)))
	r.Header.Set("User-Agent", "Grafana/12.2.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.Do(r, headers)
}

// The requests that Grafana's data source sends when it is saved and tested, when a query is built, and
// for panels and variables.
func TestGrafana(t *testing.T) {
	p := newPlant(t)
	start, end := p.start, p.start.Add(2*time.Hour)
	unix := func(at time.Time) string { return fmt.Sprint(at.Unix()) }
	within := func(more ...string) url.Values {
		v := url.Values{"start": {unix(start)}, "end": {unix(end)}}
		for i := 0; i < len(more); i += 2 {
			v.Add(more[i], more[i+1])
		}
		return v
	}
	for _, c := range []struct {
		name, method, path string
		parameters         url.Values
		want               []string
	}{
		{"save and test", "POST", "/api/v1/query", url.Values{"query": {"1+1"}, "time": {"4"}}, []string{`{"data":{"resultType":"scalar","result":[4,"2"]},"status":"success"}`}},
		{"build information", "GET", "/api/v1/status/buildinfo", nil, []string{`"version":"3.0.0"`, `"status":"success"`}},
		{"metrics of the builder", "GET", "/api/v1/label/__name__/values", within(), []string{`["=mode","cpu.idle","pulses","temp"]`}},
		{"metadata", "GET", "/api/v1/metadata", nil, []string{`"pulses":[{"type":"counter","help":"","unit":"kWh"}]`, `"=mode":[{"type":"unknown"`}},
		{"labels of a metric", "GET", "/api/v1/labels", within("match[]", "temp"), []string{`["__name__","device","profile","tags"]`}},
		{"labels, long", "POST", "/api/v1/labels", within("match[]", `{__name__="cpu.idle"}`), []string{`["__name__","cpu","device","profile","tags"]`}},
		{"values of a variable", "GET", "/api/v1/label/device/values", within("match[]", `temp{tags=~".*,north,.*"}`), []string{`["a","b"]`}},
		{"series of a variable", "POST", "/api/v1/series", within("match[]", `{"cpu.idle"}`), []string{`{"__name__":"cpu.idle","cpu":"cpu0","device":"a","profile":"meter","tags":",north,"}`}},
		{"a panel", "POST", "/api/v1/query_range", within("query", `sum(temp{device=~"a|b"})`, "step", "3600"), []string{`"resultType":"matrix"`, fmt.Sprintf(`"values":[[%s,"100"],[%s,"100"],[%s,"218"]]`, unix(start), unix(start.Add(time.Hour)), unix(end))}},
		{"a panel by GET", "GET", "/api/v1/query_range", within("query", `rate(pulses{device="a"}[5m])`, "step", "1h"), []string{`"device":"a"`, `0.01666`}},
		{"an instant panel", "POST", "/api/v1/query", url.Values{"query": {`last_over_time(temp{device="c"}[3h])`}, "time": {end.Format("2006-01-02T15:04:05.000Z07:00")}}, []string{`"resultType":"vector"`, `"259"`}},
		{"truth and states", "POST", "/api/v1/query", url.Values{"query": {`{"=mode"}`}, "time": {unix(end)}}, []string{`"result":[]`}},
		{"a broken query", "POST", "/api/v1/query", url.Values{"query": {`sum(`}, "time": {unix(end)}}, []string{`"status":"error"`, `"errorType":"bad_data"`, "parse error"}},
		{"too many points", "POST", "/api/v1/query_range", within("query", "temp", "step", "0.1"), []string{`exceeded maximum resolution of 11,000 points`}},
		{"no step", "POST", "/api/v1/query_range", within("query", "temp"), []string{`"errorType":"bad_data"`}},
		{"no selector", "GET", "/api/v1/series", nil, []string{"no match[] parameter provided"}},
		{"a limit", "GET", "/api/v1/label/device/values", within("limit", "2"), []string{`["a","b"]`, `"warnings"`}},
		{"exemplars", "POST", "/api/v1/query_exemplars", within("query", "temp"), []string{`"data":[]`}},
		{"an unusual label", "GET", "/api/v1/label/U__device/values", nil, []string{`["a","b","c"]`}},
	} {
		status, got := p.grafana(c.method, c.path, c.parameters)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %d %.500s, want %s", c.name, status, got, want)
			}
		}
		if ok := !strings.Contains(got, `"status":"error"`); ok != (status == http.StatusOK) || !json.Valid([]byte(got)) {
			t.Errorf("%s: status %d of %.300s", c.name, status, got)
		}
	}
}

// Only keys count as passwords, and only here. Whoever sends nothing is not asked for a password, which
// a browser would remember.
func TestBasicAuthentication(t *testing.T) {
	p := newPlant(t)
	basic := func(password string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+password))}
	}
	const path = "/api/v1/fleets/plant/prometheus/api/v1/query?query=1"
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"a key":             {path, basic(p.key), 200},
		"the token":         {path, basic(servertest.Token), 401},
		"a wrong key":       {path, basic(p.key + "x"), 401},
		"nothing":           {path, nil, 401},
		"garbage":           {path, []string{"Authorization", "Basic %%"}, 401},
		"another operation": {"/api/v1/fleets/plant/query?metric=temp", basic(p.key), 401},
		"as a bearer":       {path, []string{"Authorization", "Bearer " + p.key}, 200},
	} {
		if status, got := p.Get(c.path, c.headers...); status != c.want {
			t.Errorf("%s: %d %.200s, want %d", name, status, got, c.want)
		}
	}
	answer, err := http.Get(p.URL + path)
	servertest.Must(t, err)
	defer answer.Body.Close()
	if asked := answer.Header.Get("WWW-Authenticate"); strings.Contains(asked, "Basic") {
		t.Errorf("asks for %q", asked)
	}
}

// A server that was built without Parquet refuses the format, and says what to use instead.
func TestWithoutParquet(t *testing.T) {
	h := servertest.New(t, nil)
	_, err := telemetry.CreateFleet(t.Context(), h.Table, telemetry.NewFleet{ID: "plant"})
	servertest.Must(t, err)
	if status, body := h.Get("/api/v1/fleets/plant/query?metric=temp&format=parquet", "Authorization", "Bearer "+servertest.Token); status != http.StatusUnprocessableEntity || !strings.Contains(body, "no_parquet") {
		t.Errorf("%d %s", status, body)
	}
}
