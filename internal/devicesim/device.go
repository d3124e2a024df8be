package devicesim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Device is a simulated device.
type Device struct {
	ID, Name, Location, Firmware string
	Kind                         *Kind
	Tags                         []string
}

// device is the state of a running device.
type device struct {
	Device
	every    time.Duration
	offset   time.Duration // of its readings within Options.Every
	numbers  bool          // its readings have sequence numbers
	n        int64         // number of measurements
	seq      int64         // number of readings so far
	incident time.Time

	world, luck *rand.Rand // random numbers for measurements, and for faults
	level       float64
	total       float64
	on          bool
	left        int

	trouble *trouble
}

// trouble is a lasting fault.
type trouble struct {
	fault Fault
	until time.Time
	since time.Time
}

var (
	places    = []string{"North hall", "South hall", "Cellar", "Roof", "Yard", "Line 1", "Line 2"}
	firmwares = []string{"2.4.1", "2.4.1", "2.4.1", "2.4.0", "2.3.7", "1.9.12"}
	tags      = []string{"leased", "critical", "outdoor", "pilot"}
)

func newDevice(o *Options, i int) *device {
	kind := &Kinds[i%len(Kinds)]
	seed := uint64(i) + 1
	d := &device{
		every: o.Every, world: rand.New(rand.NewPCG(o.Seed, seed)), luck: rand.New(rand.NewPCG(^o.Seed, seed)),
		numbers: i/len(Kinds)%2 == 0,
	}
	nth := i/len(Kinds) + 1
	about := rand.New(rand.NewPCG(o.Seed+1, seed))
	d.Device = Device{
		ID: fmt.Sprintf("%s%s-%d", o.Prefix, kind.Name, nth), Kind: kind, Location: pick(about, places), Firmware: pick(about, firmwares),
	}
	d.Name = fmt.Sprintf("%s %d, %s", kind.Name, nth, d.Location)
	if about.IntN(3) == 0 {
		d.Tags = []string{pick(about, tags)}
	}
	d.offset = time.Duration(d.world.Int64N(int64(o.Every/time.Millisecond))) * time.Millisecond
	d.total, d.left = float64(about.IntN(20_000)), 1
	if i == 0 {
		d.incident = o.Incident
	}
	return d
}

// Message is one reading with the time of its arrival.
type Message struct {
	Device  string
	N       int64     // number of the measurement, from 1, whatever went wrong
	Seq     int64     // sequence number given by the device; 0: none
	At      time.Time // by the device's clock
	Arrives time.Time
	Values  []Value
	Fault   Fault // what went wrong with it; "" if nothing
	Fate    Expectation
}

// tick measures and sends.
func (d *device) tick(o *Options, tick time.Time, q *queue) {
	at := tick.Add(d.offset)
	d.n++
	m := Message{Device: d.ID, N: d.n, At: at, Arrives: at, Values: d.Kind.measure(d, at), Fate: Counts}
	m.Seq = d.number()
	if t := d.trouble; t != nil && !at.Before(t.until) {
		d.trouble = nil
	}
	hit := d.luck.Float64() < o.Rate
	if !hit && d.trouble == nil {
		q.add(m)
		return
	}
	fault := pick(d.luck, o.Faults)
	switch {
	case d.trouble != nil:
		d.suffer(m, q)
	case fault.Lasts():
		d.trouble = &trouble{fault: fault, since: at, until: at.Add(time.Duration(5+d.luck.IntN(40)) * d.every)}
		d.suffer(m, q)
	default:
		d.strike(m, fault, q)
	}
}

// number returns the next sequence number, if the device numbers its readings.
func (d *device) number() int64 {
	if !d.numbers {
		return 0
	}
	d.seq++
	return d.seq
}

// suffer sends a reading during a lasting fault.
func (d *device) suffer(m Message, q *queue) {
	m.Fault = d.trouble.fault
	m.Fate = m.Fault.expectation()
	switch m.Fault {
	case WasOffline:
		ago := d.trouble.until.Sub(m.At) // newest first
		m.Arrives = d.trouble.until.Add(ago / 1000)
	case ClockAhead:
		m.At = m.At.Add(aheadBy)
	case ClockBehind:
		m.At = m.At.Add(-behindBy)
	case ClockNeverOn:
		m.At = time.Unix(0, 0).UTC().Add(m.At.Sub(d.trouble.since) + time.Duration(d.n)*time.Millisecond)
	}
	q.add(m)
}

// strike sends a reading with a fault.
func (d *device) strike(m Message, fault Fault, q *queue) {
	again := m
	again.Fault, again.Fate = fault, Repeats
	switch fault {
	case SentTwice:
	case SentAfterHour:
		again.Arrives = m.Arrives.Add(time.Hour)
	case SentAfterDay:
		again.Arrives = m.Arrives.Add(25 * time.Hour)
	case SameTime, FoundInADrawer:
		again.Seq, again.Fate, again.Values = d.number(), fault.expectation(), slices.Clone(m.Values)
		again.Values[0] = number(m.Values[0].Metric, 1+d.luck.Float64(), 3)
		if fault == FoundInADrawer {
			again.At = m.At.Add(-oldBy)
		}
	default:
		q.add(spoilt(m, fault))
		return
	}
	q.add(m)
	q.add(again)
}

// spoilt returns a message with an invalid first value.
func spoilt(m Message, fault Fault) Message {
	m.Fault, m.Fate = fault, fault.expectation()
	switch v := &m.Values[0]; fault {
	case NotANumber:
		v.Text = "NaN"
	case TextForNumber:
		v.Text, v.Quoted = "error", true
	case WrongUnit:
		v.Unit = "furlong"
	}
	return m
}
