package terminal

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Steps draws a bar over bytes or items. It draws nothing when standard error is not a terminal.
type Steps struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

// NewSteps begins a bar, unless it is to be quiet.
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

// Update says how much of how much is done; total is -1 when nobody knows.
func (p *Steps) Update(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(total, false)
	}
	p.bar.SetCurrent(done)
}

// Close ends the bar. It may be called again.
func (p *Steps) Close() {
	if p.bars == nil {
		return
	}
	p.bar.SetTotal(-1, true)
	p.bars.Wait()
	p.bars = nil
}

// newBars draws bars, all in the same width and rhythm.
func newBars(w io.Writer) *mpb.Progress {
	return mpb.New(mpb.WithOutput(w), mpb.WithWidth(64), mpb.WithRefreshRate(150*time.Millisecond))
}
