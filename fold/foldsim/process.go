package foldsim

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/onefold/onefold/fold"
)

// errCrashed is returned by every request of a crashed process, so that its coroutine ends.
var errCrashed = errors.New("foldsim: crashed")

// process is a worker as a coroutine. It runs until its next request and yields there.
type process struct {
	world   *World
	name    string
	ctx     context.Context
	cancel  context.CancelFunc
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	crashed bool
	skew    time.Duration // how far its clock is ahead of the world's
	asleep  int           // number of steps for which it is paused
	err     error
	worker  *fold.Worker // the worker it runs, if any
	outside bool         // an observer: its requests never fail or yield
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

// step lets the process run to its next request. It returns false when the process has ended.
func (p *process) step() bool {
	_, alive := p.resume()
	return alive
}

// crash ends the process at its current request.
func (p *process) crash() {
	p.crashed = true
	p.stop()
	p.cancel()
}

// now returns the time on the process's machine.
func (p *process) now() time.Time { return p.world.now.Add(p.skew) }

// giveWay lets other processes run. It returns an error if this process was crashed in the
// meantime.
func (p *process) giveWay() error {
	if p.crashed || !p.yield(struct{}{}) {
		p.crashed = true
		p.cancel()
		return errCrashed
	}
	return nil
}

// sleep implements Options.Sleep for workers.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	if err := p.giveWay(); err != nil {
		return err
	}
	p.world.now = p.world.now.Add(d)
	return ctx.Err()
}
