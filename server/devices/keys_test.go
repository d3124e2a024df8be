package devices_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/onefold/onefold/server/accounts"
)

// Those who may send a device's readings may do so over every protocol, and nobody else over any.
func TestIngestPermissions(t *testing.T) {
	f := newFailing(t, 1)
	all := f.keysOf(accounts.AllSites)
	senders := []struct {
		name, token, user string
		d1, d2, theirs    bool // whose readings it may send
		import_           bool
	}{
		{"token of d1", f.tokens["d1"], "d1", true, false, false, false},
		{"fleet, ingest", f.keys[accounts.Ingest], "gateway", true, true, false, false},
		{"fleet, write", f.keys[accounts.Write], "gateway", true, true, false, true},
		{"fleet, read", f.keys[accounts.Read], "gateway", false, false, false, false},
		{"all, ingest", all[accounts.Ingest], "gateway", true, true, true, false},
		{"all, write", all[accounts.Write], "gateway", true, true, true, true},
		{"all, read", all[accounts.Read], "gateway", false, false, false, false},
		{"other fleet", f.theirs[accounts.Ingest], "gateway", false, false, true, false},
		{"site", f.keysOf("blog")[accounts.Ingest], "gateway", false, false, false, false},
		{"event store", f.keysOf(accounts.EventStore)[accounts.Write], "gateway", false, false, false, false},
		{"nobody", "", "gateway", false, false, false, false},
	}
	ways := map[string]func(token, user, device, fleet string, n int){
		"json": func(token, _, device, _ string, n int) {
			f.Post("/api/readings", fmt.Sprintf(`{"device":%q,"values":{"n":%d}}`, device, n), bearer(token)...)
		},
		"lines": func(token, _, device, fleet string, n int) {
			f.Post("/api/v2/write?bucket="+fleet, fmt.Sprintf("n,device=%s value=%di", device, n), bearer(token)...)
		},
		"lines without a bucket": func(token, _, device, _ string, n int) {
			f.Post("/api/v2/write", fmt.Sprintf("n,device=%s value=%di", device, n), bearer(token)...)
		},
		"lines of InfluxDB 1": func(token, _, device, fleet string, n int) {
			f.Post("/write?db="+fleet+"&p="+token, fmt.Sprintf("n,device=%s value=%di", device, n))
		},
		"import": func(token, _, device, fleet string, n int) {
			f.Browser().Do(http.MethodPost, "/api/v1/fleets/"+fleet+"/import", fmt.Sprintf(`{"device":%q,"at":"2020-01-01T00:00:00Z","values":{"n":%d}}`, device, n), bearer(token)...)
		},
		"mqtt": func(token, user, device, _ string, n int) {
			c := v3.NewClient(v3.NewClientOptions().AddBroker(f.mqtt).SetClientID(fmt.Sprint("c", n)).SetUsername(user).SetPassword(token).
				SetProtocolVersion(4).SetAutoReconnect(false).SetConnectTimeout(10 * time.Second))
			if token := c.Connect(); token.Wait() && token.Error() == nil {
				_ = say(c, "devices/"+device+"/values/n", fmt.Sprint(n)) // the stored readings show whether it was accepted
				c.Disconnect(0)
			}
		},
	}
	n := 0
	for name, send := range ways {
		for _, s := range senders {
			for device, may := range map[string]bool{"d1": s.d1, "d2": s.d2, "theirs": s.theirs} {
				if name == "import" {
					may = may && s.import_
				}
				fleet := map[string]string{"d1": "plant", "d2": "plant", "theirs": "other"}[device]
				n++
				before := len(f.stored(device))
				send(s.token, s.user, device, fleet, n)
				if took := len(f.stored(device)) > before; took != may {
					t.Errorf("%s, %s, %s: taken %v, want %v", name, s.name, device, took, may)
				}
			}
		}
	}
}

// A key for all fleets that names a fleet sends for that one only.
func TestBucketBoundsAKeyOfAll(t *testing.T) {
	w := newWorks(t)
	key := w.keysOf(accounts.AllSites)[accounts.Ingest]
	for path, want := range map[string]int{"plant": 400, "other": 204, "none": 400, "": 204} {
		status, answer := w.Post("/api/v2/write?bucket="+path, fmt.Sprintf("n,device=theirs value=%di", want), bearer(key)...)
		if status != want {
			t.Errorf("bucket %q: %d %s", path, status, answer)
		}
	}
}
