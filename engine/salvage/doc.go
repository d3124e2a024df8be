// Package salvage reads what is still readable of a damaged store, and makes rows of it that agree with one another.
//
// It reads the store's files one by one and never changes them. Each version of a row goes into a scratch store, which keeps
// the newest. What is made of other rows, such as index entries, is made anew; an item that is lost is taken from an index
// that has all of it, or from the stream, as far as these are readable and newer. What is missing all the same is told as
// a Loss.
package salvage
