package terminal

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Steps shows a progress bar over bytes or items. It shows nothing if standard error is not a
// terminal.
type Steps struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

// NewSteps starts a bar. It shows nothing if quiet is set.
func NewSteps(w io.Writer, quiet bool, title string) *Steps {
	p := &Steps{}
	if quiet || !IsScreen(w) {
		return p
	}
	p.bars = newBars(w)
	p.bar = p.bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(title+" "), decor.CurrentNoUnit("%d"), decor.Name(" ")),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Name(" "), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
	return p
}

// Update sets the progress. total is -1 if unknown.
func (p *Steps) Update(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(total, false)
	}
	p.bar.SetCurrent(done)
}

// Close ends the bar. It may be called more than once.
func (p *Steps) Close() {
	if p.bars == nil {
		return
	}
	p.bar.SetTotal(-1, true)
	p.bars.Wait()
	p.bars = nil
}

// newBars returns a container of bars with uniform width and refresh rate.
func newBars(w io.Writer) *mpb.Progress {
	return mpb.New(mpb.WithOutput(w), mpb.WithWidth(64), mpb.WithRefreshRate(150*time.Millisecond))
}
