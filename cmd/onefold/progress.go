package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
)

// readProgress draws a bar over the bytes of the files that are read, with the rate in lines and the time left. It draws
// nothing when standard error is not a terminal.
type readProgress struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	files int
	done  int
	count atomic.Int64
	begun time.Time
	read  func() int64
	size  int64
}

func newReadProgress(w io.Writer, quiet bool, files []string) *readProgress {
	p := &readProgress{files: len(files), begun: time.Now()}
	if quiet || !terminal.IsScreen(w) {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(64), mpb.WithRefreshRate(150*time.Millisecond))
	return p
}

// Start begins a file of the given size in bytes (-1: unknown), of which read tells how much was read.
func (p *readProgress) Start(name string, size int64, read func() int64) {
	p.finishBar()
	p.done++
	p.size, p.read = size, read
	if p.bars == nil {
		return
	}
	title := filepath.Base(name)
	if p.files > 1 {
		title = fmt.Sprintf("%s (%d/%d)", title, p.done, p.files)
	}
	rate := decor.Any(func(decor.Statistics) string {
		lines := p.count.Load()
		return fmt.Sprintf("%s lines, %s/s ", grouped(lines), grouped(int64(float64(lines)/max(time.Since(p.begun).Seconds(), 0.001))))
	})
	p.bar = p.bars.AddBar(max(size, 0),
		mpb.PrependDecorators(decor.Name(title+" ", decor.WCSyncSpaceR), decor.Percentage(decor.WCSyncSpace)),
		mpb.AppendDecorators(rate, decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
}

// Lines says how many lines were read so far, over all files.
func (p *readProgress) Lines(n int64) {
	p.count.Store(n)
	if p.bar != nil && p.size > 0 {
		p.bar.SetCurrent(p.read())
	}
}

func (p *readProgress) finishBar() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
}

// close ends the bar. It may be called again.
func (p *readProgress) close() {
	p.finishBar()
	if p.bars != nil {
		p.bars.Wait()
		p.bars = nil
	}
}

// progress draws a bar over days, or other units.
type progress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
	unit string
	name atomic.Value // string
}

func newProgress(w io.Writer, unit string) *progress {
	p := &progress{unit: unit}
	if terminal.IsScreen(w) {
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(64), mpb.WithRefreshRate(150*time.Millisecond))
	}
	return p
}

// update says what is worked on, and how many of how many are done.
func (p *progress) update(name string, done, of int) {
	if p.bars == nil {
		return
	}
	p.name.Store(name)
	if p.bar == nil {
		title := decor.Any(func(decor.Statistics) string { return p.name.Load().(string) + " " })
		p.bar = p.bars.AddBar(int64(of), mpb.PrependDecorators(title, decor.CountersNoUnit("%d/%d "+p.unit+"s")),
			mpb.AppendDecorators(decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
	}
	p.bar.SetCurrent(int64(done))
}

// close ends the bar. It may be called again.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
	if p.bars != nil {
		p.bars.Wait()
		p.bars = nil
	}
}
