package webanalytics_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// Each dimension of the client that is declared can be ingested or imported, and then broken down
// by, filtered by and exported.
func TestDimensionsOfClients(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Owner})
	sent := map[string]string{"site": "blog", "url": "https://example.org/"}
	imported := map[string]string{"id": analytics.ContentID(time.Now().Add(-time.Minute), nil, 0), "url": "/", "address": "192.0.2.7", "userAgent": "test"}
	for _, d := range analytics.TraitDefs {
		if d.Sent != nil {
			sent[string(d.Name)] = "sent " + string(d.Name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[analytics.Client]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		imported[name] = "imported " + name
	}
	owner.Want(http.StatusAccepted, `"stored"`, http.MethodPost, "/api/event", object(t, sent), "User-Agent", servertest.Firefox)
	owner.Want(http.StatusAccepted, `"stored"`, http.MethodPost, "/api/v1/sites/blog/import", `{"events":[`+object(t, imported)+`]}`)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	const site = "/api/v1/sites/blog/"
	events := owner.Want(http.StatusOK, "", http.MethodGet, site+"export?kind=events&format=jsonl", "")
	sessions := owner.Want(http.StatusOK, "", http.MethodGet, site+"export?kind=sessions&format=jsonl", "")
	for _, fields := range []map[string]string{sent, imported} {
		for _, d := range analytics.TraitDefs {
			value := fields[string(d.Name)]
			if value == "" {
				continue
			}
			owner.Want(http.StatusOK, `"value":"`+value+`"`, http.MethodGet, site+"breakdown?by="+string(d.Name), "")
			filter := url.Values{"by": {string(d.Name)}, "filter": {string(d.Name) + ":is:" + value}}
			owner.Want(http.StatusOK, `"value":"`+value+`"`, http.MethodGet, site+"breakdown?"+filter.Encode(), "")
			for _, export := range []string{events, sessions} {
				if !strings.Contains(export, `"`+string(d.Name)+`":"`+value+`"`) {
					t.Errorf("an export lacks %s %s", d.Name, value)
				}
			}
		}
	}
}

func object(t *testing.T, fields map[string]string) string {
	text, err := json.Marshal(fields)
	servertest.Must(t, err)
	return string(text)
}
