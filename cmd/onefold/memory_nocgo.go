//go:build !cgo

package main

// engineOutsideGo is the memory of the engine that Go does not see: none.
const engineOutsideGo = 0
