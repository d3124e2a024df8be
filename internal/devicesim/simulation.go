package devicesim

import (
	"container/heap"
	"iter"
)

// Simulation simulates a fleet of devices.
type Simulation struct{ o Options }

// New validates the options. Errors: ErrInvalidOptions.
func New(o Options) (*Simulation, error) {
	o, err := o.withDefaults()
	return &Simulation{o}, err
}

// Devices returns the devices of the simulation.
func (s *Simulation) Devices() []Device {
	all := make([]Device, s.o.Devices)
	for i := range all {
		all[i] = newDevice(&s.o, i).Device
	}
	return all
}

// Messages yields what the devices send, in the order of arrival; always the same sequence.
// Messages that are on their way at the end still arrive.
func (s *Simulation) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		devices := make([]*device, s.o.Devices)
		for i := range devices {
			devices[i] = newDevice(&s.o, i)
		}
		q := new(queue)
		end := s.o.Start.Add(s.o.Length)
		for tick := s.o.Start; s.o.Length < 0 || tick.Before(end); tick = tick.Add(s.o.Every) {
			for q.Len() > 0 && q.waiting[0].Arrives.Before(tick) {
				if !yield(q.next()) {
					return
				}
			}
			for _, d := range devices {
				d.tick(&s.o, tick, q)
			}
		}
		for q.Len() > 0 {
			if !yield(q.next()) {
				return
			}
		}
	}
}

// queue holds the messages on their way, next first. Messages that arrive at the same time stay in
// the order in which they were sent.
type queue struct {
	waiting []queued
	sent    uint64
}

type queued struct {
	Message
	nth uint64
}

func (q *queue) add(m Message) {
	q.sent++
	heap.Push(q, queued{m, q.sent})
}

func (q *queue) next() Message { return heap.Pop(q).(queued).Message }

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *queue) Len() int { return len(q.waiting) }

func (q *queue) Less(i, j int) bool {
	a, b := &q.waiting[i], &q.waiting[j]
	if !a.Arrives.Equal(b.Arrives) {
		return a.Arrives.Before(b.Arrives)
	}
	return a.nth < b.nth
}

func (q *queue) Swap(i, j int) { q.waiting[i], q.waiting[j] = q.waiting[j], q.waiting[i] }

// Push adds at the end.
func (q *queue) Push(x any) { q.waiting = append(q.waiting, x.(queued)) }

// Pop takes from the end.
func (q *queue) Pop() any {
	last := q.waiting[len(q.waiting)-1]
	q.waiting = q.waiting[:len(q.waiting)-1]
	return last
}

var _ heap.Interface = (*queue)(nil)
