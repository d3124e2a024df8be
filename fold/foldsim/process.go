package foldsim

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/onefold/onefold/fold"
)

// errCrashed is what every request of a crashed process returns: nobody is there to read it.
var errCrashed = errors.New("foldsim: crashed")

// process is a worker as a coroutine. It runs until its next request and gives way there.
type process struct {
	world   *World
	name    string
	ctx     context.Context
	cancel  context.CancelFunc
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	crashed bool
	skew    time.Duration // its clock is so much ahead of the world's
	asleep  int           // steps for which it is paused
	err     error
	worker  *fold.Worker // that it runs, if any
	outside bool         // it looks on: nothing goes wrong, and nothing else happens meanwhile
}

func (w *World) spawn(name string, body func(*process) error) *process {
	p := &process{world: w, name: name}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		if err := body(p); !p.crashed && p.ctx.Err() == nil {
			p.err = err
		}
	})
	return p
}

// step lets the process run to its next request. It reports false when the process has ended.
func (p *process) step() bool {
	_, alive := p.resume()
	return alive
}

// crash ends the process where it is.
func (p *process) crash() {
	p.crashed = true
	p.stop()
	p.cancel()
}

// now is the time as the process's machine has it.
func (p *process) now() time.Time { return p.world.now.Add(p.skew) }

// giveWay lets others run. An error says that the process has crashed meanwhile.
func (p *process) giveWay() error {
	if p.crashed || !p.yield(struct{}{}) {
		p.crashed = true
		p.cancel()
		return errCrashed
	}
	return nil
}

// sleep is the workers' Options.Sleep.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	if err := p.giveWay(); err != nil {
		return err
	}
	p.world.now = p.world.now.Add(d)
	return ctx.Err()
}
