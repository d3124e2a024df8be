package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"
)

// metricSet maps the names of metrics to the names of their labels.
type metricSet map[string]map[string]bool

// add adds a sample.
func (m metricSet) add(name string, labels ...string) {
	if m[name] == nil {
		m[name] = map[string]bool{"job": true, "instance": true} // added by Prometheus
	}
	for _, l := range labels {
		m[name][l] = true
	}
}

var (
	exposed = regexp.MustCompile(`^([a-z_][a-z0-9_]*)(?:\{(.*)\})? \S+$`)
	labeled = regexp.MustCompile(`([a-z_]+)="(?:[^"\\]|\\.)*"`)
)

// scrape adds the metrics of a server.
func (m metricSet) scrape(t *testing.T, url, user, password string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s %v %s", answer.Status, err, text)
	}
	for line := range strings.Lines(string(text)) {
		found := exposed.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("not understood: %s", line)
			}
			continue
		}
		m.add(found[1])
		for _, l := range labeled.FindAllStringSubmatch(found[2], -1) {
			m.add(found[1], l[1])
		}
	}
}

// sometimes are metrics that exist only after some event, with their labels.
var sometimes = map[string][]string{
	"onefold_events_refused_total":          {"reason"},
	"onefold_readings_rejected_total":       {"reason"},
	"onefold_readings_omitted_values_total": {"reason"},
	"onefold_subscription_lag":              {"subscription"},
	"onefold_subscription_lag_seconds":      {"subscription"},
	"onefold_subscription_parked_events":    {"subscription"},
	"onefold_store_throttles_total":         {"service", "resource", "operation", "limit"},
	"onefold_warehouse_lag_seconds":         {},
	"onefold_warehouse_rows_total":          {},
	"onefold_fold_lag_seconds":              {},
	"onefold_fold_stream_lag_seconds":       {},
}

// everyMetric starts servers of every kind and returns their metrics.
func everyMetric(t *testing.T) metricSet {
	t.Helper()
	dir, all := t.TempDir(), metricSet{}
	all.add("up")
	source := programText(t)
	for name, labels := range sometimes {
		if all.add(name, labels...); !namedInParts(source, name) {
			t.Errorf("there is no metric %s", name)
		}
	}
	database := startDatabase(t, "--memory")
	table := storeAt(database.url, "onefold")
	makeTable(t, table)
	far := startServer(t, "--store", table, "serve", "--addr", "127.0.0.1:0", "--token", testToken, "--spool", filepath.Join(dir, "spool"))
	embedded := startServer(t, "--data", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0", "--token", testToken,
		"--mqtt", "127.0.0.1:0", "--warehouse", filepath.Join(dir, "warehouse"), "--backup-to", filepath.Join(dir, "backups"))
	for _, s := range []*served{far, embedded} {
		all.scrape(t, s.url, "", "") // which is a request too
		all.scrape(t, s.url, "", "")
		mustGet(t, s.url+"/livez")
		all.scrape(t, s.url, "", "")
	}
	all.scrape(t, database.url, testKeyID, testKeySecret)
	for _, s := range []*served{far, embedded, database} {
		if err := s.end(t, os.Interrupt); err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
	return all
}

func mustGet(t *testing.T, url string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, answer.Status)
	}
}

// check parses an expression, and checks that its metrics and labels exist. It returns the labels
// that its result may have.
func (m metricSet) check(t *testing.T, where, expr string) (labels map[string]bool) {
	t.Helper()
	r, err := m.parse(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	return r.labels
}

// rule is a Prometheus rule.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// rulesOf parses the rules file strictly.
func rulesOf(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(strings.NewReader(read(t, "packaging/prometheus/onefold.rules.yml")))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range file.Groups {
		names = append(names, g.Name)
		for _, r := range g.Rules {
			names = append(names, r.Record+r.Alert)
		}
		all = append(all, g.Rules...)
	}
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a name is used twice: %v", names)
	}
	return all
}

// TestMonitoring compares the metrics in rules and dashboard with those of servers.
func TestMonitoring(t *testing.T) {
	all := everyMetric(t)
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, all) })
	t.Run("guide", func(t *testing.T) { checkMonitoringGuide(t, all) })
	t.Run("rules", func(t *testing.T) {
		for _, r := range rulesOf(t) {
			labels := all.check(t, r.Record+r.Alert, r.Expr)
			if r.Record != "" {
				all.add(r.Record, slices.Collect(maps.Keys(labels))...)
				continue
			}
			checkAlert(t, &r, labels)
		}
	})
}

var usedLabel = regexp.MustCompile(`\$labels\.(\w+)`)

func checkAlert(t *testing.T, r *rule, labels map[string]bool) {
	t.Helper()
	if r.For != "" {
		if d, err := time.ParseDuration(r.For); err != nil || d <= 0 {
			t.Errorf("%s: for %q", r.Alert, r.For)
		}
	}
	if s := r.Labels["severity"]; s != "critical" && s != "warning" {
		t.Errorf("%s: severity %q", r.Alert, s)
	}
	if want := "https://github.com/onefold/onefold/blob/main/docs/guides/monitoring.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
		t.Errorf("%s: its runbook is not %s", r.Alert, want)
	}
	if !strings.Contains(read(t, "docs/guides/monitoring.md"), "\n### "+r.Alert+"\n") {
		t.Errorf("%s has no paragraph in the runbook", r.Alert)
	}
	functions := template.FuncMap{}
	for _, f := range []string{"humanize", "humanizeDuration", "humanizePercentage"} {
		functions[f] = func(v float64) string { return fmt.Sprint(v) }
	}
	for _, name := range []string{"summary", "description"} {
		text := r.Annotations[name]
		if text == "" {
			t.Errorf("%s has no %s", r.Alert, name)
		}
		made, err := template.New(name).Funcs(functions).Parse("{{ $labels := .Labels }}{{ $value := .Value }}" + text)
		if err == nil {
			err = made.Execute(io.Discard, map[string]any{"Labels": map[string]string{}, "Value": 1.5})
		}
		if err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		for _, l := range usedLabel.FindAllStringSubmatch(text, -1) {
			if !labels[l[1]] {
				t.Errorf("%s: %s names the label %s, which it has not", r.Alert, name, l[1])
			}
		}
	}
}

// panel is a panel of a dashboard.
type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ RefID, Expr, LegendFormat string }
	Datasource  struct{ UID string }
}

func (p *panel) overlaps(q *panel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

func checkDashboard(t *testing.T, all metricSet) {
	var d struct {
		UID, Title    string
		SchemaVersion int
		Panels        []panel
		Templating    struct{ List []struct{ Name, Type string } }
	}
	if err := json.Unmarshal([]byte(read(t, "packaging/grafana/onefold.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.SchemaVersion < 40 || len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" {
		t.Errorf("%q, schema %d, variables %v", d.UID, d.SchemaVersion, d.Templating.List)
	}
	ids, rows := map[int]bool{}, 0
	for i := range d.Panels {
		p := &d.Panels[i]
		if ids[p.ID] || p.Title == "" || p.GridPos.W <= 0 || p.GridPos.H <= 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d, %q: its id, title or place: %v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		for j := range i {
			if p.overlaps(&d.Panels[j]) {
				t.Errorf("%q is over %q", p.Title, d.Panels[j].Title)
			}
		}
		if p.Type == "row" {
			rows++
			continue
		}
		if p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q has no unit, nothing to show, or a data source of its own", p.Title)
		}
		for _, target := range p.Targets {
			labels := all.check(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			for _, l := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !labels[l[1]] {
					t.Errorf("%q: its legend names %s, which the result has not", p.Title, l[1])
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}

var tableMetric = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)(?:\\{([a-z, ]+)\\})?` \\|")

// checkMonitoringGuide compares the tables of the guide with the metrics of servers. Neither may
// have more than the other.
func checkMonitoringGuide(t *testing.T, all metricSet) {
	told, guide := map[string]bool{}, read(t, "docs/guides/monitoring.md")
	for _, link := range regexp.MustCompile(`\]\(#([a-z-]+)\)`).FindAllStringSubmatch(guide, -1) {
		if !strings.Contains(strings.ToLower(guide), "\n### "+link[1]+"\n") {
			t.Errorf("the guide links to #%s, which is not in it", link[1])
		}
	}
	for _, found := range tableMetric.FindAllStringSubmatch(guide, -1) {
		name := found[1]
		told[name] = true
		has := all[name]
		if has == nil {
			has = all[name+"_bucket"]
		}
		if has == nil {
			t.Errorf("no server tells of %s", name)
			continue
		}
		var want []string
		for l := range has {
			if l != "job" && l != "instance" && l != "le" {
				want = append(want, l)
			}
		}
		slices.Sort(want)
		got := strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has the labels %v, the guide says %v", name, want, got)
		}
	}
	for name := range all {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(name, "onefold_") && !told[name] && !told[base] {
			t.Errorf("the guide does not tell of %s", name)
		}
	}
}
