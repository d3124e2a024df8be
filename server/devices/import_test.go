package devices_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// Readings of any age are imported into a fleet by those who may change it, each once. Devices of
// other fleets are unknown.
func TestImportOfReadings(t *testing.T) {
	w := newWorks(t)
	const path = "/api/v1/fleets/plant/import"
	nobody := w.Browser()
	send := func(status int, says, query, body, key string) string {
		t.Helper()
		return nobody.Want(status, says, http.MethodPost, path+query, body, bearer(key)...)
	}
	old := `[{"device":"d1","at":"2001-05-12T14:00:00Z","values":{"t":1.5}},{"device":"d1","at":"2001-05-12T14:00:00Z","nth":1,"values":{"t":1.5}},` +
		`{"device":"theirs","at":"2001-05-12T14:00:00Z","values":{"t":1}},{"device":"new","at":"2001-05-12T14:00:00Z","values":{"t":1}},{"device":"d1","values":{"t":"` + strings.Repeat("x", 200) + `"}}]`
	key := w.keys[accounts.Write]
	send(http.StatusAccepted, `"made":["new"]`, "?dryRun=true&makeDevices=true", old, key)
	if _, err := telemetry.GetDevice(t.Context(), w.Table, "new"); err == nil || len(w.stored("d1")) > 0 {
		t.Error("a dry run wrote something")
	}
	for _, want := range []string{`[{"status":"stored"`, `[{"status":"duplicate"`} {
		answer := send(http.StatusAccepted, want, "", old, key)
		if strings.Count(answer, `"unknown_device"`) != 2 || strings.Count(answer, `"bad_value"`) != 1 || !strings.Contains(answer, `"made":[]`) {
			t.Error(answer)
		}
	}
	if n := len(w.stored("d1")); n != 2 {
		t.Errorf("%d readings", n)
	}
	send(http.StatusAccepted, `"made":["new"]`, "?makeDevices=true", old, key)
	_, err := telemetry.GetDevice(t.Context(), w.Table, "new")
	servertest.Must(t, err)

	for _, key := range []string{w.keys[accounts.Ingest], w.keys[accounts.Read], w.theirs[accounts.Write]} {
		send(http.StatusForbidden, "forbidden", "", old, key)
	}
	send(http.StatusUnauthorized, "unauthorized", "", old, w.tokens["d1"])
	send(http.StatusBadRequest, "bad_request", "", `NaN`, key)
	send(http.StatusAccepted, `"bad_value"`, "", `{"device":"d1","nth":-1,"values":{"t":1}}`, key)
	w.owner.Want(http.StatusNotFound, "no such fleet", http.MethodPost, "/api/v1/fleets/none/import", `[]`)
}
