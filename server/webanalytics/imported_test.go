package webanalytics_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
)

const bearer = "Bearer " + servertest.Token

// bring imports a table of daily counts into the blog.
func bring(h *servertest.Server, name, csv string) imported.Result {
	h.Helper()
	into, err := report.ImportInto(h.Context(), h.Table, "blog")
	servertest.Must(h.T, err)
	r, err := imported.Run(h.Context(), h.Table, into, exports.OpenCSV(name, strings.NewReader(csv), int64(len(csv))), imported.Options{})
	servertest.Must(h.T, err)
	return r
}

// get sends a request with the token, and decodes the response.
func get[T any](h *servertest.Server, path string) (answer T) {
	h.Helper()
	status, body := h.Get(path, "Authorization", bearer)
	if status != http.StatusOK {
		h.Fatalf("%s: %d %s", path, status, body)
	}
	servertest.Must(h.T, json.Unmarshal([]byte(body), &answer))
	return answer
}

// A site with only imported days is not empty, and every response says whether it counts these
// days.
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
		Imported, PreviousImported *report.Imported
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
	compared := get[body](h, site+"stats?compare=previous&align=date&from="+day(2)+"&to="+day(0))
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

// files returns a multipart/form-data body with files, as alternating names and contents.
func files(h *servertest.Server, namesAndContents ...string) (body, contentType string) {
	h.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(namesAndContents); i += 2 {
		part, err := w.CreateFormFile("files", namesAndContents[i])
		servertest.Must(h.T, err)
		_, err = io.WriteString(part, namesAndContents[i+1])
		servertest.Must(h.T, err)
	}
	servertest.Must(h.T, w.Close())
	return b.String(), w.FormDataContentType()
}

type importsBody struct {
	Imports []imported.Import
	Work    *webanalytics.ImportWork
}

// ended waits until the running import has ended.
func ended(h *servertest.Server) importsBody {
	h.Helper()
	for {
		all := get[importsBody](h, "/api/v1/sites/blog/imports")
		if all.Work == nil || all.Work.State == "done" || all.Work.State == "failed" {
			return all
		}
		runtime.Gosched()
	}
}

func writer(h *servertest.Server, site string, scope accounts.Scope) string {
	h.Helper()
	_, token, err := h.Accounts.AddKey(h.Context(), accounts.NewKey{Name: "test", Site: site, Scope: scope})
	servertest.Must(h.T, err)
	return "Bearer " + token
}

// plausible returns the export of the importer's own tests, as the zip that people download.
func plausible(h *servertest.Server) string {
	h.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	servertest.Must(h.T, w.AddFS(os.DirFS("../../analytics/imported/exports/testdata/plausible")))
	servertest.Must(h.T, w.Close())
	return b.String()
}

// Files are previewed, imported, listed and deleted over HTTP, and nothing of them stays on the
// disk.
func TestCountsAreImportedOverHTTP(t *testing.T) {
	uploads := t.TempDir()
	h := servertest.New(t, func(o *server.Options) { o.Analytics.Uploads = filepath.Join(uploads, "made") })
	const path = "/api/v1/sites/blog/imports"
	key := writer(h, "blog", accounts.Write)
	body, kind := files(h, "example_20240103.zip", plausible(h))
	send := func(path, body, kind string) (int, string) {
		return h.Post(path, body, "Authorization", key, "Content-Type", kind)
	}
	for _, authorization := range []string{"", bearer, writer(h, "blog", accounts.Read), writer(h, "other", accounts.Write)} {
		if status, answer := h.Post(path, body, "Authorization", authorization, "Content-Type", kind); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("%.12s…: %d %s", authorization, status, answer)
		}
	}
	if status, answer := send(path+"?dryRun=true", body, kind); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, answer)
	}
	dry := ended(h)
	if dry.Work.State != "done" || !dry.Work.DryRun || dry.Work.Result.PageViews != 862 || len(dry.Work.Result.Tables) != 10 || len(dry.Imports) != 0 {
		t.Fatalf("%+v", dry.Work)
	}
	for range 2 { // a second time changes nothing
		if status, answer := send(path, body, kind); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
		done := ended(h)
		if done.Work.State != "done" || done.Work.Done == 0 || len(done.Imports) != 1 || done.Imports[0].PageViews != 862 || done.Imports[0].State != imported.Done {
			t.Fatalf("%+v %+v", done.Work, done.Imports)
		}
	}
	views := func() int64 {
		type body struct{ Totals struct{ PageViews int64 } }
		return get[body](h, "/api/v1/sites/blog/stats?from=2024-01-01&to=2024-01-31").Totals.PageViews
	}
	if views() != 862 {
		t.Errorf("%d page views", views())
	}
	for id, want := range map[string]int{"nosuch": http.StatusNotFound, "a%23b": http.StatusUnprocessableEntity, dry.Work.Result.ImportID: http.StatusNoContent} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, h.URL+path+"/"+id, nil)
		servertest.Must(t, err)
		if status, answer := h.Do(r, []string{"Authorization", key}); status != want {
			t.Errorf("delete %s: %d %s, want %d", id, status, answer, want)
		}
	}
	if views() != 0 || len(ended(h).Imports) != 0 {
		t.Errorf("%d page views of a deleted import", views())
	}
	left, err := os.ReadDir(filepath.Join(uploads, "made"))
	if err != nil || len(left) != 0 {
		t.Errorf("left on disk: %v %v", left, err)
	}
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	for _, action := range []string{"import", "import.delete"} {
		owner.Want(http.StatusOK, `"action":"`+action+`"`, http.MethodGet, "/api/v1/audit", "")
	}
}

// Problems of an upload are reported: at once for the request, later for its files.
func TestRejectedUploads(t *testing.T) {
	uploads := t.TempDir()
	h := servertest.New(t, func(o *server.Options) { o.Analytics.Uploads = uploads })
	key := writer(h, accounts.AllSites, accounts.Write)
	good, kind := files(h, "totals.csv", "date,sessions\n20240101,3\n")
	none, noneKind := files(h)
	many, manyKind := files(h, slices.Repeat([]string{"a.csv", ""}, 501)...)
	for _, c := range []struct {
		name, site, body, kind string
		status                 int
		says                   string
	}{
		{"an unknown site", "nosuch", good, kind, http.StatusNotFound, "not_found"},
		{"JSON", "blog", `{"a":1}`, "application/json", http.StatusUnsupportedMediaType, "unsupported_media_type"},
		{"no boundary", "blog", good, "multipart/form-data", http.StatusUnsupportedMediaType, "unsupported_media_type"},
		{"another boundary", "blog", good, "multipart/form-data; boundary=x", http.StatusBadRequest, "bad_request"},
		{"no file", "blog", none, noneKind, http.StatusUnprocessableEntity, "invalid_request"},
		{"too many files", "blog", many, manyKind, http.StatusRequestEntityTooLarge, "too_much"},
		{"cut in a file", "blog", good[:strings.Index(good, "20240101")], kind, http.StatusBadRequest, "bad_request"},
		{"cut after a file", "blog", good[:strings.LastIndex(good, "--")], kind, http.StatusBadRequest, "bad_request"},
		{"another query", "blog?dry=1", good, kind, http.StatusBadRequest, "unknown_parameter"},
	} {
		site, query, _ := strings.Cut(c.site, "?")
		path := "/api/v1/sites/" + site + "/imports"
		if query != "" {
			path += "?" + query
		}
		if status, answer := h.Post(path, c.body, "Authorization", key, "Content-Type", c.kind); status != c.status || !strings.Contains(answer, c.says) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, answer, c.status, c.says)
		}
	}
	for _, c := range []struct{ name, content, code, says string }{
		{"../../etc/passwd", "root:x:0:0", "unknown_format", "No table of daily counts; passwd: "},
		{"broken.zip", "PK\x03\x04 and no more", "unknown_format", "No table of daily counts: "},
		{"wide.csv", "date,browser,country,sessions\n20240101,Chrome,Germany,1\n", "unknown_format", "No table of daily counts; wide.csv: columns "},
		{"empty.csv", "", "unknown_format", "No table of daily counts; empty.csv: the file is empty"},
		{"\u202e" + strings.Repeat("n", 4000) + ".csv", "date,sessions\n20240101,x\n", "", "No table of daily counts; "},
		{"future.csv", "date,sessions\n21000101,3\n", "nothing_to_import", "Nothing to import: the export ends on 2100-01-01"},
	} {
		body, kind := files(h, c.name, c.content)
		if status, answer := h.Post("/api/v1/sites/blog/imports", body, "Authorization", key, "Content-Type", kind); status != http.StatusAccepted {
			t.Fatalf("%.20q: %d %s", c.name, status, answer)
		}
		w := ended(h).Work
		if w.State != "failed" || !strings.HasPrefix(w.Problem, c.says) || c.code != "" && w.Code != c.code || strings.Contains(w.Problem, uploads) {
			t.Errorf("%.20q: %+v", c.name, w)
		}
	}
	left, err := os.ReadDir(uploads)
	if err != nil || len(left) != 0 {
		t.Errorf("left on disk: %v %v", left, err)
	}
}

// While files of a site arrive, no other upload is accepted, and a cancelled upload does not block.
func TestOneImportOfASiteAtATime(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.Uploads = t.TempDir() })
	key := writer(h, "blog", accounts.Write)
	body, kind := files(h, "totals.csv", "date,sessions\n20240101,3\n")
	r, w := io.Pipe()
	slow, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/api/v1/sites/blog/imports", r)
	servertest.Must(t, err)
	slow.Header.Set("Authorization", key)
	slow.Header.Set("Content-Type", kind)
	given := make(chan error, 1)
	go func() {
		answer, err := http.DefaultClient.Do(slow)
		if err == nil {
			err = answer.Body.Close()
		}
		given <- err
	}()
	_, err = io.WriteString(w, body[:len(body)/2])
	servertest.Must(t, err)
	for { // until it is there
		if work := get[importsBody](h, "/api/v1/sites/blog/imports").Work; work != nil && work.State == "uploading" {
			break
		}
		runtime.Gosched()
	}
	if status, answer := h.Post("/api/v1/sites/blog/imports", body, "Authorization", key, "Content-Type", kind); status != http.StatusConflict || !strings.Contains(answer, "busy") {
		t.Errorf("%d %s", status, answer)
	}
	servertest.Must(t, w.CloseWithError(errors.New("gave up")))
	if err := <-given; err == nil {
		t.Error("a broken request was answered")
	}
	for get[importsBody](h, "/api/v1/sites/blog/imports").Work != nil {
		runtime.Gosched()
	}
	if status, answer := h.Post("/api/v1/sites/blog/imports", body, "Authorization", key, "Content-Type", kind); status != http.StatusAccepted {
		t.Errorf("%d %s", status, answer)
	}
	if got := ended(h); got.Work.State != "done" || len(got.Imports) != 1 {
		t.Errorf("%+v", got)
	}
}
