// Package profile writes profiles of a command to files, for go tool pprof.
package profile

import (
	"errors"
	"os"
	"runtime/pprof"
)

// CPU writes a CPU profile to path until stop is called. It does nothing if path is empty.
func CPU(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// Heap writes a profile of live and past heap allocations to path. It does nothing if path is
// empty.
func Heap(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
