//go:build !unix

package listen

func fileLimit() (uint64, bool) { return 0, false }
