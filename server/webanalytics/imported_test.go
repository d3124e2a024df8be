package webanalytics_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/server/servertest"
)

const bearer = "Bearer " + servertest.Token

// bring imports a table of daily counts into the blog.
func bring(h *servertest.House, name, csv string) imported.Result {
	h.Helper()
	into, err := analytics.ImportInto(h.Context(), h.Table, "blog")
	servertest.Must(h.T, err)
	r, err := imported.Run(h.Context(), h.Table, into, exports.OpenCSV(name, strings.NewReader(csv), int64(len(csv))), imported.Options{})
	servertest.Must(h.T, err)
	return r
}

// get asks as the token does, and decodes what is answered.
func get[T any](h *servertest.House, path string) (answer T) {
	h.Helper()
	status, body := h.Get(path, "Authorization", bearer)
	if status != http.StatusOK {
		h.Fatalf("%s: %d %s", path, status, body)
	}
	servertest.Must(h.T, json.Unmarshal([]byte(body), &answer))
	return answer
}

// A site that has imported days only is no empty site, and every answer says whether it counts these days.
func TestAnswersSayWhichDaysAreImported(t *testing.T) {
	h := servertest.New(t, nil)
	type siteBody struct{ HasEvents bool }
	if get[siteBody](h, "/api/v1/sites/blog").HasEvents {
		t.Fatal("a new site has events")
	}
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	from, to := day(12), day(3)
	bring(h, "totals.csv", "date,totalUsers,sessions,screenPageViews\n"+from+",7,8,20\n"+to+",3,4,9\n")
	bring(h, "pages.csv", "date,pagePath,sessions,screenPageViews\n"+to+",/about,4,9\n")
	if !get[siteBody](h, "/api/v1/sites/blog").HasEvents {
		t.Error("a site with imported days has no events")
	}
	if _, err := analytics.UpdateSite(t.Context(), h.Table, "blog", func(s *analytics.Site) error { s.TimeZone = "Asia/Tokyo"; return nil }); err == nil {
		t.Error("the time zone of imported days can be changed")
	}
	type body struct {
		Totals                     struct{ PageViews int64 }
		Rows                       []struct{ Value string }
		Imported, PreviousImported *analytics.Imported
		Notes                      []string
	}
	const site = "/api/v1/sites/blog/"
	days := "from=" + from + "&to=" + to
	for _, c := range []struct {
		path     string
		included bool
		views    int64
		says     string
	}{
		{"stats?" + days, true, 29, "include imported data"},
		{"stats?period=hour&" + days, false, 0, "have no hours"},
		{"stats?filter=country:is:DE&" + days, false, 0, "without visits to look into"},
		{"breakdown?by=page&" + days, true, 0, "include imported data"},
		{"breakdown?by=page&filter=country:is:DE&" + days, false, 0, "without visits to look into"},
		{"breakdown?by=prop:plan&" + days, false, 0, "without visits to look into"},
	} {
		a := get[body](h, site+c.path)
		if a.Imported == nil || a.Imported.From != from || a.Imported.To != to || a.Imported.Included != c.included || !strings.Contains(a.Imported.Note, c.says) || a.Totals.PageViews != c.views {
			t.Errorf("%s: %+v %+v", c.path, a, a.Imported)
		}
	}
	compared := get[body](h, site+"stats?compare=previous&from="+day(2)+"&to="+day(0))
	if compared.Imported != nil || compared.PreviousImported == nil || compared.PreviousImported.To != to {
		t.Errorf("%+v", compared)
	}
	for _, path := range []string{"sessions?" + days, "sessions?filter=country:is:DE&" + days, "journeys?page=/&" + days, "retention?" + days} {
		if a := get[body](h, site+path); !strings.Contains(strings.Join(a.Notes, " "), "without visits to look into") {
			t.Errorf("%s: %q", path, a.Notes)
		}
	}
	for _, path := range []string{"stats", "breakdown?by=page", "sessions"} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		if a := get[body](h, site+path+sep+"from="+day(2)+"&to="+day(0)); a.Imported != nil || len(a.Notes) > 0 {
			t.Errorf("%s of days without imports: %+v", path, a)
		}
	}
}
