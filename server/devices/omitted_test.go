package devices_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// A bad value costs only itself: readings have random good and bad values, and the stored values
// and reported omissions are compared with what the guide says about each kind.
func TestBadValueAffectsOnlyItself(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorks(t, func(*server.Options) {})
	kinds := []struct {
		json  string
		keeps string // the stored value; "" for none
		bad   bool   // and it is reported
	}{
		{"21.50", "21.5", false}, {"-3", "-3", false}, {`"open"`, "open", false}, {"true", "true", false},
		{"null", "", false},
		{"[1]", "", true}, {"{}", "", true}, {`{"a":{"b":[null]}}`, "", true}, {`""`, "", true}, {"1e400", "", true},
		{`"` + strings.Repeat("x", 129) + `"`, "", true}, {`"NaN"`, "", true}, {`"-Infinity"`, "", true}, {`"+inf"`, "", true},
	}
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	for n := range 300 {
		at := start.Add(time.Duration(n) * time.Second)
		values, want, omitted := []string{}, telemetry.Values{}, []string{}
		for m := range random.IntN(6) {
			k := kinds[random.IntN(len(kinds))]
			name := fmt.Sprintf("m%d", m)
			values = append(values, fmt.Sprintf("%q:%s", name, k.json))
			switch {
			case k.bad:
				omitted = append(omitted, name)
			case k.keeps != "":
				var v telemetry.Value
				servertest.Must(t, v.UnmarshalJSON([]byte(k.json)))
				want[name] = v
			}
		}
		body := fmt.Sprintf(`{"at":%q,"values":{%s}}`, at.Format(time.RFC3339Nano), strings.Join(values, ","))
		for range 2 { // sent again, the response is the same
			status, answer := w.Post("/api/readings", body, bearer(w.tokens["d1"])...)
			var got struct{ Outcomes []telemetry.Outcome }
			if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusAccepted || len(got.Outcomes) != 1 {
				t.Fatalf("%s: %d %s", body, status, answer)
			}
			o := got.Outcomes[0]
			var left []string
			for _, x := range o.Omitted {
				left = append(left, x.Metric)
				if x.Reason != telemetry.BadValue || x.Detail == "" {
					t.Errorf("%s: %+v", body, x)
				}
			}
			switch {
			case len(want) > 0 && (o.Status == telemetry.Rejected || !slices.Equal(left, omitted)):
				t.Errorf("%s: %s, want the rest of it stored without %v", body, answer, omitted)
			case len(want) == 0 && (o.Status != telemetry.Rejected || (o.Reason == telemetry.BadValue) != (len(omitted) > 0)):
				t.Errorf("%s: %s, want a refusal", body, answer)
			}
		}
		stored, err := (telemetry.ReadingsIn{DeviceID: "d1", From: at, To: at.Add(time.Millisecond)}).Collect(t.Context(), w.Table)
		servertest.Must(t, err)
		switch {
		case len(want) == 0 && len(stored) > 0, len(want) > 0 && len(stored) != 1:
			t.Errorf("%s: %d readings are stored", body, len(stored))
		case len(want) > 0 && fmt.Sprint(stored[0].Values) != fmt.Sprint(want):
			t.Errorf("%s: %v is stored, want %v", body, stored[0].Values, want)
		}
	}
}
