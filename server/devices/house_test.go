package devices_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// works is a server with the fleets plant (devices d1 and d2) and other (device theirs), an owner
// of all sites and a key of plant for each scope.
type works struct {
	*servertest.Server
	owner  *servertest.Person
	tokens map[string]string         // of devices
	keys   map[accounts.Scope]string // of plant
	theirs map[accounts.Scope]string // of other
}

func newWorks(t *testing.T, change ...func(*server.Options)) *works {
	t.Helper()
	return worksOf(servertest.New(t, func(o *server.Options) {
		for _, c := range change {
			c(o)
		}
	}))
}

func worksOf(h *servertest.Server) *works {
	t := h.T
	t.Helper()
	w := &works{Server: h, tokens: map[string]string{}}
	w.owner = h.NewPerson("owner@example.org", accounts.Grants{accounts.AllSites: accounts.Owner})
	for id, fleet := range map[string]string{"d1": "plant", "d2": "plant", "theirs": "other"} {
		w.owner.Do(http.MethodPost, "/api/v1/fleets", `{"id":"`+fleet+`","timezone":"Europe/Berlin"}`)
		_, err := telemetry.CreateDevice(t.Context(), h.Table, telemetry.NewDevice{ID: id, FleetID: fleet})
		servertest.Must(t, err)
		w.tokens[id], err = credentials.NewToken(t.Context(), h.Table, id)
		servertest.Must(t, err)
	}
	w.keys, w.theirs = w.keysOf(accounts.OfFleet("plant")), w.keysOf(accounts.OfFleet("other"))
	return w
}

func (w *works) keysOf(site string) map[accounts.Scope]string {
	w.Helper()
	keys := map[accounts.Scope]string{}
	for _, scope := range []accounts.Scope{accounts.Ingest, accounts.Read, accounts.Write} {
		_, token, err := w.Accounts.AddKey(w.Context(), accounts.NewKey{Site: site, Scope: scope})
		servertest.Must(w.T, err)
		keys[scope] = token
	}
	return keys
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// stored returns the values of a device, as they are written, in order.
func (w *works) stored(device string) []string {
	w.Helper()
	all, err := (telemetry.ReadingsIn{DeviceID: device}).Collect(w.Context(), w.Table)
	servertest.Must(w.T, err)
	var found []string
	for _, r := range all {
		for _, name := range r.Values.Names() {
			found = append(found, name+"="+r.Values[name].String())
		}
	}
	slices.Sort(found)
	return found
}
