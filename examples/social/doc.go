// Package social is an example of the kit: who follows whom, as an adjacency list that is read from both ends, and who is
// there, as a sparse index. README.md says how.
package social
