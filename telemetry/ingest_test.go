package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Each reading has the outcome that fits its fault.
func TestOutcomes(t *testing.T) {
	now := utc("2026-04-20T14:30")
	w := newWorld(t, "Europe/Berlin", now)
	w.device("off", func(n *NewDevice) { n.Status = Inactive })
	temp := func(s string) Values { return Values{"temp": num(t, s)} }
	seq := int64(7)
	for _, c := range []struct {
		name   string
		in     Incoming
		status OutcomeStatus
		reason Reason
	}{
		{"good", send(now, temp("22.40")), Stored, ""},
		{"the same, written differently", send(now, temp("22.4")), Duplicate, ""},
		{"another of that millisecond", send(now, temp("22.5")), Stored, ""},
		{"the same again, said to be another", Incoming{DeviceID: "d1", At: now, Nth: 1, Values: temp("22.4")}, Stored, ""},
		{"numbered", Incoming{DeviceID: "d1", At: now, Seq: &seq, Values: temp("22.4")}, Stored, ""},
		{"numbered again", Incoming{DeviceID: "d1", At: now, Seq: &seq, Values: temp("22.4")}, Duplicate, ""},
		{"without a time", send(time.Time{}, temp("1")), Stored, ""},
		{"several metrics", send(now, Values{"temp": num(t, "1"), "door": Text("open"), "on": Bool(true), "lux": num(t, "3e2")}), Stored, ""},
		{"55 minutes ago", send(now.Add(-55*time.Minute), temp("1")), Stored, ""},
		{"late", send(now.Add(-25*time.Hour), temp("1")), StoredLate, ""},
		{"late again", send(now.Add(-25*time.Hour), temp("1")), Duplicate, ""},
		{"older than raw readings", send(now.Add(-31*24*time.Hour), temp("1")), Rejected, Expired},
		{"old, imported", Incoming{DeviceID: "d1", At: utc("2013-12-02T21:15"), Imported: true, Values: temp("1")}, Stored, ""},
		{"7 minutes ahead", send(now.Add(7*time.Minute), temp("1")), Stored, ""},
		{"an hour ahead", send(now.Add(time.Hour), temp("1")), Rejected, ClockAhead},
		{"1970", send(time.Unix(100, 0), temp("1")), Rejected, ClockImplausible},
		{"1970, imported", Incoming{DeviceID: "d1", At: time.Unix(100, 0), Imported: true, Values: temp("1")}, Rejected, ClockImplausible},
		{"the first instant that a time can be", Incoming{DeviceID: "d1", At: time.Time{}.Add(time.Millisecond), Values: temp("1")}, Rejected, ClockImplausible},
		{"the year 2100", send(utc("2100-01-01T00:00"), temp("1")), Rejected, ClockImplausible},
		{"no such device", Incoming{DeviceID: "nobody", At: now, Values: temp("1")}, Rejected, UnknownDevice},
		{"no possible device", Incoming{DeviceID: "a#b", At: now, Values: temp("1")}, Rejected, UnknownDevice},
		{"switched off", Incoming{DeviceID: "off", At: now, Values: temp("1")}, Rejected, NotInService},
		{"nothing", send(now, nil), Rejected, NoValues},
		{"a text for a number", send(now, Values{"temp": Text("warm")}), Rejected, WrongKind},
		{"another unit", Incoming{DeviceID: "d1", At: now, Values: temp("1"), Units: map[string]string{"temp": "F"}}, Rejected, WrongUnit},
		{"too hot to be true", send(now, temp("125.1")), Rejected, Implausible},
		{"an empty text", send(now, Values{"door": Text("")}), Rejected, BadValue},
		{"a long text", send(now, Values{"door": Text(strings.Repeat("x", 200))}), Rejected, BadValue},
		{"a name with a hash", send(now, Values{"a#b": num(t, "1")}), Rejected, BadMetric},
		{"a name that is too long", send(now, Values{strings.Repeat("n", 200): num(t, "1")}), Rejected, BadMetric},
		{"no value", send(now, Values{"temp": {}}), Rejected, NoValues},
	} {
		got := w.ingest(c.in)[0]
		if got.Status != c.status || got.Reason != c.reason || (got.Status == Rejected) != (got.Detail != "") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	apart, err := QuarantineOfDevice.Collect(w.Ctx, w.Table, DeviceIn{"d1"})
	w.Must(err)
	if len(apart) != 4 { // the two of 1970 are the same
		t.Errorf("%d readings are kept apart", len(apart))
	}
	newest, err := (ReadingsIn{DeviceID: "d1"}).Newest(w.Ctx, w.Table)
	w.Must(err)
	if !newest.At.Equal(now.Add(7 * time.Minute)) {
		t.Errorf("the latest reading is of %s", newest.At)
	}
}

func TestNonNumericValues(t *testing.T) {
	for _, s := range []string{"NaN", "Inf", "-inf", "", "1e400", "0x1p3", "1;2"} {
		if v, err := Number(s); err == nil {
			t.Errorf("%q is %s", s, v)
		}
	}
}

// A device that sends too many different names, or too fast, is rejected, and other devices are not.
func TestLimits(t *testing.T) {
	now := utc("2026-04-20T14:30")
	w := newWorld(t, "UTC", now)
	_, err := UpdateFleet(w.Ctx, w.Table, "plant", func(f *Fleet) error {
		f.Limits = Limits{PerMinute: 10, Metrics: 3}
		return nil
	})
	w.Must(err)
	w.device("d2")
	w.Advance(SettingsNotice)
	at := w.Now()
	for i := range 5 {
		got := w.ingest(send(at.Add(time.Duration(i)*time.Second), Values{fmt.Sprint("m", i): num(t, "1")}))[0]
		if want := i >= 3; (got.Reason == TooManyMetrics) != want {
			t.Errorf("metric %d: %+v", i, got)
		}
	}
	fast := 0
	for i := range 20 {
		got := w.ingest(send(at.Add(-time.Duration(i)*time.Second), Values{"m1": num(t, "1")}))[0]
		if got.Reason == TooFast {
			fast++
			if got.RetryAfter != 6*time.Second {
				t.Errorf("try again after %s", got.RetryAfter)
			}
		}
	}
	if fast != 15 {
		t.Errorf("%d of 20 readings are too many", fast)
	}
	if got := w.ingest(Incoming{DeviceID: "d2", At: at, Values: Values{"m1": num(t, "1")}})[0]; got.Status != Stored {
		t.Errorf("another device: %+v", got)
	}
	w.Advance(time.Minute)
	if got := w.ingest(send(w.Now(), Values{"m1": num(t, "1")}))[0]; got.Status != Stored {
		t.Errorf("a minute later: %+v", got)
	}
}

// There are three policies for late readings.
func TestLatePolicies(t *testing.T) {
	now := utc("2026-04-20T14:30")
	w := newWorld(t, "UTC", now)
	for _, p := range []LatePolicy{LateAccept, LateCorrect, LateReject} {
		_, err := PutProfile(w.Ctx, w.Table, Profile{ProfileKey: ProfileKey{string(p)}, FleetID: "plant", Clock: ClockPolicy{Late: p, LateAfter: 60}})
		w.Must(err)
		w.device("d-"+string(p), func(n *NewDevice) { n.ProfileID = string(p) })
	}
	outcome := func(p LatePolicy, age time.Duration) Outcome {
		return w.ingest(Incoming{DeviceID: "d-" + string(p), At: now.Add(-age), Values: Values{"x": num(t, "1")}})[0]
	}
	for _, c := range []struct {
		policy LatePolicy
		age    time.Duration
		status OutcomeStatus
		reason Reason
	}{
		{LateAccept, time.Minute, Stored, ""}, {LateAccept, 2 * time.Minute, StoredLate, ""}, {LateAccept, 40 * 24 * time.Hour, Rejected, Expired},
		{LateCorrect, time.Minute, Stored, ""}, {LateCorrect, 2 * time.Minute, StoredLate, ""}, {LateCorrect, 40 * 24 * time.Hour, StoredLate, ""},
		{LateReject, time.Minute, Stored, ""}, {LateReject, 2 * time.Minute, Rejected, TooLate}, {LateReject, 40 * 24 * time.Hour, Rejected, TooLate},
	} {
		if got := outcome(c.policy, c.age); got.Status != c.status || got.Reason != c.reason {
			t.Errorf("%s, %s late: %+v", c.policy, c.age, got)
		}
	}
	w.Drain()
	corrected := int64(0)
	for _, a := range w.aggregates("d-"+string(LateCorrect), Hourly) {
		corrected += a.Corrections
	}
	if corrected != 2 {
		t.Errorf("%d corrections are told", corrected)
	}
}

// If ingestion is stopped, no outcome is returned for readings that may not be stored.
func TestCanceledIngest(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:30"))
	ctx, cancel := context.WithCancel(w.Ctx)
	cancel()
	for _, in := range [][]Incoming{
		{send(w.Now(), Values{"temp": num(t, "1")})},
		{send(w.Now(), Values{"temp": num(t, "1")}), send(time.Unix(5, 0), Values{"temp": num(t, "1")})},
	} {
		o, err := w.c.Ingest(ctx, in)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		for _, one := range o {
			if one.Status != "" {
				t.Errorf("%+v", one)
			}
		}
	}
}

// The same readings, sent by many senders at once, one by one and in batches, are each stored once.
func TestConcurrentIngest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	clean := drawReadings(t, rand.New(rand.NewPCG(seed, 0)), utc("2026-04-20T02:00"), 150)
	var stored atomic.Int64
	var g errgroup.Group
	for n := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		in := slices.Clone(clean)
		r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		g.Go(func() error {
			for len(in) > 0 {
				size := min(1+r.IntN(2)*r.IntN(20), len(in))
				outcomes, err := w.c.Ingest(w.Ctx, in[:size])
				if err != nil {
					return err
				}
				for i, o := range outcomes {
					switch o.Status {
					case Stored, StoredLate:
						stored.Add(1)
					case Duplicate:
					default:
						return fmt.Errorf("%+v: %+v", in[i], o)
					}
				}
				in = in[size:]
			}
			return nil
		})
	}
	w.Must(g.Wait())
	w.Drain()
	if stored.Load() != int64(len(clean)) {
		t.Errorf("%d of %d are called stored", stored.Load(), len(clean))
	}
	compareHours(t, w.figuresOfHours("d1", "temp"), oracleOf(t, "UTC", clean, "temp"))
}
