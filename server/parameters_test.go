package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/onefold/onefold/server/servertest"
)

// Every parameter of a path or query says what it is. Headers and cookies have standard meanings.
func TestParametersAreDescribed(t *testing.T) {
	h := servertest.New(t, nil)
	status, text := h.Get("/openapi.json")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &document))
	found := 0
	for path, item := range document.Paths {
		for method, raw := range item {
			var operation struct {
				Parameters []struct{ Name, In, Description string }
			}
			servertest.Must(t, json.Unmarshal(raw, &operation))
			for _, p := range operation.Parameters {
				if found++; p.Description == "" && (p.In == "path" || p.In == "query") {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Name)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d parameters", found)
	}
}
