package webanalytics_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// An admin changes what is masked and tries it first; readers and public views do not.
func TestMasks(t *testing.T) {
	h := servertest.New(t, nil)
	const site, preview = "/api/v1/sites/blog", "/api/v1/sites/blog/mask/preview"
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	viewer := h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer})
	admin.Want(http.StatusOK, `"mask":{"detect":["email","phone","uuid","token"],"paths":[]}`, http.MethodGet, site, "")
	admin.Want(http.StatusOK, `{"path":"https://blog.example.com/user/a@b.example?x=1","stored":"/user/:email"}`, http.MethodPost, preview, `{"paths":["https://blog.example.com/user/a@b.example?x=1","/about"]}`)
	admin.Want(http.StatusOK, `"stored":"/user/:who"`, http.MethodPost, preview, `{"paths":["/user/a@b.example"],"mask":{"detect":[],"paths":["/user/:who"]}}`)
	for _, bad := range []string{
		`{"paths":[]}`, `{}`, `{"paths":[` + strings.Repeat(`"/",`, 100) + `"/"]}`, `{"paths":["/a"],"mask":{"paths":["user"]}}`,
		`{"paths":["/a"],"mask":{"detect":["iban"]}}`, `{"paths":["/` + strings.Repeat("a", 3000) + `"]}`,
	} {
		if status, body := admin.Do(http.MethodPost, preview, bad); status != http.StatusUnprocessableEntity || strings.Contains(body, "table:") {
			t.Errorf("%.80s: %d %s", bad, status, body)
		}
	}
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPost, preview, `{"paths":["/a"]}`)

	admin.Want(http.StatusOK, `"mask":{"detect":["email"],"paths":["/user/:who/**"]}`, http.MethodPatch, site, `{"mask":{"detect":["email"],"paths":["/user/:who/**"]}}`)
	admin.Want(http.StatusUnprocessableEntity, "egin with a slash", http.MethodPatch, site, `{"mask":{"paths":["user"]}}`)
	admin.Want(http.StatusUnprocessableEntity, "<= 100", http.MethodPatch, site, `{"mask":{"paths":[`+strings.Repeat(`"/:a",`, 100)+`"/:a"]}}`)
	admin.Want(http.StatusOK, `"paths":["/user/:who/**"]`, http.MethodPatch, site, `{"name":"Blog"}`)
	for _, event := range []string{`"url":"/user/jane/cards"`, `"url":"/mail/jane@example.com"`, `"url":"/","name":"outbound","props":{"url":"https://other.example/u/jane@example.com"}`} {
		if status, body := h.Post("/api/event", `{"site":"blog",`+event+`}`); status != http.StatusAccepted || !strings.Contains(body, "stored") {
			t.Fatal(status, body)
		}
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	text := viewer.Want(http.StatusOK, `"/user/:who/cards"`, http.MethodGet, site+"/breakdown?by=page", "")
	text += viewer.Want(http.StatusOK, `/u/:email`, http.MethodGet, site+"/breakdown?by=outbound", "")
	text += viewer.Want(http.StatusOK, `/mail/:email`, http.MethodGet, site+"/sessions", "")
	if strings.Contains(text, "jane") {
		t.Error(text)
	}
	admin.Want(http.StatusOK, `"mask":{"detect":[],"paths":[]}`, http.MethodPatch, site, `{"mask":{}}`)
}
