// Package social is an example of the kit: follows between users, as an adjacency list that is read
// from both ends, and active sessions, as a sparse index. See README.md.
package social
